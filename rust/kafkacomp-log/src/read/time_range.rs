//! The least and the greatest timestamp of records.

use kafkacomp_records::record::batch::NO_TIMESTAMP;

/// The least and the greatest of timestamps. A record without a timestamp (-1) does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    least: i64,
    greatest: i64,
}

impl Default for TimeRange {
    fn default() -> Self {
        Self { least: i64::MAX, greatest: i64::MIN }
    }
}

impl TimeRange {
    /// Adds the timestamp of a record.
    #[inline]
    pub fn add(&mut self, timestamp: i64) {
        if timestamp != NO_TIMESTAMP {
            self.least = self.least.min(timestamp);
            self.greatest = self.greatest.max(timestamp);
        }
    }

    /// Adds the timestamps of `other`.
    pub fn merge(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    fn is_empty(self) -> bool {
        self.least > self.greatest
    }

    /// The least timestamp, ms; `None` without timestamps.
    pub fn first(self) -> Option<i64> {
        (!self.is_empty()).then_some(self.least)
    }

    /// The greatest timestamp, ms; `None` without timestamps.
    pub fn last(self) -> Option<i64> {
        (!self.is_empty()).then_some(self.greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::TimeRange;

    #[test]
    fn a_record_without_a_timestamp_does_not_count() {
        let mut times = TimeRange::default();
        assert_eq!((times.first(), times.last()), (None, None));
        times.add(-1);
        assert_eq!((times.first(), times.last()), (None, None));
        for timestamp in [7, -1, 3, i64::MAX, -5, 4] {
            times.add(timestamp);
        }
        assert_eq!((times.first(), times.last()), (Some(-5), Some(i64::MAX)));
        let mut both = TimeRange::default();
        both.merge(times);
        both.merge(TimeRange::default());
        assert_eq!(both, times);
    }
}
