//! Reading a log of Kafka 0.7 in chunks of whole top-level entries.
//!
//! What [`ChunkReader`](crate::log::ChunkReader) does for batches; see [`crate::message_set`] for the layout.

use super::candidate::{EntryLayout, Layout};
use super::chunk::{ChunkEnd, Chunks, Stopped, chunk_bytes};
use crate::error_kind::{ErrorKind, MessageSetKind};
use crate::log::ReadAt;
use crate::log::error::ReadError;
use crate::message_set::message::{HEADER_LENGTH_V0, SIZE_LENGTH};
use crate::message_set::{Entries, Entry};

/// How much is read at once where all of a file is gone through.
const CHUNK: usize = 4 << 20;

/// Reads a log of 0.7, chunk by chunk.
pub type EntryChunkReader = Chunks<EntryLayout>;

impl EntryChunkReader {
    /// From the entry that begins at `position` to the file's length `end`.
    pub fn new(position: u64, end: u64, verify_crc: bool) -> Self {
        Self::with_layout(EntryLayout { verify_crc }, position, end, verify_crc)
    }

    /// Reads the next chunk, of a size that suits whoever goes through all of a file: its entries, whose positions
    /// count from the chunk's, and what it ends with.
    ///
    /// # Errors
    /// [`ReadError`] when the bytes cannot be read.
    pub(in crate::log) fn entries<'b>(
        &mut self,
        source: &'b dyn ReadAt,
        buffer: &'b mut Vec<u8>,
    ) -> Result<(impl Iterator<Item = Entry<'b>> + use<'b>, ChunkEnd), ReadError> {
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
    /// [`ReadError`] when the bytes cannot be read.
    pub fn read(
        &mut self,
        source: &dyn ReadAt,
        buffer: &mut Vec<u8>,
        target: usize,
        mut wanted: impl FnMut(u64) -> bool,
    ) -> Result<(usize, ChunkEnd), ReadError> {
        self.read_layout(source, buffer, target, |layout, data, begin| {
            whole_entries(data, begin, layout.verify_crc, &mut wanted)
        })
    }
}

/// The bytes of the whole entries at the start of `data`, and what stops them.
fn whole_entries(data: &[u8], begin: u64, verify_crc: bool, wanted: &mut impl FnMut(u64) -> bool) -> (usize, Stopped) {
    let mut entries = if verify_crc { Entries::new(data) } else { Entries::unverified(data) };
    let mut used = 0;
    loop {
        if used < data.len() && !wanted(begin.saturating_add(used as u64)) {
            return (used, Stopped::Unwanted);
        }
        match entries.next() {
            Some(Ok(entry)) => used = entry.end,
            Some(Err(error)) => {
                let is_cut = error.kind() == ErrorKind::MessageSet(MessageSetKind::InvalidMessageSize);
                return match entry_length(data, used) {
                    Some(needed) if is_cut => (used, Stopped::Partial(needed)),
                    _ => (used, Stopped::Corrupt(error.in_file(begin).into())),
                };
            }
            None if used == data.len() => return (used, Stopped::End),
            None => {
                let needed = entry_length(data, used).unwrap_or((SIZE_LENGTH + HEADER_LENGTH_V0) as u64);
                return (used, Stopped::Partial(needed));
            }
        }
    }
}

/// The length that the entry at `at` says it has, if that can be.
fn entry_length(data: &[u8], at: usize) -> Option<u64> {
    EntryLayout::stated_length(data.get(at..)?)
}
