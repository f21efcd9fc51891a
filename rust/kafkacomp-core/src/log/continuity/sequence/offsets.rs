//! Where a batch belongs, by its neighbours, the offset index and the other segments.

use super::fields::{field_for, has_field_of, is_compacted};
use super::visitor::{Content, Place, Visitor};
use super::walk::{Next, Walk};
use crate::log::continuity::naming::may_be_altered;
use crate::log::error::ReadError;
use crate::log::read::placement::{Neighbours, Placement, Span, place_between};
use crate::record::RecordBatch;

/// The greatest difference between an offset of a segment and its base offset: the indexes have relative offsets of 32
/// bits.
const MAX_RELATIVE_OFFSET: i64 = i32::MAX as i64;

impl<V: Visitor> Walk<'_, V> {
    pub(super) fn place(
        &mut self,
        batch: &RecordBatch<'_>,
        content: &Content<V::Detail>,
        next: Next,
    ) -> Result<Place, ReadError> {
        let (expected, span) = (self.expected, content.span);
        let compacted = self.report.is_compacted || is_compacted(batch, span, content.records);
        let around = Neighbours {
            expected,
            before: self.previous,
            follows: self.before.is_empty(),
            next: next.span,
            adjacent: self.after.is_empty() && !self.has_zero_tail,
            // A next segment whose name lies within this one does not bound it.
            end_offset: self.bounds.end_offset.filter(|&end| end >= expected),
        };
        let mut placement = place_between(&around, span);
        // Batches are judged only in segments that have a base offset.
        let base = self.bounds.base_offset.unwrap_or_default();
        if placement == Placement::InOrder
            && next.span.is_none()
            && span.first.is_some_and(|first| first > expected)
            && span.last.saturating_sub(base) > MAX_RELATIVE_OFFSET
        {
            placement = Placement::Misplaced { offset_field: None };
        }
        let indexed =
            self.field_of_index(batch, span, next.span).or_else(|| self.field_of_time_index(batch, span, next.span));
        let (found, proposed) = match placement {
            // A wrapper says another last offset than its messages.
            Placement::InOrder if !has_field_of(batch, span) => (placement, Some(span.last)),
            Placement::InOrder if indexed.is_none() => return Ok(Place::InOrder),
            Placement::InOrder | Placement::PartlyRepeated | Placement::Repeated => (placement, indexed),
            Placement::Misplaced { offset_field } => {
                // A field that differs in more than one bit is another batch's, of which this one may be a copy.
                let fitting = offset_field
                    .map(|field| field_for(batch, span, field))
                    .filter(|field| (field ^ batch.offset_field()).count_ones() == 1)
                    // Where compaction leaves gaps, one neighbour alone determines nothing.
                    .filter(|_| !compacted || around.room() == span.count());
                (placement, fitting.or(indexed))
            }
        };
        if let Some(base_offset) = self.below_base_offset(batch, span, &around)? {
            return Ok(Place::BelowBaseOffset { base_offset });
        }
        if self.copies.has(self.source, batch)? {
            return Ok(match found {
                Placement::InOrder => Place::InOrder,
                Placement::PartlyRepeated => Place::PartlyRepeated { expected },
                _ => Place::Repeated,
            });
        }
        // What is below the expected offset, where the next batch begins at that, leaves no room for anything lost.
        if found == Placement::Repeated && around.resumes() == Some(expected) && expected > 0 {
            return Ok(Place::Repeated);
        }
        // An offset that another batch has cannot be this one's: the two may have changed places.
        let proposed = match proposed {
            Some(field) if self.copies.has_offset_field(self.source, batch, field)? => None,
            other => other,
        };
        // The inner offsets of a wrapper of magic 0 are under its checksum and are its offsets.
        let is_restorable =
            found == Placement::InOrder || batch.magic() != 0 || span.first.is_none() || batch.base_offset().is_some();
        Ok(match (proposed.filter(|_| is_restorable), found) {
            (Some(offset_field), _) => Place::Restored { stored: batch.offset_field(), offset_field },
            (None, Placement::PartlyRepeated) => Place::PartlyRepeated { expected },
            (None, _) => Place::Misplaced { expected },
        })
    }

    /// The offset field that the index determines for a batch whose own differs from it in one bit. An index that is
    /// older than the file is wrong about a batch that the next one continues.
    fn field_of_index(&self, batch: &RecordBatch<'_>, span: Span, next: Option<Span>) -> Option<i64> {
        let at = self.bounds.offset_index.partition_point(|entry| u64::from(entry.position) < batch.position());
        let entry = self.bounds.offset_index.get(at).filter(|entry| u64::from(entry.position) == batch.position())?;
        let first = span.first?;
        let after = next.map_or(self.bounds.end_offset, |next| next.first);
        if (next.is_some() && after.is_none()) || (after.is_some() && after == span.last.checked_add(1)) {
            return None;
        }
        let found = entry.offset.checked_sub(span.last.wrapping_sub(first))?;
        // An index that says that batches are missing before is older than the file as well.
        let follows = found == self.expected || (found > self.expected && self.report.is_compacted);
        let fits = follows && next.is_none_or(|next| next.first.unwrap_or(next.last) > entry.offset);
        let is_near = (found ^ first).count_ones() == 1;
        (fits && is_near && !self.has_other_timestamp(batch, (found, entry.offset)))
            .then(|| field_for(batch, span, found))
    }

    /// Whether the time index says that the batch with these offsets has another greatest timestamp: it is not this one.
    fn has_other_timestamp(&self, batch: &RecordBatch<'_>, (first, last): (i64, i64)) -> bool {
        let entries = self.bounds.time_index;
        let at = entries.partition_point(|entry| entry.offset < first);
        let entry = entries.get(at).filter(|entry| entry.offset <= last);
        entry.is_some_and(|entry| entry.timestamp != batch.max_timestamp())
    }

    /// The offset field that the time index determines for the last batch of a log, whose own differs from it in one bit: its
    /// greatest timestamp has an entry, for an offset that continues the log.
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

    /// The base offset if it is the segment's name that is wrong: its first batch, and the one after that, which
    /// continues it, lie below; or its only batch does, which continues the segment before, or which no single altered bit
    /// brings there.
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
            // In a compacted log the next batch need not follow directly, and is below the name as well.
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
