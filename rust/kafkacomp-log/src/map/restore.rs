//! Rules 5 and 6: altered base offsets, and what is left.

use super::assembly::Assembly;
use super::compare::CompareRecords;
use super::facts::BatchId;
use super::judge::room_of;
use super::ranges::OffsetRange;
use super::segment::Use;
use crate::continuity::compaction::Compaction;

/// Rule 5: a batch directly between two batches in place that leave exactly the room it needs has these offsets; so does the first or last
/// batch of a file whose window ends there. Where records were compacted, a hole of this size proves nothing.
///
/// # Errors
/// Records cannot be read.
pub(super) fn restore<C: CompareRecords>(
    log: &mut Assembly<'_, '_, C>,
    compaction: Compaction,
) -> Result<(), C::Error> {
    for (file, map) in log.maps().iter().enumerate() {
        for (id, batch) in log.others(file) {
            let Some(room) = room_at(log, id) else { continue };
            let offsets = batch.offsets();
            let is_in_window = map.window.is_some_and(|window| window.contains(offsets));
            let is_possible = is_in_window && log.placed.is_free(offsets);
            let is_cleaned = match compaction {
                Compaction::Unknown => false,
                Compaction::To(offset) => room.start() < offset,
                Compaction::Somewhere => true,
            };
            if log.use_of(id).is_none()
                && !is_possible
                && !is_cleaned
                && !batch.covers_offsets()
                && room.len() == offsets.len()
                && log.placed.is_free(room)
            {
                let votes = log.votes(id)?;
                let is_copy = votes.same.is_some() && votes.different.is_none();
                if !is_copy {
                    log.restore(id, room);
                }
            }
        }
    }
    Ok(())
}

/// The offsets between the batches directly before and after a batch, or the ends of the window, if the batches are in place.
fn room_at<C>(log: &Assembly<'_, '_, C>, id: BatchId) -> Option<OffsetRange>
where
    C: CompareRecords,
{
    let facts = log.facts(id.file);
    let room = room_of(facts, id.index, log.maps().get(id.file)?.window?)?;
    let before = id.index.checked_sub(1);
    let after = Some(id.index + 1).filter(|&after| after < facts.len());
    let are_in_place = before.into_iter().chain(after).all(|index| log.placed.is_in_place(BatchId { index, ..id }));
    are_in_place.then_some(room)
}

/// Rule 6: what is not placed is a repeat, or out of place.
///
/// # Errors
/// Records cannot be read.
pub(super) fn set_rest<C: CompareRecords>(log: &mut Assembly<'_, '_, C>) -> Result<(), C::Error> {
    for file in 0..log.maps().len() {
        for (id, _) in log.others(file) {
            if log.use_of(id).is_none() {
                let votes = log.votes(id)?;
                let batch_use = match (votes.same, votes.different) {
                    (Some(of), None) => Use::Repeat { of },
                    (_, contradicts) => Use::OutOfPlace { contradicts },
                };
                log.set_use(id, batch_use);
            }
        }
    }
    Ok(())
}
