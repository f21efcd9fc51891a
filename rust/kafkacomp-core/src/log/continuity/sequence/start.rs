//! Finds the offset at which a segment begins, even if its name is wrong.

use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::log::error::ReadError;
use crate::log::read::batch_headers::{HeaderWalk, Hop};
use crate::log::read::chunk::{ChunkReader, chunk_bytes};
use crate::log::read::chunk_buffer::ChunkBuffer;
use crate::log::read::source::ReadAt;
use crate::record::{Batches, RecordBatch, RecordReader};

/// The offset at which a segment begins: its base offset, or a lower one if its first two batches show that the name is wrong.
///
/// # Errors
/// An I/O error.
pub fn start_offset(source: &dyn ReadAt, base_offset: i64) -> Result<i64, ReadError> {
    let end = source.length()?;
    // Usually the header of the first batch decides, so the batch, which may be large, is not read.
    if let Hop::Batch(header) = HeaderWalk::new(source, 0, end).next_batch()?
        && header.span.first.is_some_and(|first| first >= base_offset)
    {
        return Ok(base_offset);
    }
    let mut chunks = ChunkReader::new(0, end, true);
    let mut buffer = ChunkBuffer::default();
    // A path to the method instead of the closure would fix the lifetime of the batch.
    #[allow(clippy::redundant_closure_for_method_calls)]
    let (used, _) = chunks.read(source, &mut buffer, 0, |batch| batch.ensure_valid())?;
    let mut batches = Batches::whole(chunk_bytes(source, &buffer, 0, used), 0);
    let mut reader = RecordReader::new(DEFAULT_MAX_OUTPUT_SIZE);
    let mut first_of =
        |batch: RecordBatch<'_>| reader.base_offset(&batch).ok().map(|first| (first, batch.last_offset()));
    let first = batches.next().and_then(&mut first_of);
    let next = batches.next().and_then(&mut first_of);
    // In a compacted log, the next batch need not continue directly, but it is below the base offset, too.
    let below = first.zip(next).filter(|&((first, last), (next, next_last))| {
        let follows = last.checked_add(1) == Some(next) || (next > last && next_last < base_offset);
        (0..base_offset).contains(&first) && follows
    });
    Ok(below.map_or(base_offset, |((first, _), _)| first))
}
