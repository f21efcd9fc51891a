//! Reading a segment in chunks of whole batches.
//!
//! A chunk is what one positional read brings, cut at the last batch that is all there. The batch that
//! was cut is read again with the next chunk; a batch larger than a chunk gets a buffer of its own size.

use std::io;

use super::source::{ReadAt, part, read_full, read_part};
use crate::error::Error;
use crate::record::{Batches, RecordBatch, Tail};

/// The least that is read at once: below it the system call outweighs the copy.
pub(super) const MIN_READ: usize = 64 << 10;

/// What a chunk ends with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkEnd {
    /// More may follow.
    More,
    /// The segment's end: whole batches, or zeros behind them.
    End,
    /// The last batch is cut by the segment's end.
    Cut(Error),
    /// What stands there cannot be a batch.
    Bad(Error),
}

/// Why a chunk could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ChunkError {
    /// The file system said no.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The segment is shorter than it was when the scan began.
    #[error("the file was truncated during the scan: {length} bytes, {expected} were there")]
    Shrunk {
        /// Bytes that are there now.
        length: u64,
        /// Bytes that were there.
        expected: u64,
    },
}

/// Reads `[position, end)` of a source, chunk by chunk; `F` knows what is whole there.
#[derive(Debug, Clone)]
pub struct Chunks<F> {
    position: u64,
    end: u64,
    pub(super) framing: F,
}

/// What a segment consists of since Kafka 0.8.
#[derive(Debug, Clone)]
pub struct WholeBatches;

/// Reads a segment, chunk by chunk.
pub type ChunkReader = Chunks<WholeBatches>;

impl<F> Chunks<F> {
    pub(super) fn framed_by(framing: F, position: u64, end: u64) -> Self {
        Self { position: position.min(end), end, framing }
    }

    /// Where the next chunk begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes on elsewhere.
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.end);
    }

    /// The source's length as far as it is read.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// How many bytes there are from the position on.
    pub(super) fn left(&self) -> u64 {
        self.end.saturating_sub(self.position)
    }

    /// The next `most` bytes, or all that are left: in `buffer`, or where the source has them in memory.
    pub(super) fn peek<'b>(
        &self,
        source: &'b dyn ReadAt,
        buffer: &'b mut Vec<u8>,
        most: usize,
    ) -> Result<&'b [u8], ChunkError> {
        let size = usize::try_from(self.left()).unwrap_or(usize::MAX).min(most);
        let data = read_part(source, self.position, size, buffer)?;
        if data.len() < size {
            return Err(ChunkError::Shrunk { length: source.length()?, expected: self.end });
        }
        Ok(data)
    }

    /// Goes on behind the first `used` of the bytes that [`Self::peek`] left in `buffer`, which keeps just these.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>, used: usize) {
        buffer.truncate(used);
        self.position = self.position.saturating_add(used as u64);
    }
}

/// The `length` bytes of a chunk that began at `position`: what reading it left in `buffer` or in place.
pub fn chunk_bytes<'b>(source: &'b dyn ReadAt, buffer: &'b [u8], position: u64, length: usize) -> &'b [u8] {
    source.as_slice().map_or_else(|| part(buffer, 0, length), |all| part(all, position, length))
}

impl ChunkReader {
    /// From the batch that begins at `position` to the segment's length `end`.
    pub fn new(position: u64, end: u64) -> Self {
        Self::framed_by(WholeBatches, position, end)
    }

    /// Reads whole batches, about `target` bytes of them, each one accepted by `check`; a batch that it
    /// refuses ends the chunk before it. They stand in `buffer` then, or, if the source is in memory, where
    /// they are; the result tells how many bytes they take.
    ///
    /// # Errors
    /// [`ChunkError`] when the bytes cannot be read.
    pub fn read(
        &mut self,
        source: &dyn ReadAt,
        buffer: &mut Vec<u8>,
        target: usize,
        mut check: impl FnMut(&RecordBatch<'_>) -> Result<(), Error>,
    ) -> Result<(usize, ChunkEnd), ChunkError> {
        let mut wanted = target.max(MIN_READ);
        loop {
            let left = self.left();
            let data = self.peek(source, buffer, wanted)?;
            let at_end = data.len() as u64 == left;
            let (used, bad, tail) = self.frame(data, &mut check);
            if let (None, false, 0) = (&bad, at_end, used) {
                // Not one whole batch: zeros so far, or a batch larger than the chunk.
                match tail {
                    Some(Tail::Partial { needed, .. }) if needed <= left => {
                        wanted = usize::try_from(needed).unwrap_or(usize::MAX).max(MIN_READ);
                        continue;
                    }
                    Some(Tail::Partial { needed, .. }) => {
                        let error = Error::IncompleteBatch { position: self.position, available: left, needed };
                        return Ok((0, ChunkEnd::Cut(error)));
                    }
                    Some(Tail::Zeros { .. }) => return Ok((0, self.rest_is_zero(source, left)?)),
                    _ => {}
                }
            }
            self.take(buffer, used);
            let ended = match (bad, tail) {
                (Some(error), _) => ChunkEnd::Bad(error),
                (None, Some(Tail::Partial { position, available, needed })) if at_end => {
                    ChunkEnd::Cut(Error::IncompleteBatch { position, available, needed })
                }
                (None, _) if at_end => ChunkEnd::End,
                (None, _) => ChunkEnd::More,
            };
            return Ok((used, ended));
        }
    }

    /// The bytes of the whole batches at the start of `data`, what is wrong behind them, and what is left.
    fn frame(
        &self,
        data: &[u8],
        check: &mut impl FnMut(&RecordBatch<'_>) -> Result<(), Error>,
    ) -> (usize, Option<Error>, Option<Tail>) {
        let mut batches = Batches::new(data, self.position);
        let mut good = self.position;
        let mut bad = None;
        while let Some(framed) = batches.next() {
            if let Err(error) = framed.and_then(|batch| check(&batch)) {
                bad = Some(error);
                break;
            }
            good = batches.position();
        }
        (good.saturating_sub(self.position) as usize, bad, batches.tail())
    }

    /// Whether a preallocated file has nothing but zeros up to its end.
    fn rest_is_zero(&self, source: &dyn ReadAt, left: u64) -> Result<ChunkEnd, ChunkError> {
        let mut window = vec![0_u8; MIN_READ];
        let mut done = 0_u64;
        while done < left {
            let size = left.saturating_sub(done).min(MIN_READ as u64) as usize;
            let piece = window.get_mut(..size).unwrap_or_default();
            let at = self.position.saturating_add(done);
            let read = read_full(source, piece, at)?;
            if read < size {
                let length = at.saturating_add(read as u64);
                return Err(ChunkError::Shrunk { length, expected: self.end });
            }
            if piece.iter().any(|&byte| byte != 0) {
                let minimum = crate::record::legacy::RECORD_OVERHEAD_V0 as i32;
                return Ok(ChunkEnd::Bad(Error::SizeTooSmall { position: self.position, size: 0, minimum }));
            }
            done = done.saturating_add(size as u64);
        }
        Ok(ChunkEnd::End)
    }
}
