//! Which records of a partition a `read_committed` consumer sees.
//!
//! A consumer gets from the broker the transactions that were aborted and the last stable offset, the first
//! offset of the earliest open transaction, and reads up to there. Both follow from the batch headers and
//! the markers: a transaction runs from the first transactional batch of a producer id to that id's next
//! end marker, whatever epoch the marker carries (since KIP-890 the next one). What a `.txnindex` says of
//! aborted transactions is taken as well.
//!
//! ```text
//! control record key => Version:int16 Type:int16       0 ABORT, 1 COMMIT
//! ```
//! Source: KIP-98; `Fetcher`/`CompletedFetch`, `ProducerStateManager`.

use std::collections::HashMap;

use crate::record::bytes::be_i16;
use crate::record::{RecordBatch, RecordReader};

/// Type of an abort marker.
const ABORT: i16 = 0;
/// Type of a commit marker.
const COMMIT: i16 = 1;

/// A transaction that was aborted: all its records lie in `first_offset..=last_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AbortedRange {
    /// The first record's offset.
    pub first_offset: i64,
    /// The marker's offset.
    pub last_offset: i64,
}

/// Collects the transactions of one partition, batch by batch in offset order.
#[derive(Debug, Default)]
pub struct TransactionCollector {
    open: HashMap<i64, i64>,
    aborted: HashMap<i64, Vec<AbortedRange>>,
}

impl TransactionCollector {
    /// Takes note of an entry of a `.txnindex`.
    pub fn add_aborted(&mut self, producer_id: i64, range: AbortedRange) {
        self.aborted.entry(producer_id).or_default().push(range);
    }

    /// Takes note of a batch. Only a control batch needs its body; `reader` reads the marker.
    pub fn observe(&mut self, batch: &RecordBatch<'_>, reader: &mut RecordReader) {
        if !batch.is_transactional() {
            return;
        }
        let producer_id = batch.producer_id();
        if !batch.is_control_batch() {
            self.begin(producer_id, batch.offset_field());
            return;
        }
        let marker = reader.records(batch).ok().and_then(|mut records| records.next()?.ok()?.key.map(marker_type));
        match marker {
            Some(ABORT) => {
                if let Some(first_offset) = self.open.remove(&producer_id) {
                    self.add_aborted(producer_id, AbortedRange { first_offset, last_offset: batch.last_offset() });
                }
            }
            Some(COMMIT) => {
                self.open.remove(&producer_id);
            }
            _ => {}
        }
    }

    /// Takes note of a transactional batch that is no marker, by its header.
    pub fn begin(&mut self, producer_id: i64, first_offset: i64) {
        self.open.entry(producer_id).or_insert(first_offset);
    }

    /// The first offset of the earliest transaction that is open.
    pub fn first_open(&self) -> Option<i64> {
        self.open.values().copied().min()
    }

    /// The aborted transactions seen so far with their producer ids, in no order.
    pub fn aborted(&self) -> impl Iterator<Item = (i64, AbortedRange)> + '_ {
        self.aborted.iter().flat_map(|(&producer_id, ranges)| ranges.iter().map(move |&range| (producer_id, range)))
    }

    /// Forgets the aborted transactions that end before `offset`.
    pub fn forget(&mut self, offset: i64) {
        self.aborted.retain(|_, ranges| {
            ranges.retain(|range| range.last_offset >= offset);
            !ranges.is_empty()
        });
    }

    /// What the batches seen so far amount to.
    pub fn finish(mut self) -> TransactionFilter {
        for ranges in self.aborted.values_mut() {
            ranges.sort_unstable();
            ranges.dedup();
        }
        TransactionFilter { last_stable_offset: self.first_open(), aborted: self.aborted }
    }
}

fn marker_type(key: &[u8]) -> i16 {
    if key.len() < 4 { -1 } else { be_i16(key, 2) }
}

/// Decides over whole batches.
#[derive(Debug, Clone, Default)]
pub struct TransactionFilter {
    last_stable_offset: Option<i64>,
    aborted: HashMap<i64, Vec<AbortedRange>>,
}

impl TransactionFilter {
    /// What a collector found before: the first offset that is not stable, and aborted transactions by producer id.
    pub fn new(last_stable_offset: Option<i64>, aborted: impl IntoIterator<Item = (i64, AbortedRange)>) -> Self {
        let mut filter = Self { last_stable_offset, aborted: HashMap::new() };
        for (producer_id, range) in aborted {
            filter.aborted.entry(producer_id).or_default().push(range);
        }
        filter
    }

    /// The aborted transactions with their producer ids, in no order.
    pub fn aborted(&self) -> impl Iterator<Item = (i64, AbortedRange)> + '_ {
        self.aborted.iter().flat_map(|(&producer_id, ranges)| ranges.iter().map(move |&range| (producer_id, range)))
    }

    /// The first offset that is not stable, when a transaction is open.
    pub fn last_stable_offset(&self) -> Option<i64> {
        self.last_stable_offset
    }

    /// Whether the batch's records were aborted.
    pub fn is_aborted(&self, batch: &RecordBatch<'_>) -> bool {
        batch.is_transactional()
            && !batch.is_control_batch()
            && self.aborted.get(&batch.producer_id()).is_some_and(|ranges| {
                ranges.iter().any(|r| r.first_offset <= batch.last_offset() && batch.offset_field() <= r.last_offset)
            })
    }
}
