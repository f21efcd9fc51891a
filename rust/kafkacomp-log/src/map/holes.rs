//! Rule 4: batches that are not in place fill holes, if something confirms them.

use super::assembly::Assembly;
use super::compare::CompareRecords;
use super::facts::{BatchFact, BatchId};
use super::ranges::OffsetRange;
use super::runs::{Run, continuous};
use crate::index::MAX_RELATIVE_OFFSET;

/// Places the free batches of all stretches that are copies of what is placed next to them, or the rest of their file.
///
/// # Errors
/// Records cannot be read.
pub(super) fn fill<C: CompareRecords>(log: &mut Assembly<'_, '_, C>) -> Result<(), C::Error> {
    for (file, map) in log.maps().iter().enumerate() {
        for stretch in &map.others {
            // A file without a believed name was placed as a whole, or not.
            let is_placed = log.use_of(BatchId { file, index: stretch.facts.start }).is_some();
            if map.window.is_some() || !is_placed {
                fill_from(log, file, stretch)?;
            }
        }
    }
    Ok(())
}

fn fill_from<C: CompareRecords>(log: &mut Assembly<'_, '_, C>, file: usize, stretch: &Run) -> Result<(), C::Error> {
    let facts = log.facts(file);
    let is_copy = has_copy(log, file, stretch)?;
    for run in continuous(stretch.batches(facts)) {
        let free = log.free(file, &run);
        if free.is_empty() {
            continue;
        }
        let (mut size, mut opposed) = (0_u128, 0_u128);
        for (index, batch) in run.batches(facts) {
            let id = BatchId { file, index };
            if free.binary_search(&index).is_ok() {
                size += u128::from(batch.bytes().len());
            } else if log.votes(id)?.different.is_some() {
                opposed += u128::from(batch.bytes().len());
            }
        }
        let is_confirmed = (is_copy && is_within(log, file, &run, &free)) || continues(log, file, &run);
        if opposed < size && is_confirmed {
            log.displace(file, &free);
        }
    }
    Ok(())
}

/// Whether a batch of a stretch has the same records as a placed one.
fn has_copy<C: CompareRecords>(log: &mut Assembly<'_, '_, C>, file: usize, stretch: &Run) -> Result<bool, C::Error> {
    for index in stretch.facts.clone() {
        if log.votes(BatchId { file, index })?.same.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the file goes on with greater offsets than the free batches of a run, and these are not beyond the end of the log.
fn is_within<C: CompareRecords>(log: &Assembly<'_, '_, C>, file: usize, run: &Run, free: &[usize]) -> bool {
    let Some(offsets) = span(log, file, free) else { return false };
    let is_known = log
        .placed
        .last()
        .is_some_and(|last| offsets.end() <= last.offsets.start() || offsets.start() == last.offsets.end());
    let later = log.facts(file).get(run.facts.end..).unwrap_or_default();
    let after = later.iter().find_map(|fact| fact.batch());
    is_known && after.is_none_or(|after| after.offsets().start() >= offsets.end())
}

/// Whether a run is the rest of its file: it follows the last batch in place with no other file's batches between, or its last
/// batch and the first one in place continue one another. After corrupt bytes, only if the file already reaches beyond its
/// window, and the run continues something.
fn continues<C: CompareRecords>(log: &Assembly<'_, '_, C>, file: usize, run: &Run) -> bool {
    // Rule 1: no file has offsets beyond these.
    let most = log.placed.files().get(file).map_or(0, |file| file.name.saturating_add(MAX_RELATIVE_OFFSET));
    if run.offsets.end().saturating_sub(1) > most {
        return false;
    }
    // The batch that has the run's first offset or is the last one below it.
    let low = log.placed.before(run.offsets.start().saturating_add(1)).filter(|low| low.id.file == file);
    let high = log.placed.at_or_after(run.offsets.end());
    let is_followed = high.is_some_and(|high| high.offsets.start() == run.offsets.end());
    let end = log.placed.last_in_place(file);
    let (start, after) = (run.facts.start, run.facts.end);
    let beyond = end.map_or(0, |end| end + 1)..start;
    let is_rest = low.is_some_and(|low| {
        let is_adjacent = low.id.index + 1 == start && Some(low.id.index) >= end;
        is_adjacent || (beyond.contains(&low.id.index) && (low.offsets.end() == run.offsets.start() || is_followed))
    });
    let is_start = high.is_some_and(|high| high.id == BatchId { file, index: after });
    is_rest || (is_start && is_followed)
}

/// Batches of one run at whose offsets nothing is placed.
struct Piece {
    offsets: OffsetRange,
    file: usize,
    free: Vec<usize>,
}

/// Places batches that fill a hole exactly, alone or together; the ends of windows count as neighbours.
pub(super) fn fit<C: CompareRecords>(log: &mut Assembly<'_, '_, C>) {
    let mut pieces: Vec<Piece> = Vec::new();
    for (file, map) in log.maps().iter().enumerate() {
        let facts = log.facts(file);
        for run in map.others.iter().flat_map(|stretch| continuous(stretch.batches(facts))) {
            let free = log.free(file, &run);
            pieces.extend(span(log, file, &free).map(|offsets| Piece { offsets, file, free }));
        }
    }
    // The last key decides between copies.
    pieces.sort_by(|one, other| (one.offsets, one.file, &one.free).cmp(&(other.offsets, other.file, &other.free)));
    let mut edges: Vec<i64> =
        log.maps().iter().filter_map(|map| map.window).flat_map(|window| [window.start(), window.end()]).collect();
    edges.sort_unstable();
    let mut group: Vec<Piece> = Vec::new();
    for piece in pieces {
        let end = group.last().map(|last| last.offsets.end());
        if end.is_some_and(|end| piece.offsets.start() < end) {
            continue;
        }
        if end.is_some_and(|end| piece.offsets.start() != end) {
            place(log, &group, &edges);
            group.clear();
        }
        group.push(piece);
    }
    place(log, &group, &edges);
}

/// Places pieces that continue one another, if they fill a hole.
fn place<C: CompareRecords>(log: &mut Assembly<'_, '_, C>, group: &[Piece], edges: &[i64]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let offsets = first.offsets.through(last.offsets);
    let is_edge = |offset: i64| edges.binary_search(&offset).is_ok();
    let low = log.placed.before(offsets.end()).is_some_and(|low| low.offsets.end() == offsets.start());
    let high = log.placed.at_or_after(offsets.end());
    let last_file = log.maps().len().checked_sub(1);
    let is_end = high.is_none() && group.iter().all(|piece| Some(piece.file) == last_file);
    let is_followed = high.is_some_and(|high| high.offsets.start() == offsets.end());
    if (low || is_edge(offsets.start())) && (is_end || is_followed || is_edge(offsets.end())) {
        for piece in group {
            log.displace(piece.file, &piece.free);
        }
    }
}

/// From the first offset to the last of batches of a run.
fn span<C: CompareRecords>(log: &Assembly<'_, '_, C>, file: usize, indices: &[usize]) -> Option<OffsetRange> {
    let offsets = |&index: &usize| log.placed.batch(BatchId { file, index }).map(BatchFact::offsets);
    Some(offsets(indices.first()?)?.through(offsets(indices.last()?)?))
}
