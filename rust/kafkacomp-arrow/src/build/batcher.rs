//! Rows of a stream into batches, one after another, whatever the pieces that the stream comes in.

use arrow_array::RecordBatch as ArrowRecordBatch;
use kafkacomp_core::record::batch::NO_PRODUCER_ID;
use kafkacomp_core::record::batch::increment_sequence;
use kafkacomp_core::record::{BatchSettings, BuildFault, HeadersBuffer, RecordBatchBuilder};

use super::{BuildError, RecordColumns};

/// Makes batches of at most the settings' write limit (by Kafka's estimate where they are compressed).
#[derive(Debug, Default)]
pub struct Batcher {
    builder: RecordBatchBuilder,
    headers: HeadersBuffer,
    /// What the next batch is to be, if no row says where it begins.
    next: BatchSettings,
    /// The last offset of the batches before.
    last_offset: Option<i64>,
    rows: usize,
}

impl Batcher {
    /// `settings` are those of the first batch; base offset and sequence go on from batch to batch.
    ///
    /// # Errors
    /// What the magic does not have.
    pub fn new(settings: BatchSettings) -> Result<Self, BuildError> {
        let mut batcher = Self::default();
        batcher.reset(settings)?;
        Ok(batcher)
    }

    /// Begins anew with these settings; memory and codec contexts stay.
    ///
    /// # Errors
    /// What the magic does not have.
    pub fn reset(&mut self, settings: BatchSettings) -> Result<(), BuildError> {
        self.builder.reset(settings)?;
        self.next = settings;
        self.last_offset = None;
        self.rows = 0;
        Ok(())
    }

    /// Takes all rows, and appends every batch that is full to `out`.
    ///
    /// # Errors
    /// By row, counted from the first of the stream; what is not yet in `out` is lost then.
    pub fn push(&mut self, rows: &ArrowRecordBatch, out: &mut Vec<u8>) -> Result<(), BuildError> {
        let columns = RecordColumns::new(rows)?;
        let mut row = 0;
        while row < columns.len() {
            if self.builder.records_count() == 0 {
                let base_offset = columns.offset(row).unwrap_or(self.next.base_offset);
                let previous = self.last_offset.unwrap_or(self.next.base_offset.saturating_sub(1));
                if base_offset <= previous {
                    let fault = BuildFault::OffsetOrder { offset: base_offset, previous };
                    return Err(BuildError::Record { row: self.rows.saturating_add(row), fault });
                }
                self.builder.reset(BatchSettings { base_offset, ..self.next })?;
            }
            let taken = columns.append(row..columns.len(), &mut self.builder, &mut self.headers);
            row += taken.map_err(|error| error.later(self.rows))?;
            if row < columns.len() {
                self.finish(out)?;
            }
        }
        self.rows = self.rows.saturating_add(columns.len());
        Ok(())
    }

    /// Appends the batch under way to `out`, if there is one.
    ///
    /// # Errors
    /// A producer state that cannot be, a codec without memory.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), BuildError> {
        self.builder.finish(out)?;
        let BatchSettings { producer_id, base_sequence, .. } = self.next;
        let last_offset_delta = self.builder.next_offset().wrapping_sub(self.builder.settings().base_offset) as i32;
        self.next.base_offset = self.builder.next_offset();
        if self.builder.records_count() > 0 {
            self.last_offset = Some(self.next.base_offset.wrapping_sub(1));
        }
        if producer_id != NO_PRODUCER_ID && base_sequence >= 0 {
            self.next.base_sequence = increment_sequence(base_sequence, last_offset_delta);
        }
        self.builder.reset(self.next)?;
        Ok(())
    }

    /// Rows taken so far.
    pub fn rows(&self) -> usize {
        self.rows
    }
}
