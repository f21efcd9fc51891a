//! Appends the rows of a stream to one batch.

use std::ops::ControlFlow;

use arrow_array::RecordBatch as ArrowRecordBatch;
use kafkacomp_records::record::{HeadersBuffer, RecordBatchBuilder};

use super::{BuildError, Gaps, RecordColumns};

/// Appends rows to the batch of a builder until one does not fit.
#[derive(Debug, Default)]
pub struct RowAppender {
    headers: HeadersBuffer,
    appended: usize,
}

impl RowAppender {
    /// Appends rows; [`ControlFlow::Break`] if not all of them fit.
    ///
    /// # Errors
    /// The error of a row, counted from the first row of the stream. The rows before it are appended.
    pub fn push(
        &mut self,
        rows: &ArrowRecordBatch,
        builder: &mut RecordBatchBuilder,
    ) -> Result<ControlFlow<()>, BuildError> {
        let columns = RecordColumns::new(rows)?;
        let taken = columns.append(0..columns.len(), builder, Gaps::InBatch, &mut self.headers);
        let taken = taken.map_err(|error| error.later(self.appended))?;
        self.appended = self.appended.saturating_add(taken);
        Ok(if taken < columns.len() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// The number of rows appended so far.
    pub fn appended(&self) -> usize {
        self.appended
    }
}
