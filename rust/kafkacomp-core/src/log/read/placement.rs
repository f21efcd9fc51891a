//! Judges whether the offsets of a batch fit its place in the log.
//!
//! No checksum covers the base offset and the leader epoch of a batch, so that a broker can set them without computing one.
//! Whether an offset is right is judged by the surroundings of the batch: the expected offset, the next batch, and the base
//! offset of the next segment.
//!
//! If a bit of the base offset is flipped, the next batch does not continue at the end of this one, but the gap between its
//! neighbours is exactly as large as the batch needs. Only such a batch is [`Placement::Misplaced`]; the intact batches around
//! it are not blamed. If the surroundings do not decide (the last batch of a log, a batch next to offsets that compaction
//! removed), the header is trusted.

use crate::record::RecordBatch;

/// The offsets that the header of a batch states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first offset; `None` for a wrapper, whose first offset only its records show.
    pub first: Option<i64>,
    /// The last offset.
    pub last: i64,
    /// The stored checksum: two batches with the same offsets and checksum are copies of one another.
    pub crc: u32,
}

impl Span {
    /// The offsets of `batch`.
    #[inline]
    pub fn of(batch: &RecordBatch<'_>) -> Self {
        Self { first: batch.base_offset(), last: batch.last_offset(), crc: batch.crc() }
    }

    /// The least offset that the batch may have according to its header.
    #[inline]
    fn least(self) -> i64 {
        self.first.unwrap_or(self.last)
    }

    /// Whether both have some of the same offsets, as far as their first offsets are known.
    fn shares_offsets(self, other: Self) -> bool {
        self.first.is_some() && self.least() <= other.last && other.least() <= self.last
    }

    /// The number of offsets of the batch, if the header shows it.
    pub(in crate::log) fn count(self) -> Option<i64> {
        self.first.map(|first| self.last.wrapping_sub(first).wrapping_add(1))
    }
}

/// How the offsets of a batch fit its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// It continues the log, at the expected offset or after a gap.
    InOrder,
    /// All its offsets are below the expected one: a batch that occurs twice, or an older copy.
    Repeated,
    /// Its first offsets are below the expected one, its last ones continue the log.
    PartlyRepeated,
    /// Its offset field cannot be right.
    Misplaced {
        /// The offset field that the surroundings determine, if they do. It is right only if the log has no other batch with
        /// the same checksum, of which this one could be a copy.
        offset_field: Option<i64>,
    },
}

/// The surroundings of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbours {
    /// The offset after the last batch in order before it, or the base offset of the segment.
    pub expected: i64,
    /// The batch directly before, whether it is in order or not.
    pub before: Option<Span>,
    /// Whether no corrupt range is between that batch and this one.
    pub follows: bool,
    /// The next intact batch of the segment.
    pub next: Option<Span>,
    /// Whether that batch, or the segment's end if there is none, follows directly.
    pub adjacent: bool,
    /// The base offset of the next segment.
    pub end_offset: Option<i64>,
}

impl Neighbours {
    /// The offset at which the log continues directly after the batch, if that is known exactly.
    pub(in crate::log) fn resumes(&self) -> Option<i64> {
        if self.adjacent { self.next.map_or(self.end_offset, |next| next.first) } else { None }
    }

    /// The number of offsets between the two neighbours, if both are known exactly.
    pub(in crate::log) fn room(&self) -> Option<i64> {
        self.resumes().filter(|_| self.follows)?.checked_sub(self.expected)
    }

    /// The first offset of what follows.
    fn limit(&self) -> Option<i64> {
        self.next.map(Span::least).or(self.end_offset)
    }

    /// Whether `batch` is the middle one of three batches in descending order: its neighbours are swapped.
    pub(in crate::log) fn is_between_swapped(&self, batch: Span) -> bool {
        let (Some(before), Some(next)) = (self.before, self.next) else { return false };
        // In a compacted log, the first of the three need not begin with the expected offset.
        let descends = before.least() > batch.last && next.least() >= self.expected && next.last < batch.least();
        self.adjacent && descends && self.end_offset.is_none_or(|end| batch.last < end)
    }

    /// Whether the next batch continues the log and has offsets of `batch` or lower ones.
    pub fn next_contradicts(&self, batch: Span) -> bool {
        let witness = self.next.filter(|next| next.least() >= self.expected && next.last >= next.least());
        witness.is_some_and(|next| next.least() <= batch.last) && !self.is_between_swapped(batch)
    }

    /// The right first offset of a batch of `count` offsets whose header has `first`.
    ///
    /// It is determined if the batch fills the room between its neighbours, or if one neighbour alone gives an offset that
    /// differs from the stored one in a single bit.
    fn fitting_first(&self, first: i64, count: i64) -> Option<i64> {
        let from_before = self.follows.then_some(self.expected);
        let from_after = self.resumes().and_then(|end| end.checked_sub(count)).filter(|&from| from >= self.expected);
        if self.room() == Some(count) {
            return from_before;
        }
        let last = |from: i64| from.wrapping_add(count).wrapping_sub(1);
        let fits = |&from: &i64| {
            // The offset field is the first offset, or, of a wrapper, the last one.
            let is_near = (from ^ first).count_ones() == 1 || (last(from) ^ last(first)).count_ones() == 1;
            let end = from.checked_add(count);
            is_near && end.is_some_and(|end| self.limit().is_none_or(|limit| end <= limit))
        };
        match (from_before.filter(fits), from_after.filter(fits)) {
            (Some(_), Some(_)) => None,
            (one, other) => one.or(other),
        }
    }
}

/// Judges the offsets of `batch`. `expected` is the offset after the last batch in order, or the base offset of the segment;
/// `before` and `next` are the intact batches directly before and after it; `end_offset` is the base offset of the next
/// segment.
#[inline]
pub fn place(
    expected: i64,
    before: Option<Span>,
    batch: Span,
    next: Option<Span>,
    end_offset: Option<i64>,
) -> Placement {
    place_between(&Neighbours { expected, before, follows: true, next, adjacent: true, end_offset }, batch)
}

/// Judges the offsets of `batch`; corrupt ranges may separate it from its neighbours.
#[inline]
pub fn place_between(around: &Neighbours, batch: Span) -> Placement {
    if batch.first == Some(around.expected) && batch.last >= around.expected {
        return Placement::InOrder;
    }
    place_unexpected(around, batch)
}

#[cold]
fn place_unexpected(around: &Neighbours, batch: Span) -> Placement {
    const NOWHERE: Placement = Placement::Misplaced { offset_field: None };
    let &Neighbours { expected, next, end_offset, .. } = around;
    let resumes = around.resumes();
    // The offset field with which the batch fills the room between its neighbours.
    let fitting = match (batch.first, batch.count()) {
        (Some(first), Some(count)) if count > 0 => around.fitting_first(first, count),
        // The offset field of a wrapper is its last offset; whether the first one fits, only its records show.
        _ => resumes.map(|end| end.saturating_sub(1)).filter(|&last| last >= expected),
    };
    let misplaced = Placement::Misplaced { offset_field: fitting };
    if batch.least() < 0 || batch.last < batch.least() {
        return misplaced;
    }
    let same = |other: Option<Span>| {
        other.is_some_and(|other| (other.first, other.last, other.crc) == (batch.first, batch.last, batch.crc))
    };
    if same(around.before) && batch.last < expected {
        return Placement::Repeated;
    }
    if same(next) {
        // Of two copies, the first one continues the log, and the second one is repeated.
        return if batch.last >= expected { Placement::InOrder } else { Placement::Repeated };
    }
    // The next batch is evidence only if it continues the log itself.
    let witness = next.filter(|next| next.least() >= expected && next.last >= next.least());
    if batch.last >= expected && batch.first.is_none_or(|first| first > expected) {
        // If the next batch does not continue the log directly, either of the two may be altered; the batches after them show
        // which.
        let is_undecided = |next: Span| match fitting {
            _ if next.least() == expected => false,
            Some(first) => around.follows && first != expected && batch.shares_offsets(next),
            None => batch.first.is_some(),
        };
        return match witness {
            Some(next) if around.next_contradicts(batch) && !is_undecided(next) => misplaced,
            None if batch.first.is_some() && end_offset.is_some_and(|end| batch.last >= end) => misplaced,
            _ => Placement::InOrder,
        };
    }
    if batch.first.is_some() && fitting.is_some() && resumes != batch.last.checked_add(1) {
        return misplaced;
    }
    if batch.last < expected {
        return if batch.first.is_none() && fitting.is_some() { misplaced } else { Placement::Repeated };
    }
    match witness {
        Some(next) if next.least() <= batch.last => NOWHERE,
        _ => Placement::PartlyRepeated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: i64, last: i64) -> Span {
        Span { first: Some(first), last, crc: (first * 31 + last) as u32 }
    }

    fn moved(first: i64, last: i64) -> Placement {
        let _ = last;
        Placement::Misplaced { offset_field: Some(first) }
    }

    #[test]
    fn batches_in_order_are_in_order() {
        assert_eq!(place(5, None, span(5, 9), Some(span(10, 12)), None), Placement::InOrder);
        assert_eq!(place(5, None, span(7, 9), Some(span(10, 12)), None), Placement::InOrder);
        assert_eq!(place(5, None, span(7, 9), Some(span(20, 22)), Some(30)), Placement::InOrder);
        assert_eq!(place(5, None, span(7, 9), None, Some(30)), Placement::InOrder);
        assert_eq!(place(5, None, span(7, 9), None, None), Placement::InOrder);
        // An overlap with the next segment, reached in order.
        assert_eq!(place(5, None, span(5, 9), None, Some(7)), Placement::InOrder);
    }

    #[test]
    fn every_flipped_bit_of_a_base_offset_is_found_between_neighbours() {
        for count in [1_i64, 2, 7, 100] {
            for bit in 0..64 {
                let (expected, last) = (1000_i64, 1000 + count - 1);
                let first = expected ^ (1_i64 << bit);
                let batch = Span { first: Some(first), last: first.wrapping_add(count - 1), crc: 1 };
                let next = span(last + 1, last + 3);
                let found = place(expected, None, batch, Some(next), None);
                assert_eq!(found, moved(expected, last), "{count} records, bit {bit}");
                assert_eq!(
                    place(expected, None, batch, None, Some(last + 1)),
                    moved(expected, last),
                    "{count} {bit} end"
                );
                // The batch after it is not blamed.
                assert_eq!(place(last + 1, None, next, Some(span(last + 4, last + 4)), None), Placement::InOrder);
            }
        }
    }

    #[test]
    fn copies_are_told_from_moved_batches() {
        let (a, b) = (span(10, 14), span(15, 19));
        assert_eq!(place(15, None, a, Some(b), None), Placement::Repeated);
        assert_eq!(place(15, None, a, None, None), Placement::Repeated);
        assert_eq!(place(15, None, a, None, Some(15)), Placement::Repeated);
        // A copy of the next batch in the place of a lost one.
        assert_eq!(place(10, None, b, Some(b), None), Placement::InOrder);
        assert_eq!(place(20, None, b, Some(span(20, 24)), None), Placement::Repeated);
        assert_eq!(place(12, None, span(10, 14), Some(span(15, 16)), None), Placement::PartlyRepeated);
    }

    #[test]
    fn the_middle_of_three_in_descending_order_is_in_order() {
        let (a, b, c) = (span(10, 12), span(13, 14), span(15, 19));
        assert_eq!(place(10, Some(c), b, Some(a), None), Placement::InOrder);
        assert_eq!(place(10, Some(b), a, Some(c), None), Placement::InOrder);
    }

    #[test]
    fn of_two_that_contradict_each_other_the_batches_after_them_decide() {
        let around = |next| Neighbours {
            expected: 10,
            before: None,
            follows: true,
            next: Some(next),
            adjacent: true,
            end_offset: None,
        };
        for (batch, next) in [(span(15, 19), span(13, 14)), (span(13, 14), span(11, 12)), (span(30, 49), span(26, 45))]
        {
            assert_eq!(place_between(&around(next), batch), Placement::InOrder);
            assert!(around(next).next_contradicts(batch));
        }
        // The next batch continues the log.
        assert!(matches!(place(10, None, span(13, 14), Some(span(10, 12)), None), Placement::Misplaced { .. }));
        // It fills the room before the next batch.
        assert_eq!(place_between(&around(span(15, 19)), span(14, 18)), moved(10, 14));
    }

    #[test]
    fn a_copy_of_the_batch_before_is_repeated_even_if_one_bit_makes_it_the_next() {
        let batch = span(3000, 3000);
        assert!(matches!(place(3001, None, batch, None, None), Placement::Misplaced { .. }));
        assert_eq!(place(3001, Some(batch), batch, None, None), Placement::Repeated);
    }

    #[test]
    fn a_flipped_bit_is_found_next_to_corruption() {
        // What is before is corrupt, what is after is in order, and the other way round.
        for bit in 0..64 {
            let place = 1000_i64;
            let first = place ^ (1_i64 << bit);
            let batch = Span { first: Some(first), last: first.wrapping_add(9), crc: 1 };
            let next = Some(span(1010, 1019));
            let after =
                Neighbours { expected: 900, before: None, follows: false, next, adjacent: true, end_offset: None };
            let before = Neighbours {
                expected: 1000,
                before: None,
                follows: true,
                next: Some(span(1030, 1039)),
                adjacent: false,
                end_offset: None,
            };
            if !(900..=1000).contains(&first) {
                assert_eq!(place_between(&after, batch), moved(1000, 1009), "bit {bit}, after corruption");
            }
            if !(1000..=1020).contains(&first) {
                assert_eq!(place_between(&before, batch), moved(1000, 1009), "bit {bit}, before corruption");
            }
        }
        // After a corrupt range, any offset from there on is one of its own.
        let around = Neighbours {
            expected: 900,
            before: None,
            follows: false,
            next: Some(span(1010, 1019)),
            adjacent: true,
            end_offset: None,
        };
        assert_eq!(place_between(&around, span(1000, 1009)), Placement::InOrder);
        assert_eq!(place_between(&around, span(960, 969)), Placement::InOrder);
    }

    #[test]
    fn wrappers_are_judged_by_their_last_offset() {
        let wrapper = |last| Span { first: None, last, crc: 7 };
        assert_eq!(place(5, None, wrapper(9), Some(span(10, 10)), None), Placement::InOrder);
        assert_eq!(place(5, None, wrapper(9), Some(Span { crc: 8, ..wrapper(12) }), None), Placement::InOrder);
        assert_eq!(place(5, None, wrapper(9 + 4096), Some(span(10, 10)), None), moved(9, 9));
        assert_eq!(place(15, None, wrapper(9), Some(span(15, 15)), None), Placement::Repeated);
    }
}
