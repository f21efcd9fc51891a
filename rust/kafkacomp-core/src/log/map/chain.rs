//! The heaviest chain of runs: those with increasing offsets that together have the most bytes.

use std::cmp::Reverse;

use super::facts::Fact;
use super::ranges::OffsetRange;
use super::runs::Run;

/// How many bytes it is worth that a run begins or ends exactly where its file should: a page, the unit in which file systems
/// lose and misplace data.
const ANCHOR: u128 = 4096;

/// The runs with increasing offsets that have the most bytes, of equals those that end at the lower offset, in O(n log n).
///
/// A run is taken whole or not at all: a page of another partition with offsets that are nearly right contradicts only a few
/// batches, but outweighs only few runs. A run counts [`ANCHOR`] more if it begins at the file's start with the first offset of
/// `window`, and if it ends at the file's end with the last one.
pub(super) fn heaviest_chain(facts: &[Fact], runs: Vec<Run>, window: Option<OffsetRange>) -> Vec<Run> {
    let mut ends: Vec<i64> = runs.iter().map(|run| run.offsets.end()).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut best = Maxima::new(ends.len());
    let mut before = Vec::with_capacity(runs.len());
    for (number, run) in runs.iter().enumerate() {
        let found = best.below(ends.partition_point(|&end| end <= run.offsets.start()));
        let weight = weight(facts, run, window) + found.map_or(0, |chain| chain.weight);
        before.push(found.map(|chain| chain.last));
        let place = ends.partition_point(|&end| end < run.offsets.end());
        best.add(place, Chain::new(weight, run.offsets.end(), number));
    }
    let mut next = best.below(ends.len()).map(|chain| chain.last);
    let mut is_taken = vec![false; runs.len()];
    while let Some(number) = next {
        is_taken[number] = true;
        next = before[number];
    }
    runs.into_iter().zip(is_taken).filter_map(|(run, is_taken)| is_taken.then_some(run)).collect()
}

fn weight(facts: &[Fact], run: &Run, window: Option<OffsetRange>) -> u128 {
    let is_at_start = run.facts.start == 0 && window.is_some_and(|window| run.offsets.start() == window.start());
    let is_at_end = run.facts.end == facts.len() && window.is_some_and(|window| run.offsets.end() == window.end());
    run.size(facts) + ANCHOR * (u128::from(is_at_start) + u128::from(is_at_end))
}

/// A chain of runs. The greatest one has the most bytes, then the lowest end, then the last run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Chain {
    pub(super) weight: u128,
    end: Reverse<i64>,
    /// The number of its last run.
    pub(super) last: usize,
}

impl Chain {
    pub(super) fn new(weight: u128, end: i64, last: usize) -> Self {
        Self { weight, end: Reverse(end), last }
    }
}

/// The greatest chain of each prefix of places: a Fenwick tree.
pub(super) struct Maxima(Vec<Option<Chain>>);

impl Maxima {
    pub(super) fn new(places: usize) -> Self {
        Self(vec![None; places + 1])
    }

    /// The greatest chain at the first `count` places.
    pub(super) fn below(&self, count: usize) -> Option<Chain> {
        let mut found = None;
        let mut node = count;
        while node > 0 {
            found = found.max(self.0[node]);
            node &= node - 1;
        }
        found
    }

    /// Adds a chain at a place.
    pub(super) fn add(&mut self, place: usize, chain: Chain) {
        let mut node = place + 1;
        while node < self.0.len() {
            self.0[node] = self.0[node].max(Some(chain));
            node += node & node.wrapping_neg();
        }
    }
}
