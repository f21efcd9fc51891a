//! A column of keys, values or header values in any [`BinaryType`].

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_schema::ArrowError;
use kafkacomp_records::memory::OutOfMemory;
use kafkacomp_records::record::Spans;

use crate::columns::binary_type::BinaryType;
use crate::columns::bytes_column::BytesColumn;
use crate::columns::pool::BufferPool;
use crate::columns::view_buffers::ViewBuffers;
use crate::columns::view_column::ViewColumn;

/// Binary values with nulls. A failed allocation is noted in `out_of_memory`; the column is incomplete then, until it is
/// [truncated](Self::truncate).
#[derive(Debug)]
pub enum BinaryColumn {
    /// With 32-bit offsets.
    Binary(BytesColumn),
    /// With 64-bit offsets.
    LargeBinary(BytesColumn),
    /// With views.
    BinaryView(ViewColumn),
}

impl BinaryColumn {
    /// An empty column.
    pub fn new(binary_type: BinaryType, pool: &Arc<BufferPool>) -> Self {
        Self::over(binary_type, pool, BytesColumn::new)
    }

    /// An empty column whose values are expected to be most of the bytes of the batch.
    pub fn of_values(binary_type: BinaryType, pool: &Arc<BufferPool>) -> Self {
        Self::over(binary_type, pool, BytesColumn::of_values)
    }

    fn over(
        binary_type: BinaryType,
        pool: &Arc<BufferPool>,
        column: impl FnOnce(&Arc<BufferPool>) -> BytesColumn,
    ) -> Self {
        match binary_type {
            BinaryType::Binary => Self::Binary(column(pool)),
            BinaryType::LargeBinary => Self::LargeBinary(column(pool)),
            BinaryType::BinaryView => Self::BinaryView(ViewColumn::new(pool)),
        }
    }

    /// Appends a value or a null.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot loop's memcpy; two callers")]
    pub fn push(&mut self, value: Option<&[u8]>, buffers: &mut ViewBuffers, out_of_memory: &mut Option<OutOfMemory>) {
        match self {
            Self::Binary(column) | Self::LargeBinary(column) => column.push(value, out_of_memory),
            Self::BinaryView(column) => column.push(value, buffers, out_of_memory),
        }
    }

    /// Appends the values in `payload` that `spans` refer to.
    pub fn extend(
        &mut self,
        spans: &Spans,
        payload: &[u8],
        buffers: &mut ViewBuffers,
        out_of_memory: &mut Option<OutOfMemory>,
    ) {
        match self {
            Self::Binary(column) | Self::LargeBinary(column) => column.extend(spans, payload, out_of_memory),
            Self::BinaryView(column) => column.extend(spans, payload, buffers, out_of_memory),
        }
    }

    /// Drops the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        match self {
            Self::Binary(column) | Self::LargeBinary(column) => column.truncate(rows),
            Self::BinaryView(column) => column.truncate(rows),
        }
    }

    /// The views; empty for other types.
    pub fn views(&mut self) -> &mut [u128] {
        match self {
            Self::Binary(_) | Self::LargeBinary(_) => &mut [],
            Self::BinaryView(column) => column.views(),
        }
    }

    /// The number of views.
    pub fn views_count(&self) -> usize {
        match self {
            Self::Binary(_) | Self::LargeBinary(_) => 0,
            Self::BinaryView(column) => column.rows(),
        }
    }

    /// Returns the column, with views over `buffers`, and leaves it empty.
    ///
    /// # Errors
    /// None that data can cause.
    pub fn finish(&mut self, buffers: &[Buffer]) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Binary(column) => Arc::new(column.finish_binary()),
            Self::LargeBinary(column) => Arc::new(column.finish_large_binary()),
            Self::BinaryView(column) => Arc::new(column.finish(buffers)?),
        })
    }
}
