//! A column of views of values that lie in [`ViewBuffers`].

use arrow_array::BinaryViewArray;
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::ArrowError;
use kafkacomp_core::memory::{self, OutOfMemory};
use kafkacomp_core::record::Spans;

use crate::validity::Validity;
use crate::view_buffers::ViewBuffers;

/// Binary views with nulls. The caller asks [`lacks`](Self::lacks) before it uses the column.
#[derive(Debug, Default)]
pub struct ViewColumn {
    lacks: Option<OutOfMemory>,
    views: Vec<u128>,
    validity: Validity,
}

impl ViewColumn {
    /// Rows in the column so far.
    pub fn rows(&self) -> usize {
        self.views.len()
    }

    /// What could not be allocated since the column was last empty.
    pub fn lacks(&self) -> Option<OutOfMemory> {
        self.lacks
    }

    /// The views, for [`ViewBuffers::settle`].
    pub fn views(&mut self) -> &mut [u128] {
        &mut self.views
    }

    /// Appends a value or a null.
    #[inline]
    pub fn push(&mut self, value: Option<&[u8]>, buffers: &mut ViewBuffers) {
        if self.views.len() == self.views.capacity() && !self.grow(1) {
            return;
        }
        match value.map_or(Ok(0), |value| buffers.view(value)) {
            Ok(view) => {
                self.views.push(view);
                self.validity.push(value.is_some());
            }
            Err(error) => self.lacks = Some(error),
        }
    }

    #[inline(never)]
    fn grow(&mut self, rows: usize) -> bool {
        let grown = memory::reserve(&mut self.views, rows);
        self.lacks = self.lacks.or(grown.err());
        grown.is_ok()
    }

    /// Appends what `spans` say of `payload`.
    pub fn extend(&mut self, spans: &Spans, payload: &[u8], buffers: &mut ViewBuffers) {
        let all = spans.as_slice();
        if !self.grow(all.len()) {
            return;
        }
        if spans.nulls() == all.len() {
            self.views.resize(self.views.len() + all.len(), 0);
            self.validity.push_many(false, all.len());
            return;
        }
        let lacks = &mut self.lacks;
        self.views.extend(all.iter().map(|span| {
            buffers.view(span.bytes(payload)).unwrap_or_else(|error| {
                *lacks = Some(error);
                0
            })
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
        self.views.truncate(rows);
    }

    /// The column so far as an array over `buffers`; the column is empty then.
    ///
    /// # Errors
    /// None that data could cause: Arrow checks that each view lies in its buffer.
    pub fn finish(&mut self, buffers: &[Buffer]) -> Result<BinaryViewArray, ArrowError> {
        let next = memory::with_capacity_hint(self.views.len());
        let views = std::mem::replace(&mut self.views, next);
        // A column whose values are all part of their views keeps no buffer.
        let refers = views.iter().any(|&view| view as u32 > 12);
        let buffers = if refers { buffers.to_vec() } else { Vec::new() };
        BinaryViewArray::try_new(ScalarBuffer::from(views), buffers, self.validity.finish())
    }
}
