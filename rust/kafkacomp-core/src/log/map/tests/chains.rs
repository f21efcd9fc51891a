//! Every chain of runs of small files.

use super::super::chain::heaviest_chain;
use super::super::runs::{Run, continuous};
use super::{Part, facts, file};
use crate::log::map::{Fact, OffsetRange, judge};

/// The offsets of these tests.
const END: i64 = 4;

fn window() -> OffsetRange {
    OffsetRange::new(0, END).unwrap()
}

/// The weights of all chains: of runs that increase, with the page that the ends of the file are worth.
fn heaviest(facts: &[Fact], runs: &[Run]) -> u128 {
    let weight = |chosen: u32| {
        let chosen = || runs.iter().enumerate().filter(|(number, _)| chosen >> number & 1 == 1).map(|(_, run)| run);
        let increases = chosen().zip(chosen().skip(1)).all(|(one, next)| one.offsets.end() <= next.offsets.start());
        let sizes = chosen().map(|run| {
            let is_first = run.facts.start == 0 && run.offsets.start() == 0;
            let is_last = run.facts.end == facts.len() && run.offsets.end() == END;
            run.size(facts) + 4096 * (u128::from(is_first) + u128::from(is_last))
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
        let runs = continuous(batches());
        let chain = heaviest_chain(&facts, runs.clone(), Some(window()));
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
