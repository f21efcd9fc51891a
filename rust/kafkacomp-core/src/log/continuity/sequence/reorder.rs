//! Finds the right order of a segment that has all batches, but some in the place of others.
//!
//! All checksums of such a segment are right, and in the order of their offsets its batches continue one another without a gap,
//! from the expected offset to the end of the segment. A batch with an altered offset field leaves a gap or an overlap in any
//! order.
//!
//! In a compacted log, gaps are not evidence. There, batches were swapped if they do not overlap, and if altering a single bit of
//! one offset field cannot put the batches in order.

use super::known_batches::{KnownBatch, SegmentBatches};
use crate::memory::{self, OutOfMemory};

/// A batch in the order of offsets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ordered {
    pub batch: KnownBatch,
    /// The first offset of the batch that belongs in its place; `None` if it is in its own place.
    pub expected: Option<i64>,
}

/// The batches from `position` on in the order of their offsets, if they continue one another from the start to the end of
/// `range`, or have only gaps that compaction explains; `None` otherwise, or if something is corrupt.
pub(super) fn reordered(
    segment: &SegmentBatches,
    position: u64,
    range: (i64, Option<i64>),
    is_compacted: bool,
) -> Result<Option<Vec<Ordered>>, OutOfMemory> {
    if segment.last_corrupt.is_some_and(|corrupt| corrupt >= position) {
        return Ok(None);
    }
    let is_compacted = is_compacted || segment.last_thinned.is_some_and(|thinned| thinned >= position);
    let from = segment.batches.partition_point(|batch| batch.position < position);
    let places = &segment.batches[from..];
    if !may_continue(places, range) && !is_compacted {
        return Ok(None);
    }
    let mut sorted = memory::collect(places.iter().copied())?;
    sorted.sort_unstable_by_key(|batch| (batch.first, batch.position));
    let is_complete = continues(&sorted, range);
    if !is_complete && (!is_compacted || has_alterable(places, range) || !rises(&sorted, range)) {
        return Ok(None);
    }
    let firsts = memory::collect(sorted.iter().map(|batch| batch.first))?;
    let found = memory::collect(sorted.iter().map(|&batch| {
        let stands = places.partition_point(|place| place.position < batch.position);
        let expected = firsts.get(stands).copied().filter(|&first| first != batch.first);
        Ordered { batch, expected }
    }))?;
    Ok(found.iter().any(|batch| batch.expected.is_some()).then_some(found))
}

/// Whether batches may fill a range in some order, judged by their number of offsets, without sorting them.
fn may_continue(batches: &[KnownBatch], (from, until): (i64, Option<i64>)) -> bool {
    let count = |first: i64, end: i64| i128::from(end).saturating_sub(i128::from(first));
    let offsets: i128 = batches.iter().map(|batch| count(batch.first, batch.last).saturating_add(1)).sum();
    let last = batches.iter().map(|batch| batch.last).max();
    let end = until.or_else(|| last?.checked_add(1)).unwrap_or(from);
    offsets == count(from, end) && batches.iter().map(|batch| batch.first).min().is_none_or(|first| first == from)
}

/// Whether batches fill a range without gap or overlap.
fn continues(batches: &[KnownBatch], (from, until): (i64, Option<i64>)) -> bool {
    let mut next = from;
    for batch in batches {
        if batch.first != next || batch.last < batch.first {
            return false;
        }
        next = batch.last.saturating_add(1);
    }
    until.is_none_or(|until| next == until)
}

/// Whether batches are within a range and do not overlap.
fn rises(batches: &[KnownBatch], range: (i64, Option<i64>)) -> bool {
    rising(batches, range.0) == batches.len()
        && batches.last().is_none_or(|last| range.1.is_none_or(|until| last.last < until))
}

/// The number of batches, from the first one on, whose offsets increase from `from`.
fn rising(batches: &[KnownBatch], from: i64) -> usize {
    let mut next = from;
    let does_not_rise = |batch: &KnownBatch| {
        let rises = batch.first >= next && batch.last >= batch.first;
        next = batch.last.saturating_add(1);
        !rises
    };
    batches.iter().position(does_not_rise).unwrap_or(batches.len())
}

/// Whether the offsets of the batches would increase, in the order of the file, if a single bit of one offset field were
/// flipped.
fn has_alterable(batches: &[KnownBatch], (from, until): (i64, Option<i64>)) -> bool {
    let until = until.unwrap_or(i64::MAX);
    let latest = rising(batches, from);
    let mut next = until;
    let does_not_rise = |batch: &KnownBatch| {
        let rises = batch.last < next && batch.last >= batch.first;
        next = batch.first;
        !rises
    };
    // The offsets of all batches before the altered one increase, and so do those of all batches after it.
    let earliest = batches.iter().rposition(does_not_rise).unwrap_or_default();
    (earliest..=latest).any(|at| {
        let Some(batch) = batches.get(at) else { return false };
        let before = at.checked_sub(1).and_then(|before| batches.get(before));
        let begin = before.map_or(from, |before| before.last.saturating_add(1));
        let end = batches.get(at.saturating_add(1)).map_or(until, |next| next.first);
        (0..i64::BITS).any(|bit| {
            let moved = (batch.field ^ (1_i64 << bit)).wrapping_sub(batch.field);
            batch.first.wrapping_add(moved) >= begin && batch.last.checked_add(moved).is_some_and(|last| last < end)
        })
    })
}
