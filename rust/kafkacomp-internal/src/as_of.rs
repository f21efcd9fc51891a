//! The state as of an earlier time or offset, and where the log no longer shows it.
//!
//! A compacted log does not keep its past. If the oldest surviving record of a key is after the point in question, compaction may have
//! removed an earlier one, so that the value at that point is unknown. It is known to be absent if no offset before the point is
//! missing, or if the point is after all that the cleaner has read. If a record of the key is before the point, the last such record is
//! the value: the cleaner would have removed it, had it removed a later one.

use std::collections::{HashMap, HashSet};

/// The records that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// Those before the first one with a later timestamp, in milliseconds.
    Time(i64),
    /// Those below this offset of each partition.
    Offset(i64),
}

/// The offset and timestamp of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    pub offset: i64,
    pub timestamp: i64,
}

/// What is known of the past of a partition.
#[derive(Debug, Default)]
pub(crate) struct Past {
    as_of: Option<AsOf>,
    /// The offset up to which the cleaner has read, if a checkpoint has it.
    cleaned_to: Option<i64>,
    /// The offset after the last record.
    expected: i64,
    /// The first record that does not count.
    bound: Option<At>,
    /// Whether an offset before the bound is missing.
    has_gap_before: bool,
    /// The record after the last gap that is after the bound.
    after_gap: Option<At>,
    /// The keys of records that count, and the first records of other keys.
    seen: HashSet<Box<[u8]>>,
    later: HashMap<Box<[u8]>, At>,
}

impl Past {
    pub(crate) fn new(as_of: Option<AsOf>, cleaned_to: Option<i64>) -> Self {
        Self { as_of, cleaned_to, ..Self::default() }
    }

    /// Whether a record counts. Records must come in the order of their offsets.
    pub(crate) fn counts(&mut self, at: At, key: Option<&[u8]>) -> bool {
        let (is_gap, missing) = (at.offset > self.expected, self.expected);
        self.expected = at.offset.saturating_add(1);
        let is_after = match self.as_of {
            None => return true,
            Some(AsOf::Time(time)) => at.timestamp > time,
            Some(AsOf::Offset(offset)) => at.offset >= offset,
        };
        match self.bound {
            // What is missing before the first later record may be earlier than the time.
            None => self.has_gap_before |= is_gap && !matches!(self.as_of, Some(AsOf::Offset(end)) if missing >= end),
            Some(_) if is_gap => self.after_gap = Some(at),
            Some(_) => {}
        }
        if is_after && self.bound.is_none() {
            self.bound = Some(at);
        }
        if let Some(key) = key {
            if self.bound.is_none() {
                if !self.seen.contains(key) {
                    self.seen.insert(key.into());
                }
            } else if !self.seen.contains(key) && !self.later.contains_key(key) {
                self.later.insert(key.into(), at);
            }
        }
        self.bound.is_none()
    }

    /// The first offset that does not count, if there is one.
    pub(crate) fn end(&self) -> Option<i64> {
        self.bound.map(|at| at.offset)
    }

    /// Whether a key may have had a value that compaction has removed.
    fn may_lack(&self) -> bool {
        let is_before_cleaned = self.bound.is_some_and(|at| self.cleaned_to.is_none_or(|end| at.offset < end));
        self.has_gap_before && is_before_cleaned
    }

    /// The keys whose value is unknown, sorted.
    pub(crate) fn unknown(&self) -> Vec<&[u8]> {
        let mut keys: Vec<&[u8]> =
            if self.may_lack() { self.later.keys().map(|key| &**key).collect() } else { Vec::new() };
        keys.sort_unstable();
        keys
    }

    /// Whether a record with this key counts.
    pub(crate) fn seen(&self) -> impl Iterator<Item = &[u8]> {
        self.seen.iter().map(|key| &**key)
    }

    /// The earliest time from which the answer is complete; `None` if it is.
    pub(crate) fn complete_from(&self) -> Option<i64> {
        if !self.may_lack() {
            return None;
        }
        self.later.values().chain(&self.after_gap).map(|at| at.timestamp).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(as_of: AsOf, cleaned_to: Option<i64>, records: &[(i64, &str)]) -> (Past, Vec<i64>) {
        let mut past = Past::new(Some(as_of), cleaned_to);
        let at = |offset: i64| At { offset, timestamp: offset.saturating_mul(10) };
        let counted = records.iter().filter(|(offset, key)| past.counts(at(*offset), Some(key.as_bytes())));
        let counted = counted.map(|(offset, _)| *offset).collect();
        (past, counted)
    }

    #[test]
    fn without_a_gap_before_the_point_an_absent_key_is_absent() {
        let (past, counted) = past(AsOf::Offset(2), None, &[(0, "a"), (1, "b"), (2, "c"), (7, "d")]);
        assert_eq!((counted, past.unknown().len(), past.complete_from()), (vec![0, 1], 0, None));
    }

    #[test]
    fn after_a_gap_a_key_is_unknown_before_its_oldest_record() {
        let (past, counted) = past(AsOf::Time(40), None, &[(3, "a"), (4, "b"), (5, "a"), (6, "c"), (9, "b")]);
        assert_eq!(counted, [3, 4]);
        assert_eq!(past.unknown(), [b"c".as_slice()]);
        assert_eq!(past.complete_from(), Some(90), "a removed tombstone may lie between 6 and 9");
    }

    #[test]
    fn after_all_that_the_cleaner_has_read_nothing_is_unknown() {
        let (past, _) = past(AsOf::Offset(5), Some(5), &[(3, "a"), (4, "b"), (5, "c")]);
        assert_eq!((past.unknown().len(), past.complete_from()), (0, None));
    }

    #[test]
    fn the_end_of_the_log_is_complete() {
        let (past, counted) = past(AsOf::Time(1_000), None, &[(3, "a"), (9, "b")]);
        assert_eq!((counted.len(), past.unknown().len(), past.complete_from()), (2, 0, None));
    }
}
