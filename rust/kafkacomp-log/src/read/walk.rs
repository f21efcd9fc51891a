//! Walks through all parts of a segment in order: runs of intact batches, and the corrupt ranges between them.

use std::ops::ControlFlow;

use super::chunk::{ChunkEnd, ChunkReader, chunk_bytes};
use super::chunk_buffer::ChunkBuffer;
use super::source::ReadAt;
use crate::error::{ContentError, ReadError};

/// The number of bytes of a read. What is read ahead from within a chunk is read again, so that it is not large.
const CHUNK: usize = 1 << 20;
/// That of a remote source, where a read is a request.
const REMOTE_CHUNK: usize = 4 << 20;

/// A part of a segment.
#[derive(Debug)]
pub enum SegmentPart<'a> {
    /// Whole batches whose checksums are right.
    Batches {
        /// Their bytes.
        data: &'a [u8],
        /// Their position in the segment.
        position: u64,
    },
    /// Bytes in which there is no intact batch.
    Corrupt(CorruptRange),
    /// Zeros up to the end: the file was preallocated.
    ZeroTail {
        /// The number of zeros.
        length: u64,
    },
}

/// A range of a segment that contains no intact batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorruptRange {
    /// The position at which it begins.
    pub position: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The fault of the batch at its first byte.
    pub error: ContentError,
    /// Whether it is only a batch that is truncated by the end of the segment.
    pub is_truncated: bool,
    /// Whether it reaches the end of the segment.
    pub is_tail: bool,
    /// Whether it is a batch whose checksum is right, but which readers do not accept.
    pub is_batch: bool,
}

impl CorruptRange {
    /// A batch from `position` to `end` that is whole, but corrupt.
    pub fn of_batch(position: u64, end: u64, error: ContentError) -> Self {
        Self {
            position,
            length: end.saturating_sub(position),
            error,
            is_truncated: false,
            is_tail: false,
            is_batch: true,
        }
    }
}

/// Calls `visit` for every part of a segment, in order, with the position after the part. [`ControlFlow::Break`] ends the
/// walk and is its result.
///
/// # Errors
/// The segment cannot be read.
pub fn walk_segment<B>(
    source: &dyn ReadAt,
    visit: &mut dyn FnMut(SegmentPart<'_>, u64) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, ReadError> {
    walk_chunks(source, &mut ChunkReader::new(0, source.length()?, true), visit)
}

/// As [`walk_segment`], with the batches that `chunks` reads.
///
/// # Errors
/// The segment cannot be read.
pub fn walk_chunks<B>(
    source: &dyn ReadAt,
    chunks: &mut ChunkReader,
    visit: &mut dyn FnMut(SegmentPart<'_>, u64) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, ReadError> {
    let end = chunks.end();
    let target = if source.traits().is_remote() { REMOTE_CHUNK } else { CHUNK };
    let mut buffer = ChunkBuffer::default();
    loop {
        let position = chunks.position();
        // A method's name instead of the closure would fix the batch's lifetime.
        #[allow(clippy::redundant_closure_for_method_calls)]
        let (used, chunk_end) = chunks.read(source, &mut buffer, target, |batch| batch.ensure_valid())?;
        let data = chunk_bytes(source, &buffer, position, used);
        let mut flow = visit(SegmentPart::Batches { data, position }, chunks.position());
        let mut is_last = false;
        if flow.is_continue() {
            let is_truncated = matches!(chunk_end, ChunkEnd::Truncated(_));
            match chunk_end {
                ChunkEnd::More => {}
                ChunkEnd::End => {
                    is_last = true;
                    let length = end.saturating_sub(chunks.position());
                    if length > 0 {
                        flow = visit(SegmentPart::ZeroTail { length }, end);
                    }
                }
                ChunkEnd::Truncated(error) | ChunkEnd::Corrupt(error) => {
                    let position = chunks.position();
                    let next = chunks.resync(source)?;
                    let length = next.saturating_sub(position);
                    is_last = next >= end;
                    let range = CorruptRange {
                        position,
                        length,
                        error,
                        is_truncated: is_truncated && is_last,
                        is_tail: is_last,
                        is_batch: false,
                    };
                    flow = visit(SegmentPart::Corrupt(range), next);
                }
            }
        }
        if is_last || flow.is_break() {
            return Ok(flow);
        }
    }
}
