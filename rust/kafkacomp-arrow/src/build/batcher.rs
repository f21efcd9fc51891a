//! Builds batches from a stream of rows, independently of how the stream is divided.

use arrow_array::RecordBatch as ArrowRecordBatch;
use arrow_schema::ArrowError;
use kafkacomp_records::record::batch::NO_PRODUCER_ID;
use kafkacomp_records::record::batch::increment_sequence;
use kafkacomp_records::record::{BatchSettings, BuildFault, HeadersBuffer, PairedBuilder};

use super::{BuildError, Gaps, RecordColumns, WriteError};

/// Builds batches up to the write limit of the settings (estimated as by Kafka if they are compressed).
#[derive(Debug, Default)]
pub struct Batcher {
    builder: PairedBuilder,
    headers: HeadersBuffer,
    /// The settings of the next batch, unless a row has its first offset.
    next: BatchSettings,
    /// The last offset of the batches before.
    last_offset: Option<i64>,
    rows: usize,
}

impl Batcher {
    /// A batcher whose first batch has `settings`; base offset and sequence continue from batch to batch.
    ///
    /// # Errors
    /// Settings that the magic does not support.
    pub fn new(settings: BatchSettings) -> Result<Self, BuildError> {
        let mut batcher = Self::default();
        batcher.reset(settings)?;
        Ok(batcher)
    }

    /// Restarts with these settings; memory and codec contexts are reused.
    ///
    /// # Errors
    /// Settings that the magic does not support.
    pub fn reset(&mut self, settings: BatchSettings) -> Result<(), BuildError> {
        self.builder.restart(settings)?;
        self.next = settings;
        self.last_offset = None;
        self.rows = 0;
        Ok(())
    }

    /// Builds batches with `settings` from all rows of a stream, and appends them to `out`.
    ///
    /// # Errors
    /// Invalid settings or rows, or an error of the stream.
    pub fn build(
        &mut self,
        rows: impl IntoIterator<Item = Result<ArrowRecordBatch, ArrowError>>,
        settings: BatchSettings,
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        self.reset(settings)?;
        for rows in rows {
            self.push(&rows?, out)?;
        }
        Ok(self.finish(out)?)
    }

    /// Adds all rows, and appends batches that are full to `out`; the last one of them may wait for the next ([`PairedBuilder`]).
    ///
    /// # Errors
    /// The error of a row, counted from the first row of the stream. The rows before it are kept; [`reset`](Self::reset) drops them.
    pub fn push(&mut self, rows: &ArrowRecordBatch, out: &mut Vec<u8>) -> Result<(), BuildError> {
        let columns = RecordColumns::new(rows)?;
        let mut row = 0;
        while row < columns.len() {
            if self.builder.current().records_count() == 0 {
                let base_offset = columns.offset(row).unwrap_or(self.next.base_offset);
                let previous = self.last_offset.unwrap_or(self.next.base_offset.saturating_sub(1));
                if base_offset <= previous {
                    let fault = BuildFault::OffsetOrder { offset: base_offset, previous };
                    return Err(BuildError::Record { row: self.rows.saturating_add(row), fault });
                }
                self.builder.reset(BatchSettings { base_offset, ..self.next })?;
            }
            let taken = columns.append(row..columns.len(), self.builder.current(), Gaps::EndBatch, &mut self.headers);
            row += taken.map_err(|error| error.later(self.rows))?;
            if row < columns.len() {
                self.close(out)?;
            }
        }
        self.rows = self.rows.saturating_add(columns.len());
        Ok(())
    }

    /// Appends the last batches to `out`, if there are any.
    ///
    /// # Errors
    /// An invalid producer state, or lack of memory for the codec.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), BuildError> {
        self.close(out)?;
        Ok(self.builder.flush(out)?)
    }

    fn close(&mut self, out: &mut Vec<u8>) -> Result<(), BuildError> {
        // After `close`, the current builder has no batch.
        let current = self.builder.current();
        let next_offset = current.next_offset();
        let last_offset_delta = next_offset.wrapping_sub(current.settings().base_offset) as i32;
        if current.records_count() > 0 {
            self.last_offset = Some(next_offset.wrapping_sub(1));
        }
        self.builder.close(out)?;
        self.next.base_offset = next_offset;
        let BatchSettings { producer_id, base_sequence, .. } = self.next;
        if producer_id != NO_PRODUCER_ID && base_sequence >= 0 {
            self.next.base_sequence = increment_sequence(base_sequence, last_offset_delta);
        }
        self.builder.reset(self.next)?;
        Ok(())
    }

    /// The number of rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }
}
