//! Judges the offsets of a batch by its neighbours, the offset index and the other segments.

use super::fields::{field_for, has_field_of, is_compacted};
use super::visitor::{Content, Place, Visitor};
use super::walk::{Next, Walk};
use crate::log::continuity::naming::may_be_altered;
use crate::log::error::ReadError;
use crate::log::index::MAX_RELATIVE_OFFSET;
use crate::log::read::placement::{Neighbours, Placement, Span, place_between};
use crate::record::RecordBatch;

impl<V: Visitor> Walk<'_, V> {
    pub(super) fn place(
        &mut self,
        batch: &RecordBatch<'_>,
        content: &Content<V::Detail>,
        next: Next,
    ) -> Result<Place, ReadError> {
        let (expected, span) = (self.expected, content.span);
        let around = Neighbours {
            expected,
            before: self.previous,
            follows: self.before.is_empty(),
            next: next.span,
            adjacent: self.after.is_empty() && !self.has_zero_tail,
            // If the base offset of the next segment is within this one, it is no bound.
            end_offset: self.bounds.end_offset.filter(|&end| end >= expected),
        };
        let mut placement = place_between(&around, span);
        // Batches are judged only in segments that have a base offset. Before KAFKA-6264, compaction could merge segments into one
        // with greater offsets; a single batch with such an offset proves nothing.
        let base = self.bounds.base_offset.unwrap_or_default();
        if placement == Placement::InOrder
            && next.span.is_none()
            && span.first.is_some_and(|first| first > expected)
            && span.last.saturating_sub(base) > MAX_RELATIVE_OFFSET
            && expected.saturating_sub(base) <= MAX_RELATIVE_OFFSET
        {
            placement = Placement::Misplaced { offset_field: None };
        }
        if placement == Placement::InOrder
            && span.first.is_some_and(|first| first > expected)
            && self.ahead.is_out_of_place(self.source, batch.position(), span, &around)?
        {
            placement = Placement::Misplaced { offset_field: None };
        }
        let proposed = self.propose_field(batch, content, placement, &around);
        if placement == Placement::InOrder && proposed.is_none() {
            return Ok(Place::InOrder);
        }
        if let Some(base_offset) = self.below_base_offset(batch, span, &around)? {
            // A copy under another name repeats the segment that it was made of.
            let is_copy = span.last < expected && self.copies.has(self.source, batch)?;
            return Ok(if is_copy { Place::Repeated } else { Place::BelowBaseOffset { base_offset } });
        }
        if self.copies.has(self.source, batch)? {
            return Ok(match placement {
                Placement::InOrder => Place::InOrder,
                Placement::PartlyRepeated => Place::PartlyRepeated { expected },
                _ => Place::Repeated,
            });
        }
        // If the next batch begins at the expected offset, nothing was lost in between.
        if placement == Placement::Repeated && around.resumes() == Some(expected) && expected > 0 {
            return Ok(Place::Repeated);
        }
        // This batch cannot have an offset of another one: the two may have been swapped.
        let proposed = match proposed {
            Some(field) if self.copies.has_offsets(self.source, batch, field)? => None,
            other => other,
        };
        // The offsets of a wrapper of magic 0 are those of its messages, which its checksum covers.
        let is_restorable = placement == Placement::InOrder
            || batch.magic() != 0
            || span.first.is_none()
            || batch.base_offset().is_some();
        Ok(match (proposed.filter(|_| is_restorable), placement) {
            (Some(offset_field), _) => Place::Restored { stored: batch.offset_field(), offset_field },
            (None, Placement::PartlyRepeated) => Place::PartlyRepeated { expected },
            (None, _) => Place::Misplaced { expected },
        })
    }

    /// The offset field that the batch should have instead of its own, by its neighbours or the indexes; `None` if its own may
    /// be right or nothing determines another one.
    fn propose_field(
        &self,
        batch: &RecordBatch<'_>,
        content: &Content<V::Detail>,
        placement: Placement,
        around: &Neighbours,
    ) -> Option<i64> {
        let span = content.span;
        // The offset field of a wrapper is not the last offset of its messages.
        if placement == Placement::InOrder && !has_field_of(batch, span) {
            return Some(span.last);
        }
        let fitting = match placement {
            Placement::InOrder | Placement::PartlyRepeated | Placement::Repeated => None,
            Placement::Misplaced { offset_field } => {
                let is_compacted = self.report.is_compacted || is_compacted(batch, span, content.records);
                offset_field
                    .map(|field| field_for(batch, span, field))
                    // If the field differs in more than one bit, it is that of another batch, of which this one may be a copy.
                    .filter(|field| (field ^ batch.offset_field()).count_ones() == 1)
                    // In a compacted log, which has gaps, one neighbour alone determines nothing.
                    .filter(|_| !is_compacted || around.room() == span.count())
            }
        };
        fitting
            .or_else(|| self.field_of_index(batch, span, around.next))
            .or_else(|| self.field_of_time_index(batch, span, around.next))
    }

    /// The offset field that the index determines for a batch whose field differs from it in one bit. If the next batch
    /// continues this one, the index is wrong: it is older than the file.
    fn field_of_index(&self, batch: &RecordBatch<'_>, span: Span, next: Option<Span>) -> Option<i64> {
        let at = self.bounds.offset_index.partition_point(|entry| u64::from(entry.position) < batch.position());
        let entry = self.bounds.offset_index.get(at).filter(|entry| u64::from(entry.position) == batch.position())?;
        let first = span.first?;
        let after = next.map_or(self.bounds.end_offset, |next| next.first);
        if (next.is_some() && after.is_none()) || (after.is_some() && after == span.last.checked_add(1)) {
            return None;
        }
        let found = entry.offset.checked_sub(span.last.wrapping_sub(first))?;
        // If the offset in the index leaves a gap before the batch, the index is older than the file, too.
        let follows = found == self.expected || (found > self.expected && self.report.is_compacted);
        let fits = follows && next.is_none_or(|next| next.first.unwrap_or(next.last) > entry.offset);
        let is_near = (found ^ first).count_ones() == 1;
        (fits && is_near && !self.has_other_timestamp(batch, (found, entry.offset)))
            .then(|| field_for(batch, span, found))
    }

    /// Whether the greatest timestamp of the batch with these offsets is another one in the time index: then it is another
    /// batch.
    fn has_other_timestamp(&self, batch: &RecordBatch<'_>, (first, last): (i64, i64)) -> bool {
        let entries = self.bounds.time_index;
        let at = entries.partition_point(|entry| entry.offset < first);
        let entry = entries.get(at).filter(|entry| entry.offset <= last);
        entry.is_some_and(|entry| entry.timestamp != batch.max_timestamp())
    }

    /// The offset field that the time index determines for the last batch of a log, whose field differs from it in one bit: the
    /// index has an entry with the greatest timestamp of the batch, and its offset continues the log.
    fn field_of_time_index(&self, batch: &RecordBatch<'_>, span: Span, next: Option<Span>) -> Option<i64> {
        let (first, count) = (span.first?, span.count()?);
        let is_last =
            next.is_none() && self.bounds.end_offset.is_none() && self.before.is_empty() && self.after.is_empty();
        if !is_last || self.report.is_compacted || (first ^ self.expected).count_ones() != 1 {
            return None;
        }
        let entries = self.bounds.time_index;
        let at = entries.partition_point(|entry| entry.timestamp < batch.max_timestamp());
        let entry = entries.get(at).filter(|entry| entry.timestamp == batch.max_timestamp())?;
        let offset = entry.offset.checked_sub(self.expected)?;
        (0..count).contains(&offset).then(|| field_for(batch, span, self.expected))
    }

    /// The base offset, if the name of the segment is wrong: its first batch is below the base offset, and so is the next one,
    /// which continues it. If there is no next batch, the first one must continue the segment before, or be an offset that no
    /// single altered bit explains.
    fn below_base_offset(
        &self,
        batch: &RecordBatch<'_>,
        span: Span,
        around: &Neighbours,
    ) -> Result<Option<i64>, ReadError> {
        let (Some(base_offset), Some(first)) = (self.bounds.base_offset, span.first) else { return Ok(None) };
        let is_first = around.adjacent && self.report.first_offset.is_none();
        if !is_first || first < 0 || first >= base_offset {
            return Ok(None);
        }
        let end = around.end_offset.unwrap_or(i64::MAX);
        let is_below = match around.next {
            // In a compacted log, the next batch need not continue directly, but it is below the base offset, too.
            Some(next) => {
                let follows = next.first == span.last.checked_add(1)
                    || (next.first.is_some_and(|first| first > span.last) && next.last < base_offset);
                follows && next.last < end
            }
            None if span.last >= end => false,
            None => self.copies.end_before(first)?.is_some_and(|before| {
                before.checked_add(1) == Some(first)
                    || !may_be_altered(first, span.last, batch.offset_field(), (base_offset, end))
            }),
        };
        Ok(is_below.then_some(base_offset))
    }
}
