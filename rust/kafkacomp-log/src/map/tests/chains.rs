//! Every chain of runs of small files.

use super::super::chain::{self, ANCHOR, Link, MOST_RUNS, heaviest_chain};
use super::super::judge::is_altered;
use super::super::runs::{Run, continuous};
use super::{Part, facts, file, map};
use crate::continuity::compaction::Compaction;
use crate::map::invariants::AnyRecords;
use crate::map::partition::map_in_parts;
use crate::map::{Fact, Finding, OffsetRange, judge};

/// The offsets of these tests.
const END: i64 = 4;

fn window() -> OffsetRange {
    OffsetRange::new(0, END).unwrap()
}

/// The weights of all chains: of runs that increase, with what the ends of the file are worth.
fn heaviest(facts: &[Fact], runs: &[Run]) -> u128 {
    let weight = |chosen: u32| {
        let chosen = || runs.iter().enumerate().filter(|(number, _)| chosen >> number & 1 == 1).map(|(_, run)| run);
        let increases = chosen().zip(chosen().skip(1)).all(|(one, next)| one.offsets.end() <= next.offsets.start());
        let sizes = chosen().map(|run| {
            let is_first = run.facts.start == 0 && run.offsets.start() == 0;
            let is_last = run.facts.end == facts.len() && run.offsets.end() == END;
            run.size(facts) + ANCHOR * (u128::from(is_first) + u128::from(is_last))
        });
        if increases { sizes.sum() } else { 0 }
    };
    (0..1 << runs.len()).map(weight).max().unwrap()
}

/// Calls `visit` with every series of up to `most` parts: batches of one size with any offsets, or corrupt bytes.
fn every(most: usize, parts: &mut Vec<Part>, visit: &mut impl FnMut(&[Part])) {
    visit(parts);
    if parts.len() == most {
        return;
    }
    let size = 1000 << parts.len();
    let mut batches: Vec<Part> = Vec::new();
    for first in 0..END {
        batches.extend((first..END).map(|last| Part::Batch { first, last, size }));
    }
    for part in batches.into_iter().chain([Part::Corrupt(size)]) {
        parts.push(part);
        every(most, parts, visit);
        parts.pop();
    }
}

#[test]
fn what_is_in_place_is_the_heaviest_of_all_chains() {
    let mut seen = 0;
    every(5, &mut Vec::new(), &mut |parts| {
        let facts = facts(parts);
        let batches = || facts.iter().enumerate().filter_map(|(index, fact)| Some((index, fact.batch()?)));
        let candidates = batches().filter(|&(index, _)| !is_altered(&facts, index, window()));
        let runs = continuous(candidates);
        let chain = heaviest_chain(&facts, &runs, Some(window()), MOST_RUNS);
        let weight = chain.iter().map(|run| {
            let only = std::slice::from_ref(run);
            heaviest(&facts, only)
        });
        assert_eq!(weight.sum::<u128>(), heaviest(&facts, &runs), "{parts:?}");
        assert!(chain.windows(2).all(|pair| pair[0].offsets.end() <= pair[1].offsets.start()), "{parts:?}");

        let judged = judge(&file(0, &facts), Some(window()));
        let in_place: Vec<usize> =
            judged.stretches_in_place(&file(0, &facts)).iter().flat_map(|run| run.facts.clone()).collect();
        assert!(in_place.iter().copied().eq(chain.iter().flat_map(|run| run.facts.clone())), "{parts:?}");
        let others: usize = judged.others.iter().map(|run| run.facts.len()).sum();
        assert_eq!(in_place.len() + others, batches().count(), "{parts:?}");
        seen += 1;
    });
    assert_eq!(seen, (0..=5).map(|count| 11_usize.pow(count)).sum::<usize>());
}

/// Single batches that do not continue one another, at these offsets.
fn scattered(offsets: impl IntoIterator<Item = i64>) -> Vec<Fact> {
    facts(&offsets.into_iter().map(|first| Part::Batch { first, last: first, size: 100 }).collect::<Vec<_>>())
}

#[test]
fn many_runs_are_judged_in_parts() {
    // Every tenth batch is far above those after it, which outweigh it in each part.
    let facts = scattered((0..200).map(|number| if number % 10 == 5 { 100_000 - number } else { 2 * number }));
    let file = file(0, &facts);
    let whole = map(&[file], Compaction::Unknown);
    let parts = map_in_parts(&[file], Compaction::Unknown, &mut AnyRecords::default(), 8).unwrap();
    for (most, expected) in [(200, false), (199, true)] {
        let found = map_in_parts(&[file], Compaction::Unknown, &mut AnyRecords::default(), most).unwrap();
        assert_eq!(found.is_in_parts(0), expected, "{most}");
    }
    assert_eq!(parts.findings().filter(|finding| *finding == Finding::InParts { file: 0 }).count(), 1);
    assert!(parts.in_offset_order().eq(whole.in_offset_order()));
    assert_eq!(parts.missing(), whole.missing());
}

#[test]
fn a_part_is_settled_by_the_runs_after_it() {
    let most = 6;
    for contradicting in 1..=most {
        // One heavy batch, which contradicts some after it.
        let mut parts = vec![Part::Batch { first: 0, last: 0, size: 100 }];
        parts.push(Part::Batch { first: 1000, last: 1000, size: 100 * contradicting as u64 - 50 });
        parts.extend((1..=contradicting as i64).map(|number| Part::Batch {
            first: 2 * number,
            last: 2 * number,
            size: 100,
        }));
        parts.extend((1..20).map(|number| Part::Batch {
            first: 1000 + 2 * number,
            last: 1000 + 2 * number,
            size: 100,
        }));
        let facts = facts(&parts);
        let runs = continuous(facts.iter().enumerate().filter_map(|(index, fact)| Some((index, fact.batch()?))));
        let is_taken = |most| heaviest_chain(&facts, &runs, None, most).iter().any(|run| run.facts.start == 1);
        assert!(!is_taken(MOST_RUNS));
        assert_eq!(is_taken(most), contradicting > most - 2, "{contradicting}");
    }
}

#[test]
fn a_file_without_a_believed_name_is_judged_in_parts_too() {
    let (first, rest) = (scattered([0, 10, 20]), scattered([22, 24, 26, 28]));
    let files = [file(0, &first), file(1000, &rest), file(2000, &[])];
    for (most, expected) in [(4, false), (3, true)] {
        let found = map_in_parts(&files, Compaction::Unknown, &mut AnyRecords::default(), most).unwrap();
        assert_eq!((found.window(1), found.is_in_parts(0), found.is_in_parts(1)), (None, false, expected));
    }
}

#[test]
fn a_link_that_may_follow_its_equal_counts_more() {
    let links = [(3, 2), (1, 3), (3, 2)].map(|(end, weight)| Link { after: end - 1, end, weight });
    assert_eq!(chain::heaviest(&links, None), [1, 2]);
    assert_eq!(chain::heaviest(&links, Some(1)), [1, 2]);
    assert_eq!(chain::heaviest(&links, Some(2)), [0, 2]);
}
