//! The buffer that a chunk is read into.

use std::ops::Deref;

/// The bytes of a chunk, which a reader replaces with those of the next one. It is a slice of them.
#[derive(Debug, Clone, Default)]
pub struct ChunkBuffer {
    data: Vec<u8>,
    /// Where the chunk begins in `data`. The bytes before it are room for the end of the chunk before.
    begin: usize,
}

impl ChunkBuffer {
    /// A buffer of these bytes, of which the first `room` may be overwritten with bytes that precede the others.
    pub fn with_room(data: Vec<u8>, room: usize) -> Self {
        Self { begin: room.min(data.len()), data }
    }

    /// The memory that it takes.
    pub fn capacity(&self) -> usize {
        self.data.capacity()
    }

    /// The memory, with the position where the chunk begins in it.
    pub fn into_parts(self) -> (Vec<u8>, usize) {
        (self.data, self.begin)
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
        self.begin = self.begin.saturating_add(count).min(self.data.len());
    }

    /// All memory, in which the next chunk begins at the front. The content is that of earlier chunks.
    pub(super) fn restart(&mut self) -> &mut Vec<u8> {
        self.begin = 0;
        &mut self.data
    }

    /// The memory, with the position where the chunk begins in it.
    pub(super) fn parts(&mut self) -> (&mut Vec<u8>, usize) {
        (&mut self.data, self.begin)
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.data.truncate(self.begin.saturating_add(length));
    }
}

impl Deref for ChunkBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.data.get(self.begin..).unwrap_or_default()
    }
}
