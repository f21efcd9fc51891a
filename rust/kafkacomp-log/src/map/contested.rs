//! Offsets of many batches, which may overlap one another.

use super::ranges::OffsetRange;

/// Offsets of batches that are not in place.
pub(super) struct Contested {
    /// The ranges by their ends, and the lowest start of each range and those after it.
    ranges: Vec<(i64, i64)>,
}

impl Contested {
    pub(super) fn new(mut offsets: Vec<OffsetRange>) -> Self {
        offsets.sort_unstable_by_key(|each| each.end());
        let mut ranges: Vec<(i64, i64)> = offsets.iter().map(|each| (each.end(), each.start())).collect();
        let mut lowest = i64::MAX;
        for (_, start) in ranges.iter_mut().rev() {
            lowest = lowest.min(*start);
            *start = lowest;
        }
        Self { ranges }
    }

    /// Whether one of the batches has some of these offsets.
    pub(super) fn overlaps(&self, offsets: OffsetRange) -> bool {
        let place = self.ranges.partition_point(|&(end, _)| end <= offsets.start());
        self.ranges.get(place).is_some_and(|&(_, lowest)| lowest < offsets.end())
    }
}
