//! The records of a partition that a `read_committed` consumer returns.
//!
//! A consumer gets the aborted transactions and the last stable offset (the first offset of the earliest open
//! transaction) from the broker, and reads up to that offset. Both follow from the batch headers and the markers: a
//! transaction extends from the first transactional batch of a producer id to the next end marker of that id, whatever
//! the epoch of the marker (since KIP-890, the next epoch). The aborted transactions of a `.txnindex` are added to those.
//!
//! Source: KIP-98; `Fetcher`/`CompletedFetch`, `ProducerStateManager`.

use std::collections::{BTreeMap, BTreeSet};

use kafkacomp_records::record::{ControlRecordType, RecordBatch, RecordReader};

/// A transaction that was aborted: all its records lie in `first_offset..=last_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AbortedRange {
    /// The first record's offset.
    pub first_offset: i64,
    /// The marker's offset.
    pub last_offset: i64,
}

/// The role of a batch in the transaction of its producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionEvent {
    /// The batch has records of the transaction.
    Data,
    /// The batch is the commit marker.
    Commit,
    /// The batch is the abort marker.
    Abort,
}

impl TransactionEvent {
    /// The event of a batch; `None` if it belongs to no transaction. Only a control batch needs its body, from which `reader`
    /// reads the marker.
    pub fn of(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Option<Self> {
        if !batch.is_transactional() {
            return None;
        }
        if !batch.is_control_batch() {
            return Some(Self::Data);
        }
        let first = reader.records(batch).ok()?.next()?.ok()?;
        match ControlRecordType::parse(first.key) {
            Ok(ControlRecordType::Abort) => Some(Self::Abort),
            Ok(ControlRecordType::Commit) => Some(Self::Commit),
            _ => None,
        }
    }
}

/// Collects the transactions of one partition, batch by batch in offset order.
#[derive(Debug, Default)]
pub struct TransactionCollector {
    open: BTreeMap<i64, i64>,
    /// By last offset, producer id, first offset.
    aborted: BTreeSet<(i64, i64, i64)>,
    /// The length of the longest aborted transaction, in offsets.
    longest: i64,
}

impl TransactionCollector {
    /// Adds an entry of a `.txnindex`.
    pub fn add_aborted(&mut self, producer_id: i64, range: AbortedRange) {
        self.longest = self.longest.max(range.last_offset.saturating_sub(range.first_offset));
        self.aborted.insert((range.last_offset, producer_id, range.first_offset));
    }

    /// Adds a batch. Only a control batch needs its body, from which `reader` reads the marker.
    pub fn observe(&mut self, batch: &RecordBatch<'_>, reader: &mut RecordReader) {
        if let Some(event) = TransactionEvent::of(batch, reader) {
            self.apply(batch.producer_id(), event, batch.offset_field(), batch.last_offset());
        }
    }

    /// Adds the event of a batch with these offsets.
    pub fn apply(&mut self, producer_id: i64, event: TransactionEvent, first_offset: i64, last_offset: i64) {
        match event {
            TransactionEvent::Data => self.begin(producer_id, first_offset),
            TransactionEvent::Commit => drop(self.open.remove(&producer_id)),
            TransactionEvent::Abort => {
                if let Some(first_offset) = self.open.remove(&producer_id) {
                    self.add_aborted(producer_id, AbortedRange { first_offset, last_offset });
                }
            }
        }
    }

    /// Adds a transactional batch that is not a marker, by its header.
    pub fn begin(&mut self, producer_id: i64, first_offset: i64) {
        self.open.entry(producer_id).or_insert(first_offset);
    }

    /// Sets the open transactions, as a producer snapshot has them: producer ids and first offsets.
    pub fn set_open(&mut self, open: impl IntoIterator<Item = (i64, i64)>) {
        self.open = open.into_iter().collect();
    }

    /// The first offset of the earliest open transaction.
    pub fn first_open(&self) -> Option<i64> {
        self.open.values().copied().min()
    }

    /// The aborted transactions so far that overlap `start..end`, with their producer ids, in the order of their last offsets.
    pub fn aborted(&self, start: i64, end: i64) -> impl Iterator<Item = (i64, AbortedRange)> + '_ {
        // A transaction that ends after `last` begins after the range.
        let last = end.saturating_add(self.longest).max(start);
        let ending = self.aborted.range((start, i64::MIN, i64::MIN)..=(last, i64::MAX, i64::MAX));
        ending
            .filter(move |each| each.2 < end)
            .map(|&(last_offset, producer_id, first_offset)| (producer_id, AbortedRange { first_offset, last_offset }))
    }

    /// Forgets the aborted transactions that end before `offset`.
    pub fn forget(&mut self, offset: i64) {
        self.aborted = self.aborted.split_off(&(offset, i64::MIN, i64::MIN));
    }

    /// The filter for the transactions collected so far.
    pub fn finish(self) -> TransactionFilter {
        let aborted = self
            .aborted
            .iter()
            .map(|&(last_offset, producer_id, first_offset)| (producer_id, AbortedRange { first_offset, last_offset }));
        TransactionFilter::new(self.first_open(), aborted)
    }
}

/// Decides which batches are aborted. Like the collector, it allocates no memory by sizes that the log declares.
#[derive(Debug, Clone, Default)]
pub struct TransactionFilter {
    last_stable_offset: Option<i64>,
    /// First offsets by producer id and last offset; overlapping ranges of a producer are merged.
    aborted: BTreeMap<(i64, i64), i64>,
}

impl TransactionFilter {
    /// A filter from the last stable offset and the aborted transactions with their producer ids, as a collector found them.
    pub fn new(last_stable_offset: Option<i64>, aborted: impl IntoIterator<Item = (i64, AbortedRange)>) -> Self {
        let mut filter = Self { last_stable_offset, aborted: BTreeMap::new() };
        for (producer_id, range) in aborted {
            filter.add(producer_id, range);
        }
        filter
    }

    fn add(&mut self, producer_id: i64, mut range: AbortedRange) {
        #[cfg(test)]
        tests::step();
        while let Some((&(_, last), &first)) =
            self.aborted.range((producer_id, range.first_offset)..=(producer_id, i64::MAX)).next()
            && first <= range.last_offset
        {
            #[cfg(test)]
            tests::step();
            self.aborted.remove(&(producer_id, last));
            range.first_offset = range.first_offset.min(first);
            range.last_offset = range.last_offset.max(last);
        }
        self.aborted.insert((producer_id, range.last_offset), range.first_offset);
    }

    /// The ranges of aborted transactions with their producer ids, sorted by producer id and offset.
    pub fn aborted(&self) -> impl Iterator<Item = (i64, AbortedRange)> + '_ {
        self.aborted.iter().map(|(&(producer_id, last_offset), &first_offset)| {
            (producer_id, AbortedRange { first_offset, last_offset })
        })
    }

    /// The first offset of the earliest open transaction; `None` if no transaction is open.
    pub fn last_stable_offset(&self) -> Option<i64> {
        self.last_stable_offset
    }

    /// Whether the batch's records were aborted.
    pub fn is_aborted(&self, batch: &RecordBatch<'_>) -> bool {
        batch.is_transactional()
            && !batch.is_control_batch()
            && self.is_aborted_range(batch.producer_id(), batch.offset_field(), batch.last_offset())
    }

    fn is_aborted_range(&self, producer_id: i64, first: i64, last: i64) -> bool {
        #[cfg(test)]
        tests::step();
        let mut reaching = self.aborted.range((producer_id, first)..=(producer_id, i64::MAX));
        reaching.next().is_some_and(|(_, &begin)| begin <= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    /// A look-up in a map, which takes logarithmic time.
    pub(super) fn step() {
        STEPS.set(STEPS.get() + 1);
    }

    /// Aborted transactions and batches, as many of each: ranges of one producer that lie apart, overlap, contain one
    /// another, and those of many producers.
    #[test]
    fn a_constant_number_of_look_ups_for_each_batch() {
        type Shape = fn(i64) -> (i64, i64, i64);
        let shapes: [Shape; 5] = [
            |n| (1, 10 * n, 10 * n + 5),
            |n| (1, 10 * n, 10 * n + 55),
            |n| (1, 1_000_000 - n, 1_000_000 + n),
            |n| (n, 10 * n, 10 * n + 5),
            |n| (1, 0, 10 * n),
        ];
        for (number, shape) in shapes.iter().enumerate() {
            for count in [1_000, 16_000] {
                let mut collector = TransactionCollector::default();
                for n in 0..count {
                    let (producer, first_offset, last_offset) = shape(n);
                    collector.add_aborted(producer, AbortedRange { first_offset, last_offset });
                }
                STEPS.set(0);
                let filter = collector.finish();
                for n in 0..count {
                    let (producer, first, last) = shape(n);
                    assert!(filter.is_aborted_range(producer, first, last));
                }
                assert!(STEPS.get() <= 3 * count as u64, "shape {number}: {} look-ups of {count}", STEPS.get());
            }
        }
    }

    proptest! {
        #[test]
        fn the_same_as_one_by_one(
            all in prop::collection::vec((0..3_i64, 0..60_i64, 0..20_i64), 0..40),
            asked in prop::collection::vec((0..3_i64, 0..80_i64, 0..10_i64), 1..40),
            forgotten in 0..60_i64,
        ) {
            let range = |first: i64, length: i64| AbortedRange { first_offset: first, last_offset: first + length };
            let mut collector = TransactionCollector::default();
            for &(producer, first, length) in &all {
                collector.add_aborted(producer, range(first, length));
            }
            for &(_, start, length) in &asked {
                let mut found: Vec<_> = collector.aborted(start, start + length).collect();
                let mut wanted: Vec<_> = all.iter().map(|&(producer, first, length)| (producer, range(first, length)))
                    .filter(|(_, each)| each.last_offset >= start && each.first_offset < start + length).collect();
                found.sort_unstable();
                wanted.sort_unstable();
                wanted.dedup();
                prop_assert_eq!(found, wanted);
            }
            collector.forget(forgotten);
            prop_assert!(collector.aborted(i64::MIN, i64::MAX).all(|(_, each)| each.last_offset >= forgotten));
            let filter = collector.finish();
            for &(producer, start, length) in &asked {
                let wanted = all.iter().any(|&(of, first, reach)| {
                    of == producer && first + reach >= forgotten && first <= start + length && start <= first + reach
                });
                prop_assert_eq!(filter.is_aborted_range(producer, start, start + length), wanted);
            }
        }
    }
}
