//! A pool of buffers that are returned when the consumer frees its Arrow arrays. Writing to a new page costs more than decoding
//! LZ4 into one that was used before.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, TryLockError};

use arrow_buffer::{ArrowNativeType, Buffer, ToByteSlice};
use kafkacomp_records::limits::MAX_POOLED_BUFFER;
use kafkacomp_records::memory::{self, OutOfMemory};

/// The most buffers of a type that are kept for the next batch or scan: about as many as two threads and their consumer use at a
/// time. More would waste memory after the scan.
const MOST_FREE: usize = 16;

/// The most bytes of a type that are kept: two of the largest buffers.
const MOST_FREE_BYTES: usize = 2 * MAX_POOLED_BUFFER;

/// How often a thread looks whether the lock of a shelf is free: others hold it for less than the time of a page fault.
const SPINS: usize = 100;

/// The free buffers of a type, the least recently returned one first.
#[derive(Debug)]
pub struct Shelf<T>(Mutex<Vec<Vec<T>>>);

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Shelf<T> {
    /// The free buffers; `None` if another thread holds the lock for long. Then the allocator is used. After a fork, that thread
    /// may not exist, and the lock is never released.
    fn lock(&self) -> Option<MutexGuard<'_, Vec<Vec<T>>>> {
        (0..SPINS).find_map(|_| match self.0.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                std::hint::spin_loop();
                None
            }
        })
    }

    /// The smallest returned buffer with room for `count` values, but not for more than `most`; of equal ones the last, which is
    /// the most likely to be in a cache.
    fn tightest(&self, count: usize, most: usize) -> Option<Vec<T>> {
        let mut free = self.lock()?;
        let fitting = free.iter().enumerate().rev().filter(|(_, buffer)| (count..=most).contains(&buffer.capacity()));
        let tightest = fitting.min_by_key(|(_, buffer)| buffer.capacity()).map(|(index, _)| index)?;
        Some(free.remove(tightest))
    }

    /// Keeps a buffer. If there are too many, those that have not been used for the longest time are freed: a scan with other
    /// options may need other sizes.
    fn keep(&self, buffer: Vec<T>) {
        let Some(mut free) = self.lock() else { return };
        let bytes = buffer.capacity().saturating_mul(size_of::<T>());
        let mut oldest = Vec::new();
        while !free.is_empty() && (free.len() >= MOST_FREE || bytes_of(&free).saturating_add(bytes) > MOST_FREE_BYTES) {
            // If there is no memory for the list, the buffer is freed here.
            let _ = memory::push(&mut oldest, free.remove(0));
        }
        let _ = memory::push(&mut free, buffer);
        drop(free);
        // Returning memory to the system takes longer than others wait for the lock.
        drop(oldest);
    }
}

/// The memory of the buffers.
fn bytes_of<T>(buffers: &[Vec<T>]) -> usize {
    buffers.iter().map(|buffer| buffer.capacity().saturating_mul(size_of::<T>())).sum()
}

/// A type of the values of pooled buffers.
pub trait Pooled: ArrowNativeType {
    /// Smaller buffers, in bytes, are reused by the allocator itself.
    const LEAST_BYTES: usize;

    /// The free buffers of the type.
    fn shelf(pool: &BufferPool) -> &Shelf<Self>;
}

/// Gives each type its shelf and its least size.
macro_rules! pooled {
    ($($type:ty, $shelf:ident, $least:expr;)*) => {$(
        impl Pooled for $type {
            const LEAST_BYTES: usize = $least;

            fn shelf(pool: &BufferPool) -> &Shelf<Self> {
                &pool.$shelf
            }
        }
    )*};
}

// The consumer frees columns on another thread than the one that allocates them. glibc then returns the memory of freed columns to
// the system, even if each column is small, and each new page of the next ones costs a page fault.
pooled! {
    u8, bytes, 64 << 10;
    i32, offsets, 4 << 10;
    i64, numbers, 4 << 10;
    u128, views, 4 << 10;
}

/// The free buffers.
#[derive(Debug, Default)]
pub struct BufferPool {
    bytes: Shelf<u8>,
    offsets: Shelf<i32>,
    numbers: Shelf<i64>,
    views: Shelf<u128>,
}

impl BufferPool {
    /// The pool of this process, so that consecutive short scans reuse buffers, too.
    pub fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<BufferPool>> = LazyLock::new(Arc::default);
        Arc::clone(&SHARED)
    }

    /// An empty buffer for about `count` values: a returned one with somewhat more room, or a new one. For a small size, it has no memory
    /// yet.
    pub fn take<T: Pooled>(&self, count: usize) -> Vec<T> {
        let mut buffer = self.take_warm(count);
        buffer.clear();
        buffer
    }

    /// As [`take`](Self::take), but with the old content, so that it need not be zeroed.
    pub fn take_warm<T: Pooled>(&self, count: usize) -> Vec<T> {
        if count.saturating_mul(size_of::<T>()) < T::LEAST_BYTES {
            return Vec::new();
        }
        let new = || memory::with_capacity_hint(with_room(count));
        T::shelf(self).tightest(count.saturating_add(count / 16), usize::MAX).unwrap_or_else(new)
    }

    /// A buffer of `bytes` to twice as much: a returned one with its old content, or a new one of zeros. Views are not kept in a
    /// buffer that is much larger than their values.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn take_filled(&self, bytes: usize) -> Result<Vec<u8>, OutOfMemory> {
        match self.take_returned(bytes) {
            Some(buffer) => Ok(buffer),
            None => memory::zeroed(with_room(bytes)),
        }
    }

    /// A returned buffer of `bytes` to twice as much, with its old content.
    pub fn take_returned(&self, bytes: usize) -> Option<Vec<u8>> {
        self.bytes.tightest(bytes, bytes.saturating_mul(2))
    }

    /// The largest returned buffer of bytes with its old content, for a column or a chunk of unknown size.
    pub fn take_largest(&self) -> Vec<u8> {
        let Some(mut free) = self.bytes.lock() else { return Vec::new() };
        let largest = free.iter().enumerate().max_by_key(|(_, buffer)| buffer.capacity()).map(|(index, _)| index);
        largest.map_or_else(Vec::new, |index| free.remove(index))
    }

    /// Keeps a buffer for the next batch or scan, within [`MOST_FREE`] and [`MOST_FREE_BYTES`].
    pub fn give<T: Pooled>(&self, buffer: Vec<T>) {
        if is_pooled(&buffer) {
            T::shelf(self).keep(buffer);
        }
    }

    /// `data` as an Arrow buffer that returns its memory to this pool.
    pub fn lend<T: Pooled>(self: &Arc<Self>, data: Vec<T>) -> Buffer {
        if !is_pooled(&data) {
            return Buffer::from_vec(data);
        }
        Buffer::from(bytes::Bytes::from_owner(Lent { data, pool: Arc::clone(self) }))
    }
}

/// The size of a new buffer for a batch as large as the last one: a little more, so that the next ones probably fit.
fn with_room(count: usize) -> usize {
    count.saturating_add(count / 8)
}

/// Whether a buffer is kept for the next batch.
fn is_pooled<T: Pooled>(buffer: &Vec<T>) -> bool {
    (T::LEAST_BYTES..=MAX_POOLED_BUFFER).contains(&buffer.capacity().saturating_mul(size_of::<T>()))
}

struct Lent<T: Pooled> {
    data: Vec<T>,
    pool: Arc<BufferPool>,
}

impl<T: Pooled> AsRef<[u8]> for Lent<T> {
    fn as_ref(&self) -> &[u8] {
        self.data.as_slice().to_byte_slice()
    }
}

impl<T: Pooled> Drop for Lent<T> {
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.data));
    }
}

#[cfg(test)]
mod tests;
