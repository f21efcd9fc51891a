//! Searches in what is placed, compared with a search of all of it.

use super::super::placed::{Placed, Placement};
use super::{Part, facts, file};
use crate::map::{BatchId, OffsetRange, SegmentFacts, judge, windows};

const END: i64 = 26;

/// Two files with gaps in stretches and between them, and two batches that were moved.
fn check(visit: impl Fn(&Placed<'_>, &[Placement])) {
    let batch = |first, last| Part::Batch { first, last, size: 100 };
    let first = facts(&[batch(1, 2), batch(3, 3), batch(6, 7), Part::Corrupt(9), batch(8, 8), batch(2, 2)]);
    let second = facts(&[batch(12, 14), batch(17, 17), batch(4, 5), batch(19, 20), batch(23, 23)]);
    let files: [SegmentFacts<'_>; 2] = [file(0, &first), file(12, &second)];
    let maps: Vec<_> = files.iter().zip(windows(&files)).map(|(file, window)| judge(file, window)).collect();
    let mut placed = Placed::new(&files, &maps);
    visit(&placed, &placed.in_offset_order().collect::<Vec<_>>());
    placed.put(BatchId { file: 1, index: 2 }, OffsetRange::new(4, 6).unwrap());
    placed.put(BatchId { file: 0, index: 5 }, OffsetRange::new(25, 26).unwrap());
    let all: Vec<Placement> = placed.in_offset_order().collect();
    assert_eq!(all.len(), 10);
    assert!(all.windows(2).all(|pair| pair[0].offsets.end() <= pair[1].offsets.start()));
    visit(&placed, &all);
}

#[test]
fn the_batch_before_and_after_an_offset() {
    check(|placed, all| {
        for offset in -1..=END + 1 {
            let below = all.iter().rfind(|each| each.offsets.start() < offset).copied();
            assert_eq!(placed.before(offset), below, "{offset}");
            let above = all.iter().find(|each| each.offsets.start() >= offset).copied();
            assert_eq!(placed.at_or_after(offset), above, "{offset}");
        }
        assert_eq!(placed.last(), all.last().copied());
    });
}

#[test]
fn the_batches_that_have_some_offsets() {
    check(|placed, all| {
        for (start, end) in (-1..=END).flat_map(|start| (start + 1..=END + 1).map(move |end| (start, end))) {
            let offsets = OffsetRange::new(start, end).unwrap();
            let mut found: Vec<Placement> = placed.touching(offsets).collect();
            found.sort_by_key(|each| each.offsets);
            let expected: Vec<Placement> = all.iter().filter(|each| each.offsets.overlaps(offsets)).copied().collect();
            assert_eq!(found, expected, "{offsets:?}");
            assert_eq!(placed.is_free(offsets), expected.is_empty());
        }
    });
}

#[test]
fn the_facts_around_a_hole() {
    check(|placed, _| {
        let around = |number, start, end| placed.facts_around(number, OffsetRange::new(start, end).unwrap());
        assert_eq!(around(0, 0, 1), 0..0);
        assert!(around(0, 4, 6).is_empty());
        assert_eq!(around(0, 9, 12), 5..6);
        assert!(around(1, 15, 17).is_empty());
        assert_eq!(around(1, 18, 19), 2..3);
        assert!(around(1, 21, 23).is_empty());
        assert_eq!(around(1, 24, 25), 5..5);
        assert_eq!((placed.last_in_place(0), placed.last_in_place(1)), (Some(4), Some(4)));
        for (index, is_in_place) in [true, true, true, false, true, false].into_iter().enumerate() {
            assert_eq!(placed.is_in_place(BatchId { file: 0, index }), is_in_place, "{index}");
        }
    });
}
