//! Whether the batches of a file are in order, which readers see from one batch to the next. It decides nothing: where a batch is out of
//! order, only the map of all files shows which belong to the log.

use crate::index::MAX_RELATIVE_OFFSET;

/// Where a batch is, as those before it in its file show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It continues them.
    Next,
    /// Offsets are missing before it.
    AfterGap,
    /// It is not above them, or has offsets that the file cannot have.
    OutOfOrder,
}

/// Follows the offsets of the batches of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InOrder {
    expected: i64,
    until: i64,
}

impl InOrder {
    /// For a file whose batches have offsets from `start`, which is its name, to before `until`.
    pub const fn new(start: i64, until: i64) -> Self {
        Self { expected: start, until }
    }

    /// For a file with this name, and the next one's, as far as indexes allow: at most 2^31 offsets.
    pub fn of_file(name: i64, next: Option<i64>) -> Self {
        let most = name.saturating_add(MAX_RELATIVE_OFFSET).saturating_add(1);
        Self::new(name, next.map_or(most, |next| next.min(most)))
    }

    /// The place of a batch after those that were passed. The header of a compressed message has no first offset: it may begin where
    /// they end.
    #[inline]
    pub fn place(&self, first: Option<i64>, last: i64) -> Place {
        let first = first.unwrap_or_else(|| last.min(self.expected));
        if first < self.expected || last < first || last >= self.until {
            Place::OutOfOrder
        } else if first == self.expected {
            Place::Next
        } else {
            Place::AfterGap
        }
    }

    /// Passes a batch with this last offset.
    #[inline]
    pub fn pass(&mut self, last: i64) {
        self.expected = last.saturating_add(1);
    }

    /// Passes a batch, and returns whether it is in order.
    #[inline]
    pub fn takes(&mut self, first: Option<i64>, last: i64) -> bool {
        let place = self.place(first, last);
        self.pass(last);
        place != Place::OutOfOrder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_next_after_a_gap_or_out_of_order() {
        let order = InOrder::new(10, 100);
        let cases = [
            ((Some(10), 10), Place::Next),
            ((Some(10), 99), Place::Next),
            ((Some(11), 12), Place::AfterGap),
            ((Some(9), 12), Place::OutOfOrder),
            ((Some(12), 11), Place::OutOfOrder),
            ((Some(10), 100), Place::OutOfOrder),
            ((None, 10), Place::Next),
            ((None, 99), Place::Next),
            ((None, 9), Place::OutOfOrder),
            ((None, 100), Place::OutOfOrder),
        ];
        for ((first, last), place) in cases {
            assert_eq!(order.place(first, last), place, "{first:?} {last}");
        }
    }

    #[test]
    fn a_file_has_at_most_as_many_offsets_as_its_index_can_have() {
        let at = |next, last| InOrder::of_file(10, next).place(Some(last), last);
        assert_eq!(at(None, 10 + MAX_RELATIVE_OFFSET), Place::AfterGap);
        assert_eq!(at(None, 11 + MAX_RELATIVE_OFFSET), Place::OutOfOrder);
        assert_eq!(at(Some(i64::MAX), 11 + MAX_RELATIVE_OFFSET), Place::OutOfOrder);
        assert_eq!((at(Some(20), 19), at(Some(20), 20)), (Place::AfterGap, Place::OutOfOrder));
    }

    #[test]
    fn the_next_batch_is_compared_with_the_last_one_that_was_passed() {
        let mut order = InOrder::new(0, i64::MAX);
        assert!(order.takes(Some(0), 4));
        assert_eq!(order.place(Some(5), 5), Place::Next);
        assert!(!order.takes(Some(4), 4));
        assert_eq!(order.place(Some(5), 5), Place::Next);
        order.pass(i64::MAX);
        assert_eq!(order.place(Some(5), 5), Place::OutOfOrder);
    }
}
