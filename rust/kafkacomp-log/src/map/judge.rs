//! Rule 2: the batches of one file that are in place.

use super::chain::{MOST_RUNS, heaviest_chain};
use super::facts::{BatchFact, Fact, SegmentFacts};
use super::ranges::OffsetRange;
use super::runs::{continuous, increasing};
use super::segment::{Home, SegmentMap};

/// Judges a file by nothing but its facts and its window; `None` if its name is not believed.
///
/// If the offsets increase within the window, every batch is in place, whatever the gaps and corrupt bytes, and nothing is
/// allocated. Otherwise, of the runs in the window those are in place that increase and have the most bytes. A batch counts for
/// nothing if its offsets are not those between its neighbours, which leave exactly the room that it needs, and continue what is
/// beside them: its own offset field is altered.
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
    let is_altered = |index| window.is_some_and(|window| is_altered(file.facts, index, window));
    let candidates = file.batches().filter(|&(index, batch)| in_window(batch.offsets()) && !is_altered(index));
    let runs = continuous(candidates);
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

/// Whether the offsets of a batch are not those between its neighbours, which leave exactly the room that it needs, and of which each
/// continues what is on its other side.
pub(super) fn is_altered(facts: &[Fact], index: usize, window: OffsetRange) -> bool {
    let offsets_of = |index: usize| facts.get(index).and_then(Fact::batch).map(BatchFact::offsets);
    let (Some(offsets), Some(room)) = (offsets_of(index), room_of(facts, index, window)) else { return false };
    let is_covered = facts.get(index).and_then(Fact::batch).is_some_and(BatchFact::covers_offsets);
    if is_covered || room.len() != offsets.len() || room == offsets {
        return false;
    }
    let begins_at = |index: usize| match index.checked_sub(1) {
        Some(before) => offsets_of(before).map(OffsetRange::end),
        None => Some(window.start()),
    };
    let continues = |index: usize| offsets_of(index).map(OffsetRange::start) == begins_at(index);
    let is_continued = |index: usize| index >= facts.len() || continues(index);
    index.checked_sub(1).is_none_or(continues) && is_continued(index + 2)
}

/// The offsets between the batches directly before and after a fact; at an end of the file, the window takes the place of a batch.
pub(super) fn room_of(facts: &[Fact], index: usize, window: OffsetRange) -> Option<OffsetRange> {
    let start = match index.checked_sub(1) {
        Some(before) => facts.get(before)?.batch()?.offsets().end(),
        None => window.start(),
    };
    let end = match facts.get(index + 1) {
        Some(after) => after.batch()?.offsets().start(),
        None => window.end(),
    };
    OffsetRange::new(start, end)
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
