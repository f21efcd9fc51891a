//! Batches that are left out: their header shows it, or consumers do not see their records.

use kafkacomp_log::has_own_offsets;
use kafkacomp_records::record::RecordBatch;

use super::Worker;
use crate::decode::record_filter::RecordFilter;
use crate::decode::rows::BatchError;
use crate::plan::context::Context;
use crate::sync::lock;

impl Worker {
    /// Whether the header alone shows that no record of the batch is between the bounds.
    pub(super) fn can_skip_batch(&self, batch: &RecordBatch<'_>, context: &Context) -> bool {
        (batch.last_offset() < context.start_offset && !has_own_offsets(batch))
            || batch.base_offset().is_some_and(|base| base > context.last_offset)
            // Records of magic 0 have no timestamps. Those of others decide themselves: some writers understated the greatest one.
            || (batch.magic() == 0 && self.options.has_time_bound())
            || context.transactions.as_ref().is_some_and(|filter| {
                filter.is_aborted(batch)
                    || filter.last_stable_offset().is_some_and(|stable| batch.last_offset() >= stable)
            })
    }

    /// Counts the records of a batch that consumers do not see, and returns whether it has others, or all are requested.
    #[cold]
    pub(super) fn count_invisible(
        &mut self,
        batch: &RecordBatch<'_>,
        filter: &RecordFilter,
        visible: (i64, i64),
    ) -> Result<bool, BatchError> {
        let (mut below, mut above, mut seen) = (0, 0, false);
        if let (Some(first), Some(count)) = (batch.base_offset(), batch.records_count())
            && filter.asks_for_all()
            && (batch.last_offset() < visible.0 || first > visible.1)
        {
            // A broker does not send this batch, so a negative count is no consumer's error.
            let count = u64::from(count.max(0).unsigned_abs());
            (below, above) = if first > visible.1 { (0, count) } else { (count, 0) };
        } else {
            for record in self.reader.records(batch).map_err(BatchError::record)? {
                let record = record.map_err(BatchError::record)?;
                if record.offset >= visible.0 && record.offset <= visible.1 {
                    seen = true;
                } else if filter.is_asked_for(&record) {
                    *(if record.offset < visible.0 { &mut below } else { &mut above }) += 1;
                }
            }
        }
        self.reader.drop_payload();
        let mut report = lock(&self.report);
        report.records_below_log_start += below;
        report.records_above_high_watermark += above;
        Ok(seen || !self.options.visible_only)
    }
}
