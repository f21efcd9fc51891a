//! The part of a source that is kept in memory, so that the same bytes are not read twice for different purposes.

use std::io;

use super::chunk_buffer::ChunkBuffer;
use super::source::{ReadAt, part, read_from};
use crate::error::ReadError;
use kafkacomp_records::memory;

/// The most bytes kept: enough for a usual batch (`message.max.bytes` is 1 MB) and its surroundings.
pub(super) const CAPACITY: usize = 8 << 20;
/// The least number of bytes of a read.
const STEP: u64 = 256 << 10;

/// The bytes by which the buffer of a chunk is larger than the chunk, so that the next chunk probably fits.
const SPARE: usize = 128 << 10;

/// The most bytes read between two checks for an interrupt: a corrupt size may claim 2 GiB.
const AT_ONCE: usize = 64 << 20;

/// A contiguous range of bytes of a source. It is not used for a source in memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    buffer: Vec<u8>,
    begin: u64,
    /// The position at the last check for an interrupt.
    looked_at: Option<u64>,
}

impl Window {
    fn end(&self) -> u64 {
        self.begin.saturating_add(self.buffer.len() as u64)
    }

    /// Whether the window has the bytes `[from, to)`.
    pub(super) fn has(&self, from: u64, to: u64) -> bool {
        self.begin <= from && to <= self.end()
    }

    /// The bytes from `position` on that the window has, at most `most`.
    pub(super) fn rest(&self, position: u64, most: usize) -> &[u8] {
        match position.checked_sub(self.begin) {
            Some(at) => part(&self.buffer, at, most),
            None => &[],
        }
    }

    /// The bytes of `[from, to)`, which were loaded.
    pub(super) fn slice<'b>(&'b self, source: &'b dyn ReadAt, from: u64, to: u64) -> &'b [u8] {
        let length = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        source.traits().bytes.map_or_else(|| self.rest(from, length), |all| part(all, from, length))
    }

    /// Replaces the content.
    pub(super) fn keep(&mut self, position: u64, data: &[u8]) -> io::Result<()> {
        self.buffer.clear();
        self.begin = position;
        Ok(memory::append(&mut self.buffer, data)?)
    }

    /// Moves the bytes from `position` on to the front of `buffer`, empties the window, and returns their number.
    pub(super) fn hand_over(&mut self, position: u64, buffer: &mut ChunkBuffer) -> io::Result<usize> {
        buffer.replace(self.rest(position, usize::MAX))?;
        self.buffer.clear();
        Ok(buffer.len())
    }

    /// Drops the bytes before `position`, if there are many.
    pub(super) fn release(&mut self, position: u64) {
        let before = position.min(self.end()).saturating_sub(self.begin) as usize;
        if before > CAPACITY / 2 {
            self.buffer.drain(..before);
            self.begin = self.begin.saturating_add(before as u64);
        }
    }

    /// Whether `[from, to)` can be added without dropping any byte.
    pub(super) fn fits(&self, from: u64, to: u64) -> bool {
        self.begin <= from && from <= self.end() && to.saturating_sub(self.begin) <= CAPACITY as u64
    }

    /// Reads the missing bytes of `[from, to)`, and somewhat more, from a source that ends at `end`. As many of the bytes
    /// before `from` are kept as there is room for.
    pub(super) fn load(&mut self, source: &dyn ReadAt, from: u64, to: u64, end: u64) -> Result<(), ReadError> {
        let is_here = source.traits().bytes.is_some() || self.has(from, to);
        // The check takes longer than processing a small batch.
        if !is_here || self.looked_at.is_none_or(|at| from.abs_diff(at) >= STEP) {
            source.traits().check_interrupt()?;
            self.looked_at = Some(from);
        }
        if is_here {
            return Ok(());
        }
        if from < self.begin || from > self.end() {
            self.buffer.clear();
            self.begin = from;
        }
        let step = STEP.max(source.traits().worth_reading as u64);
        let target = to.max(self.end().saturating_add(step)).min(end);
        if target.saturating_sub(self.begin) > CAPACITY as u64 {
            let begin = from.min(target.saturating_sub(CAPACITY as u64 / 2)).max(self.begin);
            let dropped = usize::try_from(begin.saturating_sub(self.begin)).unwrap_or(usize::MAX);
            self.buffer.drain(..dropped.min(self.buffer.len()));
            self.begin = begin;
        }
        let wanted = usize::try_from(target.saturating_sub(self.begin)).unwrap_or(usize::MAX);
        let mut at = self.buffer.len();
        let read = extend(source, self.begin, wanted, (&mut self.buffer, 0), &mut at);
        // Drop what was not read, also after an error.
        self.buffer.truncate(at);
        read?;
        if self.buffer.len() < wanted {
            return Err(ReadError::Shrunk { length: source.length()?, expected: end });
        }
        Ok(())
    }
}

/// Reads until the chunk has `wanted` bytes, or the source ends. Its first byte is that at `position`, and the first `there` have
/// been read before.
///
/// # Errors
/// The error of the source, or lack of memory.
pub(super) fn extend_chunk(
    source: &dyn ReadAt,
    position: u64,
    there: usize,
    wanted: usize,
    buffer: &mut ChunkBuffer,
) -> io::Result<()> {
    debug_assert!(there <= buffer.len(), "the bytes after those of the chunk are of an earlier one");
    let mut at = there;
    if buffer.room().saturating_add(wanted) > buffer.capacity() {
        // The room in front is for bytes that come before the chunk, which are there by now.
        buffer.move_to_front();
    }
    let (memory, room) = buffer.memory();
    let needed = room.saturating_add(wanted.min(AT_ONCE));
    if needed > memory.capacity() {
        // A vector that grows would double. Views retain the memory, and a pool has no use for very different sizes.
        memory::reserve_exact(memory, needed.saturating_add(SPARE).saturating_sub(memory.len()))?;
    }
    buffer.move_to_fast(position, there, wanted)?;
    let (memory, room) = buffer.memory();
    let read = extend(source, position, wanted, (memory, room), &mut at);
    buffer.set_length(at);
    read
}

/// Reads until the buffer has `wanted` bytes after the first `room`, or the source ends. The byte after these is that at
/// `begin`; `at` bytes from it on have been read before, and `at` is advanced by what is read, also before an error. The bytes after
/// them are not those of the source.
fn extend(
    source: &dyn ReadAt,
    begin: u64,
    wanted: usize,
    (buffer, room): (&mut Vec<u8>, usize),
    at: &mut usize,
) -> io::Result<()> {
    if wanted > AT_ONCE {
        memory::reserve(buffer, room.saturating_add(wanted).saturating_sub(buffer.len()))?;
    }
    while *at < wanted {
        let end = wanted.min(at.saturating_add(AT_ONCE));
        memory::resize(buffer, room.saturating_add(end).max(buffer.len()))?;
        read_from(source, &mut buffer[room..][..end], begin, at)?;
        if *at < end {
            break;
        }
        source.traits().check_interrupt()?;
    }
    Ok(())
}

/// The number of zero bytes at the start of `data`.
pub(super) fn leading_zeros(data: &[u8]) -> usize {
    let (blocks, _) = data.as_chunks::<64>();
    let zero = blocks.iter().take_while(|block| block.iter().fold(0, |any, byte| any | byte) == 0).count();
    let at = zero.saturating_mul(64);
    let rest = &data[at..];
    at.saturating_add(rest.iter().position(|&byte| byte != 0).unwrap_or(rest.len()))
}
