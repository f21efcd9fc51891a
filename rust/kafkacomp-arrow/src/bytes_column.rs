//! A growing variable-length column: offsets, bytes and, once a null came, validity.

use arrow_array::{BinaryArray, StringArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};

/// Binary or UTF-8 values with nulls. The caller sees to it that the bytes stay below 2^31.
#[derive(Debug)]
pub struct BytesColumn {
    offsets: Vec<i32>,
    data: Vec<u8>,
    nulls: NullBufferBuilder,
    /// What the last batch took, so that the next one allocates once.
    rows_hint: usize,
    bytes_hint: usize,
}

impl BytesColumn {
    /// An empty column.
    pub fn new() -> Self {
        Self { offsets: vec![0], data: Vec::new(), nulls: NullBufferBuilder::new(0), rows_hint: 0, bytes_hint: 0 }
    }

    /// Bytes in the column so far.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// Rows in the column so far.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Appends a value or a null.
    #[inline]
    pub fn push(&mut self, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.data.extend_from_slice(value);
        }
        self.nulls.append(value.is_some());
        self.offsets.push(self.data.len() as i32);
    }

    /// Drops the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.offsets.truncate(rows.saturating_add(1));
        self.data.truncate(self.offsets.last().map_or(0, |&end| end as usize));
        self.nulls.truncate(rows);
    }

    fn take(&mut self) -> (OffsetBuffer<i32>, Buffer, Option<arrow_buffer::NullBuffer>) {
        self.rows_hint = self.rows();
        self.bytes_hint = self.data.len();
        let mut offsets = Vec::with_capacity(self.rows_hint.saturating_add(1));
        offsets.push(0);
        let offsets = std::mem::replace(&mut self.offsets, offsets);
        let data = std::mem::replace(&mut self.data, Vec::with_capacity(self.bytes_hint));
        (OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from_vec(data), self.nulls.finish())
    }

    /// The column so far as a binary array; the column is empty then.
    pub fn finish_binary(&mut self) -> BinaryArray {
        let (offsets, data, nulls) = self.take();
        BinaryArray::new(offsets, data, nulls)
    }

    /// The column so far as a string array; only for columns that were given valid UTF-8.
    pub fn finish_utf8(&mut self) -> StringArray {
        let (offsets, data, nulls) = self.take();
        StringArray::new(offsets, data, nulls)
    }
}
