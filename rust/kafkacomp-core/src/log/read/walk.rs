//! All of a segment, piece by piece: runs of sound batches, and the damage between them.

use std::ops::ControlFlow;

use super::chunk::{ChunkEnd, ChunkReader, chunk_bytes};
use super::source::ReadAt;
use crate::log::error::{ContentError, ReadError};

/// How much of the segment is read at once.
const CHUNK: usize = 4 << 20;

/// A piece of a segment.
#[derive(Debug)]
pub enum Piece<'a> {
    /// Whole batches whose checksums are right.
    Batches {
        /// Their bytes.
        data: &'a [u8],
        /// Where they begin in the segment.
        position: u64,
    },
    /// Bytes in which there is no sound batch.
    Damage(Damage),
    /// Zero bytes up to the end: a preallocated file.
    ZeroTail {
        /// How many.
        length: u64,
    },
}

/// A range of a segment that holds no sound batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins.
    pub position: u64,
    /// Its length in bytes.
    pub length: u64,
    /// What is wrong where it begins.
    pub error: ContentError,
    /// Whether it is nothing but a batch that the segment's end has cut.
    pub is_cut: bool,
    /// Whether it reaches to the segment's end.
    pub is_tail: bool,
}

/// Hands all parts of a segment to `visit`, in order, with the position after each. [`ControlFlow::Break`] ends the walk and is
/// the result then.
///
/// # Errors
/// The segment cannot be read.
pub fn walk_segment<B>(
    source: &dyn ReadAt,
    visit: &mut dyn FnMut(Piece<'_>, u64) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, ReadError> {
    let end = source.length()?;
    let mut chunks = ChunkReader::new(0, end, true);
    let mut buffer = Vec::new();
    loop {
        let position = chunks.position();
        // A method's name instead of the closure would fix the batch's lifetime.
        #[allow(clippy::redundant_closure_for_method_calls)]
        let (used, chunk_end) = chunks.read(source, &mut buffer, CHUNK, |batch| batch.ensure_valid())?;
        let data = chunk_bytes(source, &buffer, position, used);
        let mut flow = visit(Piece::Batches { data, position }, chunks.position());
        let mut is_last = false;
        if flow.is_continue() {
            let is_cut = matches!(chunk_end, ChunkEnd::Cut(_));
            match chunk_end {
                ChunkEnd::More => {}
                ChunkEnd::End => {
                    is_last = true;
                    let length = end.saturating_sub(chunks.position());
                    if length > 0 {
                        flow = visit(Piece::ZeroTail { length }, end);
                    }
                }
                ChunkEnd::Cut(error) | ChunkEnd::Bad(error) => {
                    let position = chunks.position();
                    let next = chunks.resync(source)?;
                    let length = next.saturating_sub(position);
                    is_last = next >= end;
                    let damage = Damage { position, length, error, is_cut: is_cut && is_last, is_tail: is_last };
                    flow = visit(Piece::Damage(damage), next);
                }
            }
        }
        if is_last || flow.is_break() {
            return Ok(flow);
        }
    }
}
