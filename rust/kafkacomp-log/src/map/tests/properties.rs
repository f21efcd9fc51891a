//! Properties of the map of any facts.

use proptest::prelude::*;

use super::{Part, facts, file, map};
use crate::continuity::compaction::Compaction;
use crate::continuity::missing::MissingReason;
use crate::map::invariants::{check, check_any_facts, content};
use crate::map::{BatchId, Fact, Finding, MissingOffsets, OffsetRange, SegmentFacts, Use, judge, windows};

/// Offsets close to one another, and the extreme ones.
fn offset() -> impl Strategy<Value = i64> {
    prop_oneof![
        20 => -2_i64..60,
        1 => prop_oneof![Just(i64::MIN), Just(i64::MIN + 1), Just(i64::MAX - 1), Just(i64::MAX), any::<i64>()],
        1 => (1_i64 << 31) - 3..(1 << 31) + 3,
    ]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        8 => (offset(), 0_i64..6, 1_u64..9000)
            .prop_map(|(first, more, size)| Part::Batch { first, last: first.saturating_add(more), size }),
        1 => (offset(), offset(), 1..=u64::MAX).prop_map(|(first, last, size)| Part::Batch { first, last, size }),
        2 => (0_u64..9000).prop_map(Part::Corrupt),
        1 => (0_u64..9000).prop_map(Part::Zeros),
    ]
}

fn compaction() -> impl Strategy<Value = Compaction> {
    prop_oneof![Just(Compaction::Unknown), Just(Compaction::Somewhere), offset().prop_map(Compaction::To)]
}

/// Files that continue one another: in each, batches of these numbers of offsets after gaps.
fn intact_log() -> impl Strategy<Value = Vec<Vec<Part>>> {
    let batch = (prop_oneof![3 => Just(0_i64), 1 => 0_i64..4], 1_i64..6, 1_u64..9000);
    prop::collection::vec(prop::collection::vec(batch, 1..8), 1..5).prop_map(|files| {
        let mut next = 0;
        let mut part = |(gap, room, size)| {
            let first = next + gap;
            next = first + room;
            Part::Batch { first, last: next - 1, size }
        };
        files.into_iter().map(|batches| batches.into_iter().map(&mut part).collect()).collect()
    })
}

fn name_of(facts: &[Fact]) -> i64 {
    facts[0].batch().unwrap().offsets().start()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_facts_have_a_map(data in prop::collection::vec(any::<u8>(), 0..300)) {
        check_any_facts(&data);
    }

    #[test]
    fn an_intact_log_is_in_place(log in intact_log(), compaction in compaction()) {
        let facts: Vec<Vec<Fact>> = log.iter().map(|parts| facts(parts)).collect();
        let segments: Vec<SegmentFacts<'_>> = facts.iter().map(|facts| file(name_of(facts), facts)).collect();
        for (segment, window) in segments.iter().zip(windows(&segments)) {
            prop_assert!(judge(segment, window).is_in_order());
        }
        let found = map(&segments, compaction);
        check(&found);
        prop_assert_eq!(found.exceptions().count(), 0);
    }

    /// P3: what is in place in its file is delivered, whatever happens to another file.
    #[test]
    fn nothing_in_one_file_hides_a_batch_of_another(
        log in intact_log(), number: prop::sample::Index, parts in prop::collection::vec(part(), 0..12),
        compaction in compaction(),
    ) {
        let mut facts: Vec<Vec<Fact>> = log.iter().map(|parts| facts(parts)).collect();
        let names: Vec<i64> = facts.iter().map(|facts| name_of(facts)).collect();
        let damaged = number.index(facts.len());
        facts[damaged] = super::facts(&parts);
        let segments: Vec<SegmentFacts<'_>> =
            names.iter().zip(&facts).map(|(&name, facts)| file(name, facts)).collect();
        let found = map(&segments, compaction);
        check(&found);
        for (file, facts) in facts.iter().enumerate().filter(|(file, _)| *file != damaged) {
            for index in 0..facts.len() {
                prop_assert_eq!(found.use_of(BatchId { file, index }), Some(Use::InPlace));
            }
        }
    }

    /// Damage that only destroys: batches are gone, or corrupt bytes are in their place.
    #[test]
    fn what_is_left_of_an_intact_log_is_in_place(
        log in intact_log(), holes in prop::collection::vec(0_u8..4, 40), compaction in compaction(),
    ) {
        let names: Vec<i64> = log.iter().map(|parts| name_of(&facts(parts))).collect();
        let mut hole = holes.into_iter().cycle();
        let destroy = |parts: Vec<Part>| -> Vec<Part> {
            parts.into_iter().filter_map(|part| match hole.next() {
                Some(0) => Some(Part::Corrupt(100)),
                Some(1) => None,
                _ => Some(part),
            }).collect()
        };
        let facts: Vec<Vec<Fact>> = log.into_iter().map(destroy).map(|parts| facts(&parts)).collect();
        let segments: Vec<SegmentFacts<'_>> =
            names.iter().zip(&facts).map(|(&name, facts)| file(name, facts)).collect();
        let found = map(&segments, compaction);
        check(&found);
        prop_assert_eq!(found.exceptions().count(), 0);
    }
}

#[test]
fn a_partition_without_files_has_nothing() {
    let found = map(&[], Compaction::Unknown);
    assert_eq!(content(&found), (Vec::new(), Vec::new()));
}

#[test]
fn findings_are_in_the_order_of_files_and_positions() {
    let batch = |first, last| Part::Batch { first, last, size: 100 };
    let first = facts(&[batch(0, 4), Part::Corrupt(10), batch(10, 14)]);
    let second = facts(&[batch(20, 24), batch(20, 24), Part::Zeros(10)]);
    let third = facts(&[batch(15, 19)]);
    let segments = [file(0, &first), file(20, &second), file(30, &third)];
    let found = map(&segments, Compaction::Unknown);
    let unusual = |number: usize, index: usize, batch_use| {
        let facts = segments[number].facts;
        let batch = facts[index].batch().unwrap();
        Finding::Batch {
            id: BatchId { file: number, index },
            bytes: batch.bytes(),
            offsets: batch.offsets(),
            batch_use,
        }
    };
    let missing = |file, start, end, reason| {
        Finding::Missing(MissingOffsets { offsets: OffsetRange::new(start, end).unwrap(), reason, file })
    };
    let expected = [
        Finding::Corrupt { file: 0, bytes: first[1].bytes() },
        unusual(1, 1, Use::Repeat { of: BatchId { file: 1, index: 0 } }),
        Finding::Zeros { file: 1, bytes: second[2].bytes() },
        Finding::Name { file: 2, name: 30, first: 15 },
        unusual(2, 0, Use::Displaced),
        missing(0, 5, 10, MissingReason::Corrupt),
        missing(1, 25, 30, MissingReason::Corrupt),
    ];
    assert_eq!(found.findings().collect::<Vec<_>>(), expected);
}
