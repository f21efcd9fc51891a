//! The wording of what a map finds: the same in every tool.

use super::epochs::EpochFault;
use super::facts::{BatchFact, BatchId};
use super::partition::LogMap;
use super::ranges::OffsetRange;
use super::segment::Use;
use crate::log::error::ContentError;

impl LogMap<'_> {
    /// What is wrong with an intact batch; `None` if it is in place.
    pub fn text_of(&self, id: BatchId) -> Option<String> {
        let (batch, batch_use) = (self.batch(id)?, self.use_of(id)?);
        let (at, own) = (batch.bytes().start(), span_text(batch.offsets()));
        Some(match batch_use {
            Use::InPlace => return None,
            Use::Repeat { .. } => format!("the batch at byte {at} repeats {own}"),
            Use::Displaced => format!("the batch at byte {at} is not where its {own} belong"),
            Use::Restored { first } => {
                let (stored, right) =
                    (offset_field(batch, batch.offsets()), offset_field(batch, batch.offsets().at(first)));
                format!("offset field {stored} of the batch at byte {at} was altered: its neighbours determine {right}")
            }
            Use::OutOfPlace { .. } => self.error_of(id)?.to_string(),
        })
    }

    /// The error of a reader that accepts only batches in their places; `None` for those, and for repeats.
    pub fn error_of(&self, id: BatchId) -> Option<ContentError> {
        let batch = self.batch(id)?;
        let expected = match self.use_of(id)? {
            Use::InPlace | Use::Repeat { .. } => return None,
            Use::Restored { first } => offset_field(batch, batch.offsets().at(first)),
            Use::Displaced | Use::OutOfPlace { .. } => self.expected_at(id),
        };
        let (position, stored) = (batch.bytes().start(), offset_field(batch, batch.offsets()));
        Some(ContentError::OffsetField { position, stored, expected })
    }

    /// The offset at which the log continues in the place of a batch.
    fn expected_at(&self, id: BatchId) -> i64 {
        let before = (0..id.index).rev().map(|index| BatchId { index, ..id });
        let before = before.filter(|&each| self.use_of(each) == Some(Use::InPlace)).find_map(|each| self.batch(each));
        let name = || self.files().get(id.file).map_or(0, |file| file.name);
        before.map_or_else(name, |before| before.offsets().end())
    }
}

/// The offset field of a batch that has these offsets: of a wrapper, it is the last one.
fn offset_field(batch: &BatchFact, offsets: OffsetRange) -> i64 {
    if batch.magic() >= 2 { offsets.start() } else { offsets.end() - 1 }
}

/// A leader epoch that was altered, of the batch at a byte.
pub fn epoch_text(at: u64, fault: &EpochFault) -> String {
    let EpochFault { stored, right, .. } = fault;
    format!("leader epoch {stored} of the batch at byte {at} was altered: its neighbours determine {right}")
}

/// A file whose name is not believed and whose batches begin at another offset.
pub fn name_text(first: i64, name: i64) -> String {
    format!("the segment begins at offset {first}, but its name is {name}")
}

/// Offsets that are missing where nothing is corrupt, before a byte.
pub fn gap_text(offsets: OffsetRange, before: u64) -> String {
    format!("{} missing before byte {before}, where nothing is corrupt", verb_text(offsets))
}

/// The offsets that are missing because of a fault, for the end of its text.
pub fn missing_text(offsets: OffsetRange) -> String {
    format!("{} missing", verb_text(offsets))
}

fn verb_text(offsets: OffsetRange) -> String {
    let (first, last) = (offsets.start(), offsets.end() - 1);
    if first == last { format!("offset {first} is") } else { format!("offsets {first} to {last} are") }
}

fn span_text(offsets: OffsetRange) -> String {
    format!("offsets {} to {}", offsets.start(), offsets.end() - 1)
}
