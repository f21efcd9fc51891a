//! A pool of buffers that are returned when the consumer frees its Arrow arrays. Writing to a new page costs more than decoding
//! LZ4 into one that was used before.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, TryLockError};

use arrow_buffer::Buffer;
use kafkacomp_core::limits::MAX_POOLED_BUFFER;
use kafkacomp_core::memory::{self, OutOfMemory};

/// Smaller buffers are reused by the allocator itself.
const MIN_POOLED_BUFFER: usize = 64 << 10;

/// The most buffers that are kept for the next batch or scan. Two are in use between a worker and the consumer at any time; more
/// than a few would waste memory after the scan.
const MOST_FREE: usize = 8;

/// The free buffers.
#[derive(Debug, Default)]
pub struct BufferPool {
    free: Mutex<Vec<Vec<u8>>>,
}

impl BufferPool {
    /// The pool of this process, so that consecutive short scans reuse buffers, too.
    pub fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<BufferPool>> = LazyLock::new(Arc::default);
        Arc::clone(&SHARED)
    }

    /// The free buffers; `None` if another thread holds the lock. Then the allocator is used. After a fork, that thread may not
    /// exist, and the lock is never released.
    fn lock(&self) -> Option<MutexGuard<'_, Vec<Vec<u8>>>> {
        match self.free.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// An empty buffer for about `bytes`: a returned one with enough room, or a new one. For a small size, it has no memory yet.
    pub fn take(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.take_warm(bytes);
        buffer.clear();
        buffer
    }

    /// As [`take`](Self::take), but with the old content, so that it need not be zeroed.
    pub fn take_warm(&self, bytes: usize) -> Vec<u8> {
        if bytes < MIN_POOLED_BUFFER {
            return Vec::new();
        }
        // A little more than for the last batch, so that the next one probably fits.
        self.tightest(bytes).unwrap_or_else(|| memory::with_capacity_hint(bytes.saturating_add(bytes / 8)))
    }

    /// A buffer of `bytes` or more: a returned one with its old content, or a new one of zeros.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn take_filled(&self, bytes: usize) -> Result<Vec<u8>, OutOfMemory> {
        match self.tightest(bytes) {
            Some(buffer) => Ok(buffer),
            None => memory::zeroed(bytes),
        }
    }

    /// The smallest returned buffer with room for `bytes`.
    fn tightest(&self, bytes: usize) -> Option<Vec<u8>> {
        let mut free = self.lock()?;
        let fitting = free.iter().enumerate().filter(|(_, buffer)| buffer.capacity() >= bytes);
        let tightest = fitting.min_by_key(|(_, buffer)| buffer.capacity()).map(|(index, _)| index)?;
        Some(free.swap_remove(tightest))
    }

    /// The largest buffer that came back, for a column of unknown size.
    pub fn take_largest(&self) -> Vec<u8> {
        let Some(mut free) = self.lock() else { return Vec::new() };
        let largest = free.iter().enumerate().max_by_key(|(_, buffer)| buffer.capacity()).map(|(index, _)| index);
        let mut buffer = largest.map_or_else(Vec::new, |index| free.swap_remove(index));
        buffer.clear();
        buffer
    }

    /// Keeps a buffer for the next batch or scan. If there are too many, the smallest one is freed: large buffers, such as those
    /// of the value column, are the most expensive to replace.
    pub fn give(&self, buffer: Vec<u8>) {
        if !(MIN_POOLED_BUFFER..=MAX_POOLED_BUFFER).contains(&buffer.capacity()) {
            return;
        }
        let Some(mut free) = self.lock() else { return };
        if free.len() < MOST_FREE {
            free.push(buffer);
        } else if let Some(smallest) = free.iter_mut().min_by_key(|kept| kept.capacity())
            && smallest.capacity() < buffer.capacity()
        {
            *smallest = buffer;
        }
    }

    /// `data` as an Arrow buffer that returns its memory to this pool.
    pub fn lend(self: &Arc<Self>, data: Vec<u8>) -> Buffer {
        if data.capacity() < MIN_POOLED_BUFFER {
            return Buffer::from_vec(data);
        }
        Buffer::from(bytes::Bytes::from_owner(Lent { data, pool: Arc::clone(self) }))
    }
}

struct Lent {
    data: Vec<u8>,
    pool: Arc<BufferPool>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.data));
    }
}
