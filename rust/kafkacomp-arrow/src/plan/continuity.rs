//! Checks that the batches of a segment continue one another.
//!
//! No checksum covers the offsets of a batch. As long as each batch begins where the one before it ends, and ends before the next
//! segment begins, there is nothing to judge. Otherwise the chunk ends before it with an [`Anomaly`], and the planner decides
//! whether the batch follows a gap, or whether the partition must be judged ([`super::judged`]).

use std::sync::Arc;

use kafkacomp_log::index::MAX_RELATIVE_OFFSET;
use kafkacomp_log::{Compaction, ContentError, MissingReason, wrapper_content};
use kafkacomp_records::record::{RecordBatch, RecordReader};

use crate::plan::context::Context;
use crate::report::SkippedRange;

/// What a worker must know about a batch of its chunk in addition to its header.
#[derive(Debug, Clone)]
pub enum Note {
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
    pub missing: Vec<(Arc<str>, kafkacomp_log::MissingRange)>,
    /// Skipped bytes whose missing offsets are known as far as possible.
    pub skipped: Vec<SkippedRange>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Whether compaction has removed records from a batch.
    pub is_compacted: bool,
}

/// A batch that does not continue the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anomaly {
    /// Offsets are missing before it: from `expected` to before `first`; or none, after corrupt bytes.
    Gap {
        /// Its position.
        position: u64,
        /// The offset after the last one before it.
        expected: i64,
        /// Its first offset.
        first: i64,
    },
    /// It is not in its place.
    OutOfOrder,
}

/// Which gaps need no judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Settled {
    /// None: what follows is unknown.
    #[default]
    No,
    /// Those that compaction explains, because the rest of the segment is in order.
    Compacted,
    /// All, because the partition was judged, or because nothing else can have their offsets.
    All,
}

/// Follows the offsets of one segment.
#[derive(Debug, Clone)]
pub struct Continuity {
    context: Arc<Context>,
    max_output_size: usize,
    /// The offset after the last accepted batch, or the base offset; `None` if reading begins in the middle of the segment.
    expected: Option<i64>,
    /// The offset at which the next segment begins; no batch reaches it.
    until: i64,
    /// Whether a batch of the segment was accepted.
    has_read: bool,
    settled: Settled,
    /// The most offsets that a wrapper was seen to have.
    widest: i64,
    /// Whether compaction has removed records from batches of the segment.
    is_thinned: bool,
    /// The segment before and the first offset after it, until a batch of this segment was accepted.
    before: Option<(Arc<str>, i64)>,
    /// Bytes that were skipped since the last accepted batch.
    losses: Vec<SkippedRange>,
    /// Whether missing offsets at the end are reported.
    is_accounted: bool,
    found: Findings,
}

impl Continuity {
    /// Begins at a batch with the first offset `expected`, if that is known. `before` is the segment before with the offset
    /// after its last one. No batch reaches the offset `until`.
    pub fn new(
        context: Arc<Context>,
        max_output_size: usize,
        (expected, until): (Option<i64>, Option<i64>),
        before: Option<(Arc<str>, i64)>,
        settled: Settled,
    ) -> Self {
        Self {
            context,
            max_output_size,
            expected,
            until: until.unwrap_or(i64::MAX),
            has_read: false,
            settled,
            widest: 0,
            is_thinned: false,
            before,
            losses: Vec::new(),
            is_accounted: false,
            found: Findings::default(),
        }
    }

    /// The offset after the last accepted batch.
    pub fn expected(&self) -> Option<i64> {
        self.expected
    }

    /// The offset at which the next segment begins.
    pub fn until(&self) -> i64 {
        self.until
    }

    /// Passes over all batches before offset `end`, if that is known.
    pub fn skip_to(&mut self, end: Option<i64>) {
        self.expected = end;
    }

    /// Says which gaps need no judgement from here on, and whether compaction has removed records from batches.
    pub fn settle(&mut self, settled: Settled, is_thinned: bool) {
        self.settled = settled;
        self.is_thinned |= is_thinned;
        self.found.is_compacted |= is_thinned;
    }

    /// Whether the gap up to an offset needs no judgement.
    pub fn explains(&self, until: i64) -> bool {
        let Some(expected) = self.expected else { return true };
        match self.settled {
            Settled::No => expected >= until,
            Settled::Compacted => self.losses.is_empty() && self.compaction().explains(expected, until),
            Settled::All => true,
        }
    }

    /// Whether the gap between the last batch and the next segment needs no judgement.
    pub fn explains_end(&self, until: i64) -> bool {
        let Some(expected) = self.expected else { return true };
        self.settled == Settled::All || (self.losses.is_empty() && self.compaction().explains(expected, until))
    }

    /// The position of the first bytes that were skipped since the last accepted batch.
    pub fn first_loss(&self) -> Option<u64> {
        self.losses.first().map(|loss| loss.position)
    }

    /// What is known of the partition's compaction, with the batches of this segment.
    pub fn compaction(&self) -> Compaction {
        self.context.compaction.or_thinned(self.is_thinned)
    }

    /// Whether a batch of the segment was accepted, and nothing was skipped after it.
    #[inline]
    pub fn has_started(&self) -> bool {
        self.has_read && self.losses.is_empty()
    }

    /// Whether a batch of the segment was accepted before the bytes that were skipped last.
    pub fn has_read(&self) -> bool {
        self.has_read
    }

    /// Whether an accepted batch ends with `last_offset` or after it.
    #[inline]
    pub fn has_reached(&self, last_offset: i64) -> bool {
        self.has_read && self.expected.is_some_and(|expected| expected > last_offset)
    }

    /// Whether bytes were skipped since the last accepted batch.
    pub fn has_losses(&self) -> bool {
        !self.losses.is_empty()
    }

    /// Reports that offsets before `resumes` are missing at the end, because the offset index shows that there were more.
    pub fn truncated(&mut self, error: &ContentError, resumes: i64) {
        let segment = &self.context.place.segment;
        self.found.warnings.push(format!("{segment}: {error}"));
        self.gap_until(resumes, MissingReason::Truncated);
        self.is_accounted = true;
    }

    /// Adds what was found before the first batch.
    pub fn add_findings(&mut self, found: Findings) {
        self.found = found;
    }

    /// Takes the findings since the last call.
    pub fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.found)
    }

    /// Adds the next batch, unless it does not continue the one before.
    ///
    /// # Errors
    /// The anomaly; the batch is not added.
    #[inline]
    pub fn observe(&mut self, batch: &RecordBatch<'_>) -> Result<(), Anomaly> {
        let (first, last) = (batch.base_offset(), batch.last_offset());
        let is_next = self.has_started() && first == self.expected && first.is_some_and(|first| first <= last);
        if is_next && last < self.until && !is_thinned(batch) {
            self.expected = Some(last.saturating_add(1));
            return Ok(());
        }
        self.judge(batch)
    }

    #[cold]
    fn judge(&mut self, batch: &RecordBatch<'_>) -> Result<(), Anomaly> {
        let (mut first, mut last) = (batch.base_offset(), batch.last_offset());
        let is_wrapper = first.is_none();
        let is_wide = || self.expected.is_none_or(|expected| last.saturating_sub(expected) >= self.widest);
        if is_wrapper && (!self.has_started() || self.context.judged.is_some() || is_wide()) {
            // Only the first record shows whether offsets are missing before it. It is looked for where more offsets would be in the
            // wrapper than in those before it, which soon is rare; workers find the gaps that this does not show.
            let content = wrapper_content(batch, &mut RecordReader::new(self.max_output_size));
            if let Ok(Some(content)) = content {
                (first, last) = (Some(content.first), content.last);
                self.widest = self.widest.max(last.saturating_sub(content.first).saturating_add(1));
            }
        }
        let begin = first.unwrap_or(last);
        // Its first offset, before which offsets are missing then, may be unknown.
        let is_too_far = is_wrapper
            && self.settled != Settled::All
            && last.saturating_sub(self.context.base_offset) > MAX_RELATIVE_OFFSET;
        if is_too_far
            || last < begin
            || last >= self.until
            || self.expected.is_some_and(|expected| begin < expected)
            || begin < 0
        {
            return Err(Anomaly::OutOfOrder);
        }
        let (expected, position) = (self.expected.or_else(|| self.asked()), batch.position());
        // Corrupt bytes in whose place no offsets are missing may be followed by a page of another place.
        let is_unsettled = !self.losses.is_empty() && self.settled != Settled::All;
        if let (Some(expected), Some(first)) = (expected, first)
            && (is_unsettled || (expected < first && !self.explains(first)))
        {
            return Err(Anomaly::Gap { position, expected, first });
        }
        self.is_thinned |= is_thinned(batch);
        self.found.is_compacted |= self.is_thinned;
        self.gap_before();
        if let Some(first) = first {
            if is_wrapper && self.expected.is_some_and(|expected| expected != first) {
                // The missing offsets before it are reported here.
                self.found.notes.push((position, Note::Unexpected));
            }
            self.resume(expected, Some(first));
        } else if !self.losses.is_empty() {
            self.found.notes.push((position, Note::After(std::mem::take(&mut self.losses))));
        }
        self.expected = Some(last.saturating_add(1));
        self.has_read = true;
        Ok(())
    }

    /// The first offset of the reading, if bytes were skipped where it begins.
    fn asked(&self) -> Option<i64> {
        Some(self.context.asked.0).filter(|&asked| asked > i64::MIN && !self.losses.is_empty())
    }

    /// Reports the missing offsets between `expected` and the offset at which the log continues.
    fn resume(&mut self, expected: Option<i64>, first: Option<i64>) {
        let losses = std::mem::take(&mut self.losses);
        let reason = losses.first().map_or(MissingReason::Gap, |loss| loss.reason);
        if let (Some(expected), Some(first)) = (expected, first) {
            self.missing(expected, first, reason);
        }
        self.found.skipped.extend(losses.into_iter().map(|loss| loss.between(expected, first)));
    }

    fn missing(&mut self, from: i64, until: i64, reason: MissingReason) {
        let (segment, missing) = (&self.context.place.segment, &mut self.found.missing);
        self.context.missing((from, until), reason, segment, &mut |segment, range| {
            missing.push((Arc::clone(segment), range));
        });
    }

    /// Adds bytes that were skipped.
    pub fn lose(&mut self, range: SkippedRange) {
        self.losses.push(range);
        if self.settled == Settled::Compacted {
            self.settled = Settled::No;
        }
    }

    /// Ends the segment. `resumes` is the offset at which the log continues, if it is known. If bytes were skipped at the end, the
    /// missing offsets up to there are reported, and the result is true.
    pub fn end(&mut self, resumes: Option<i64>) -> bool {
        self.gap_before();
        if self.losses.is_empty() {
            return self.is_accounted;
        }
        let expected = self.expected.or_else(|| self.asked());
        self.resume(expected, resumes);
        resumes.is_some()
    }

    /// Reports the missing offsets between the segment before and the start of this one.
    fn gap_before(&mut self) {
        let Some((name, from)) = self.before.take() else { return };
        let (until, missing) = (self.context.base_offset, &mut self.found.missing);
        self.context.missing((from, until), MissingReason::Gap, &name, &mut |segment, range| {
            missing.push((Arc::clone(segment), range));
        });
    }

    /// Reports the missing offsets between the last batch of the segment and the offset at which the log continues.
    pub fn gap_until(&mut self, resumes: i64, reason: MissingReason) {
        if let Some(expected) = self.expected {
            self.missing(expected, resumes, reason);
        }
    }
}

/// Whether a batch has fewer records than offsets: compaction has removed some.
#[inline]
fn is_thinned(batch: &RecordBatch<'_>) -> bool {
    batch.records_count().is_some_and(|count| count <= batch.last_offset_delta())
}
