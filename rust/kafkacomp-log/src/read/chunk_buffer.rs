//! The buffer that a chunk is read into.

use std::ops::{Deref, Range};

use kafkacomp_records::memory::{self, OutOfMemory};

/// The size of a page of the system's file cache.
const PAGE: usize = 4 << 10;

/// A chunk should not begin less than this after the position in its page that its bytes have in the page of the file. Linux copies
/// from its cache by `rep movsb`, which is three to four times as slow on an AMD EPYC if the target begins 1 to 31 bytes after that
/// position. Large new memory does: it begins 16 bytes after the start of a page, and a file at the start of one.
const LEAST_DISTANCE: usize = 64;

/// The bytes of a chunk, which a reader replaces with those of the next one. It is a slice of them.
#[derive(Debug, Clone, Default)]
pub struct ChunkBuffer {
    /// The memory. It is never shortened, so that it is filled with zeros only once.
    data: Vec<u8>,
    /// Where the chunk begins in `data`. The bytes before it are room for the end of the chunk before.
    begin: usize,
    /// Where the chunk ends; the bytes after it are those of earlier chunks.
    end: usize,
}

impl ChunkBuffer {
    /// The part `chunk` of `data`. The bytes before it may be overwritten with those that precede it.
    pub fn new(data: Vec<u8>, chunk: Range<usize>) -> Self {
        let end = chunk.end.min(data.len());
        Self { begin: chunk.start.min(end), end, data }
    }

    /// The room that a chunk which begins at `position` of a file should have in `memory`, so that its bytes are copied fast: `room`, or
    /// up to 63 bytes more.
    pub fn fast_room(memory: &[u8], room: usize, position: u64) -> usize {
        let at = (position % PAGE as u64) as usize;
        let distance = memory.as_ptr().addr().wrapping_add(room).wrapping_sub(at) % PAGE;
        let is_slow = (1..LEAST_DISTANCE).contains(&distance);
        if is_slow { room.saturating_add(LEAST_DISTANCE).saturating_sub(distance) } else { room }
    }

    /// The most room that [`fast_room`](Self::fast_room) returns for `room`.
    pub fn most_room(room: usize) -> usize {
        room.saturating_add(LEAST_DISTANCE)
    }

    /// The memory that it takes.
    pub fn capacity(&self) -> usize {
        self.data.capacity()
    }

    /// The memory, and the part of it that is the chunk.
    pub fn into_parts(self) -> (Vec<u8>, Range<usize>) {
        (self.data, self.begin..self.end)
    }

    /// The number of bytes for which there is room in front.
    pub fn room(&self) -> usize {
        self.begin
    }

    /// Puts `before` in front of the bytes; `false` if there is too little room.
    pub fn prepend(&mut self, before: &[u8]) -> bool {
        let Some(begin) = self.begin.checked_sub(before.len()) else { return false };
        self.data[begin..self.begin].copy_from_slice(before);
        self.begin = begin;
        true
    }

    /// Gives up the first `count` bytes.
    pub fn advance(&mut self, count: usize) {
        self.begin = self.begin.saturating_add(count).min(self.end);
    }

    /// Gives up all bytes.
    pub(super) fn clear(&mut self) {
        (self.begin, self.end) = (0, 0);
    }

    /// Replaces the bytes with a copy of these.
    ///
    /// # Errors
    /// Lack of memory.
    pub(super) fn replace(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.clear();
        if self.data.len() < bytes.len() {
            memory::resize(&mut self.data, bytes.len())?;
        }
        self.data[..bytes.len()].copy_from_slice(bytes);
        self.end = bytes.len();
        Ok(())
    }

    /// Moves the bytes to the front of the memory, so that more fit after them.
    pub(super) fn move_to_front(&mut self) {
        self.data.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end.saturating_sub(self.begin));
    }

    /// Moves the first `there` bytes of the chunk, which begins at `position` of a file and will have `length` bytes, to where the others
    /// are copied fast, if there is room for them.
    ///
    /// # Errors
    /// Lack of memory.
    pub(super) fn move_to_fast(&mut self, position: u64, there: usize, length: usize) -> Result<(), OutOfMemory> {
        let begin = Self::fast_room(&self.data, self.begin, position);
        if begin != self.begin && begin.saturating_add(length) <= self.data.capacity() {
            let end = begin.saturating_add(there);
            if self.data.len() < end {
                memory::resize(&mut self.data, end)?;
            }
            self.data.copy_within(self.begin..self.begin.saturating_add(there), begin);
            (self.begin, self.end) = (begin, end);
        }
        Ok(())
    }

    /// All memory, and the position where the chunk begins in it. After a change, [`set_length`](Self::set_length) says where it ends.
    pub(super) fn memory(&mut self) -> (&mut Vec<u8>, usize) {
        (&mut self.data, self.begin)
    }

    /// Sets the length of the chunk, at most up to the end of the memory that is filled.
    pub(super) fn set_length(&mut self, length: usize) {
        self.end = self.begin.saturating_add(length).min(self.data.len());
    }

    /// Gives up the bytes after the first `length`.
    pub(super) fn truncate(&mut self, length: usize) {
        self.end = self.begin.saturating_add(length).min(self.end);
    }
}

impl Deref for ChunkBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.data.get(self.begin..self.end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::InMemory;
    use super::super::window::extend_chunk;
    use super::*;

    #[test]
    fn a_chunk_replaces_another_without_filling_the_memory_again() {
        let data = vec![1; 100];
        // A position whose bytes are copied fast to where they are then: see `fast_room`.
        let begin = data[10..].as_ptr().addr() % PAGE;
        let source = InMemory((0..=250).cycle().take(begin + PAGE + 6).collect::<Vec<u8>>());
        let mut buffer = ChunkBuffer::new(data, 20..50);
        assert!(buffer.prepend(&[2; 20]) && !buffer.prepend(&[3]));
        assert_eq!(*buffer, [[2; 20].as_slice(), &[1; 30]].concat());
        buffer.advance(10);
        // The first five bytes are there already.
        extend_chunk(&source, begin as u64, 5, 30, &mut buffer).unwrap();
        assert_eq!(buffer[..5], [2; 5]);
        assert_eq!(buffer[5..], source.0[begin + 5..begin + 30]);
        buffer.truncate(7);
        buffer.truncate(9);
        assert_eq!((buffer.len(), buffer.room()), (7, 10));
        // The source ends before the chunk.
        extend_chunk(&source, (begin + PAGE) as u64, 0, 30, &mut buffer).unwrap();
        assert_eq!(*buffer, source.0[begin + PAGE..]);
        buffer.replace(&[4; 40]).unwrap();
        assert_eq!((&*buffer, buffer.room()), ([4; 40].as_slice(), 0));
        buffer.advance(50);
        assert!(buffer.is_empty());
        let (data, chunk) = buffer.into_parts();
        assert_eq!((data.len(), &data[40..], chunk), (100, &[1; 60][..], 40..40));
    }

    #[test]
    fn a_chunk_takes_the_room_in_front_before_memory_grows() {
        let source = InMemory((0..=255).collect::<Vec<u8>>());
        let mut buffer = ChunkBuffer::new(source.0[..100].to_vec(), 70..100);
        let address = buffer.as_ptr();
        extend_chunk(&source, 70, 30, 100, &mut buffer).unwrap();
        assert_eq!((&*buffer, buffer.room()), (&source.0[70..170], 0));
        assert_eq!(buffer.as_ptr().wrapping_add(70), address);
    }

    #[test]
    fn a_chunk_begins_where_its_bytes_are_copied_fast() {
        let source = InMemory((0..=255).cycle().take(20_000).collect::<Vec<u8>>());
        let data = vec![1; 30_000];
        let page = data.as_ptr().addr() % PAGE;
        let mut buffer = ChunkBuffer::new(data, 0..0);
        for distance in [0, 1, 16, 63, 64, 65, 4095] {
            // The memory begins this far after the chunk in the file.
            let position = (page + 2 * PAGE - distance) % PAGE + PAGE;
            buffer.replace(&source.0[position..position + 10]).unwrap();
            extend_chunk(&source, position as u64, 10, 5_000, &mut buffer).unwrap();
            assert_eq!(*buffer, source.0[position..position + 5_000]);
            assert_eq!(buffer.room(), if (1..64).contains(&distance) { 64 - distance } else { 0 });
        }
        // There is no room for it.
        let tight = Vec::with_capacity(100);
        let mut buffer = ChunkBuffer::new(tight, 0..0);
        let position = (buffer.data.as_ptr().addr() % PAGE + PAGE - 16) as u64;
        let length = buffer.capacity();
        extend_chunk(&source, position, 0, length, &mut buffer).unwrap();
        assert_eq!((buffer.room(), buffer.len()), (0, length));
    }

    #[test]
    fn memory_grows_with_the_chunk() {
        let source = InMemory((0..=255).collect::<Vec<u8>>());
        let mut buffer = ChunkBuffer::new(vec![1; 10], 4..20);
        assert_eq!(*buffer, [1; 6]);
        extend_chunk(&source, 0, 6, 200, &mut buffer).unwrap();
        assert_eq!((&buffer[..6], &buffer[6..]), ([1; 6].as_slice(), &source.0[6..200]));
        buffer.clear();
        assert!(buffer.is_empty());
        buffer.replace(&source.0).unwrap();
        assert_eq!(*buffer, source.0);
    }
}
