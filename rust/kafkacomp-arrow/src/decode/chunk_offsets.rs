//! Follows the offsets of a chunk in its worker.
//!
//! It finds gaps that only the records of wrappers show, because the header of a wrapper has only the last offset.

use std::sync::{Arc, Mutex};

use kafkacomp_log::{ContentError, MissingReason};
use kafkacomp_records::record::RecordBatch;
use kafkacomp_records::record::v0_v1::V0V1Records;

use crate::plan::chunk::Chunk;
use crate::plan::continuity::Note;
use crate::report::{ScanReport, SkippedRange};
use crate::sync::lock;

/// The offset field of a batch cannot be right.
#[derive(Debug)]
pub struct Misplaced(pub ContentError);

/// What is known between two batches of a chunk.
#[derive(Debug)]
pub struct PausedOffsets {
    expected: Option<i64>,
    started: bool,
    /// The number of notes that were applied.
    noted: usize,
    losses: Vec<SkippedRange>,
    lost_to: i64,
}

/// Follows the batches of a chunk.
pub struct ChunkOffsets<'c> {
    chunk: &'c Chunk,
    report: Arc<Mutex<ScanReport>>,
    /// The offset after the batch before, if it is known.
    expected: Option<i64>,
    /// Whether a batch of the segment came before.
    started: bool,
    notes: std::slice::Iter<'c, (u64, Note)>,
    /// The position of the batch of the next note.
    next: u64,
    /// The last offset of the batch, if its records showed it.
    last: Option<i64>,
    losses: Vec<SkippedRange>,
    /// The offset after the skipped batches, as their headers state it.
    lost_to: i64,
}

impl<'c> ChunkOffsets<'c> {
    /// Begins at the start of `chunk`, or where it was paused.
    pub fn new(chunk: &'c Chunk, paused: Option<PausedOffsets>, report: Arc<Mutex<ScanReport>>) -> Self {
        let PausedOffsets { expected, started, noted, losses, lost_to } = paused.unwrap_or_else(|| PausedOffsets {
            expected: chunk.expected,
            started: chunk.started,
            noted: 0,
            losses: Vec::new(),
            lost_to: i64::MIN,
        });
        let notes = chunk.notes.get(noted..).unwrap_or(&[]).iter();
        let next = notes.as_slice().first().map_or(u64::MAX, |&(position, _)| position);
        Self { chunk, report, expected, started, notes, next, last: None, losses, lost_to }
    }

    /// Pauses before a batch.
    pub fn pause(self) -> PausedOffsets {
        let noted = self.chunk.notes.len() - self.notes.len();
        PausedOffsets {
            expected: self.expected,
            started: self.started,
            noted,
            losses: self.losses,
            lost_to: self.lost_to,
        }
    }

    /// Applies the notes of a batch.
    #[inline]
    pub fn begin(&mut self, batch: &RecordBatch<'_>) {
        if self.next == batch.position() {
            self.note(batch.position());
        }
    }

    /// The position of the next batch that needs more than its header; `None` if the next batch does.
    #[inline]
    pub fn in_sequence_until(&self) -> Option<u64> {
        self.losses.is_empty().then_some(self.next)
    }

    #[cold]
    fn note(&mut self, position: u64) {
        while self.next == position {
            match self.notes.next() {
                Some((_, Note::Unexpected)) => self.expected = None,
                Some((_, Note::After(losses))) => self.losses.extend_from_slice(losses),
                None => {}
            }
            self.next = self.notes.as_slice().first().map_or(u64::MAX, |&(position, _)| position);
        }
    }

    /// A lower bound of the first offset of the batch, if there is one.
    #[inline]
    pub fn least(&self, batch: &RecordBatch<'_>) -> Option<i64> {
        batch.base_offset().or(self.expected)
    }

    /// The offsets of a batch, with an exclusive end, if its surroundings determine them.
    pub fn offsets_of(&self, batch: &RecordBatch<'_>) -> Option<(i64, i64)> {
        let first = self.least(batch).filter(|_| self.chunk.ordered)?;
        Some((first.max(self.expected.unwrap_or(first)), batch.last_offset().saturating_add(1)))
    }

    /// Adds the records of a wrapper.
    ///
    /// # Errors
    /// It begins inside the batch before, so that its offset field cannot be right.
    pub fn unwrapped(&mut self, batch: &RecordBatch<'_>, records: &V0V1Records<'_>) -> Result<(), Misplaced> {
        // In magic 0, the messages have absolute offsets.
        self.last = Some(records.last_offset());
        let (Some(expected), Some(Ok(first))) = (self.expected, records.first_offset()) else { return Ok(()) };
        if first < expected && self.chunk.ordered && self.started && self.losses.is_empty() {
            let (position, stored) = (batch.position(), batch.offset_field());
            return Err(Misplaced(ContentError::OffsetField { position, stored, expected }));
        }
        let span = records.last_offset().saturating_sub(first).saturating_add(1);
        let is_thinned = i64::try_from(records.messages()).is_ok_and(|messages| messages < span);
        if first > expected || is_thinned || !self.losses.is_empty() {
            self.gap(expected, first, is_thinned);
        }
        Ok(())
    }

    /// Skips the batch. The next one of the chunk shows which offsets are missing because of that; if there is none, its header does.
    pub fn lose(&mut self, batch: &RecordBatch<'_>, range: SkippedRange) {
        self.losses.push(range);
        self.lost_to = batch.last_offset().saturating_add(1);
        self.last = None;
    }

    #[cold]
    fn gap(&mut self, expected: i64, first: i64, is_thinned: bool) {
        let losses = std::mem::take(&mut self.losses);
        let context = &self.chunk.context;
        let reason = losses.first().map_or(MissingReason::Gap, |loss| loss.reason);
        let mut report = lock(&self.report);
        context.missing((expected, first), reason, &context.place.segment, &mut |segment, range| {
            report.missing.add(&context.id, segment, range);
        });
        report.skipped.extend(losses.into_iter().map(|loss| loss.between(Some(expected), Some(first))));
        if context.compaction.or_thinned(is_thinned) != context.compaction {
            report.missing.set_compacted(&context.id);
        }
    }

    /// Ends the batch, whether it was read or skipped.
    #[inline]
    pub fn passed(&mut self, batch: &RecordBatch<'_>) {
        if self.chunk.ordered {
            self.expected = Some(self.last.take().unwrap_or(batch.last_offset()).saturating_add(1));
        }
        self.started = true;
        if !self.losses.is_empty() {
            self.unresolved();
        }
    }

    /// Ends the chunk.
    pub fn finish(&mut self) {
        match self.expected {
            _ if self.losses.is_empty() => {}
            Some(expected) if expected < self.lost_to => self.gap(expected, self.lost_to, false),
            _ => self.unresolved(),
        }
    }

    /// Reports skipped bytes without missing offsets, which are unknown because the next batch was not decompressed.
    #[cold]
    fn unresolved(&mut self) {
        let losses = std::mem::take(&mut self.losses);
        lock(&self.report).skipped.extend(losses);
    }
}
