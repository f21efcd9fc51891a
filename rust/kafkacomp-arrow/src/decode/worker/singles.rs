//! Batches of one record, several at a time.

use kafkacomp_records::record::{Batches, SinglesBounds};

use super::{Worker, pauses};
use crate::decode::chunk_offsets::ChunkOffsets;
use crate::decode::record_filter::RecordFilter;
use crate::decode::rows::Sink;
use crate::plan::context::Context;
use crate::report::ScanError;

/// The most batches of one record that are appended at once: their fields fit into the first-level cache.
const MOST_SINGLES: usize = 128;

impl Worker {
    /// Whether batches of one record can be appended several at a time: all records are wanted, and no column differs from batch
    /// to batch.
    pub(super) fn takes_singles(&self, filter: &RecordFilter, context: &Context) -> bool {
        filter.always && context.transactions.is_none() && context.visible.is_none() && self.builder.takes_singles()
    }

    /// Appends the following batches of one record, as long as they are simple and there is nothing else to do.
    pub(super) fn take_singles<'c>(
        &mut self,
        batches: &mut Batches<'c>,
        data: &'c [u8],
        context: &Context,
        chunk_offsets: &mut ChunkOffsets<'_>,
        sink: Sink<'_>,
    ) -> Result<(), ScanError> {
        while let Some(until) = chunk_offsets.in_sequence_until() {
            let before = batches.clone();
            let most = self.options.batch_rows.saturating_sub(self.builder.rows()).min(MOST_SINGLES);
            let room = self.options.arrow_batch_bytes.saturating_sub(self.builder.bytes());
            let bounds = SinglesBounds {
                most,
                most_bytes: room.saturating_sub(self.builder.row_bytes().saturating_mul(most)),
                until,
                // If the planner has verified a part of the chunk, its batches are larger: hardly any is verified twice.
                verify_crc: self.verified_to < u64::MAX,
            };
            let Some(last) = self.singles.fill(batches, data, bounds) else { return Ok(()) };
            if self.has_views() {
                self.builder.begin_chunk_values();
            }
            let pushed = self.builder.push_singles(&self.singles, data, &context.place);
            if self.has_views() {
                self.builder.end_values();
            }
            if pushed.is_err() {
                // Batch by batch, the error names the one that lacks memory.
                *batches = before;
                return Ok(());
            }
            self.seen.batches += self.singles.len() as u64;
            chunk_offsets.passed(&last);
            if self.has_enough() {
                self.flush(sink)?;
                if pauses(sink) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
