//! A growing variable-length column: offsets, bytes and, once a null came, validity.

use std::sync::Arc;

use arrow_array::{BinaryArray, LargeBinaryArray, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use kafkacomp_core::memory::{self, OutOfMemory};
use kafkacomp_core::record::Spans;

use crate::pool::BufferPool;
use crate::validity::Validity;

/// Binary or UTF-8 values with nulls. The caller sees to it that the bytes stay below 2^31, and asks
/// [`lacks`](Self::lacks) before it uses the column.
#[derive(Debug)]
pub struct BytesColumn {
    /// What could not be allocated: the column is of no use then.
    lacks: Option<OutOfMemory>,
    offsets: Vec<i32>,
    data: Vec<u8>,
    validity: Validity,
    pool: Arc<BufferPool>,
}

impl BytesColumn {
    /// An empty column whose bytes live in the pool's buffers.
    pub fn new(pool: &Arc<BufferPool>) -> Self {
        Self { lacks: None, offsets: vec![0], data: Vec::new(), validity: Validity::default(), pool: Arc::clone(pool) }
    }

    /// The column whose values are expected to be the bulk of the batch.
    pub fn of_values(pool: &Arc<BufferPool>) -> Self {
        let mut column = Self::new(pool);
        column.data = pool.take_largest();
        column
    }

    /// Rows in the column so far.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Appends a value or a null.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot loop's memcpy; two callers")]
    pub fn push(&mut self, value: Option<&[u8]>) {
        let value_bytes = value.unwrap_or_default();
        if (self.data.capacity() - self.data.len() < value_bytes.len() || self.offsets.len() == self.offsets.capacity())
            && !self.grow(value_bytes.len(), 1)
        {
            return;
        }
        self.data.extend_from_slice(value_bytes);
        self.validity.push(value.is_some());
        self.offsets.push(self.data.len() as i32);
    }

    /// Makes room; `false` where memory runs out.
    #[inline(never)]
    fn grow(&mut self, bytes: usize, rows: usize) -> bool {
        let grown = memory::reserve(&mut self.data, bytes).and_then(|()| memory::reserve(&mut self.offsets, rows));
        self.lacks = self.lacks.or(grown.err());
        grown.is_ok()
    }

    /// What could not be allocated since the column was last empty.
    pub fn lacks(&self) -> Option<OutOfMemory> {
        self.lacks
    }

    /// Appends what `spans` say of `payload`.
    pub fn extend(&mut self, spans: &Spans, payload: &[u8]) {
        let (all, mut end) = (spans.as_slice(), self.data.len() as i32);
        if !self.grow(spans.bytes(), all.len()) {
            return;
        }
        if spans.nulls() == all.len() {
            self.offsets.resize(self.offsets.len().saturating_add(all.len()), end);
            self.validity.push_many(false, all.len());
            return;
        }
        for span in all {
            self.data.extend_from_slice(span.bytes(payload));
        }
        self.offsets.extend(all.iter().map(|span| {
            end = end.wrapping_add(span.len() as i32);
            end
        }));
        if spans.nulls() == 0 {
            self.validity.push_many(true, all.len());
        } else {
            for span in all {
                self.validity.push(!span.is_null());
            }
        }
    }

    /// Drops the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.lacks = None;
        self.validity.drop_last(self.rows().saturating_sub(rows));
        self.offsets.truncate(rows.saturating_add(1));
        self.data.truncate(self.offsets.last().map_or(0, |&end| end as usize));
    }

    fn take(&mut self) -> (OffsetBuffer<i32>, Buffer, Option<arrow_buffer::NullBuffer>) {
        // The next batch will be about as long as this one.
        let mut offsets = memory::with_capacity_hint(self.offsets.len());
        offsets.push(0);
        let offsets = std::mem::replace(&mut self.offsets, offsets);
        let next = self.pool.take(self.data.len());
        let data = std::mem::replace(&mut self.data, next);
        (OffsetBuffer::new(ScalarBuffer::from(offsets)), self.pool.lend(data), self.validity.finish())
    }

    /// The column so far as a binary array; the column is empty then.
    pub fn finish_binary(&mut self) -> BinaryArray {
        let (offsets, data, nulls) = self.take();
        BinaryArray::new(offsets, data, nulls)
    }

    /// The column so far as a binary array with 64-bit offsets; the column is empty then.
    pub fn finish_large_binary(&mut self) -> LargeBinaryArray {
        let (offsets, data, nulls) = self.take();
        let offsets: ScalarBuffer<i64> = offsets.iter().map(|&offset| i64::from(offset)).collect();
        LargeBinaryArray::new(OffsetBuffer::new(offsets), data, nulls)
    }

    /// The column so far as a string array; only for columns that were given valid UTF-8.
    pub fn finish_utf8(&mut self) -> StringArray {
        let (offsets, data, nulls) = self.take();
        StringArray::new(offsets, data, nulls)
    }
}

impl Drop for BytesColumn {
    /// The buffer that was taken for a next batch which never came.
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.data));
    }
}
