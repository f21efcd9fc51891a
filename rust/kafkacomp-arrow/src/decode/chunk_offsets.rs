//! Follows the offsets of a chunk in its worker.
//!
//! It applies the planner's notes about batches, and finds gaps that only the records of wrappers show, because the header of a
//! wrapper has only the last offset.

use std::sync::{Arc, Mutex, PoisonError};

use kafkacomp_core::log::{ContentError, MissingReason, Placement, Span, place};
use kafkacomp_core::record::v0_v1::V0V1Records;
use kafkacomp_core::record::{Batches, RecordBatch, RecordReader};

use crate::plan::chunk::Chunk;
use crate::plan::continuity::Note;
use crate::report::{ScanReport, SkippedRange};

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
    start: Option<i64>,
    losses: Vec<SkippedRange>,
}

/// Follows the batches of a chunk.
pub struct ChunkOffsets<'c> {
    chunk: &'c Chunk,
    /// The bytes of the chunk.
    data: &'c [u8],
    max_output_size: usize,
    report: Arc<Mutex<ScanReport>>,
    /// The offset after the batch before, if it is known.
    expected: Option<i64>,
    /// Whether a batch of the segment came before: then records below `expected` were returned with it.
    started: bool,
    notes: std::slice::Iter<'c, (u64, Note)>,
    /// The position of the batch of the next note.
    next: u64,
    /// The note for the current batch: its first offset that is wanted, and what was skipped before it.
    start: Option<i64>,
    /// The last offset of the batch, if its records showed it.
    last: Option<i64>,
    losses: Vec<SkippedRange>,
}

impl<'c> ChunkOffsets<'c> {
    /// Begins at the start of `chunk`, whose bytes are `data`, or where it was paused.
    pub fn new(
        (chunk, data): (&'c Chunk, &'c [u8]),
        paused: Option<PausedOffsets>,
        max_output_size: usize,
        report: Arc<Mutex<ScanReport>>,
    ) -> Self {
        let PausedOffsets { expected, started, noted, start, losses } = paused.unwrap_or_else(|| PausedOffsets {
            expected: chunk.expected,
            started: chunk.started,
            noted: 0,
            start: None,
            losses: Vec::new(),
        });
        let notes = chunk.notes.get(noted..).unwrap_or(&[]).iter();
        let next = notes.as_slice().first().map_or(u64::MAX, |&(position, _)| position);
        Self { chunk, data, max_output_size, report, expected, started, notes, next, start, last: None, losses }
    }

    /// Pauses before a batch.
    pub fn pause(self) -> PausedOffsets {
        let noted = self.chunk.notes.len() - self.notes.len();
        PausedOffsets { expected: self.expected, started: self.started, noted, start: self.start, losses: self.losses }
    }

    /// Whether the batch is read and not skipped.
    #[inline]
    pub fn takes(&mut self, batch: &RecordBatch<'_>) -> bool {
        self.next != batch.position() || self.noted(batch.position())
    }

    /// The position of the next batch that needs more than its header; `None` if the next batch does.
    #[inline]
    pub fn in_sequence_until(&self) -> Option<u64> {
        (self.start.is_none() && self.losses.is_empty()).then_some(self.next)
    }

    #[cold]
    fn noted(&mut self, position: u64) -> bool {
        let mut takes = true;
        while self.next == position {
            match self.notes.next() {
                Some((_, Note::LeaveOut)) => takes = false,
                Some((_, Note::From(offset))) => self.start = Some(*offset),
                Some((_, Note::Unexpected)) => self.expected = None,
                Some((_, Note::After(losses))) => self.losses.extend_from_slice(losses),
                None => {}
            }
            self.next = self.notes.as_slice().first().map_or(u64::MAX, |&(position, _)| position);
        }
        takes
    }

    /// The first offset of the batch that is wanted, if others were returned before.
    #[inline]
    pub fn start(&self) -> Option<i64> {
        self.start
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

    /// Adds the records of a wrapper, and returns its first offset that is wanted, if not all are.
    ///
    /// # Errors
    /// Its offset field cannot be right.
    pub fn unwrapped(&mut self, batch: &RecordBatch<'_>, records: &V0V1Records<'_>) -> Result<Option<i64>, Misplaced> {
        // In magic 0, the messages have absolute offsets.
        self.last = Some(records.last_offset());
        let (Some(expected), Some(Ok(first))) = (self.expected, records.first_offset()) else { return Ok(self.start) };
        if first != expected && batch.magic() == 1 && self.is_misplaced(batch, (first, records.last_offset()), expected)
        {
            let (position, stored) = (batch.position(), batch.offset_field());
            return Err(Misplaced(ContentError::OffsetField { position, stored, expected }));
        }
        let base_offset = self.chunk.context.base_offset;
        if first < base_offset && batch.last_offset() >= base_offset && !self.started {
            self.warn_of_name(first);
        }
        let span = records.last_offset().saturating_sub(first).saturating_add(1);
        let is_thinned = i64::try_from(records.messages()).is_ok_and(|messages| messages < span);
        if first > expected || is_thinned || !self.losses.is_empty() {
            self.gap(expected, first, is_thinned);
        }
        Ok(Some(expected).filter(|_| self.started && first < expected))
    }

    /// Warns that the first batch of the segment begins below the offset in its name.
    #[cold]
    fn warn_of_name(&self, first: i64) {
        let context = &self.chunk.context;
        let warning = format!(
            "{}: the file's name says that it begins with offset {}, and it begins with {first}",
            context.place.segment, context.base_offset
        );
        self.report.lock().unwrap_or_else(PoisonError::into_inner).warnings.push(warning);
    }

    /// Whether a batch that does not begin at the expected offset would exactly fill the room up to the next batch, or, if there
    /// is no next batch, begins inside the one before. The planner has judged the last batch of a chunk.
    #[cold]
    fn is_misplaced(&self, batch: &RecordBatch<'_>, (first, last): (i64, i64), expected: i64) -> bool {
        let end = batch.position().saturating_add(batch.size_in_bytes() as u64);
        let at = end.saturating_sub(self.chunk.position) as usize;
        let next = Batches::new(&self.data[at..], end).next();
        let Some(next) = next.and_then(Result::ok).filter(RecordBatch::is_valid) else {
            // Brokers do not write a batch that begins inside the one before.
            return self.chunk.ordered
                && self.losses.is_empty()
                && self.started
                && self.start.is_none()
                && first < expected;
        };
        let Ok(next_first) = RecordReader::new(self.max_output_size).base_offset(&next) else { return false };
        let next = Span { first: Some(next_first), ..Span::of(&next) };
        let span = Span { first: Some(first), last, crc: batch.crc() };
        // If the planner skipped bytes before this batch, it has judged the batch, too.
        self.chunk.ordered
            && self.losses.is_empty()
            && (self.started || first > expected)
            && matches!(place(expected, None, span, Some(next), None), Placement::Misplaced { .. })
    }

    /// Skips the batch; the next one shows which offsets are missing because of that.
    pub fn lose(&mut self, range: SkippedRange) {
        self.losses.push(range);
        (self.start, self.last) = (None, None);
    }

    #[cold]
    fn gap(&mut self, expected: i64, first: i64, is_thinned: bool) {
        let losses = std::mem::take(&mut self.losses);
        let context = &self.chunk.context;
        let reason = losses.first().map_or(MissingReason::Gap, |loss| loss.reason);
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        context.missing(expected, first, reason, &mut |range| {
            report.missing.add(&context.id, &context.place.segment, range);
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
        self.start = None;
        if !self.losses.is_empty() {
            self.unresolved();
        }
    }

    /// Ends the chunk.
    pub fn finish(&mut self) {
        if !self.losses.is_empty() {
            self.unresolved();
        }
    }

    /// Reports skipped bytes without missing offsets, which are unknown because the next batch was not decompressed.
    #[cold]
    fn unresolved(&mut self) {
        let losses = std::mem::take(&mut self.losses);
        self.report.lock().unwrap_or_else(PoisonError::into_inner).skipped.extend(losses);
    }
}
