//! The missing offsets of a segment or a log, in a list of limited length.

use super::compaction::Compaction;
use super::missing::{MAX_MISSING_RANGES, MissingRange, MissingReason};

/// Missing offsets as ranges in order, where adjacent ranges with the same reason are merged. At most [`MAX_MISSING_RANGES`] of
/// each kind are listed: those that compaction explains, gaps, and all others. None of them hides ranges of another kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingRanges {
    compaction: Compaction,
    ranges: Vec<MissingRange>,
    /// The number of listed ranges of each kind.
    counts: [usize; 3],
    more: u64,
}

impl MissingRanges {
    /// An empty list for a partition of which this is known.
    pub fn new(compaction: Compaction) -> Self {
        Self { compaction, ..Self::default() }
    }

    /// Appends a range. The part of a gap that compaction explains becomes a range of its own.
    pub fn push(&mut self, range: MissingRange) {
        for part in self.compaction.parts(range) {
            self.push_part(part);
        }
    }

    fn push_part(&mut self, range: MissingRange) {
        if let Some(last) = self.ranges.last_mut().filter(|last| last.continues_with(&range)) {
            last.last_offset = range.last_offset;
            return;
        }
        let [compacted, gaps, others] = &mut self.counts;
        let count = match range.reason {
            MissingReason::Compacted => compacted,
            MissingReason::Gap => gaps,
            _ => others,
        };
        if *count < MAX_MISSING_RANGES {
            *count += 1;
            self.ranges.push(range);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// The listed ranges.
    pub fn ranges(&self) -> &[MissingRange] {
        &self.ranges
    }

    /// The number of further ranges.
    pub fn more(&self) -> u64 {
        self.more
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The same ranges, of which compaction explains the gaps.
    #[must_use]
    pub fn explained(&self, compaction: Compaction) -> Self {
        let mut explained = Self { compaction, more: self.more, ..Self::default() };
        self.ranges.iter().for_each(|range| explained.push(*range));
        explained
    }

    /// These ranges and other ones of the same segment, in order.
    #[must_use]
    pub fn merged(&self, others: &Self) -> Self {
        let mut all: Vec<MissingRange> = self.ranges.iter().chain(&others.ranges).copied().collect();
        all.sort_by_key(|range| range.first_offset);
        let mut merged = Self { more: self.more.saturating_add(others.more), ..Self::default() };
        for range in all {
            merged.push(range);
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::MissingReason::{Compacted, Corrupt, Gap};
    use super::*;

    fn range(first_offset: i64, last_offset: i64, reason: MissingReason) -> MissingRange {
        MissingRange { first_offset, last_offset, reason }
    }

    fn listed(compaction: Compaction, ranges: impl IntoIterator<Item = MissingRange>) -> MissingRanges {
        let mut missing = MissingRanges::new(compaction);
        ranges.into_iter().for_each(|range| missing.push(range));
        missing
    }

    #[test]
    fn ranges_that_meet_are_merged() {
        let missing = listed(Compaction::Unknown, [range(0, 4, Gap), range(5, 9, Gap), range(10, 11, Corrupt)]);
        assert_eq!(missing.ranges(), [range(0, 9, Gap), range(10, 11, Corrupt)]);
        let other = listed(Compaction::Unknown, [range(12, 13, Corrupt)]);
        assert_eq!(other.merged(&missing).ranges(), [range(0, 9, Gap), range(10, 13, Corrupt)]);
    }

    #[test]
    fn explained_ranges_that_meet_are_merged() {
        let ranges = [range(0, 4, Compacted), range(5, 9, Gap), range(10, 11, Corrupt)];
        let expected = [range(0, 6, Compacted), range(7, 9, Gap), range(10, 11, Corrupt)];
        assert_eq!(listed(Compaction::To(7), ranges).ranges(), expected);
        let explained = listed(Compaction::Unknown, ranges).explained(Compaction::Somewhere);
        assert_eq!(explained.ranges(), [range(0, 9, Compacted), range(10, 11, Corrupt)]);
    }

    #[test]
    fn more_ranges_than_are_listed_are_counted_and_hide_no_others() {
        let most = MAX_MISSING_RANGES as i64;
        let gaps = (0..most + 5).map(|at| range(3 * at, 3 * at, Gap));
        let corrupt = range(4 * most, 4 * most, Corrupt);
        let missing = listed(Compaction::Unknown, gaps.clone().chain([corrupt]));
        assert_eq!((missing.ranges().len(), missing.more()), (MAX_MISSING_RANGES + 1, 5));
        assert_eq!(missing.ranges().last(), Some(&corrupt));
        assert_eq!(missing.explained(Compaction::Somewhere).more(), 5);
        assert_eq!(missing.merged(&MissingRanges { more: 2, ..MissingRanges::default() }).more(), 7);
        let lost = range(5 * most, 5 * most, Gap);
        let missing = listed(Compaction::To(4 * most), gaps.chain([lost]));
        assert_eq!((missing.ranges().last(), missing.more()), (Some(&lost), 5));
    }
}
