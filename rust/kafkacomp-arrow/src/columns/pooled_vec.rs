//! A growing column of fixed width whose memory comes from the pool.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use arrow_buffer::ScalarBuffer;
use kafkacomp_records::memory;

use crate::columns::pool::{BufferPool, Pooled};

/// The values of a column. Their memory returns to the pool when the consumer frees the column, or with the builder.
#[derive(Debug)]
pub struct PooledVec<T: Pooled> {
    values: Vec<T>,
    pool: Arc<BufferPool>,
}

impl<T: Pooled> PooledVec<T> {
    /// No values and no memory yet.
    pub fn new(pool: &Arc<BufferPool>) -> Self {
        Self { values: Vec::new(), pool: Arc::clone(pool) }
    }

    /// Returns the values and leaves none. The next batch probably has about as many.
    pub fn finish(&mut self) -> ScalarBuffer<T> {
        let mut next = self.pool.take(self.values.len());
        if next.capacity() == 0 {
            next = memory::with_capacity_hint(self.values.len());
        }
        self.pool.lend(std::mem::replace(&mut self.values, next)).into()
    }
}

impl<T: Pooled> Deref for PooledVec<T> {
    type Target = Vec<T>;

    #[inline]
    fn deref(&self) -> &Vec<T> {
        &self.values
    }
}

impl<T: Pooled> DerefMut for PooledVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.values
    }
}

impl<T: Pooled> Drop for PooledVec<T> {
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.values));
    }
}
