//! Whether a batch can stand where it stands in a log.
//!
//! Base offset and leader epoch of a batch are covered by no checksum, so that a broker may set them without
//! computing one. Whether an offset is right is judged by what surrounds the batch: the offset that is expected
//! there, the batch that follows, and the base offset of the next segment.
//!
//! A single flipped bit moves a batch up or down; the batch after it then does not follow on it, but still leaves
//! exactly the room that the moved batch needs. Only such a batch is [`Placement::Misplaced`]; the intact batches
//! around it are not blamed. What cannot be decided (the last batch of a log, a batch next to offsets that compaction
//! removed) is taken as the header says.

use crate::record::RecordBatch;

/// The offsets that the header of a batch states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first offset; `None` for a compressed message of magic 0 or 1, whose records tell it.
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

    /// The least offset that the batch may hold as far as its header tells.
    #[inline]
    fn least(self) -> i64 {
        self.first.unwrap_or(self.last)
    }

    /// How many offsets the batch covers, if the header tells.
    fn count(self) -> Option<i64> {
        self.first.and_then(|first| self.last.checked_sub(first)?.checked_add(1))
    }
}

/// What the surroundings of a batch say of its offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// It continues the log, at the expected offset or after a gap.
    InOrder,
    /// All its offsets lie below the expected one: a batch that is there twice, or an older copy.
    Repeated,
    /// Its first offsets lie below the expected one, its last ones continue the log.
    PartlyRepeated,
    /// Its offset field cannot be right.
    Misplaced {
        /// The offset field that the surroundings determine, if they do. To be taken only if the log has no other
        /// batch of the same checksum, of which this one may be a copy.
        offset_field: Option<i64>,
    },
}

/// Judges the offsets of `batch`, where `expected` is the offset after the batch before (or the base offset of the
/// segment), `next` the intact batch that directly follows, and `end_offset` the base offset of the next segment.
#[inline]
pub fn place(expected: i64, batch: Span, next: Option<Span>, end_offset: Option<i64>) -> Placement {
    if batch.first == Some(expected) && batch.last >= expected {
        return Placement::InOrder;
    }
    place_unexpected(expected, batch, next, end_offset)
}

#[cold]
fn place_unexpected(expected: i64, batch: Span, next: Option<Span>, end_offset: Option<i64>) -> Placement {
    const NOWHERE: Placement = Placement::Misplaced { offset_field: None };
    if batch.least() < 0 || batch.last < batch.least() {
        return NOWHERE;
    }
    // Where the log goes on after the batch, if that is known exactly.
    let resumes = next.map_or(end_offset, |next| next.first);
    // The offset field of a batch that fills the room between what is before it and what is after it.
    let fitting = match batch.count() {
        Some(count) => expected.checked_add(count).filter(|&end| resumes == Some(end)).map(|_| expected),
        // A wrapper's field is its last offset; whether its first one fits, its records tell.
        None => resumes.map(|end| end.saturating_sub(1)).filter(|&last| last >= expected),
    };
    let misplaced = Placement::Misplaced { offset_field: fitting };
    let is_copy_of_next =
        next.is_some_and(|next| (next.first, next.last, next.crc) == (batch.first, batch.last, batch.crc));
    if is_copy_of_next {
        // Of two copies, the first continues the log; the second is then the repeated one.
        return if batch.last >= expected { Placement::InOrder } else { Placement::Repeated };
    }
    // The next batch counts as a witness only if it continues the log itself.
    let witness = next.filter(|next| next.least() >= expected && next.last >= next.least());
    if batch.last >= expected && batch.first.is_none_or(|first| first > expected) {
        return match witness {
            Some(next) if next.least() <= batch.last => misplaced,
            None if batch.first.is_some() && end_offset.is_some_and(|end| batch.last >= end) => misplaced,
            Some(_) | None => Placement::InOrder,
        };
    }
    if batch.first.is_some() && fitting.is_some() && resumes != batch.last.checked_add(1) {
        return misplaced;
    }
    if batch.last < expected {
        return Placement::Repeated;
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
        assert_eq!(place(5, span(5, 9), Some(span(10, 12)), None), Placement::InOrder);
        assert_eq!(place(5, span(7, 9), Some(span(10, 12)), None), Placement::InOrder);
        assert_eq!(place(5, span(7, 9), Some(span(20, 22)), Some(30)), Placement::InOrder);
        assert_eq!(place(5, span(7, 9), None, Some(30)), Placement::InOrder);
        assert_eq!(place(5, span(7, 9), None, None), Placement::InOrder);
        // An overlap with the next segment, reached in order.
        assert_eq!(place(5, span(5, 9), None, Some(7)), Placement::InOrder);
    }

    #[test]
    fn every_flipped_bit_of_a_base_offset_is_found_between_neighbours() {
        for count in [1_i64, 2, 7, 100] {
            for bit in 0..64 {
                let (expected, last) = (1000_i64, 1000 + count - 1);
                let first = expected ^ (1_i64 << bit);
                let batch = Span { first: Some(first), last: first.wrapping_add(count - 1), crc: 1 };
                let next = span(last + 1, last + 3);
                let found = place(expected, batch, Some(next), None);
                if first < 0 {
                    assert_eq!(found, Placement::Misplaced { offset_field: None }, "{count} {bit}");
                    continue;
                }
                assert_eq!(found, moved(expected, last), "{count} records, bit {bit}");
                assert_eq!(place(expected, batch, None, Some(last + 1)), moved(expected, last), "{count} {bit} end");
                // The batch after it is not blamed.
                assert_eq!(place(last + 1, next, Some(span(last + 4, last + 4)), None), Placement::InOrder);
            }
        }
    }

    #[test]
    fn copies_are_told_from_moved_batches() {
        let (a, b) = (span(10, 14), span(15, 19));
        assert_eq!(place(15, a, Some(b), None), Placement::Repeated);
        assert_eq!(place(15, a, None, None), Placement::Repeated);
        assert_eq!(place(15, a, None, Some(15)), Placement::Repeated);
        // A copy of the next batch in the place of a lost one.
        assert_eq!(place(10, b, Some(b), None), Placement::InOrder);
        assert_eq!(place(20, b, Some(span(20, 24)), None), Placement::Repeated);
        assert_eq!(place(12, span(10, 14), Some(span(15, 16)), None), Placement::PartlyRepeated);
    }

    #[test]
    fn wrappers_are_judged_by_their_last_offset() {
        let wrapper = |last| Span { first: None, last, crc: 7 };
        assert_eq!(place(5, wrapper(9), Some(span(10, 10)), None), Placement::InOrder);
        assert_eq!(place(5, wrapper(9), Some(Span { crc: 8, ..wrapper(12) }), None), Placement::InOrder);
        assert_eq!(place(5, wrapper(9 + 4096), Some(span(10, 10)), None), moved(9, 9));
        assert_eq!(place(15, wrapper(9), Some(span(15, 15)), None), Placement::Repeated);
    }
}
