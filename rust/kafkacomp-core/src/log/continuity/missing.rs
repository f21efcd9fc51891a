//! Missing offsets: offsets that a log should have and that were not returned, with the reason.

/// Why offsets are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MissingReason {
    /// Corrupt bytes are in their place.
    Corrupt,
    /// There are no bytes between the batches before and after, or no segment.
    Gap,
    /// There are no bytes, but the offset index shows that there were, which compaction does not explain. Reports call it a gap.
    Truncated,
    /// Compaction removed the records.
    Compacted,
    /// They exceed a limit that the caller set, such as the decompressed size of a batch.
    Limit,
    /// The storage does not return the bytes (EIO).
    Unreadable,
    /// The segment was removed after the log was listed.
    Vanished,
}

impl MissingReason {
    /// All reasons that reports have.
    const ALL: [Self; 6] = [Self::Corrupt, Self::Gap, Self::Compacted, Self::Limit, Self::Unreadable, Self::Vanished];

    /// The reason with this name in reports.
    pub fn for_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Gap | Self::Truncated => "gap",
            Self::Compacted => "compacted",
            Self::Limit => "limit",
            Self::Unreadable => "unreadable",
            Self::Vanished => "vanished",
        }
    }
}

/// A range of missing offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingRange {
    /// The first missing offset.
    pub first_offset: i64,
    /// The last missing offset, inclusive.
    pub last_offset: i64,
    /// The reason.
    pub reason: MissingReason,
}

impl MissingRange {
    /// The offsets `expected..found`; `None` if there are none.
    pub fn between(expected: i64, found: i64, reason: MissingReason) -> Option<Self> {
        (found > expected).then(|| Self { first_offset: expected, last_offset: found.saturating_sub(1), reason })
    }

    /// Whether `next` continues this range for the same reason.
    pub fn continues_with(&self, next: &Self) -> bool {
        self.reason == next.reason && self.last_offset.checked_add(1) == Some(next.first_offset)
    }
}

/// The most ranges that are listed; further ones are only counted.
pub const MAX_MISSING_RANGES: usize = 10_000;

/// The missing offsets of a segment or partition, as sorted ranges. Adjacent ranges are merged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingRanges {
    ranges: Vec<MissingRange>,
    more: u64,
}

impl MissingRanges {
    /// Appends a range.
    pub fn push(&mut self, range: MissingRange) {
        let is_full = self.ranges.len() >= MAX_MISSING_RANGES;
        match self.ranges.last_mut() {
            Some(last) if self.more == 0 && last.continues_with(&range) => last.last_offset = range.last_offset,
            _ if is_full => self.more = self.more.saturating_add(1),
            _ => self.ranges.push(range),
        }
    }

    /// The ranges, at most [`MAX_MISSING_RANGES`].
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

    /// Counts further ranges.
    pub(super) fn add_more(&mut self, count: u64) {
        self.more = self.more.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first_offset: i64, last_offset: i64, reason: MissingReason) -> MissingRange {
        MissingRange { first_offset, last_offset, reason }
    }

    #[test]
    fn ranges_that_meet_are_merged() {
        let mut missing = MissingRanges::default();
        for each in
            [range(0, 4, MissingReason::Gap), range(5, 9, MissingReason::Gap), range(10, 11, MissingReason::Corrupt)]
        {
            missing.push(each);
        }
        assert_eq!(missing.ranges(), [range(0, 9, MissingReason::Gap), range(10, 11, MissingReason::Corrupt)]);
    }

    #[test]
    fn more_ranges_than_are_listed_are_counted() {
        let mut missing = MissingRanges::default();
        for offset in 0..MAX_MISSING_RANGES as i64 + 5 {
            missing.push(range(3 * offset, 3 * offset, MissingReason::Gap));
        }
        assert_eq!((missing.ranges().len(), missing.more()), (MAX_MISSING_RANGES, 5));
    }
}
