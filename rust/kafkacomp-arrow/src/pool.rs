//! Buffers that come back when the consumer frees its Arrow arrays: filling a fresh page costs more than
//! decoding LZ4 into a warm one.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, TryLockError};

use arrow_buffer::Buffer;
use kafkacomp_core::limits::MAX_POOLED_BUFFER;
use kafkacomp_core::memory::{self, OutOfMemory};

/// Below this size the allocator keeps pages warm by itself.
const MIN_POOLED_BUFFER: usize = 64 << 10;

/// The most buffers that are kept for the next batch or scan. Two are on their way between a worker and the
/// consumer at any time; more than a few would be memory that a finished scan still holds.
const MOST_FREE: usize = 8;

/// The buffers that are free at the moment.
#[derive(Debug, Default)]
pub struct BufferPool {
    free: Mutex<Vec<Vec<u8>>>,
}

impl BufferPool {
    /// The pool of this process: short scans, one after another, find warm pages too.
    pub fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<BufferPool>> = LazyLock::new(Arc::default);
        Arc::clone(&SHARED)
    }

    /// The free buffers, unless another thread has them at this moment: then the allocator serves. After a fork that thread
    /// may not exist, and the lock stays held.
    fn lock(&self) -> Option<MutexGuard<'_, Vec<Vec<u8>>>> {
        match self.free.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// An empty buffer for about `bytes`: one that came back and has room for them, or none at all for the
    /// few that the allocator keeps warm by itself.
    pub fn take(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.take_warm(bytes);
        buffer.clear();
        buffer
    }

    /// The same with its old content, which need not be set to zero again.
    pub fn take_warm(&self, bytes: usize) -> Vec<u8> {
        if bytes < MIN_POOLED_BUFFER {
            return Vec::new();
        }
        // A little more than last time, so that the next batch does not outgrow it.
        self.tightest(bytes).unwrap_or_else(|| memory::with_capacity_hint(bytes.saturating_add(bytes / 8)))
    }

    /// A buffer with room for `bytes`: one that came back, with its old content, or a new one of zeros.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn take_filled(&self, bytes: usize) -> Result<Vec<u8>, OutOfMemory> {
        match self.tightest(bytes) {
            Some(buffer) => Ok(buffer),
            None => memory::zeroed(bytes),
        }
    }

    /// The smallest buffer that came back and has room for `bytes`.
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

    /// Keeps a buffer for the next batch or scan. When there are enough, the smallest goes: the small ones of
    /// other columns must not shut out the value column's, which is the one that is dear to fill anew.
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
