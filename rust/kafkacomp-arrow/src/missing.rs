//! Offsets that the segments should have and a scan did not return, collected from all threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kafkacomp_log::{MissingRange, MissingReason};

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
    lost: Kept,
    compacted: Kept,
    /// The partitions from which compaction has removed records.
    cleaned: BTreeSet<usize>,
    /// The partitions of which a segment was replaced while it was read.
    replaced: BTreeSet<usize>,
}

/// Ranges of one kind. If there are too many, the last ones are only counted, but each partition keeps one.
#[derive(Debug, Clone, Default)]
struct Kept {
    ranges: BTreeMap<(usize, i64), Missing>,
    /// The number of ranges of each partition, and the partitions that have several.
    counts: BTreeMap<usize, usize>,
    several: BTreeSet<usize>,
    more: u64,
}

impl Kept {
    fn add(&mut self, index: usize, mut missing: Missing) {
        let mut key = (index, missing.range.first_offset);
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
            self.remove(after);
        }
        if self.ranges.insert(key, missing).is_none() {
            self.count(index, 1);
        }
        if self.ranges.len() > MAX_RANGES
            && let Some(&index) = self.several.last()
            && let Some((&last, _)) = self.ranges.range((index, i64::MIN)..=(index, i64::MAX)).next_back()
        {
            self.remove(last);
            self.more = self.more.saturating_add(1);
        }
    }

    fn remove(&mut self, key: (usize, i64)) -> Option<Missing> {
        let removed = self.ranges.remove(&key)?;
        self.count(key.0, -1);
        Some(removed)
    }

    fn count(&mut self, index: usize, change: isize) {
        let count = self.counts.entry(index).or_default();
        *count = count.saturating_add_signed(change);
        if *count > 1 {
            self.several.insert(index);
        } else {
            self.several.remove(&index);
        }
    }
}

impl MissingOffsets {
    /// Adds a range of `partition` that belongs to `segment`.
    pub fn add(&mut self, partition: &PartitionId, segment: &Arc<str>, mut range: MissingRange) {
        let is_cleaned = match range.reason {
            MissingReason::Gap => self.cleaned.contains(&partition.index),
            MissingReason::Truncated => self.replaced.contains(&partition.index),
            _ => false,
        };
        if is_cleaned {
            range.reason = MissingReason::Compacted;
        }
        let missing = Missing {
            topic: partition.topic.clone(),
            partition: partition.partition,
            segment: Arc::clone(segment),
            range,
        };
        let kept = if range.reason == MissingReason::Compacted { &mut self.compacted } else { &mut self.lost };
        kept.add(partition.index, missing);
    }

    /// Sets that compaction has removed records of `partition`, which explains the gaps between batches.
    pub fn set_compacted(&mut self, partition: &PartitionId) {
        let index = partition.index;
        if !self.cleaned.insert(index) {
            return;
        }
        let own = self.lost.ranges.range((index, i64::MIN)..=(index, i64::MAX));
        let gaps = own.filter(|(_, missing)| missing.range.reason == MissingReason::Gap).map(|(&key, _)| key);
        for key in gaps.collect::<Vec<_>>() {
            let Some(mut missing) = self.lost.remove(key) else { continue };
            missing.range.reason = MissingReason::Compacted;
            self.compacted.add(index, missing);
        }
    }

    /// Sets that a segment of `partition` was replaced while it was read, as compaction does: that explains what the judgement of the new
    /// file found to be no compaction, too.
    pub fn set_replaced(&mut self, partition: &PartitionId) {
        self.replaced.insert(partition.index);
        self.set_compacted(partition);
    }

    /// The ranges so far, at most about 10,000. Those that compaction explains are left out first.
    pub fn ranges(&self) -> Vec<Missing> {
        let mut found: Vec<_> = self.lost.ranges.iter().chain(self.compacted.ranges.iter().take(self.room())).collect();
        found.sort_by_key(|&(key, _)| *key);
        found.into_iter().map(|(_, missing)| missing.clone()).collect()
    }

    /// Whether there are any that compaction does not explain.
    pub fn has_lost(&self) -> bool {
        !self.lost.ranges.is_empty()
    }

    /// The number of ranges that are not listed.
    pub fn more(&self) -> u64 {
        let left_out = self.compacted.ranges.len().saturating_sub(self.room());
        self.lost.more.saturating_add(self.compacted.more).saturating_add(left_out as u64)
    }

    /// The number of ranges that compaction explains and that are listed.
    fn room(&self) -> usize {
        MAX_RANGES.saturating_sub(self.lost.ranges.len())
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

    #[test]
    fn compaction_hides_no_loss() {
        let segment = Arc::from("a");
        let gap = |offset: usize| range(offset as i64, offset as i64, MissingReason::Gap);
        for is_known_first in [true, false] {
            let mut missing = MissingOffsets::default();
            if is_known_first {
                missing.set_compacted(&id(0));
            }
            for at in 0..MAX_RANGES + 5 {
                missing.add(&id(0), &segment, gap(2 * at));
            }
            missing.add(&id(0), &segment, range(1, 1, MissingReason::Corrupt));
            missing.add(&id(1), &segment, gap(7));
            missing.add(&id(1), &segment, gap(9));
            missing.set_compacted(&id(0));
            let found = found(&missing);
            let lost: Vec<_> = found.iter().filter(|(_, _, reason)| *reason != MissingReason::Compacted).collect();
            assert!(lost.contains(&&(7, 7, MissingReason::Gap)), "{is_known_first} {lost:?}");
            assert!(found.len() <= MAX_RANGES + 2);
            assert_eq!(found.len() + missing.more() as usize, MAX_RANGES + 8);
        }
    }
}
