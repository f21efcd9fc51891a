//! The column of headers.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use kafkacomp_records::memory::{self, OutOfMemory};
use kafkacomp_records::record::Headers;
use kafkacomp_records::record::java_string::decode_utf8;

use crate::columns::binary_column::BinaryColumn;
use crate::columns::binary_type::BinaryType;
use crate::columns::bytes_column::BytesColumn;
use crate::columns::pool::BufferPool;
use crate::columns::schema::{header_element, header_fields};
use crate::columns::validity::Validity;
use crate::columns::view_buffers::ViewBuffers;

/// The column of headers: a list of keys and values; null for records without headers. A failed allocation is noted in
/// `out_of_memory`; the column is incomplete then, until it is [truncated](Self::truncate).
#[derive(Debug)]
pub struct HeadersColumn {
    offsets: Vec<i32>,
    validity: Validity,
    key: BytesColumn,
    value: BinaryColumn,
    binary_type: BinaryType,
    /// A column of nulls, for the following batches.
    nulls: Option<ListArray>,
}

impl HeadersColumn {
    /// An empty column.
    pub fn new(binary_type: BinaryType, pool: &Arc<BufferPool>) -> Self {
        let (key, value) = (BytesColumn::new(pool), BinaryColumn::new(binary_type, pool));
        Self { offsets: vec![0], validity: Validity::default(), key, value, binary_type, nulls: None }
    }

    /// The column of header values.
    pub fn values(&self) -> &BinaryColumn {
        &self.value
    }

    /// The column of header values, for changes.
    pub fn values_mut(&mut self) -> &mut BinaryColumn {
        &mut self.value
    }

    /// Appends the headers of a record.
    #[inline]
    pub fn push(&mut self, headers: Headers<'_>, buffers: &mut ViewBuffers, out_of_memory: &mut Option<OutOfMemory>) {
        if !headers.is_empty() {
            self.push_pairs(headers, buffers, out_of_memory);
        }
        self.validity.push(!headers.is_empty(), out_of_memory);
        if let Err(error) = memory::push(&mut self.offsets, self.key.rows() as i32) {
            *out_of_memory = Some(error);
        }
    }

    #[inline(never)]
    fn push_pairs(&mut self, headers: Headers<'_>, buffers: &mut ViewBuffers, out_of_memory: &mut Option<OutOfMemory>) {
        for (key, value) in headers {
            match decode_utf8(key) {
                Ok(key) => self.key.push(Some(key.as_bytes()), out_of_memory),
                Err(error) => *out_of_memory = Some(error),
            }
            self.value.push(value, buffers, out_of_memory);
        }
    }

    /// Appends rows without headers.
    pub fn push_none(&mut self, rows: usize, out_of_memory: &mut Option<OutOfMemory>) {
        if let Err(error) = memory::reserve(&mut self.offsets, rows) {
            *out_of_memory = Some(error);
            return;
        }
        self.validity.push_many(false, rows, out_of_memory);
        self.offsets.resize(self.offsets.len() + rows, self.key.rows() as i32);
    }

    /// Drops the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.validity.drop_last((self.offsets.len() - 1).saturating_sub(rows));
        self.offsets.truncate(rows + 1);
        let inner = self.offsets.last().map_or(0, |&end| end as usize);
        self.key.truncate(inner);
        self.value.truncate(inner);
    }

    /// Returns the column and leaves it empty.
    ///
    /// # Errors
    /// None that data can cause.
    pub fn finish(&mut self, buffers: &[Buffer]) -> Result<ListArray, ArrowError> {
        let (rows, are_null) = (self.offsets.len() - 1, self.validity.is_null());
        if let Some(nulls) = self.nulls.as_ref().filter(|nulls| are_null && nulls.len() >= rows) {
            let array = nulls.slice(0, rows);
            self.truncate(0);
            return Ok(array);
        }
        let mut offsets = memory::with_capacity_hint(self.offsets.len());
        offsets.push(0);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(&mut self.offsets, offsets)));
        let children: Vec<ArrayRef> = vec![Arc::new(self.key.finish_utf8()), self.value.finish(buffers)?];
        let pairs = StructArray::try_new(header_fields(self.binary_type), children, None)?;
        let element = header_element(self.binary_type);
        let array = ListArray::try_new(element, offsets, Arc::new(pairs), self.validity.finish())?;
        if are_null {
            self.nulls = Some(array.clone());
        }
        Ok(array)
    }
}
