//! Walks through a segment batch by batch. Each batch is judged once the next one is known.

use std::ops::ControlFlow;

use super::copies::Copies;
use super::epochs::{Epochs, NextEpochs};
use super::fields::{copy_of, has_field_of, restore, unread};
use super::known_batches::KnownBatch;
use super::reorder::{self, reordered};
use super::visitor::{Content, Judgement, Place, SegmentBounds, SequenceReport, Visitor};
use crate::log::continuity::missing::{MissingRange, MissingReason};
use crate::log::continuity::missing_ranges::MissingRanges;
use crate::log::continuity::order_ahead::OrderAhead;
use crate::log::error::{Error, ReadError};
use crate::log::map::truncation::truncation;
use crate::log::read::ahead::KeptAhead;
use crate::log::read::chunk::ChunkReader;
use crate::log::read::placement::Span;
use crate::log::read::source::{ReadAt, read_full};
use crate::log::read::walk::{CorruptRange, SegmentPart, walk_chunks};
use crate::memory;
use crate::record::{Batches, RecordBatch};

/// The most corrupt ranges in a row that are kept until the batch after them is known.
pub(super) const MAX_WAITING: usize = 1000;

/// Walks through a segment; see [the module](super).
///
/// # Errors
/// An I/O error, or an error of `visitor`.
pub fn walk_in_order<V: Visitor>(
    source: &dyn ReadAt,
    bounds: SegmentBounds<'_>,
    visitor: &mut V,
) -> Result<ControlFlow<V::Break, SequenceReport>, Error> {
    let source = &KeptAhead::new(source);
    let mut walk = Walk {
        source,
        bounds,
        // Without a base offset no batch is judged.
        expected: bounds.base_offset.unwrap_or_default(),
        waiting: None,
        before: Vec::new(),
        after: Vec::new(),
        claimed: None,
        previous: None,
        has_zero_tail: false,
        is_done: false,
        copies: Copies::new(bounds.others, bounds.known),
        ahead: OrderAhead::new(bounds.end_offset),
        epochs: Epochs::new(bounds.leader_epochs, bounds.leader_epoch),
        report: SequenceReport { missing: MissingRanges::new(bounds.compaction), ..SequenceReport::default() },
        visitor,
    };
    let mut zeros = None;
    let mut chunks = ChunkReader::new(0, source.length()?, true).with_record_set(bounds.base_offset.is_none());
    let walked = walk_chunks(source, &mut chunks, &mut |part, position| {
        let taken = match part {
            SegmentPart::Batches { data, position } => walk.run(data, position),
            SegmentPart::Corrupt(range) => walk.corrupt(range),
            SegmentPart::ZeroTail { length } => {
                zeros = Some((position.saturating_sub(length), length));
                Ok(())
            }
        };
        match taken {
            Ok(()) => walk.visitor.progress(position).map_break(Ok),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    })?;
    match walked {
        ControlFlow::Continue(()) => walk.finish(zeros).map(ControlFlow::Continue),
        ControlFlow::Break(ended) => ended.map(ControlFlow::Break),
    }
}
/// A batch that is kept until the next one is known, with what was read from it.
pub(super) struct Waiting<C> {
    pub(super) data: Vec<u8>,
    pub(super) position: u64,
    pub(super) content: Content<C>,
}

/// What is between two batches in order.
pub(super) enum Between<C> {
    Range(CorruptRange),
    Batch(Waiting<C>, Judgement),
}

/// The batch after the one that is judged.
#[derive(Clone, Copy, Default)]
pub(super) struct Next {
    pub(super) span: Option<Span>,
    pub(super) epochs: NextEpochs,
}

pub(super) struct Walk<'w, V: Visitor> {
    pub(super) source: &'w dyn ReadAt,
    pub(super) bounds: SegmentBounds<'w>,
    /// The offset after the last batch in order.
    pub(super) expected: i64,
    /// The batch that is judged next, and the corrupt ranges before and after it.
    pub(super) waiting: Option<Waiting<V::Detail>>,
    pub(super) before: Vec<Between<V::Detail>>,
    pub(super) after: Vec<CorruptRange>,
    /// The offsets of a batch that comes before the one that it should follow.
    pub(super) claimed: Option<(i64, i64)>,
    /// The batch directly before the one that is judged next.
    pub(super) previous: Option<Span>,
    /// Whether zeros follow the last batch.
    pub(super) has_zero_tail: bool,
    /// Whether the visitor has got all batches.
    pub(super) is_done: bool,
    pub(super) copies: Copies<'w>,
    pub(super) ahead: OrderAhead,
    pub(super) epochs: Epochs<'w>,
    pub(super) report: SequenceReport,
    pub(super) visitor: &'w mut V,
}

impl<V: Visitor> Walk<'_, V> {
    fn run(&mut self, data: &[u8], position: u64) -> Result<(), Error> {
        let mut batches = Vec::new();
        for batch in Batches::whole(data, position) {
            memory::push(&mut batches, batch).map_err(|error| ReadError::Io(error.into()))?;
        }
        let mut held: Option<(&RecordBatch<'_>, Content<V::Detail>)> = None;
        for (index, batch) in batches.iter().enumerate() {
            if self.is_done {
                return Ok(());
            }
            let content = self.visitor.read(batch)?;
            let epochs = NextEpochs::of(&batches[index..]);
            let next = Next { span: Some(content.span), epochs };
            match held.take() {
                Some((batch, content)) => self.judge(batch, content, next)?,
                None => self.settle(next)?,
            }
            held = Some((batch, content));
        }
        if let Some((batch, content)) = held.filter(|_| !self.is_done) {
            self.waiting = Some(Waiting { data: copy_of(batch)?, position: batch.position(), content });
        }
        Ok(())
    }

    fn corrupt(&mut self, range: CorruptRange) -> Result<(), Error> {
        self.previous = None;
        self.after.push(range);
        if self.after.len() > MAX_WAITING {
            self.settle(Next::default())?;
            self.release(None)?;
            self.before.extend(self.after.drain(..).map(Between::Range));
            self.release(None)?;
        }
        Ok(())
    }

    /// Judges the batch that was kept, if there is one.
    fn settle(&mut self, next: Next) -> Result<(), Error> {
        if let Some(Waiting { data, position, content }) = self.waiting.take() {
            let batch = RecordBatch::new(&data, position).map_err(unread)?;
            return self.judge(&batch, content, next);
        }
        self.before.extend(self.after.drain(..).map(Between::Range));
        Ok(())
    }

    #[inline]
    fn judge(&mut self, batch: &RecordBatch<'_>, content: Content<V::Detail>, next: Next) -> Result<(), Error> {
        let span = content.span;
        let in_order = span.first == Some(self.expected)
            && span.last >= self.expected
            && !content.is_corrupt
            && has_field_of(batch, span);
        let is_quiet = self.before.is_empty() && self.after.is_empty() && self.epochs.continues(batch);
        if self.bounds.base_offset.is_none() || (in_order && is_quiet) {
            self.previous = Some(span);
            let judgement = Judgement { place: Place::InOrder, span, epoch: None, missing: None };
            return self.accept(batch, content, judgement);
        }
        let is_adjacent = self.after.is_empty();
        self.judge_closely(batch, content, next)?;
        self.previous = Some(span).filter(|_| is_adjacent);
        Ok(())
    }

    #[cold]
    fn judge_closely(&mut self, batch: &RecordBatch<'_>, content: Content<V::Detail>, next: Next) -> Result<(), Error> {
        let place = self.place(batch, &content, next)?;
        let mut judgement = Judgement { place, span: content.span, epoch: None, missing: None };
        match place {
            Place::Repeated => {
                self.visitor.batch(batch, content, &judgement)?;
                self.before.extend(self.after.drain(..).map(Between::Range));
                return Ok(());
            }
            Place::Misplaced { .. } => {
                return match self.order_from(batch)? {
                    Some(order) => self.deliver(&order),
                    None => self.put_aside(batch, content, judgement, next),
                };
            }
            _ => {}
        }
        judgement.epoch = self.epochs.judge(batch, content.span, next.epochs);
        let restored = restore(batch, &judgement)?;
        let Some(data) = restored else { return self.accept(batch, content, judgement) };
        let restored = RecordBatch::new(&data, batch.position()).map_err(unread)?;
        let read = self.visitor.read(&restored)?;
        let fits = !read.is_corrupt && read.span.first.is_some_and(|first| first >= self.expected);
        if matches!(place, Place::Restored { .. }) && !fits {
            let place = Place::Misplaced { expected: self.expected };
            return self.put_aside(batch, content, Judgement { place, epoch: None, ..judgement }, next);
        }
        judgement.span = read.span;
        self.accept(&restored, read, judgement)
    }

    /// The batches from this one on in the right order, if none is missing.
    fn order_from(&mut self, batch: &RecordBatch<'_>) -> Result<Option<Vec<reorder::Ordered>>, ReadError> {
        // Corrupt bytes may be what is left of an older copy.
        let is_corrupt_only = self.before.iter().all(|each| matches!(each, Between::Range(_)));
        if !is_corrupt_only || !self.after.is_empty() || (self.report.is_compacted && !self.before.is_empty()) {
            return Ok(None);
        }
        let end = self.bounds.end_offset.filter(|&end| end >= self.expected);
        let segment = self.copies.own(self.source)?;
        let order = reordered(&segment, batch.position(), (self.expected, end), self.report.is_compacted);
        Ok(order.map_err(std::io::Error::from)?)
    }

    /// Passes the last batches of the segment to the visitor, in the order of their offsets.
    fn deliver(&mut self, order: &[reorder::Ordered]) -> Result<(), Error> {
        self.is_done = true;
        let mut data = Vec::new();
        for &reorder::Ordered { batch: KnownBatch { position, size, .. }, expected } in order {
            memory::resize(&mut data, size).map_err(|error| ReadError::Io(error.into()))?;
            read_full(self.source, &mut data, position).map_err(ReadError::from)?;
            let batch = RecordBatch::new(&data, position).map_err(unread)?;
            let content = self.visitor.read(&batch)?;
            let place = expected.map_or(Place::InOrder, |expected| Place::Reordered { expected });
            let judgement = Judgement { place, span: content.span, epoch: None, missing: None };
            self.accept(&batch, content, judgement)?;
        }
        Ok(())
    }

    /// The leader epoch of the next segment's first batch; it is read only if the last two batches have different ones.
    fn next_segment_epochs(&self) -> Result<NextEpochs, ReadError> {
        let (Some(others), Some(end), Some(waiting)) = (self.bounds.others, self.bounds.end_offset, &self.waiting)
        else {
            return Ok(NextEpochs::default());
        };
        let batch = RecordBatch::new(&waiting.data, waiting.position).map_err(unread)?;
        // A segment that overlaps this one may have been written by another leader.
        if self.epochs.continues(&batch) || waiting.content.span.last >= end {
            return Ok(NextEpochs::default());
        }
        match others.open(end)? {
            Some((_, next)) => Ok(NextEpochs::of_segment(next.as_ref())?),
            None => Ok(NextEpochs::default()),
        }
    }

    fn finish(mut self, zeros: Option<(u64, u64)>) -> Result<SequenceReport, Error> {
        self.has_zero_tail = zeros.is_some();
        let epochs = self.next_segment_epochs()?;
        self.settle(Next { span: None, epochs })?;
        if let Some((first, last)) = self.claimed.filter(|&(first, _)| first == self.expected) {
            self.add_missing(self.claimed, MissingReason::Corrupt);
            self.expected = first.max(last.saturating_add(1));
        }
        let end = self.bounds.end_offset.filter(|_| self.bounds.base_offset.is_some());
        let missing = end.and_then(|end| MissingRange::between(self.expected, end, MissingReason::Gap));
        let missing = missing.map(|range| (range.first_offset, range.last_offset));
        let is_corrupt = zeros.is_some() || !self.before.is_empty();
        let truncated = match missing.zip(end).filter(|_| !is_corrupt) {
            Some(((from, _), end)) => truncation(self.source, self.bounds.offset_index, (from, end))?,
            None => None,
        };
        let reason = match truncated {
            _ if is_corrupt => MissingReason::Corrupt,
            Some(_) => MissingReason::Truncated,
            None => MissingReason::Gap,
        };
        self.add_missing(missing, reason);
        self.release(missing)?;
        if let Some((error, missing)) = truncated.as_ref().zip(missing) {
            self.visitor.truncated(error, missing)?;
        }
        match (zeros, missing) {
            (Some((position, length)), _) => self.visitor.zero_tail(position, length, missing)?,
            (None, Some(missing)) if reason == MissingReason::Gap => {
                let length = self.source.length().map_err(ReadError::from)?;
                self.visitor.gap(length, missing)?;
            }
            _ => {}
        }
        Ok(self.report)
    }
}
