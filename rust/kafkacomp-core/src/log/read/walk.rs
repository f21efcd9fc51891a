//! All of a segment, piece by piece: runs of sound batches, and the damage between them.

use super::chunk::{ChunkEnd, ChunkError, ChunkReader, chunk_bytes};
use super::source::ReadAt;
use crate::error::Error;

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
    pub error: Error,
    /// Whether it is nothing but a batch that the segment's end has cut.
    pub is_cut: bool,
    /// Whether it reaches to the segment's end.
    pub is_tail: bool,
}

/// Hands all pieces of a segment to `visit`, in order, whose error ends the walk. With each comes the position behind
/// it.
///
/// # Errors
/// The file system's, or that of `visit`.
pub fn walk_segment<E: From<ChunkError>>(
    source: &dyn ReadAt,
    visit: &mut dyn FnMut(Piece<'_>, u64) -> Result<(), E>,
) -> Result<(), E> {
    let end = source.length().map_err(ChunkError::from)?;
    let mut chunks = ChunkReader::new(0, end, true);
    let mut buffer = Vec::new();
    loop {
        let position = chunks.position();
        // A method's name instead of the closure would fix the batch's lifetime.
        #[allow(clippy::redundant_closure_for_method_calls)]
        let (used, chunk_end) = chunks.read(source, &mut buffer, CHUNK, |batch| batch.ensure_valid())?;
        let data = chunk_bytes(source, &buffer, position, used);
        visit(Piece::Batches { data, position }, chunks.position())?;
        let is_cut = matches!(chunk_end, ChunkEnd::Cut(_));
        match chunk_end {
            ChunkEnd::More => {}
            ChunkEnd::End => {
                let length = end.saturating_sub(chunks.position());
                return if length > 0 { visit(Piece::ZeroTail { length }, end) } else { Ok(()) };
            }
            ChunkEnd::Cut(error) | ChunkEnd::Bad(error) => {
                let position = chunks.position();
                let next = chunks.resync(source)?;
                let length = next.saturating_sub(position);
                let is_tail = next >= end;
                visit(Piece::Damage(Damage { position, length, error, is_cut: is_cut && is_tail, is_tail }), next)?;
                if is_tail {
                    return Ok(());
                }
            }
        }
    }
}
