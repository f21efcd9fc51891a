//! Offsets that the segments should have and a scan did not return, collected from all threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kafkacomp_core::log::{MissingRange, MissingReason};

/// The most ranges that are kept; further ones are counted.
const MAX_RANGES: usize = 10_000;

/// The partition that offsets are missing from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionId {
    /// Its index among the partitions of the scan.
    pub index: usize,
    /// The topic, if known.
    pub topic: Option<Arc<str>>,
    /// The partition's number, if known.
    pub partition: Option<i32>,
}

/// Offsets that are missing from a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The topic, if known.
    pub topic: Option<Arc<str>>,
    /// The partition's number, if known.
    pub partition: Option<i32>,
    /// The segment that should have them.
    pub segment: Arc<str>,
    /// The offsets and the reason.
    pub range: MissingRange,
}

impl Missing {
    fn continues_with(&self, next: &Self) -> bool {
        self.range.continues_with(&next.range) && self.segment == next.segment
    }
}

/// Ranges of missing offsets in order of partition and offset, adjacent ones of a segment with the same reason merged.
#[derive(Debug, Clone, Default)]
pub struct MissingOffsets {
    ranges: BTreeMap<(usize, i64), Missing>,
    more: u64,
    compacted: BTreeSet<usize>,
}

impl MissingOffsets {
    /// Adds a range of `partition` that belongs to `segment`.
    pub fn add(&mut self, partition: &PartitionId, segment: &Arc<str>, range: MissingRange) {
        let mut key = (partition.index, range.first_offset);
        let mut missing = Missing {
            topic: partition.topic.clone(),
            partition: partition.partition,
            segment: Arc::clone(segment),
            range,
        };
        if let Some((&before, found)) = self.ranges.range(..key).next_back()
            && before.0 == key.0
            && found.continues_with(&missing)
        {
            missing.range.first_offset = found.range.first_offset;
            key = before;
        }
        if let Some((&after, found)) = self.ranges.range(key..).find(|&(&other, _)| other > key)
            && after.0 == key.0
            && missing.continues_with(found)
        {
            missing.range.last_offset = found.range.last_offset;
            self.ranges.remove(&after);
        }
        self.ranges.insert(key, missing);
        if self.ranges.len() > MAX_RANGES {
            self.ranges.pop_last();
            self.more = self.more.saturating_add(1);
        }
    }

    /// Sets that compaction has removed records of `partition`, which explains the gaps between batches.
    pub fn set_compacted(&mut self, partition: &PartitionId) {
        self.compacted.insert(partition.index);
    }

    /// The ranges so far.
    pub fn ranges(&self) -> Vec<Missing> {
        let mut merged: Vec<Missing> = Vec::with_capacity(self.ranges.len());
        let mut index = None;
        for (key, missing) in &self.ranges {
            let mut missing = missing.clone();
            if missing.range.reason == MissingReason::Gap && self.compacted.contains(&key.0) {
                missing.range.reason = MissingReason::Compacted;
            }
            match merged.last_mut() {
                Some(last) if index == Some(key.0) && last.continues_with(&missing) => {
                    last.range.last_offset = missing.range.last_offset;
                }
                _ => merged.push(missing),
            }
            index = Some(key.0);
        }
        merged
    }

    /// The number of ranges that were not kept.
    pub fn more(&self) -> u64 {
        self.more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: usize) -> PartitionId {
        PartitionId { index, topic: None, partition: Some(0) }
    }

    fn range(first_offset: i64, last_offset: i64, reason: MissingReason) -> MissingRange {
        MissingRange { first_offset, last_offset, reason }
    }

    fn found(missing: &MissingOffsets) -> Vec<(i64, i64, MissingReason)> {
        let ranges = missing.ranges();
        ranges.iter().map(|each| (each.range.first_offset, each.range.last_offset, each.range.reason)).collect()
    }

    #[test]
    fn ranges_are_merged_and_in_order_whatever_order_they_come_in() {
        use MissingReason::{Corrupt, Gap};
        let segment = Arc::from("a");
        let all = [(0, 4, Corrupt), (5, 9, Corrupt), (10, 11, Gap), (12, 12, Corrupt), (20, 29, Corrupt)];
        let wanted = [(0, 9, Corrupt), (10, 11, Gap), (12, 12, Corrupt), (20, 29, Corrupt)];
        for turn in 0..all.len() {
            let mut missing = MissingOffsets::default();
            for index in 0..all.len() {
                let (first, last, reason) = all[(index * 2 + turn) % all.len()];
                missing.add(&id(0), &segment, range(first, last, reason));
            }
            assert_eq!(found(&missing), wanted, "{turn}");
        }
    }

    #[test]
    fn ranges_of_other_segments_and_partitions_stay_apart() {
        let (a, b) = (Arc::from("a"), Arc::from("b"));
        let mut missing = MissingOffsets::default();
        missing.add(&id(1), &a, range(3, 4, MissingReason::Gap));
        missing.add(&id(0), &b, range(1, 2, MissingReason::Gap));
        missing.add(&id(0), &a, range(0, 0, MissingReason::Gap));
        assert_eq!(missing.ranges().len(), 3);
        missing.set_compacted(&id(1));
        let reasons: Vec<_> = found(&missing).into_iter().map(|(_, _, reason)| reason).collect();
        assert_eq!(reasons, [MissingReason::Gap, MissingReason::Gap, MissingReason::Compacted]);
    }

    #[test]
    fn ranges_beyond_the_limit_are_counted() {
        let segment = Arc::from("a");
        let mut missing = MissingOffsets::default();
        for index in 0..10_005 {
            missing.add(&id(0), &segment, range(index * 2, index * 2, MissingReason::Gap));
        }
        assert_eq!((missing.ranges().len(), missing.more()), (MAX_RANGES, 5));
    }
}
