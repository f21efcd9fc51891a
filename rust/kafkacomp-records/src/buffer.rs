//! A growing output buffer with a limit, whose memory is reused.
//!
//! Decoders write into [`OutputBuffer::spare`] and call [`OutputBuffer::advance`]. The storage is always
//! initialised, so no `unsafe` is needed, and a page is mapped once and not for every batch.

use crate::limits::MAX_POOLED_BUFFER;
use crate::memory::{self, OutOfMemory};

/// The least growth of the storage; doubling smaller sizes would only add reallocations.
const MIN_GROWTH: usize = 64 << 10;

/// Why there is no room for more output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRoom {
    /// The limit was reached.
    LimitReached {
        /// The limit in bytes.
        limit: usize,
    },
    /// The memory could not be allocated.
    OutOfMemory,
}

impl From<OutOfMemory> for NoRoom {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// An output buffer with a limit; see the module.
///
/// Contents can be [retained](Self::retain): the next one is written after them in the same storage. Everything else is
/// relative to the current content.
#[derive(Debug, Default)]
pub struct OutputBuffer {
    storage: Vec<u8>,
    /// Where the current content begins: after the retained ones.
    start: usize,
    filled: usize,
    /// The bytes after the content that are already the next one.
    ahead: usize,
    limit: usize,
}

impl OutputBuffer {
    /// An empty buffer that takes at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// An empty buffer for at most `limit` bytes that reuses the memory of `storage`; its content is dropped.
    pub fn with_storage(storage: Vec<u8>, limit: usize) -> Self {
        Self { storage, limit, ..Self::default() }
    }

    /// Sets the limit of the whole content; the content stays.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Drops all contents, sets the limit for the next use, and frees memory above [`MAX_POOLED_BUFFER`].
    #[inline]
    pub fn reset(&mut self, limit: usize) {
        (self.start, self.filled, self.ahead) = (0, 0, 0);
        self.limit = limit;
        if self.storage.len() > MAX_POOLED_BUFFER {
            self.storage = Vec::new();
        }
    }

    /// Retains the content and begins an empty one of at most `limit` bytes after it.
    #[inline]
    pub fn retain(&mut self, limit: usize) {
        (self.start, self.ahead) = (self.filled, 0);
        self.limit = limit;
    }

    /// Where the content begins in the storage: the number of bytes retained before it.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The number of bytes that can be written without new storage.
    pub fn room(&self) -> usize {
        self.storage.capacity() - self.filled
    }

    /// Takes the storage with all contents, which begins with the first retained one and may be longer than all of them;
    /// `next` takes its place.
    pub fn replace_storage(&mut self, next: Vec<u8>) -> Vec<u8> {
        (self.start, self.filled, self.ahead) = (0, 0, 0);
        std::mem::replace(&mut self.storage, next)
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The number of bytes written so far.
    pub fn len(&self) -> usize {
        self.filled - self.start
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.filled == self.start
    }

    /// The bytes written so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.storage[self.start..self.filled]
    }

    /// Room for writing after the content: at least `want` bytes, or all bytes up to the limit if these are fewer, so that a
    /// shorter slice means that the limit is near.
    ///
    /// # Errors
    /// [`NoRoom`] if the limit is reached and `want` is not 0, or memory runs out.
    pub fn spare(&mut self, want: usize) -> Result<&mut [u8], NoRoom> {
        let left = self.left();
        if left == 0 && want > 0 {
            return Err(NoRoom::LimitReached { limit: self.limit });
        }
        self.grow(self.filled.saturating_add(want.min(left)))?;
        let end = self.storage.len().min(self.most());
        // `set_limit` may have lowered the limit below the content: then there is no room.
        Ok(self.storage.get_mut(self.filled..end).unwrap_or_default())
    }

    /// The content from byte `from` on, and room after it as in [`spare`](Self::spare): for decoders whose matches refer to
    /// earlier content.
    ///
    /// # Errors
    /// As [`spare`](Self::spare).
    pub fn spare_with_history(&mut self, from: usize, want: usize) -> Result<(&[u8], &mut [u8]), NoRoom> {
        self.spare(want)?;
        let end = self.storage.len().min(self.most());
        let (storage, _) = self.storage.split_at_mut(end);
        let (written, spare) = storage.split_at_mut(self.filled.min(end));
        // There is no history while the content is shorter than `from`.
        Ok((written.get(self.start.saturating_add(from)..).unwrap_or(&[]), spare))
    }

    /// Where the storage ends if the content is as long as the limit allows.
    fn most(&self) -> usize {
        self.start.saturating_add(self.limit)
    }

    /// How many bytes the limit leaves.
    fn left(&self) -> usize {
        self.limit.saturating_sub(self.len())
    }

    /// Makes the storage at least `needed` bytes long, `needed` being within the limit. New storage comes
    /// zeroed from the allocator, so that pages that are never written cost nothing.
    fn grow(&mut self, needed: usize) -> Result<(), OutOfMemory> {
        self.ahead = 0;
        if needed <= self.storage.len() {
            return Ok(());
        }
        if needed <= self.storage.capacity() {
            // Memory of an earlier use is not allocated again.
            let length = self.storage.len().saturating_mul(2).clamp(needed, self.storage.capacity());
            self.storage.resize(length, 0);
            return Ok(());
        }
        let doubled = self.storage.len().saturating_mul(2).max(MIN_GROWTH);
        let mut larger = memory::zeroed(needed.max(doubled.min(self.most())))?;
        larger[..self.filled].copy_from_slice(&self.storage[..self.filled]);
        self.storage = larger;
        Ok(())
    }

    /// Room for exactly `size` bytes.
    ///
    /// # Errors
    /// [`NoRoom`] if the limit leaves less, or memory runs out.
    pub fn spare_exact(&mut self, size: usize) -> Result<&mut [u8], NoRoom> {
        if self.left() < size {
            return Err(NoRoom::LimitReached { limit: self.limit });
        }
        let limit = self.limit;
        self.spare(size)?.get_mut(..size).ok_or(NoRoom::LimitReached { limit })
    }

    /// Room for exactly `size` bytes, and `slack` more bytes that the decoder may overwrite. The slack does not count towards the
    /// limit.
    ///
    /// # Errors
    /// As [`spare_exact`](Self::spare_exact).
    pub fn spare_with_slack(&mut self, size: usize, slack: usize) -> Result<&mut [u8], NoRoom> {
        let limit = self.limit;
        if self.left() < size {
            return Err(NoRoom::LimitReached { limit });
        }
        let end = self.filled.saturating_add(size).saturating_add(slack);
        self.grow(end)?;
        self.storage.get_mut(self.filled..end).ok_or(NoRoom::LimitReached { limit })
    }

    /// Counts `written` bytes of the last [`spare`](Self::spare) as content.
    pub fn advance(&mut self, written: usize) {
        self.filled = self.filled.saturating_add(written).min(self.storage.len());
    }

    /// Keeps `length` bytes after the content, which the last [`spare`](Self::spare) contains, as the next content, unless something
    /// else is written before [`begin_ahead`](Self::begin_ahead).
    pub fn keep_ahead(&mut self, length: usize) {
        self.ahead = length.min(self.storage.len() - self.filled);
    }

    /// Retains the content and begins the next one, which was [kept](Self::keep_ahead), with a limit of `limit` bytes; `false` if there
    /// is none.
    pub fn begin_ahead(&mut self, limit: usize) -> bool {
        let ahead = std::mem::take(&mut self.ahead);
        if ahead == 0 || ahead > limit {
            return false;
        }
        (self.start, self.filled) = (self.filled, self.filled + ahead);
        self.limit = limit;
        true
    }

    /// Appends a copy of `data`.
    ///
    /// # Errors
    /// [`NoRoom`] if the limit leaves less room than `data` needs, or memory runs out; nothing is written then.
    pub fn extend(&mut self, data: &[u8]) -> Result<(), NoRoom> {
        self.spare_exact(data.len())?.copy_from_slice(data);
        self.advance(data.len());
        Ok(())
    }

    /// Drops all but the last `len` bytes.
    pub fn keep_tail(&mut self, len: usize) {
        self.ahead = 0;
        let dropped = self.len().saturating_sub(len);
        if dropped > 0 {
            self.storage.copy_within(self.start + dropped..self.filled, self.start);
            self.filled -= dropped;
        }
    }

    /// Drops all but the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.ahead = 0;
        self.filled = self.filled.min(self.start.saturating_add(len));
    }

    /// The content as a vector of its own.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.storage.truncate(self.filled);
        self.storage.drain(..self.start);
        self.storage
    }
}
