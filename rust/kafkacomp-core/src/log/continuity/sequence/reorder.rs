//! Finds the right order of a segment that has all batches, but some in the place of others.
//!
//! All checksums of such a segment are right, and in the order of their offsets its batches continue one another without a gap,
//! from the expected offset to the end of the segment. A batch with an altered offset field leaves a gap or an overlap in any
//! order.
//!
//! In a compacted log, gaps are not evidence. There, batches were swapped if they do not overlap, and if altering a single bit of
//! one offset field cannot put the batches in order.

use std::ops::ControlFlow;

use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::log::error::ReadError;
use crate::log::read::source::ReadAt;
use crate::log::read::walk::{SegmentPart, walk_segment};
use crate::memory;
use crate::record::{Batches, RecordReader};

/// A batch in the order of offsets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ordered {
    first: i64,
    last: i64,
    field: i64,
    /// Its position in the file.
    pub position: u64,
    pub size: usize,
    /// The first offset of the batch that belongs in its place; `None` if it is in its own place.
    pub expected: Option<i64>,
}

/// The batches from `position` on in the order of their offsets, if they continue one another from the start to the end of
/// `range`, or have only gaps that compaction explains; `None` otherwise, or if something is corrupt.
pub(super) fn reordered(
    source: &dyn ReadAt,
    position: u64,
    range: (i64, Option<i64>),
    mut is_compacted: bool,
) -> Result<Option<Vec<Ordered>>, ReadError> {
    let mut reader = RecordReader::new(DEFAULT_MAX_OUTPUT_SIZE);
    let mut found = Vec::new();
    let walked = walk_segment(source, &mut |part, _| match part {
        SegmentPart::Batches { data, position: begin } => {
            for batch in Batches::new(data, begin).map_while(Result::ok) {
                if batch.position() < position {
                    continue;
                }
                let Ok(first) = reader.base_offset(&batch) else { return ControlFlow::Break(None) };
                is_compacted |= batch.records_count().is_some_and(|count| count <= batch.last_offset_delta());
                let each = Ordered {
                    first,
                    last: batch.last_offset(),
                    field: batch.offset_field(),
                    position: batch.position(),
                    size: batch.size_in_bytes(),
                    expected: None,
                };
                if let Err(error) = memory::push(&mut found, each) {
                    return ControlFlow::Break(Some(std::io::Error::from(error)));
                }
            }
            ControlFlow::Continue(())
        }
        SegmentPart::Corrupt(range) if range.position >= position => ControlFlow::Break(None),
        SegmentPart::Corrupt(_) | SegmentPart::ZeroTail { .. } => ControlFlow::Continue(()),
    })?;
    match walked {
        ControlFlow::Break(Some(error)) => return Err(error.into()),
        ControlFlow::Break(None) => return Ok(None),
        ControlFlow::Continue(()) => {}
    }
    let may_be_altered = is_compacted && has_alterable(&found, range);
    found.sort_unstable_by_key(|batch| (batch.first, batch.position));
    let is_complete = continues(&found, range);
    if !is_complete && (!is_compacted || may_be_altered || !rises(&found, range)) {
        return Ok(None);
    }
    let mut places = memory::with_capacity(found.len()).map_err(std::io::Error::from)?;
    places.extend(found.iter().map(|batch| batch.position));
    places.sort_unstable();
    let firsts: Vec<_> = found.iter().map(|batch| batch.first).collect();
    for batch in &mut found {
        let stands = places.partition_point(|&place| place < batch.position);
        batch.expected = firsts.get(stands).copied().filter(|&first| first != batch.first);
    }
    Ok(found.iter().any(|batch| batch.expected.is_some()).then_some(found))
}

/// Whether batches fill a range without gap or overlap.
fn continues(batches: &[Ordered], (from, until): (i64, Option<i64>)) -> bool {
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
fn rises(batches: &[Ordered], range: (i64, Option<i64>)) -> bool {
    rising(batches, range.0) == batches.len()
        && batches.last().is_none_or(|last| range.1.is_none_or(|until| last.last < until))
}

/// The number of batches, from the first one on, whose offsets increase from `from`.
fn rising(batches: &[Ordered], from: i64) -> usize {
    let mut next = from;
    let does_not_rise = |batch: &Ordered| {
        let rises = batch.first >= next && batch.last >= batch.first;
        next = batch.last.saturating_add(1);
        !rises
    };
    batches.iter().position(does_not_rise).unwrap_or(batches.len())
}

/// Whether the offsets of the batches would increase, in the order of the file, if a single bit of one offset field were
/// flipped.
fn has_alterable(batches: &[Ordered], (from, until): (i64, Option<i64>)) -> bool {
    let until = until.unwrap_or(i64::MAX);
    let latest = rising(batches, from);
    let mut next = until;
    let does_not_rise = |batch: &Ordered| {
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
