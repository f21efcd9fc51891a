//! Buffers that come back when the consumer frees its Arrow arrays: filling a fresh page costs more than
//! decoding LZ4 into a warm one.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::Buffer;
use kafkacomp_core::limits::MAX_POOLED_BUFFER;

/// Below this size the allocator keeps pages warm by itself.
const MIN_POOLED_BUFFER: usize = 64 << 10;

/// The buffers of one scan that are free at the moment.
#[derive(Debug)]
pub struct BufferPool {
    free: Mutex<Vec<Vec<u8>>>,
    most: usize,
}

impl BufferPool {
    /// A pool that keeps at most `most` buffers.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { free: Mutex::default(), most })
    }

    /// An empty buffer, with room if one came back.
    pub fn take(&self) -> Vec<u8> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give(&self, mut buffer: Vec<u8>) {
        if !(MIN_POOLED_BUFFER..=MAX_POOLED_BUFFER).contains(&buffer.capacity()) {
            return;
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < self.most {
            buffer.clear();
            free.push(buffer);
        }
    }

    /// `data` as an Arrow buffer that returns its memory to this pool.
    pub fn lend(self: &Arc<Self>, data: Vec<u8>) -> Buffer {
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
