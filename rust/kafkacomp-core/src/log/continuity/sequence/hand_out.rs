//! Passes batches to the visitor once they are judged, with the offsets that are missing before them.

use std::mem;

use super::fields::{copy_of, is_compacted, unread};
use super::visitor::{Content, Judgement, Place, Visitor};
use super::walk::{Between, MAX_WAITING, Next, Waiting, Walk};
use crate::log::continuity::missing::{MissingRange, MissingReason};
use crate::log::error::Error;
use crate::log::read::placement::Span;
use crate::record::RecordBatch;

impl<V: Visitor> Walk<'_, V> {
    /// Keeps a batch that will not be used until the missing offsets are known.
    pub(super) fn put_aside(
        &mut self,
        batch: &RecordBatch<'_>,
        content: Content<V::Detail>,
        mut judgement: Judgement,
        next: Next,
    ) -> Result<(), Error> {
        // It comes before the batch that it should follow.
        let follows_next = next.span.is_some_and(|next| next.last.checked_add(1) == content.span.first);
        if follows_next && let Some(first) = content.span.first {
            judgement.missing = Some((first, content.span.last));
            self.claimed = judgement.missing;
        }
        let waiting = Waiting { data: copy_of(batch)?, position: batch.position(), content };
        self.before.push(Between::Batch(waiting, judgement));
        self.before.extend(self.after.drain(..).map(Between::Range));
        if self.before.len() > MAX_WAITING { self.release(None) } else { Ok(()) }
    }

    pub(super) fn accept(
        &mut self,
        batch: &RecordBatch<'_>,
        content: Content<V::Detail>,
        mut judgement: Judgement,
    ) -> Result<(), Error> {
        if self.bounds.base_offset.is_none() {
            self.count(&judgement);
            self.visitor.batch(batch, content, &judgement)?;
            let after = mem::take(&mut self.after);
            return after.iter().try_for_each(|range| self.visitor.corrupt(self.source, range, None));
        }
        let span = judgement.span;
        if let Place::BelowBaseOffset { .. } = judgement.place {
            self.expected = span.first.unwrap_or(self.expected);
        }
        let first = match span.first {
            Some(first) => first,
            // The records of a wrapper that cannot be read begin at the expected offset.
            None if content.is_corrupt => self.expected,
            None => span.last,
        };
        if first > self.expected || !self.before.is_empty() {
            self.release_up_to(first, batch.position())?;
        }
        if content.is_corrupt {
            let from = first.max(self.expected);
            judgement.missing = Some((from, span.last)).filter(|_| from <= span.last);
            self.add_missing(judgement.missing, MissingReason::Corrupt);
        } else {
            judgement.missing = Some((first, span.last));
            self.count(&judgement);
        }
        self.report.is_compacted |= is_compacted(batch, span, content.records);
        self.epochs.accept(batch, judgement.epoch);
        self.report.first_leader_epoch = self.report.first_leader_epoch.or(self.epochs.current());
        self.report.last_leader_epoch = self.epochs.current();
        self.expected = self.expected.max(span.last.saturating_add(1));
        self.visitor.batch(batch, content, &judgement)?;
        self.before.extend(self.after.drain(..).map(Between::Range));
        Ok(())
    }

    pub(super) fn count(&mut self, judgement: &Judgement) {
        let Span { first, last, .. } = judgement.span;
        let first = first.unwrap_or(last);
        self.report.first_offset = Some(self.report.first_offset.map_or(first, |least| least.min(first)));
        self.report.last_offset = Some(self.report.last_offset.map_or(last, |most| most.max(last)));
    }

    pub(super) fn add_missing(&mut self, range: Option<(i64, i64)>, reason: MissingReason) {
        if let Some((first_offset, last_offset)) = range {
            self.report.missing.push(MissingRange { first_offset, last_offset, reason });
        }
    }

    /// Passes on everything before a batch in order that begins at offset `first`.
    pub(super) fn release_up_to(&mut self, first: i64, position: u64) -> Result<(), Error> {
        let missing = MissingRange::between(self.expected, first, MissingReason::Gap);
        let missing = missing.map(|range| (range.first_offset, range.last_offset));
        if !self.before.is_empty() {
            // A batch that comes before the one that it should follow does not explain the missing offsets.
            let is_explained = self.claimed.is_none();
            self.release(missing.filter(|_| is_explained))?;
            if is_explained {
                self.add_missing(missing, MissingReason::Corrupt);
                return Ok(());
            }
        }
        let Some(missing) = missing else { return Ok(()) };
        if self.claimed == Some(missing) {
            self.claimed = None;
            // The finding about the batch that belongs here names the offsets.
            self.add_missing(Some(missing), MissingReason::Corrupt);
            return Ok(());
        }
        self.add_missing(Some(missing), MissingReason::Gap);
        self.visitor.gap(position, missing)
    }

    pub(super) fn release(&mut self, missing: Option<(i64, i64)>) -> Result<(), Error> {
        for each in mem::take(&mut self.before) {
            match each {
                Between::Range(range) => self.visitor.corrupt(self.source, &range, missing)?,
                Between::Batch(Waiting { data, position, content }, judgement) => {
                    let batch = RecordBatch::new(&data, position).map_err(unread)?;
                    let missing = judgement.missing.or(missing);
                    self.visitor.batch(&batch, content, &Judgement { missing, ..judgement })?;
                }
            }
        }
        Ok(())
    }
}
