//! Rule 2: the batches of one file that are in place.

use super::chain::{MOST_RUNS, heaviest_chain};
use super::facts::{Fact, SegmentFacts};
use super::ranges::OffsetRange;
use super::runs::{continuous, increasing};
use super::segment::{Home, SegmentMap};

/// Judges a file by nothing but its facts and its window; `None` if its name is not believed.
///
/// If the offsets increase within the window, every batch is in place, whatever the gaps and corrupt bytes, and nothing is
/// allocated. Otherwise, of the runs in the window those are in place that increase and have the most bytes.
pub fn judge(file: &SegmentFacts<'_>, window: Option<OffsetRange>) -> SegmentMap {
    judge_in_parts(file, window, MOST_RUNS)
}

/// The same, with any number of runs that are judged at once.
pub(super) fn judge_in_parts(file: &SegmentFacts<'_>, window: Option<OffsetRange>, most: usize) -> SegmentMap {
    let window = window.map(|window| file.valid.map_or(window, |valid| window.intersection(valid)));
    if window.is_some_and(|window| increases_within(file.facts, window)) {
        return SegmentMap { window, home: Home::All, others: Vec::new(), is_in_parts: false };
    }
    let in_window = |offsets: OffsetRange| window.is_some_and(|window| window.contains(offsets));
    let runs = continuous(file.batches().filter(|(_, batch)| in_window(batch.offsets())));
    let home = heaviest_chain(file.facts, &runs, window, most);
    let mut rest = home.as_slice();
    let others = file.batches().filter(|&(index, _)| {
        while let [first, later @ ..] = rest
            && first.facts.end <= index
        {
            rest = later;
        }
        !rest.first().is_some_and(|run| run.facts.contains(&index))
    });
    let others = increasing(others);
    SegmentMap { window, home: Home::Runs(home), others, is_in_parts: runs.len() > most }
}

/// Whether the offsets of all batches increase from the start of the window to its end.
pub(super) fn increases_within(facts: &[Fact], window: OffsetRange) -> bool {
    let mut expected = window.start();
    facts.iter().filter_map(Fact::batch).all(|batch| {
        let offsets = batch.offsets();
        let is_above = offsets.start() >= expected;
        expected = offsets.end();
        is_above && offsets.end() <= window.end()
    })
}
