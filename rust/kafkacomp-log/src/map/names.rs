//! Rule 1: names.
//!
//! The window of a file is the offsets from its name to the next name; those of a remote file are the ones that the leader's
//! epochs allow. A wrong name would cut the window of another file, so the name of a file that is mostly intact but has no batch
//! in its window is not believed.

use super::facts::{BatchFact, Fact, SegmentFacts};
use super::ranges::OffsetRange;
use crate::index::MAX_RELATIVE_OFFSET;

/// The window of each file: the offsets that it should have; `None` if its name is not believed. `files` are in the order of
/// their names. No two windows share an offset.
pub fn windows(files: &[SegmentFacts<'_>]) -> Vec<Option<OffsetRange>> {
    let all: Vec<usize> = (0..files.len()).collect();
    // A name above all batches of its file goes first: it may cut the window of the file before it.
    let open = files.iter().map(|file| OffsetRange::new(file.name, i64::MAX).unwrap_or(OffsetRange::EMPTY));
    let believed = at_home(files, &all, open);
    let believed = at_home(files, &believed, between(files, &believed));
    let mut found = vec![None; files.len()];
    for (&file, window) in believed.iter().zip(between(files, &believed)) {
        if let Some(place) = found.get_mut(file) {
            *place = Some(window);
        }
    }
    found
}

/// Those of the files numbered `believed` that are not elsewhere than in their windows.
fn at_home(
    files: &[SegmentFacts<'_>],
    believed: &[usize],
    windows: impl IntoIterator<Item = OffsetRange>,
) -> Vec<usize> {
    let is_at_home = |file: usize, window| files.get(file).is_some_and(|each| !is_elsewhere(each, window));
    let pairs = believed.iter().copied().zip(windows);
    pairs.filter(|&(file, window)| is_at_home(file, window)).map(|(file, _)| file).collect()
}

/// The windows of the files numbered `believed`, cut by each other only; in the same order.
///
/// What the leader's epochs say is never cut by a name, but the window of a name by what they say.
fn between(files: &[SegmentFacts<'_>], believed: &[usize]) -> Vec<OffsetRange> {
    let start = |file: &SegmentFacts<'_>| file.valid.map_or(file.name, OffsetRange::start);
    // The order is that of the names, unless epochs contradict them. Of files with the same name, the one that reaches farthest is
    // the last, and has the window.
    let mut in_order: Vec<usize> = believed.to_vec();
    let end = |file: &SegmentFacts<'_>| file.facts.iter().rev().find_map(Fact::batch).map(|last| last.offsets().end());
    in_order.sort_by_key(|&number| files.get(number).map(|file| (start(file), end(file))));
    let mut windows = vec![OffsetRange::EMPTY; files.len()];
    let each = || in_order.iter().filter_map(|&number| Some((number, files.get(number)?)));
    let (mut next, mut next_valid) = (i64::MAX, i64::MAX);
    for (number, file) in each().rev() {
        let end = file.valid.map_or(next, |valid| valid.end().min(next_valid));
        next = start(file);
        next_valid = file.valid.map_or(next_valid, OffsetRange::start);
        windows[number] = OffsetRange::new(next, end).unwrap_or(OffsetRange::EMPTY);
    }
    let mut valid_to = i64::MIN;
    for (number, file) in each() {
        match file.valid {
            Some(_) => valid_to = windows[number].end().max(valid_to),
            None => windows[number] = windows[number].from(valid_to),
        }
        windows[number] = within_reach(file, windows[number]);
    }
    believed.iter().map(|&number| windows[number]).collect()
}

/// The part of a window that a file can have: a segment stores offsets relative to its base in 31 bits.
///
/// Brokers older than KAFKA-6264 did not split compacted segments of formats 0 and 1 that exceed this. One batch beyond is not
/// believed by itself, two that increase are.
fn within_reach(file: &SegmentFacts<'_>, window: OffsetRange) -> OffsetRange {
    let reach = window.start().saturating_add(MAX_RELATIVE_OFFSET).saturating_add(1);
    let beyond = window.from(reach);
    let is_beyond = |batch: &BatchFact| batch.magic() < 2 && beyond.contains(batch.offsets());
    match file.facts {
        [.., Fact::Batch(before), Fact::Batch(last)]
            if is_beyond(before) && is_beyond(last) && last.is_above(before) =>
        {
            window
        }
        _ => window.below(reach),
    }
}

/// Whether a file is mostly intact but has no batch in its window. A single batch above all offsets that the file can have does not
/// show that: its own offset is as likely to be wrong.
fn is_elsewhere(file: &SegmentFacts<'_>, window: OffsetRange) -> bool {
    let is_home = |batch: &BatchFact| window.contains(batch.offsets());
    if file.valid.is_some() || file.facts.iter().filter_map(Fact::batch).any(is_home) {
        return false;
    }
    let mut batches = file.facts.iter().filter_map(Fact::batch);
    let reach = file.name.saturating_add(MAX_RELATIVE_OFFSET).saturating_add(1);
    if let (Some(only), None) = (batches.next(), batches.next())
        && only.offsets().end() > reach
    {
        return false;
    }
    let (mut intact, mut others) = (0_u128, 0_u128);
    for fact in file.facts {
        let size = if fact.batch().is_some() { &mut intact } else { &mut others };
        *size += u128::from(fact.bytes().len());
    }
    intact > others
}
