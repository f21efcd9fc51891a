//! Collects the transactions of a log in which base offsets may be altered, because no checksum covers them, and in which batches
//! may be in the place of others.
//!
//! An altered base offset would move the start or end of a transaction past other batches, which then would be taken for aborted
//! or for committed ones. Therefore each batch is kept until the next one is known. If its offsets do not fit between its
//! neighbours, and they leave room for it, it gets the offsets of that room.
//!
//! A run of batches in the place of others would begin and end transactions too early or too late. From the first gap on that later
//! batches contradict, the rest of the segment is therefore collected, and its events are applied in the order of their offsets.

use kafkacomp_core::log::continuity::order_ahead::OrderAhead;
use kafkacomp_core::log::{Neighbours, ReadAt, Span, TransactionCollector, TransactionEvent};
use kafkacomp_core::record::{RecordBatch, RecordReader};

use crate::transactions::in_order::disordered::{Collected, Disordered};

mod disordered;

/// Passes the batches of a partition to a collector, each one after the next one is known.
#[derive(Debug, Default)]
pub struct InOrder {
    /// The offset after the batches before the one that is kept, and after those before its segment.
    end: Option<i64>,
    segment_begin: Option<i64>,
    held: Option<Held>,
    /// The batch directly before, and whether it was in its place.
    before: Option<(Span, bool)>,
    ahead: OrderAhead,
    disordered: Option<Disordered>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    /// Whether it is of the segment that is read.
    is_own: bool,
    position: u64,
    span: Span,
    first: i64,
    last: i64,
    producer_id: i64,
    event: Option<TransactionEvent>,
}

impl InOrder {
    /// Begins a segment, before the one with the base offset `end_offset`.
    pub fn begin(&mut self, base_offset: Option<i64>, end_offset: Option<i64>) {
        if self.held.is_none() {
            self.end = self.end.or(base_offset);
        }
        let held_end = self.held.as_mut().map(|held| {
            held.is_own = false;
            held.last.saturating_add(1)
        });
        self.segment_begin = self.end.max(held_end);
        (self.before, self.ahead) = (None, OrderAhead::new(end_offset));
    }

    /// Adds the next batch of a segment.
    pub fn push(
        &mut self,
        source: &dyn ReadAt,
        batch: &RecordBatch<'_>,
        reader: &mut RecordReader,
        collector: &mut TransactionCollector,
    ) {
        let span = Span::of(batch);
        let (first, last) = (span.first.unwrap_or(span.last), span.last);
        self.settle(Some(span), Some(source), collector);
        let event = TransactionEvent::of(batch, reader);
        let (position, producer_id) = (batch.position(), batch.producer_id());
        self.held = Some(Held { is_own: true, position, span, first, last, producer_id, event });
    }

    /// Ends a segment. Returns what was found of its order.
    pub fn end_segment(&mut self, source: &dyn ReadAt, collector: &mut TransactionCollector) -> OrderAhead {
        if self.disordered.is_some() {
            self.settle(None, Some(source), collector);
        }
        if let Some(disordered) = self.disordered.take() {
            disordered.apply(collector);
        }
        std::mem::take(&mut self.ahead)
    }

    /// Ends the log.
    pub fn finish(&mut self, collector: &mut TransactionCollector) {
        self.settle(None, None, collector);
    }

    /// Judges the batch that is kept. `source` is the segment that is read.
    fn settle(&mut self, next: Option<Span>, source: Option<&dyn ReadAt>, collector: &mut TransactionCollector) {
        let Some(mut held) = self.held.take() else { return };
        let contradicted = source.is_some_and(|source| self.is_out_of_place(source, &held, next));
        let room = self.room_of(&held, next.map(|next| next.first.unwrap_or(next.last)));
        // A batch that continues one in the place of others is in the place of others, too, unless it also continues the log.
        let continues = self.end != Some(held.first)
            && self
                .before
                .is_some_and(|(before, in_place)| !in_place && before.last.checked_add(1) == Some(held.first));
        let is_altered = room.is_some_and(|room| held.is_altered_from(room));
        let is_in_place = !continues && (is_altered || !(contradicted || self.is_repeated(&held)));
        self.before = Some((held.span, is_in_place));
        if is_in_place {
            if let Some(room) = room {
                (held.first, held.last) = room;
            } else {
                let end = held.last.saturating_add(1);
                self.end = Some(self.end.map_or(end, |before| before.max(end)));
            }
        }
        let Held { first, last, producer_id, event, .. } = held;
        if let Some(disordered) = &mut self.disordered {
            disordered.push(Collected { first, last, producer_id, event, is_in_place }, collector);
        } else if let Some(event) = event.filter(|_| is_in_place) {
            collector.apply(producer_id, event, first, last);
        }
    }

    fn is_out_of_place(&mut self, source: &dyn ReadAt, held: &Held, next: Option<Span>) -> bool {
        // Only batches of magic 2, whose headers have their first offsets, are transactional.
        let is_judged = |expected: &i64| held.is_own && held.span.first.is_some_and(|first| first > *expected);
        let Some(expected) = self.end.filter(is_judged) else { return false };
        let before = self.before.map(|(before, _)| before);
        let around = Neighbours { expected, before, follows: true, next, adjacent: true, end_offset: None };
        // The rest of a segment in an object store is not read for this.
        let found = !source.is_remote()
            && self.ahead.is_out_of_place(source, held.position, held.span, &around).unwrap_or(false);
        if !self.ahead.increases() && self.disordered.is_none() {
            self.disordered = Some(Disordered::default());
        }
        found
    }

    /// Whether the batch has only offsets that others of its segment have, or that were in the place of others.
    fn is_repeated(&self, held: &Held) -> bool {
        self.end.is_some_and(|end| held.last < end) && self.segment_begin.is_some_and(|begin| held.first >= begin)
    }

    /// The first and last offset between the neighbours of a batch whose own offsets contradict them.
    fn room_of(&self, held: &Held, next: Option<i64>) -> Option<(i64, i64)> {
        let (end, next) = (self.end?, next?);
        let contradicts = held.first < end || (held.first > end && held.last >= next);
        (contradicts && next >= end).then(|| (end, next.saturating_sub(1)))
    }
}

impl Held {
    /// Whether a single altered bit of an offset within `room` explains the base offset.
    fn is_altered_from(&self, (first, last): (i64, i64)) -> bool {
        let begins = first..=last.saturating_sub(self.last.saturating_sub(self.first));
        (0..i64::BITS).any(|bit| begins.contains(&(self.first ^ (1 << bit))))
    }
}
