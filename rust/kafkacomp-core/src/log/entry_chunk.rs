//! Reading a log of Kafka 0.7 in chunks of whole top-level entries, and finding the way past damage.
//!
//! What [`ChunkReader`](super::ChunkReader) does for batches; see [`crate::record::message_set`] for the layout.

use super::ReadAt;
use super::chunk::{ChunkEnd, ChunkError, Chunks, MIN_READ, chunk_bytes};
use super::source::read_part;
use crate::error::{Error, Result};
use crate::record::MessageSetKind;
use crate::record::message_set::{Entries, Entry, HEADER_LENGTH_V0, SIZE_LENGTH};

/// How much is read at once where all of a file is gone through.
const CHUNK: usize = 4 << 20;
/// How much is looked at at once behind damage.
const WINDOW: usize = 1 << 20;

/// What a log of 0.7 consists of.
#[derive(Debug, Clone)]
pub struct WholeEntries {
    verify_crc: bool,
}

/// Reads a log of 0.7, chunk by chunk.
pub type EntryChunkReader = Chunks<WholeEntries>;

impl EntryChunkReader {
    /// From the entry that begins at `position` to the file's length `end`.
    pub fn new(position: u64, end: u64, verify_crc: bool) -> Self {
        Self::framed_by(WholeEntries { verify_crc }, position, end)
    }

    /// Reads the next chunk, of a size that suits whoever goes through all of a file: its entries, whose positions
    /// count from the chunk's, and what it ends with.
    ///
    /// # Errors
    /// [`ChunkError`] when the bytes cannot be read.
    pub(super) fn entries<'b>(
        &mut self,
        source: &'b dyn ReadAt,
        buffer: &'b mut Vec<u8>,
    ) -> std::result::Result<(impl Iterator<Item = Entry<'b>> + use<'b>, ChunkEnd), ChunkError> {
        let begin = self.position();
        let (used, end) = self.read(source, buffer, CHUNK, |_| true)?;
        // Checksums that are to be verified have been.
        let entries = Entries::unverified(chunk_bytes(source, buffer, begin, used));
        Ok((entries.map_while(Result::ok), end))
    }

    /// Reads whole entries, about `target` bytes of them, as long as `wanted` takes the position of the next one.
    /// They stand in `buffer` then, or, if the source is in memory, where they are; the result tells how many
    /// bytes they take.
    ///
    /// # Errors
    /// [`ChunkError`] when the bytes cannot be read.
    pub fn read(
        &mut self,
        source: &dyn ReadAt,
        buffer: &mut Vec<u8>,
        target: usize,
        mut wanted: impl FnMut(u64) -> bool,
    ) -> std::result::Result<(usize, ChunkEnd), ChunkError> {
        let mut size = target.max(MIN_READ);
        loop {
            let left = self.left();
            let data = self.peek(source, buffer, size)?;
            let at_end = data.len() as u64 == left;
            let (used, stop) = frame(data, self.position(), self.framing.verify_crc, &mut wanted);
            let needed = match stop {
                Stop::Partial(needed) if used == 0 && !at_end => Some(needed),
                _ => None,
            };
            if let Some(needed) = needed.filter(|&needed| needed as u64 <= left) {
                size = needed.max(MIN_READ);
                continue;
            }
            self.take(buffer, used);
            let ended = match stop {
                Stop::Unwanted => ChunkEnd::End,
                Stop::Bad(error) => ChunkEnd::Bad(error),
                Stop::Partial(_) if used > 0 && !at_end => ChunkEnd::More,
                Stop::Partial(needed) => ChunkEnd::Cut(Error::IncompleteBatch {
                    position: self.position(),
                    available: self.left(),
                    needed: needed as u64,
                }),
                Stop::End if at_end => ChunkEnd::End,
                Stop::End => ChunkEnd::More,
            };
            return Ok((used, ended));
        }
    }
}

/// Why a chunk ends where it does.
enum Stop {
    End,
    Unwanted,
    /// An entry of so many bytes is not whole.
    Partial(usize),
    Bad(Error),
}

/// The bytes of the whole entries at the start of `data`, and what is behind them.
fn frame(data: &[u8], begin: u64, verify_crc: bool, wanted: &mut impl FnMut(u64) -> bool) -> (usize, Stop) {
    let mut entries = if verify_crc { Entries::new(data) } else { Entries::unverified(data) };
    let mut used = 0;
    loop {
        if used < data.len() && !wanted(begin.saturating_add(used as u64)) {
            return (used, Stop::Unwanted);
        }
        match entries.next() {
            Some(Ok(entry)) => used = entry.end,
            Some(Err(error)) => {
                let cut = matches!(
                    &error,
                    Error::MessageSet { fault, .. }
                        if fault.kind() == Some(MessageSetKind::InvalidMessageSize) && entry_length(data, used).is_some()
                );
                return match entry_length(data, used) {
                    Some(needed) if cut => (used, Stop::Partial(needed)),
                    _ => (used, Stop::Bad(later(error, begin))),
                };
            }
            None if used == data.len() => return (used, Stop::End),
            None => return (used, Stop::Partial(entry_length(data, used).unwrap_or(SIZE_LENGTH + HEADER_LENGTH_V0))),
        }
    }
}

/// The length that the entry at `at` says it has, if that can be.
fn entry_length(data: &[u8], at: usize) -> Option<usize> {
    let size = data.get(at..)?.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))?;
    usize::try_from(size).ok().filter(|&size| size >= HEADER_LENGTH_V0).map(|size| size.saturating_add(SIZE_LENGTH))
}

/// The error with its place in the file.
pub fn later(error: Error, begin: u64) -> Error {
    match error {
        Error::MessageSet { position, depth, fault } => {
            Error::MessageSet { position: position.saturating_add(begin), depth, fault }
        }
        other => other,
    }
}

/// Finds the position of the first sound entry after the damaged one at `position`, or `end` when the rest of the
/// file has none: the place where the damaged entry says that it ends, otherwise the first byte at which an
/// entry stands whose checksum is right over bytes that are not empty.
///
/// # Errors
/// [`ChunkError`] when the bytes cannot be read.
pub fn next_sound_entry(source: &dyn ReadAt, position: u64, end: u64) -> std::result::Result<u64, ChunkError> {
    let mut scratch = Vec::new();
    let mut window = Vec::new();
    if let Some(length) = entry_length(read_part(source, position, SIZE_LENGTH, &mut window)?, 0) {
        let next = position.saturating_add(length as u64);
        if next == end || (next < end && is_sound(source, next, end, &mut scratch)?) {
            return Ok(next);
        }
    }
    let mut at = position.saturating_add(1);
    while at < end {
        let size = end.saturating_sub(at).min(WINDOW as u64) as usize;
        let seen = read_part(source, at, size, &mut window)?;
        if seen.len() <= SIZE_LENGTH {
            break;
        }
        for (offset, head) in seen.windows(SIZE_LENGTH + 1).enumerate() {
            let candidate = at.saturating_add(offset as u64);
            let plausible = head.last().is_some_and(|&magic| magic <= 1)
                && entry_length(head, 0).is_some_and(|length| candidate.saturating_add(length as u64) <= end);
            if plausible && is_sound(source, candidate, end, &mut scratch)? {
                return Ok(candidate);
            }
        }
        at = at.saturating_add(seen.len().saturating_sub(SIZE_LENGTH) as u64);
    }
    Ok(end)
}

fn is_sound(
    source: &dyn ReadAt,
    position: u64,
    end: u64,
    scratch: &mut Vec<u8>,
) -> std::result::Result<bool, ChunkError> {
    let Some(length) = entry_length(read_part(source, position, SIZE_LENGTH, scratch)?, 0) else { return Ok(false) };
    if position.saturating_add(length as u64) > end {
        return Ok(false);
    }
    let whole: Option<Result<Entry<'_>>> = Entries::new(read_part(source, position, length, scratch)?).next();
    Ok(matches!(whole, Some(Ok(entry)) if entry.end == length && !entry.message.payload().is_empty()))
}
