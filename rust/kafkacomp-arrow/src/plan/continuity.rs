//! Checks that the batches of a segment continue one another.
//!
//! No checksum covers the offsets of a batch. As long as each batch begins where the one before it ends, there is nothing to
//! judge. Otherwise the batch is kept until the header of the next one is known, and then judged ([`judge`]): it follows a gap,
//! it repeats offsets, or its offset field is wrong.

mod judge;

use std::sync::Arc;

use kafkacomp_core::log::{ContentError, MissingRange, MissingReason, Placement, ReadAt, Span, wrapper_span};
use kafkacomp_core::record::{RecordBatch, RecordReader};

use crate::options::{OnError, ScanOptions};
use crate::plan::context::Context;
use crate::plan::copies::OtherBatches;
use crate::plan::leader_epochs::LeaderEpochs;
use crate::report::{ScanError, SkippedRange};

/// What a worker must know about a batch of its chunk in addition to its header.
#[derive(Debug, Clone)]
pub enum Note {
    /// Skip the batch.
    LeaveOut,
    /// Skip its records before this offset.
    From(i64),
    /// The offset that is expected there is unknown.
    Unexpected,
    /// These bytes directly before it were skipped; its records show which offsets are missing because of that.
    After(Vec<SkippedRange>),
}

/// What was found about the offsets of a chunk.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Notes for workers, with the positions of their batches, in order.
    pub notes: Vec<(u64, Note)>,
    /// Missing offsets, and the segment that should have them.
    pub missing: Vec<(Arc<str>, MissingRange)>,
    /// Skipped bytes whose missing offsets are known as far as possible.
    pub skipped: Vec<SkippedRange>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Whether compaction has removed records from a batch.
    pub is_compacted: bool,
}

/// Why a batch ends the chunk before it.
#[derive(Debug)]
pub enum Halt {
    /// Its offsets are wrong; its position.
    Misplaced(u64, ScanError),
    /// Checksums were not verified so far; the chunk must be read again with verification.
    Unverified,
}

/// A batch that is kept until the next one is known.
#[derive(Debug, Clone, Copy)]
struct Pending {
    span: Span,
    position: u64,
    length: u64,
    thinned: bool,
    epoch: i32,
    /// Whether its first offset is known from its records and not from its header.
    is_implied: bool,
}

/// Batches in a row that repeat offsets.
#[derive(Debug, Clone)]
struct Repeats {
    position: u64,
    first: i64,
    last: i64,
    batches: u64,
}

/// The batch or file end that follows a batch.
pub struct Following<'f> {
    /// The offsets in the header of the next batch; `None` if no batch directly follows.
    pub span: Option<Span>,
    /// Whether its checksum is right.
    pub is_valid: Option<&'f dyn Fn() -> bool>,
    /// The segment.
    pub source: &'f dyn ReadAt,
    /// The other batches of the partition.
    pub others: &'f OtherBatches,
    /// The base offset of the next segment, if the batch is the last one of its segment.
    pub end_offset: Option<i64>,
}

/// Follows the offsets of one segment.
#[derive(Debug, Clone)]
pub struct Continuity {
    context: Arc<Context>,
    on_error: OnError,
    max_output_size: usize,
    /// The offset after the last accepted batch, or the base offset; `None` if reading begins in the middle of the segment.
    expected: Option<i64>,
    /// Whether a batch of the segment was accepted.
    started: bool,
    /// Whether a batch that begins at the expected offset needs no further work.
    in_sequence: bool,
    /// The segment before and the first offset after it, until a batch of this segment was accepted.
    before: Option<(Arc<str>, i64)>,
    pending: Option<Pending>,
    /// The batch directly before, whether it is in order or not.
    previous: Option<Span>,
    epochs: LeaderEpochs,
    /// Bytes that were skipped since the last accepted batch.
    losses: Vec<SkippedRange>,
    repeats: Option<Repeats>,
    /// Whether missing offsets at the end are reported.
    is_accounted: bool,
    found: Findings,
}

impl Continuity {
    /// Begins at a batch with the first offset `expected`, if that is known. `before` is the segment before with the offset
    /// after its last one.
    pub fn new(
        context: Arc<Context>,
        options: &ScanOptions,
        expected: Option<i64>,
        before: Option<(Arc<str>, i64)>,
        epochs: LeaderEpochs,
    ) -> Self {
        Self {
            context,
            on_error: options.on_error,
            max_output_size: options.max_output_size,
            expected,
            started: false,
            in_sequence: false,
            before,
            pending: None,
            previous: None,
            epochs,
            losses: Vec::new(),
            repeats: None,
            is_accounted: false,
            found: Findings::default(),
        }
    }

    /// The offset after the last accepted batch.
    pub fn expected(&self) -> Option<i64> {
        self.expected
    }

    /// Passes over all batches before offset `end`, if that is known.
    pub fn skip_to(&mut self, end: Option<i64>) {
        self.expected = end;
    }

    /// Whether a batch of the segment was accepted.
    pub fn has_started(&self) -> bool {
        self.started
    }

    /// Whether an accepted batch ends with `last_offset` or after it.
    #[inline]
    pub fn has_reached(&self, last_offset: i64) -> bool {
        self.started && self.expected.is_some_and(|expected| expected > last_offset)
    }

    /// Whether bytes were skipped since the last accepted batch.
    pub fn has_losses(&self) -> bool {
        !self.losses.is_empty()
    }

    /// Reports that offsets before `resumes` are missing at the end, because the offset index shows that there were more.
    pub fn truncated(&mut self, error: &ContentError, resumes: i64) {
        let (segment, missing) = (&self.context.place.segment, &mut self.found.missing);
        self.found.warnings.push(format!("{segment}: {error}"));
        if let Some(expected) = self.expected {
            self.context.missing(expected, resumes, MissingReason::Truncated, &mut |range| {
                missing.push((Arc::clone(segment), range));
            });
        }
        self.is_accounted = true;
    }

    /// The leader epochs up to the last accepted batch.
    pub fn epochs(&self) -> LeaderEpochs {
        self.epochs
    }

    /// Takes the findings since the last call.
    pub fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.found)
    }

    /// The start and end of the batch that is kept.
    pub fn pending(&self) -> Option<(u64, u64)> {
        self.pending.map(|pending| (pending.position, pending.position.saturating_add(pending.length)))
    }

    /// Drops the batch that is kept; it will be read again.
    pub fn forget_pending(&mut self) {
        self.pending = None;
    }

    /// Adds the next batch. A batch that is kept must be settled before.
    #[inline]
    pub fn observe(&mut self, batch: &RecordBatch<'_>) {
        let span = Span::of(batch);
        let thinned = is_thinned(batch);
        // If neither offset is known, any last offset that a log can have follows.
        let is_next = self.in_sequence && span.first == self.expected && span.last >= span.first.unwrap_or_default();
        if is_next && !thinned && self.epochs.continues(batch.partition_leader_epoch()) {
            self.expected = Some(span.last.saturating_add(1));
            self.previous = Some(span);
            return;
        }
        self.wait(batch, span, thinned);
    }

    #[cold]
    fn wait(&mut self, batch: &RecordBatch<'_>, mut span: Span, thinned: bool) {
        if span.first.is_none() && !self.started {
            // Only the first record shows whether offsets are missing before the segment, or whether its name or the offset of
            // this batch is wrong.
            if let Some((first, last)) = wrapper_span(batch, &mut RecordReader::new(self.max_output_size)) {
                (span.first, span.last) = (Some(first), last);
            }
        }
        let (position, length) = (batch.position(), batch.size_in_bytes() as u64);
        let (epoch, is_implied) = (batch.partition_leader_epoch(), batch.base_offset().is_none());
        let pending = Pending { span, position, length, thinned, epoch, is_implied };
        match (self.expected, span.first) {
            // It can be judged without the next batch.
            (Some(expected), Some(first)) if first == expected && span.last >= first => self.accept(pending),
            (None, _) if span.last >= span.first.unwrap_or(span.last).max(0) => self.accept(pending),
            _ => self.pending = Some(pending),
        }
    }

    /// Judges the batch that is kept, by what follows it.
    ///
    /// # Errors
    /// [`Halt`] if its offsets cannot be right.
    pub fn settle(&mut self, mut next: Following<'_>, verified: bool) -> Result<(), Halt> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        // If no offset is expected, a batch is kept only if its last offset is less than its first one, or negative.
        let expected = self.expected.unwrap_or_default();
        let mut placement = self.judge(expected, pending.span, next.span, next.end_offset);
        if !verified && !matches!(placement, Placement::InOrder) {
            return Err(Halt::Unverified);
        }
        if next.span.is_some()
            && !matches!(placement, Placement::InOrder)
            && !next.is_valid.is_some_and(|is_valid| is_valid())
        {
            next.span = None;
            placement = self.judge(expected, pending.span, None, None);
        }
        if let Some(other) = self.seen_elsewhere(placement, &pending, &next) {
            placement = other;
        }
        if placement == Placement::InOrder
            && let Some(other) = self.beyond_segment(&pending, &next).or_else(|| self.out_of_place(&pending, &next))
        {
            if !verified {
                return Err(Halt::Unverified);
            }
            placement = other;
        }
        self.previous = Some(pending.span);
        match placement {
            Placement::InOrder => self.accept(pending),
            Placement::PartlyRepeated => {
                self.found.notes.push((pending.position, Note::From(expected)));
                self.accept(pending);
            }
            Placement::Repeated => self.repeat(pending),
            Placement::Misplaced { .. } => {
                let resumes = next.span.map_or(next.end_offset, |next| next.first);
                let error = ScanError::Misplaced {
                    segment: Arc::clone(&self.context.place.segment),
                    position: pending.position,
                    first: pending.span.first,
                    last: pending.span.last,
                    expected,
                    resumes: resumes.filter(|&resumes| resumes > expected),
                };
                if self.on_error == OnError::Raise {
                    return Err(Halt::Misplaced(pending.position, error));
                }
                let segment = &self.context.place.segment;
                self.found.notes.push((pending.position, Note::LeaveOut));
                self.lose(SkippedRange::of(segment, pending.position, pending.length, &error));
            }
        }
        Ok(())
    }

    /// The offsets of the batch that is kept.
    pub fn waiting(&self) -> Option<Span> {
        self.pending.map(|pending| pending.span)
    }

    /// Whether the batch that is kept is a wrapper, whose header does not have its first offset.
    pub fn is_wrapper(&self) -> bool {
        self.pending.is_some_and(|pending| pending.span.first.is_none())
    }

    /// Whether the first offset of the batch that is kept is needed but not in its header, because what follows does not begin
    /// where the batch ends.
    pub fn needs_first(&self, resumes: Option<i64>) -> bool {
        self.pending.is_some_and(|pending| {
            pending.span.first.is_none() && resumes.is_some_and(|next| pending.span.last.checked_add(1) != Some(next))
        })
    }

    /// Sets the first offset of the batch that is kept.
    pub fn set_first(&mut self, first: i64) {
        if let Some(pending) = &mut self.pending {
            pending.span.first = Some(first);
        }
    }

    fn accept(&mut self, pending: Pending) {
        let Pending { span, position, thinned, epoch, is_implied, .. } = pending;
        self.end_repeats();
        self.previous = Some(span);
        self.epochs.accept(epoch, position);
        if thinned {
            self.found.is_compacted = true;
        }
        let base = self.context.base_offset;
        if !self.started && self.expected == Some(base) && span.first.unwrap_or(span.last) < base {
            let (segment, last) = (&self.context.place.segment, span.last);
            self.found.warnings.push(format!(
                "{segment}: the file's name says that it begins with offset {base}, and its first batch ends with {last}"
            ));
            if span.first.is_none() {
                self.found.notes.push((position, Note::Unexpected));
                self.before = None;
            }
        }
        self.gap_before(span.first.unwrap_or(base));
        match (span.first, self.expected) {
            (Some(first), expected) => {
                if is_implied && expected.is_some_and(|expected| expected != first) {
                    // The batch is judged, and the missing offsets before it are reported.
                    self.found.notes.push((position, Note::Unexpected));
                }
                self.resume(expected, Some(first));
            }
            (None, _) if !self.losses.is_empty() => {
                self.found.notes.push((position, Note::After(std::mem::take(&mut self.losses))));
            }
            _ => {}
        }
        self.expected = Some(span.last.saturating_add(1));
        self.started = true;
        self.in_sequence = true;
    }

    /// Reports the missing offsets between `expected` and the offset at which the log continues.
    fn resume(&mut self, expected: Option<i64>, first: Option<i64>) {
        let losses = std::mem::take(&mut self.losses);
        let reason = losses.first().map_or(MissingReason::Gap, |loss| loss.reason);
        let asked = Some(self.context.asked.0).filter(|&asked| asked > i64::MIN && !losses.is_empty());
        let expected = expected.or(asked);
        if let (Some(expected), Some(first)) = (expected, first) {
            let segment = &self.context.place.segment;
            let missing = &mut self.found.missing;
            self.context.missing(expected, first, reason, &mut |range| missing.push((Arc::clone(segment), range)));
        }
        self.found.skipped.extend(losses.into_iter().map(|loss| loss.between(expected, first)));
    }

    fn repeat(&mut self, pending: Pending) {
        let Pending { span, position, .. } = pending;
        self.found.notes.push((position, Note::LeaveOut));
        let first = span.first.unwrap_or(span.last);
        let repeats = self.repeats.get_or_insert(Repeats { position, first, last: span.last, batches: 0 });
        repeats.first = repeats.first.min(first);
        repeats.last = repeats.last.max(span.last);
        repeats.batches = repeats.batches.saturating_add(1);
        self.in_sequence = false;
    }

    fn end_repeats(&mut self) {
        let Some(Repeats { position, first, last, batches }) = self.repeats.take() else { return };
        let segment = &self.context.place.segment;
        self.found.warnings.push(format!(
            "{segment}: {batches} {} from byte {position} on repeat offsets {first} to {last}: left out",
            if batches == 1 { "batch" } else { "batches" }
        ));
    }

    /// Adds bytes that were skipped.
    pub fn lose(&mut self, range: SkippedRange) {
        self.losses.push(range);
        self.in_sequence = false;
    }

    /// Ends the segment. `resumes` is the offset at which the log continues, if it is known. If bytes were skipped at the end, the
    /// missing offsets up to there are reported, and the result is true.
    pub fn end(&mut self, resumes: Option<i64>) -> bool {
        self.end_repeats();
        self.found.warnings.extend(self.epochs.take_warning(&self.context.place.segment));
        self.gap_before(self.context.base_offset);
        if self.losses.is_empty() {
            return self.is_accounted;
        }
        self.started = true;
        self.resume(self.expected, resumes);
        resumes.is_some()
    }

    /// Reports the missing offsets between the segment before and the start of this one.
    fn gap_before(&mut self, begins: i64) {
        let Some((name, from)) = self.before.take() else { return };
        let missing = &mut self.found.missing;
        let until = begins.min(self.context.base_offset);
        self.context.missing(from, until, MissingReason::Gap, &mut |range| missing.push((Arc::clone(&name), range)));
    }

    /// Reports the missing offsets between the last batch of the segment and the offset at which the log continues.
    pub fn gap_until(&mut self, resumes: i64) {
        let (segment, missing) = (&self.context.place.segment, &mut self.found.missing);
        if let Some(expected) = self.expected {
            self.context.missing(expected, resumes, MissingReason::Gap, &mut |range| {
                missing.push((Arc::clone(segment), range));
            });
        }
    }
}

/// Whether a batch has fewer records than offsets: compaction has removed some.
#[inline]
fn is_thinned(batch: &RecordBatch<'_>) -> bool {
    batch.records_count().is_some_and(|count| count <= batch.last_offset_delta())
}
