//! Compares the markers of aborted transactions with `.txnindex`.
//!
//! A broker writes the entry of an aborted transaction to the index of the segment that has the marker, if the transaction has
//! batches in the log (`ProducerAppendInfo.appendEndTxnMarker`); compaction keeps the entry as long as one of these batches is
//! there (`CleanedTransactionMetadata`). So a marker after records of its transaction has an entry. The transaction may begin in
//! an earlier segment, which only the check of the partition knows: see [`report_unlisted`](super::transactions::report_unlisted).
//!
//! If batches are missing, one of them may have been the marker of the transaction: nothing is reported of those that are open
//! there.

use super::rebuild::rebuilding;
use super::report::SegmentTransactions;
use super::report::{FindingFile, SegmentReport};
use super::transactions::unlisted_message;
use crate::index::transaction;
use crate::read::transactions::TransactionEvent;
use kafkacomp_records::record::{RecordBatch, RecordReader};

/// Follows the transactions of a segment.
pub(super) struct TransactionChecks {
    found: SegmentTransactions,
    /// Abort markers without an entry, after records of the transaction.
    unlisted: Vec<(i64, i64)>,
    reader: RecordReader,
}

impl TransactionChecks {
    pub(super) fn new(max_output_size: usize) -> Self {
        Self { found: SegmentTransactions::default(), unlisted: Vec::new(), reader: RecordReader::new(max_output_size) }
    }

    /// Sets that batches are missing here.
    pub(super) fn interrupted(&mut self) {
        self.found.open.clear();
        self.found.is_interrupted = true;
    }

    /// Adds a batch; `is_listed` if an entry has its last offset.
    pub(super) fn batch(&mut self, batch: &RecordBatch<'_>, last_offset: i64, is_listed: bool) {
        let producer_id = batch.producer_id();
        let is_aborted = match TransactionEvent::of(batch, &mut self.reader) {
            // Compaction leaves the last batch of a producer without records.
            Some(TransactionEvent::Data) if batch.records_count() != Some(0) => {
                self.found.open.insert(producer_id);
                return;
            }
            Some(TransactionEvent::Commit) => false,
            Some(TransactionEvent::Abort) => !is_listed,
            _ => return,
        };
        let is_open = self.found.open.remove(&producer_id);
        let is_first = self.found.ended.insert(producer_id) && !self.found.is_interrupted;
        match is_aborted {
            true if is_open => self.unlisted.push((last_offset, producer_id)),
            true if is_first => self.found.unlisted.push((last_offset, producer_id)),
            _ => {}
        }
    }

    /// Reports the markers without an entry, and `beyond`, the first entry after the end: the offset of its marker, and its
    /// position in the index.
    pub(super) fn report(
        &self,
        (base_offset, end): (i64, i64),
        beyond: Option<(i64, u64)>,
        index_length: u64,
        report: &mut SegmentReport,
    ) {
        if let Some((offset, byte)) = beyond {
            let message = format!(
                "entry at byte {byte}: its marker, offset {offset}, is after the end of the segment, offset {end}. A broker that \
                 starts cleanly takes it for one of the records that follow: read_committed consumers miss records, or \
                 get records of aborted transactions. {}",
                rebuilding(base_offset, "txnindex")
            );
            report.add(FindingFile::TransactionIndex, byte, false, message);
        }
        if let Some(message) = unlisted_message(base_offset, &self.unlisted) {
            let length = index_length - index_length % transaction::ENTRY_SIZE as u64;
            report.add(FindingFile::TransactionIndex, length, false, message);
        }
    }

    /// What the check of the partition needs; `is_trusted` if a broker takes the indexes as they are.
    pub(super) fn finish(self, is_trusted: bool) -> SegmentTransactions {
        let mut found = self.found;
        if !is_trusted {
            found.unlisted.clear();
        }
        found
    }
}
