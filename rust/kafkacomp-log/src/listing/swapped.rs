//! The end of a segment that has not replaced others yet, which decides what it replaces.

use std::io;

use crate::error::ReadError;
use crate::map::last_file::last_indexed;
use crate::read::batch_headers::{BatchHeader, HeaderWalk, Hop};
use crate::read::resync::Resync;
use crate::read::segment_files::OpenSegment;

/// The offset after the last batch of a segment of batches, by the headers; `None` if an intact batch follows a corrupt range.
///
/// # Errors
/// The segment cannot be read.
pub fn end_offset(files: &dyn OpenSegment, base_offset: i64) -> io::Result<Option<i64>> {
    let source = files.open()?;
    let length = source.length()?;
    let indexed = last_indexed(files, base_offset).map(|entry| (entry.offset, u64::from(entry.position)));
    // The headers before the last entry of the index need not be read, if the batch is there.
    if let Some((offset, position)) = indexed {
        let mut walk = HeaderWalk::new(source.as_ref(), position, length);
        if let Ok(Hop::Batch(header)) = walk.next_batch()
            && header.last_offset == offset
            && let Some(end) = walk_on(walk, source.as_ref(), (header, length)).map_err(into_io)?
        {
            return Ok(Some(end));
        }
    }
    let mut walk = HeaderWalk::new(source.as_ref(), 0, length);
    match walk.next_batch().map_err(into_io)? {
        Hop::Batch(header) => walk_on(walk, source.as_ref(), (header, length)).map_err(into_io),
        Hop::End => Ok(Some(base_offset)),
        Hop::Truncated | Hop::Corrupt(_) => {
            let next = <Resync>::new(0, length).next_intact(source.as_ref(), 0).map_err(into_io)?;
            Ok((next >= length).then_some(base_offset))
        }
    }
}

/// The end of a segment of `length` bytes, from the batch with this header on.
fn walk_on(
    mut walk: HeaderWalk<'_>,
    source: &dyn crate::ReadAt,
    (mut last, length): (BatchHeader, u64),
) -> Result<Option<i64>, ReadError> {
    loop {
        match walk.next_batch()? {
            Hop::Batch(header) => last = header,
            Hop::End => return Ok(Some(last.last_offset.saturating_add(1))),
            Hop::Truncated | Hop::Corrupt(_) => {
                let at = walk.position();
                let next = <Resync>::new(at, length).next_intact(source, at)?;
                return Ok((next >= length).then(|| last.last_offset.saturating_add(1)));
            }
        }
    }
}

fn into_io(error: ReadError) -> io::Error {
    match error {
        ReadError::Io(error) => error,
        other @ ReadError::Shrunk { .. } => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
}
