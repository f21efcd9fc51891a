//! The borders of the rules.

use std::convert::Infallible;

use super::{Part, facts, file};
use crate::continuity::compaction::Compaction;
use crate::map::{
    Agreement, BatchFact, BatchId, ByteRange, CompareRecords, Fact, OffsetRange, Placement, SegmentFacts, Use, map_of,
    windows,
};

/// Batches that are not equal have other records.
struct AllDiffer;

impl CompareRecords for AllDiffer {
    type Error = Infallible;

    fn compare(&mut self, _: Placement, _: Placement) -> Result<Agreement, Infallible> {
        Ok(Agreement::Different)
    }
}

/// A batch of one record.
fn one(offset: i64, size: u64) -> Part {
    Part::Batch { first: offset, last: offset, size }
}

/// The uses of the batches of each file: in place, displaced, restored, repeat or out of place.
fn uses(files: &[(i64, &[Part])], compaction: Compaction) -> Vec<String> {
    let facts: Vec<_> = files.iter().map(|(_, parts)| facts(parts)).collect();
    let segments: Vec<SegmentFacts<'_>> =
        files.iter().zip(&facts).map(|(&(name, _), facts)| file(name, facts)).collect();
    let Ok(map) = map_of(&segments, compaction, &mut AllDiffer);
    let letter = |file, index| {
        map.use_of(BatchId { file, index }).map(|batch_use| match batch_use {
            Use::InPlace => 'i',
            Use::Displaced => 'd',
            Use::Restored { .. } => 'a',
            Use::Repeat { .. } => 'r',
            Use::OutOfPlace { .. } => 'o',
        })
    };
    facts
        .iter()
        .enumerate()
        .map(|(file, facts)| (0..facts.len()).filter_map(|index| letter(file, index)).collect())
        .collect()
}

#[test]
fn a_batch_is_restored_if_it_has_exactly_the_room() {
    let far = 1 << 40;
    for (next, compaction, expected) in [
        (2, Compaction::Unknown, "iai"),
        (2, Compaction::To(1), "iai"),
        (2, Compaction::To(2), "ioi"),
        (2, Compaction::Somewhere, "ioi"),
        (1, Compaction::Unknown, "ioi"),
        (3, Compaction::Unknown, "ioi"),
    ] {
        let parts = [one(0, 100), one(far, 100), one(next, 100)];
        assert_eq!(uses(&[(0, &parts)], compaction), [expected], "{next} {compaction:?}");
    }
}

#[test]
fn a_batch_after_corrupt_bytes_is_not_restored() {
    let parts = [one(0, 100), Part::Corrupt(10), one(1 << 40, 100), one(2, 100)];
    assert_eq!(uses(&[(0, &parts)], Compaction::Unknown), ["ioi"]);
}

#[test]
fn copies_fill_a_hole_if_more_bytes_speak_for_them() {
    for (size, expected) in [(49, "iroo"), (50, "iroo"), (51, "irod")] {
        let copies = [one(0, 100), one(10, 100), one(11, 50), one(12, size)];
        let later = [one(10, 100), one(11, 100), one(15, 100)];
        assert_eq!(uses(&[(0, &copies), (10, &later)], Compaction::Unknown), [expected, "iii"], "{size}");
    }
}

#[test]
fn copies_at_the_end_of_a_file_continue_the_log() {
    for (next, expected) in [(11, "irdd"), (12, "iroo")] {
        let copies = [one(0, 100), one(10, 100), one(next, 100), one(next + 1, 100)];
        assert_eq!(uses(&[(0, &copies), (10, &[one(10, 100)])], Compaction::Unknown), [expected, "i"], "{next}");
    }
}

#[test]
fn a_file_without_a_believed_name_continues_what_is_placed() {
    for (first, expected) in [(1, "d"), (2, "o")] {
        let files: [(i64, &[Part]); 3] = [(0, &[one(0, 100)]), (100, &[one(first, 100)]), (200, &[])];
        assert_eq!(uses(&files, Compaction::Unknown), ["i", expected, ""], "{first}");
    }
}

#[test]
fn what_continues_the_last_file_is_the_end_of_the_log() {
    let rest = [one(0, 50), one(1, 50)];
    assert_eq!(uses(&[(0, &[one(0, 100)]), (5, &rest)], Compaction::Unknown), ["i", "od"]);
    assert_eq!(uses(&[(0, &[one(0, 100)]), (5, &rest), (9, &[])], Compaction::Unknown), ["i", "oo", ""]);
}

#[test]
fn the_rest_of_a_file_directly_follows_its_last_batch_in_place() {
    // Offsets 2 to 4 are in the window of a file that has nothing.
    assert_eq!(uses(&[(0, &[one(0, 100), one(3, 100)]), (2, &[])], Compaction::Unknown), ["id", ""]);
    let after_corrupt = [one(0, 100), Part::Corrupt(10), one(3, 100)];
    assert_eq!(uses(&[(0, &after_corrupt), (2, &[])], Compaction::Unknown), ["io", ""]);
}

/// All batches have the same records.
struct AllAgree;

impl CompareRecords for AllAgree {
    type Error = Infallible;

    fn compare(&mut self, _: Placement, _: Placement) -> Result<Agreement, Infallible> {
        Ok(Agreement::Same)
    }
}

#[test]
fn a_batch_over_many_others_is_no_copy() {
    for (count, is_copy) in [(64, true), (65, false)] {
        let small: Vec<Part> = (0..count).map(|offset| one(offset, 100)).collect();
        let wide = [Part::Batch { first: 0, last: count - 1, size: 1 }];
        let (small, wide) = (facts(&small), facts(&wide));
        let Ok(map) = map_of(&[file(0, &small), file(200, &wide)], Compaction::Unknown, &mut AllAgree);
        let of = BatchId { file: 0, index: 0 };
        let expected = if is_copy { Use::Repeat { of } } else { Use::OutOfPlace { contradicts: Some(of) } };
        assert_eq!(map.use_of(BatchId { file: 1, index: 0 }), Some(expected), "{count}");
    }
}

#[test]
fn copies_fill_a_hole_if_their_file_goes_on_with_greater_offsets() {
    for (after, expected) in [(15, "ird"), (12, "ird"), (5, "iro"), (11, "iro")] {
        let copies = [one(0, 100), one(10, 100), one(11, 100), Part::Corrupt(10), one(after, 100)];
        let found = uses(&[(0, &copies), (10, &[one(10, 100), one(20, 100)])], Compaction::Unknown);
        assert_eq!(found[0].get(..3), Some(expected), "{after}");
    }
}

#[test]
fn copies_fill_a_hole_up_to_the_last_batch() {
    // One of two missing batches: it does not fit exactly.
    let copies = [one(0, 100), one(10, 100), one(12, 100)];
    let files: [(i64, &[Part]); 2] = [(0, &copies), (10, &[one(10, 100), one(13, 100)])];
    assert_eq!(uses(&files, Compaction::Unknown), ["ird", "ii"]);
}

#[test]
fn a_file_without_a_believed_name_fills_a_hole_by_a_copy() {
    let first = [one(0, 100), one(1, 100), one(5, 100)];
    let copies = [one(1, 100), one(2, 100), one(3, 100)];
    let files: [(i64, &[Part]); 3] = [(0, &first), (100, &copies), (200, &[])];
    assert_eq!(uses(&files, Compaction::Unknown), ["iii", "rdd", ""]);
}

#[test]
fn what_is_after_corrupt_bytes_is_the_rest_if_the_file_is_beyond_its_window() {
    let after = |offset| [one(0, 100), one(1, 100), one(2, 100), Part::Corrupt(10), one(offset, 100)];
    for (offset, next, expected) in [(3, 9, "iidd"), (4, 9, "iido"), (4, 5, "iidd"), (3, 5, "iidd")] {
        let found = uses(&[(0, &after(offset)), (2, &[one(next, 100)])], Compaction::Unknown);
        assert_eq!(found, [expected, "i"], "{offset} {next}");
    }
    // Nothing is beyond the window yet.
    let within = [one(0, 100), one(1, 100), Part::Corrupt(10), one(2, 100)];
    assert_eq!(uses(&[(0, &within), (2, &[one(9, 100)])], Compaction::Unknown), ["iio", "i"]);
}

#[test]
fn old_compacted_segments_may_exceed_their_reach() {
    let far = 1 << 32;
    for (magic, count, is_believed) in [(1, 2, true), (0, 2, true), (1, 1, false), (2, 2, false)] {
        let mut parts = Vec::new();
        for number in 0..=count {
            let offset = if number == 0 { 0 } else { far + number };
            let bytes = ByteRange::sized(100 * number as u64, 100).unwrap();
            let offsets = OffsetRange::inclusive(offset, offset).unwrap();
            parts.push(Fact::Batch(BatchFact::new(bytes, offsets, 0, None, magic).unwrap()));
        }
        let window = windows(&[file(0, &parts)])[0].unwrap();
        assert_eq!(window.end(), if is_believed { i64::MAX } else { 1 << 31 }, "{magic} {count}");
    }
}

/// The missing offsets of files, as their start, end and the name of their reason.
fn missing(files: &[(i64, &[Part])]) -> Vec<(i64, i64, &'static str)> {
    let facts: Vec<_> = files.iter().map(|(_, parts)| facts(parts)).collect();
    let segments: Vec<SegmentFacts<'_>> =
        files.iter().zip(&facts).map(|(&(name, _), facts)| file(name, facts)).collect();
    let Ok(map) = map_of(&segments, Compaction::Unknown, &mut AllDiffer);
    let missing = map.missing().iter();
    missing.map(|each| (each.offsets.start(), each.offsets.end(), each.reason.name())).collect()
}

#[test]
fn zeros_at_the_end_of_the_last_file_are_not_corrupt() {
    let first = [one(0, 100), one(20, 100)];
    assert_eq!(missing(&[(0, &first), (10, &[Part::Zeros(9)])]), [(1, 10, "gap"), (10, 20, "gap")]);
    // It has nothing but a copy, too.
    assert_eq!(missing(&[(0, &first), (10, &[one(0, 100), Part::Zeros(9)])]), [(1, 10, "gap"), (10, 20, "gap")]);
    let corrupt = [one(0, 100), Part::Corrupt(9), Part::Zeros(9)];
    assert_eq!(missing(&[(0, &first), (10, &corrupt)]), [(1, 10, "gap"), (10, 20, "corrupt")]);
    let later = [(0, &first[..]), (10, &[Part::Zeros(9)]), (21, &[one(21, 100)])];
    assert_eq!(missing(&later), [(1, 10, "gap"), (10, 20, "corrupt")]);
}

#[test]
fn a_hole_is_corrupt_if_a_batch_out_of_place_has_some_of_its_offsets() {
    for (offset, reason) in [(1, "corrupt"), (4, "corrupt"), (5, "gap")] {
        let parts = [one(0, 100), one(5, 100), one(9, 100), Part::Batch { first: offset, last: offset, size: 1 }];
        assert_eq!(missing(&[(0, &parts)]), [(1, 5, reason), (6, 9, "gap")], "{offset}");
    }
}

#[test]
fn nothing_is_restored_if_a_batch_has_fewer_records_than_offsets() {
    let thinned = [one(0, 100), one(1 << 40, 100), one(2, 100), Part::Batch { first: 3, last: 5, size: 100 }];
    assert_eq!(uses(&[(0, &thinned)], Compaction::Unknown), ["ioii"]);
    assert_eq!(uses(&[(0, &thinned[..3])], Compaction::Unknown), ["iai"]);
}

#[test]
fn a_batch_next_to_one_out_of_place_is_not_restored() {
    let parts = [one(0, 100), one(1 << 40, 100), one(2, 10), one(2, 100)];
    assert_eq!(uses(&[(0, &parts)], Compaction::Unknown), ["iooi"]);
    let parts = [one(0, 100), one(0, 10), one(1 << 40, 100), one(2, 100)];
    assert_eq!(uses(&[(0, &parts)], Compaction::Unknown), ["iooi"]);
}

#[test]
fn a_file_without_a_believed_name_continues_another_one() {
    let files: [(i64, &[Part]); 3] = [(30, &[one(30, 100)]), (100, &[one(28, 100)]), (200, &[one(29, 100)])];
    assert_eq!(uses(&files, Compaction::Unknown), ["i", "d", "d"]);
    let files: [(i64, &[Part]); 3] = [(0, &[one(0, 100)]), (100, &[one(1, 100)]), (200, &[one(2, 100)])];
    assert_eq!(uses(&files, Compaction::Unknown), ["i", "d", "d"]);
}
