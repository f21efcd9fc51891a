//! A growing column of variable length: offsets, bytes and, after the first null, validity.

use std::sync::Arc;

use arrow_array::{BinaryArray, LargeBinaryArray, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use kafkacomp_records::memory::{self, OutOfMemory};
use kafkacomp_records::record::Spans;

use crate::columns::pool::BufferPool;
use crate::columns::pooled_vec::PooledVec;
use crate::columns::validity::Validity;

/// Binary or UTF-8 values with nulls. The caller ensures that the bytes are fewer than 2^31. A failed allocation is noted in
/// `out_of_memory`; the column is incomplete then, until it is [truncated](Self::truncate).
#[derive(Debug)]
pub struct BytesColumn {
    offsets: PooledVec<i32>,
    data: Vec<u8>,
    validity: Validity,
    pool: Arc<BufferPool>,
}

impl BytesColumn {
    /// An empty column whose bytes are in buffers of the pool.
    pub fn new(pool: &Arc<BufferPool>) -> Self {
        let mut offsets = PooledVec::new(pool);
        offsets.push(0);
        Self { offsets, data: Vec::new(), validity: Validity::default(), pool: Arc::clone(pool) }
    }

    /// An empty column whose values are expected to be most of the bytes of the batch.
    pub fn of_values(pool: &Arc<BufferPool>) -> Self {
        let mut column = Self::new(pool);
        column.data = pool.take_largest();
        column.data.clear();
        column
    }

    /// The number of rows so far.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Appends a value or a null.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot loop's memcpy; two callers")]
    pub fn push(&mut self, value: Option<&[u8]>, out_of_memory: &mut Option<OutOfMemory>) {
        let value_bytes = value.unwrap_or_default();
        if (self.data.capacity() - self.data.len() < value_bytes.len() || self.offsets.len() == self.offsets.capacity())
            && !self.grow(value_bytes.len(), 1, out_of_memory)
        {
            return;
        }
        // Keys are often null; the call of memcpy alone would cost as much as the rest.
        if !value_bytes.is_empty() {
            self.data.extend_from_slice(value_bytes);
        }
        self.validity.push(value.is_some(), out_of_memory);
        self.offsets.push(self.data.len() as i32);
    }

    /// Makes room; `false` if memory runs out.
    #[inline(never)]
    fn grow(&mut self, bytes: usize, rows: usize, out_of_memory: &mut Option<OutOfMemory>) -> bool {
        let grown = memory::reserve(&mut self.data, bytes).and_then(|()| memory::reserve(&mut self.offsets, rows));
        *out_of_memory = out_of_memory.or(grown.err());
        grown.is_ok()
    }

    /// Appends the values in `payload` that `spans` refer to.
    pub fn extend(&mut self, spans: &Spans, payload: &[u8], out_of_memory: &mut Option<OutOfMemory>) {
        let (rows, mut end) = (spans.len(), self.data.len() as i32);
        if !self.grow(spans.bytes(), rows, out_of_memory) {
            return;
        }
        if spans.nulls() == rows {
            let all = self.offsets.len().saturating_add(rows);
            self.offsets.resize(all, end);
            self.validity.push_many(false, rows, out_of_memory);
            return;
        }
        for span in spans.iter() {
            self.data.extend_from_slice(span.bytes(payload));
        }
        self.offsets.extend(spans.iter().map(|span| {
            end = end.wrapping_add(span.len() as i32);
            end
        }));
        if spans.nulls() == 0 {
            self.validity.push_many(true, rows, out_of_memory);
        } else {
            for span in spans.iter() {
                self.validity.push(!span.is_null(), out_of_memory);
            }
        }
    }

    /// Drops the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.validity.drop_last(self.rows().saturating_sub(rows));
        self.offsets.truncate(rows.saturating_add(1));
        self.data.truncate(self.offsets.last().map_or(0, |&end| end as usize));
    }

    fn take(&mut self) -> (OffsetBuffer<i32>, Buffer, Option<arrow_buffer::NullBuffer>) {
        let offsets = self.offsets.finish();
        self.offsets.push(0);
        let next = self.pool.take(self.data.len());
        let data = std::mem::replace(&mut self.data, next);
        (OffsetBuffer::new(offsets), self.pool.lend(data), self.validity.finish())
    }

    /// Returns the column as a binary array and leaves it empty.
    pub fn finish_binary(&mut self) -> BinaryArray {
        let (offsets, data, nulls) = self.take();
        BinaryArray::new(offsets, data, nulls)
    }

    /// Returns the column as a binary array with 64-bit offsets and leaves it empty.
    pub fn finish_large_binary(&mut self) -> LargeBinaryArray {
        let (offsets, data, nulls) = self.take();
        let offsets: ScalarBuffer<i64> = offsets.iter().map(|&offset| i64::from(offset)).collect();
        LargeBinaryArray::new(OffsetBuffer::new(offsets), data, nulls)
    }

    /// Returns the column as a string array and leaves it empty. All values must be valid UTF-8.
    pub fn finish_utf8(&mut self) -> StringArray {
        let (offsets, data, nulls) = self.take();
        StringArray::new(offsets, data, nulls)
    }
}

impl Drop for BytesColumn {
    /// Returns the buffer that was taken for the next batch to the pool.
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.data));
    }
}
