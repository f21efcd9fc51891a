//! Reading a log of Kafka 0.7 in chunks of complete top-level entries, as [`ChunkReader`](crate::ChunkReader) reads
//! batches. See [`kafkacomp_records::message_set`] for the layout.

use super::candidate::{EntryLayout, Layout};
use super::chunk::{ChunkEnd, Chunks, Stopped, chunk_bytes};
use super::chunk_buffer::ChunkBuffer;
use crate::ReadAt;
use crate::error::ReadError;
use kafkacomp_records::error_kind::{ErrorKind, MessageSetKind};
use kafkacomp_records::message_set::message::{HEADER_LENGTH_V0, SIZE_LENGTH};
use kafkacomp_records::message_set::{Entries, Entry};

/// The size of a chunk where a whole file is read.
const CHUNK: usize = 4 << 20;

/// Reads a log of 0.7, chunk by chunk.
pub type EntryChunkReader = Chunks<EntryLayout>;

impl EntryChunkReader {
    /// A reader from the entry that begins at `position` to the file's length `end`.
    pub fn new(position: u64, end: u64, verify_crc: bool) -> Self {
        Self::with_layout(EntryLayout { verify_crc }, position, end, verify_crc)
    }

    /// Reads the next chunk, of a size for reading whole files: its entries, whose positions are relative to the chunk, and
    /// why it ended.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub(crate) fn entries<'b>(
        &mut self,
        source: &'b dyn ReadAt,
        buffer: &'b mut ChunkBuffer,
    ) -> Result<(impl Iterator<Item = Entry<'b>> + use<'b>, ChunkEnd), ReadError> {
        let begin = self.position();
        let (used, end) = self.read(source, buffer, CHUNK, |_| true)?;
        // If checksums are to be verified, the reader has done it.
        let entries = Entries::unverified(chunk_bytes(source, buffer, begin, used));
        Ok((entries.map_while(Result::ok), end))
    }

    /// Reads about `target` bytes of complete entries, as long as `wanted` accepts the position of the next one, and returns
    /// their size. They are in `buffer`, or in the source if it is in memory.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub fn read(
        &mut self,
        source: &dyn ReadAt,
        buffer: &mut ChunkBuffer,
        target: usize,
        mut wanted: impl FnMut(u64) -> bool,
    ) -> Result<(usize, ChunkEnd), ReadError> {
        self.read_layout(source, buffer, target, |layout, data, begin| {
            whole_entries(data, begin, layout.verify_crc, &mut wanted)
        })
    }
}

/// The size of the complete entries at the start of `data`, and what follows them.
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

/// The length that the entry at `at` declares, if it is possible.
fn entry_length(data: &[u8], at: usize) -> Option<u64> {
    EntryLayout::stated_length(data.get(at..)?)
}
