//! The wording of what a map finds: the same in every tool.

use super::chain::MOST_RUNS;
use super::epochs::EpochFault;
use super::facts::{BatchFact, BatchId};
use super::log_end::{EndSource, EndWitness};
use super::partition::LogMap;
use super::ranges::{ByteRange, OffsetRange};
use super::segment::Use;
use crate::error::ContentError;
use crate::read::walk::CorruptRange;

impl LogMap<'_> {
    /// What is wrong with an intact batch; `None` if it is in place, displaced only by a copy beside it,
    /// or only in a file with a wrong name.
    pub fn text_of(&self, id: BatchId) -> Option<String> {
        let (batch, batch_use) = (self.batch(id)?, self.use_of(id)?);
        let (at, own) = (batch.bytes().start(), span_text(batch.offsets()));
        Some(match batch_use {
            Use::InPlace => return None,
            Use::Displaced if self.is_in_file_order(id) => return None,
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
            Use::Displaced if self.is_in_file_order(id) => return None,
            Use::Restored { first } => offset_field(batch, batch.offsets().at(first)),
            Use::Displaced | Use::OutOfPlace { .. } => self.expected_at(id),
        };
        let (position, stored) = (batch.bytes().start(), offset_field(batch, batch.offsets()));
        Some(ContentError::OffsetField { position, stored, expected })
    }

    /// The offset at which the log continues in the place of a batch or of corrupt bytes.
    pub fn expected_at(&self, id: BatchId) -> i64 {
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

/// Bytes in which no intact batch was found.
pub fn corrupt_text(range: &CorruptRange) -> String {
    let CorruptRange { position, length, error, is_batch, .. } = range;
    if *is_batch {
        return error.to_string();
    }
    format!("{error}; no intact batch in the {length} bytes up to byte {}", position.saturating_add(*length))
}

/// Zeros at the end of a log, without offsets that are missing for them.
pub fn end_zeros_text(bytes: ByteRange) -> String {
    format!(
        "{} zero bytes at the end of the log, from byte {} on: preallocated, or batches that were not written to disk",
        bytes.len(),
        bytes.start()
    )
}

/// What shows that a log was longer.
pub fn end_text(witness: EndWitness) -> String {
    let (end, last) = (witness.end(), witness.end().saturating_sub(1));
    let shown = match witness.source() {
        EndSource::RecoveryPoint => format!("the recovery point is {end}"),
        EndSource::HighWatermark => format!("the high watermark is {end}"),
        EndSource::ProducerSnapshot => format!("there is a producer snapshot at offset {end}"),
        EndSource::LeaderEpoch => format!("a leader epoch begins at offset {end}"),
        EndSource::OffsetIndex => format!("the offset index has an entry for offset {last}"),
        EndSource::TimeIndex => format!("the time index has an entry for offset {last}"),
    };
    format!("the log had reached offset {end}: {shown}")
}

/// Zeros at the end of a file that another one follows.
pub fn zeros_text(bytes: ByteRange) -> String {
    format!("{} zero bytes at the end of a closed segment, from byte {} on", bytes.len(), bytes.start())
}

/// Offsets that a file shares with an earlier one, whose records are the same.
pub fn shared_text(offsets: OffsetRange, earlier: &str) -> String {
    format!("{} are also in {earlier}, with the same records", span_text(offsets))
}

/// Positions of Kafka 0.7 that a file shares with an earlier one.
pub fn shared_positions_text(offsets: OffsetRange, earlier: &str) -> String {
    let (first, last) = (offsets.start(), offsets.end() - 1);
    format!("positions {first} to {last} are also in {earlier}: a broker of Kafka 0.7 does not start")
}

/// An offset at which an earlier file has other records.
pub fn different_text(earlier: &str, offset: i64) -> String {
    format!("{earlier} has different records at offset {offset}")
}

/// An offset that is too far above the base offset of its segment.
pub fn too_far_text(last: i64) -> String {
    format!(
        "offset {last} is more than 2^31 - 1 above the base offset: a broker of Kafka 2.0 or later splits the segment"
    )
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

/// A file with so many runs of batches that it was judged in parts.
pub fn in_parts_text() -> String {
    let runs = MOST_RUNS >> 20;
    format!(
        "more than {runs} Mi runs of batches that do not continue one another: they were judged in parts, and which of them \
         are in place may depend on the borders of these"
    )
}

/// Offsets that are missing where nothing is corrupt, before a byte.
pub fn gap_text(offsets: OffsetRange, before: u64) -> String {
    format!("{} missing before byte {before}, where nothing is corrupt", verb_text(offsets))
}

/// Offsets that are missing before a byte although no bytes there are corrupt: what is wrong is elsewhere.
pub fn lost_text(offsets: OffsetRange, before: u64) -> String {
    format!("{} missing before byte {before}", verb_text(offsets))
}

/// The first of several errors about gaps, and their number: further ranges, all offsets, and whether ranges are not listed.
pub fn more_gaps_text(first: &str, more: u64, offsets: u64, are_unlisted: bool) -> String {
    let at_least = if are_unlisted { "at least " } else { "" };
    let (more, offsets) = (grouped(more), grouped(offsets));
    format!("{first}, and {more} more ranges, {at_least}{offsets} offsets in all")
}

/// Missing offsets that a report does not list.
pub fn unlisted_text(ranges: u64) -> String {
    let plural = if ranges == 1 { "" } else { "s" };
    format!("{} range{plural} of offsets are missing that the report does not list", grouped(ranges))
}

/// A number with a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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
