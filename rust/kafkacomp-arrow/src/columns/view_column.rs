//! A column of views of values in [`ViewBuffers`].

use std::sync::Arc;

use arrow_array::{Array, BinaryViewArray};
use arrow_buffer::Buffer;
use arrow_schema::ArrowError;
use kafkacomp_records::memory::{self, OutOfMemory};
use kafkacomp_records::record::Spans;

use crate::columns::pool::BufferPool;
use crate::columns::pooled_vec::PooledVec;
use crate::columns::validity::Validity;
use crate::columns::view_array::view_array;
use crate::columns::view_buffers::{MOST_INLINE, ViewBuffers};

/// Binary views with nulls. A failed allocation is noted in `out_of_memory`; the column is incomplete then, until it is
/// [truncated](Self::truncate).
#[derive(Debug)]
pub struct ViewColumn {
    views: PooledVec<u128>,
    validity: Validity,
    /// A column of nulls, for the following batches. Many topics have no keys, and Arrow checks each view of a new array.
    nulls: Option<BinaryViewArray>,
}

impl ViewColumn {
    /// An empty column whose views are in buffers of the pool.
    pub fn new(pool: &Arc<BufferPool>) -> Self {
        Self { views: PooledVec::new(pool), validity: Validity::default(), nulls: None }
    }

    /// The number of rows so far.
    pub fn rows(&self) -> usize {
        self.views.len()
    }

    /// The views, for [`ViewBuffers::settle`].
    pub fn views(&mut self) -> &mut [u128] {
        &mut self.views
    }

    /// Appends a value or a null.
    #[inline]
    pub fn push(&mut self, value: Option<&[u8]>, buffers: &mut ViewBuffers, out_of_memory: &mut Option<OutOfMemory>) {
        let pushed = match value {
            None => memory::push(&mut self.views, 0),
            Some(value) => buffers.view(value).and_then(|view| memory::push(&mut self.views, view)),
        };
        match pushed {
            Ok(()) => self.validity.push(value.is_some(), out_of_memory),
            Err(error) => *out_of_memory = Some(error),
        }
    }

    #[inline(never)]
    fn grow(&mut self, rows: usize, out_of_memory: &mut Option<OutOfMemory>) -> bool {
        let grown = memory::reserve(&mut self.views, rows);
        *out_of_memory = out_of_memory.or(grown.err());
        grown.is_ok()
    }

    /// Appends the values in `payload` that `spans` refer to.
    pub fn extend(
        &mut self,
        spans: &Spans,
        payload: &[u8],
        buffers: &mut ViewBuffers,
        out_of_memory: &mut Option<OutOfMemory>,
    ) {
        let rows = spans.len();
        if !self.grow(rows, out_of_memory) {
            return;
        }
        if spans.nulls() == rows {
            let all = self.views.len() + rows;
            self.views.resize(all, 0);
            self.validity.push_many(false, rows, out_of_memory);
            return;
        }
        buffers.extend(&mut self.views, spans, payload, out_of_memory);
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
        self.views.truncate(rows);
    }

    /// Returns the column as an array over `buffers` and leaves it empty.
    ///
    /// # Errors
    /// None that data can cause: every view is within its buffer.
    pub fn finish(&mut self, buffers: &[Buffer]) -> Result<BinaryViewArray, ArrowError> {
        let (rows, are_null) = (self.rows(), self.validity.is_null());
        if let Some(nulls) = self.nulls.as_ref().filter(|nulls| are_null && nulls.len() >= rows) {
            let array = nulls.slice(0, rows);
            self.truncate(0);
            return Ok(array);
        }
        // If all values are inline in their views, the column needs no buffer.
        let refers = self.views.iter().any(|&view| view as u32 > MOST_INLINE as u32);
        let buffers = if refers { buffers.to_vec() } else { Vec::new() };
        let array = view_array(self.views.finish(), buffers, self.validity.finish())?;
        if are_null {
            self.nulls = Some(array.clone());
        }
        Ok(array)
    }
}
