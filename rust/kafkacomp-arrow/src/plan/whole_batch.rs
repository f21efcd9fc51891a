//! Reading a single batch of which only the header was read.

use std::io;

use kafkacomp_log::read::source::read_full;
use kafkacomp_log::{BatchHeader, ReadAt};
use kafkacomp_records::memory;
use kafkacomp_records::record::RecordBatch;

/// The most bytes of a batch that is read only for its checksum or its first offset. A larger one does not confirm an index entry,
/// and no split begins at it.
pub const MOST_CHECKED: usize = 64 << 20;

/// The batch of a header, read into `buffer`; `None` if it no longer exists, or has more than `most` bytes, as its size may be
/// corrupt.
///
/// # Errors
/// An I/O error.
pub fn whole_batch<'b>(
    source: &dyn ReadAt,
    header: &BatchHeader,
    most: usize,
    buffer: &'b mut Vec<u8>,
) -> io::Result<Option<RecordBatch<'b>>> {
    let Some(size) = usize::try_from(header.size).ok().filter(|&size| size <= most) else { return Ok(None) };
    memory::resize(buffer, size)?;
    let read = read_full(source, buffer, header.position)?;
    Ok(RecordBatch::new(&buffer[..read], header.position).ok())
}
