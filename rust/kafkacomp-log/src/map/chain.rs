//! The heaviest chain of runs: those with increasing offsets that together have the most bytes.

use std::cmp::Reverse;

use super::facts::Fact;
use super::ranges::OffsetRange;
use super::runs::Run;

/// How many bytes it is worth that a run begins or ends exactly where its file should: more than the few pages that file systems
/// misplace at once, which do so only by chance.
pub(super) const ANCHOR: u128 = 64 << 10;

/// The most runs that are judged at once: some 350 MB. A segment of 2 GiB may have eight times as many, if it consists of
/// the smallest batches and none continues another.
pub(super) const MOST_RUNS: usize = 4 << 20;

/// The runs with increasing offsets that have the most bytes, of equals those that end at the lower offset, in O(n log n).
///
/// A run is taken whole or not at all: a page of another partition with offsets that are nearly right contradicts only a few
/// batches, but outweighs only few runs. A run counts [`ANCHOR`] more if it begins at the file's start with the first offset of
/// `window`, and if it ends at the file's end with the last one.
///
/// More than `most` runs are judged in parts that overlap by half: the first half of a part is settled by all of it, so a run is
/// taken only if it outweighs the `most / 2` runs after it that it contradicts.
pub(super) fn heaviest_chain(facts: &[Fact], runs: &[Run], window: Option<OffsetRange>, most: usize) -> Vec<Run> {
    let mut chain: Vec<Run> = Vec::new();
    let mut rest = runs;
    while let Some((part, [_, ..])) = rest.split_at_checked(most.max(1)) {
        let (settled, later) = rest.split_at(part.len().div_ceil(2));
        let end = settled.last().map_or(0, |run| run.facts.end);
        let found = heaviest_after(&chain, facts, part, window);
        chain.extend(found.into_iter().take_while(|run| run.facts.end <= end));
        rest = later;
    }
    let found = heaviest_after(&chain, facts, rest, window);
    chain.extend(found);
    chain
}

/// The heaviest chain of the runs that are above those of a chain.
fn heaviest_after(before: &[Run], facts: &[Fact], runs: &[Run], window: Option<OffsetRange>) -> Vec<Run> {
    let is_above = |run: &&Run| before.last().is_none_or(|last| last.offsets.end() <= run.offsets.start());
    let runs: Vec<&Run> = runs.iter().filter(is_above).collect();
    let link =
        |run: &&Run| Link { after: run.offsets.start(), end: run.offsets.end(), weight: weight(facts, run, window) };
    let found = heaviest(&runs.iter().map(link).collect::<Vec<_>>(), None);
    found.into_iter().map(|number| runs[number].clone()).collect()
}

fn weight(facts: &[Fact], run: &Run, window: Option<OffsetRange>) -> u128 {
    let is_at_start = run.facts.start == 0 && window.is_some_and(|window| run.offsets.start() == window.start());
    let is_at_end = run.facts.end == facts.len() && window.is_some_and(|window| run.offsets.end() == window.end());
    run.size(facts) + ANCHOR * (u128::from(is_at_start) + u128::from(is_at_end))
}

/// Something that a chain may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// It follows what ends here or before.
    pub(super) after: i64,
    /// Where it ends.
    pub(super) end: i64,
    pub(super) weight: u128,
}

/// The numbers of the links that follow one another and weigh most, of equals those that end lower, in O(n log n). With `continued`, a
/// link may also follow one that ends where it ends itself, and then counts as much more.
pub(super) fn heaviest(links: &[Link], continued: Option<u128>) -> Vec<usize> {
    let mut ends: Vec<i64> = links.iter().map(|link| link.end).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut best = Maxima::new(ends.len());
    // The chain that ends at each of these, where a link may follow it.
    let mut same = vec![None; if continued.is_some() { ends.len() } else { 0 }];
    let mut before = Vec::with_capacity(links.len());
    for (number, link) in links.iter().enumerate() {
        let place = ends.partition_point(|&end| end < link.end);
        let lower = best.below(ends.partition_point(|&end| end <= link.after));
        let added = |chain: Option<Chain>, more| chain.map(|chain| (chain.weight + more, chain.last));
        let going_on = continued.and_then(|more| added(same.get(place).copied().flatten(), more));
        let found = added(lower, 0).max(going_on);
        before.push(found.map(|(_, last)| last));
        let chain = Chain::new(link.weight + found.map_or(0, |(weight, _)| weight), link.end, number);
        if let Some(same) = same.get_mut(place) {
            *same = (*same).max(Some(chain));
        }
        best.add(place, chain);
    }
    let last = best.below(ends.len()).map(|chain| chain.last);
    let mut chain: Vec<usize> = std::iter::successors(last, |&number| before[number]).collect();
    chain.reverse();
    chain
}

/// A chain of links. The greatest one weighs most, then has the lowest end, then the last link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Chain {
    weight: u128,
    end: Reverse<i64>,
    /// The number of its last link.
    last: usize,
}

impl Chain {
    fn new(weight: u128, end: i64, last: usize) -> Self {
        Self { weight, end: Reverse(end), last }
    }
}

/// The greatest chain of each prefix of places: a Fenwick tree.
struct Maxima(Vec<Option<Chain>>);

impl Maxima {
    fn new(places: usize) -> Self {
        Self(vec![None; places + 1])
    }

    /// The greatest chain at the first `count` places.
    fn below(&self, count: usize) -> Option<Chain> {
        let mut found = None;
        let mut node = count;
        while node > 0 {
            found = found.max(self.0[node]);
            node &= node - 1;
        }
        found
    }

    /// Adds a chain at a place.
    fn add(&mut self, place: usize, chain: Chain) {
        let mut node = place + 1;
        while node < self.0.len() {
            self.0[node] = self.0[node].max(Some(chain));
            node += node & node.wrapping_neg();
        }
    }
}
