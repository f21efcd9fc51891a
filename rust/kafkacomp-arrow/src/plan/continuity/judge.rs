//! Judges the offsets of a batch by its neighbours, by what follows in the segment, and by the other batches of the partition.

use kafkacomp_core::log::index::MAX_RELATIVE_OFFSET;
use kafkacomp_core::log::{Neighbours, Placement, Span, place};

use super::{Continuity, Following, Pending};
use crate::plan::first_offset::first_offset;

impl Continuity {
    /// Another placement for a batch, by the other batches of the partition. A copy of another batch is repeated; if that is
    /// the first batch of the next segment, it is in order. A batch whose offsets no other batch has is not repeated.
    pub(super) fn seen_elsewhere(
        &self,
        placement: Placement,
        pending: &Pending,
        next: &Following<'_>,
    ) -> Option<Placement> {
        let Pending { span, position, .. } = *pending;
        let expected = self.expected?;
        let resumes = next.span.map_or(next.end_offset, |next| next.first);
        match placement {
            // The batch of a segment whose name is wrong, such as a copy under another name.
            Placement::InOrder if !self.started && span.last < expected => {
                next.others.is_copied(next.source, span, position).then_some(Placement::Repeated)
            }
            Placement::Misplaced { .. } if span.last < expected => {
                next.others.has_copy(next.source, span, position).then_some(Placement::Repeated)
            }
            Placement::Misplaced { .. } if next.end_offset.is_some() && span.first == next.end_offset => {
                next.others.has_copy(next.source, span, position).then_some(Placement::InOrder)
            }
            // If the next batch begins at the expected offset, no offsets are missing that this one could have.
            Placement::Repeated
                if resumes != Some(expected) && !next.others.has_offsets(next.source, span, position) =>
            {
                Some(Placement::Misplaced { offset_field: None })
            }
            _ => None,
        }
    }

    /// The placement of a batch after a gap that has offsets of the next segment, if it is in the wrong place: no intact batch
    /// that continues the log directly follows. Otherwise the two segments overlap.
    pub(super) fn beyond_segment(&self, pending: &Pending, next: &Following<'_>) -> Option<Placement> {
        let (expected, Pending { span, position, .. }) = (self.expected?, *pending);
        // At the end of a segment, the batch was judged by the base offset of the next one.
        if next.end_offset.is_some() {
            return None;
        }
        next.others.end_offset().filter(|end| (expected..=span.last).contains(end))?;
        let continues = next.span.is_some_and(|next| next.first.unwrap_or(next.last) > span.last);
        if continues && next.is_valid.is_some_and(|is_valid| is_valid()) {
            return None;
        }
        let first_offset = || first_offset(next.source, position, u64::MAX, self.max_output_size).ok().flatten();
        let first = span.first.or_else(first_offset)?;
        (first > expected).then_some(Placement::Misplaced { offset_field: None })
    }

    /// The placement of a batch after a gap that is in the place of others: a later batch has offsets inside the gap.
    pub(super) fn out_of_place(&self, pending: &Pending, next: &Following<'_>) -> Option<Placement> {
        let expected = self.expected?;
        let around = Neighbours {
            expected,
            before: self.previous,
            follows: true,
            next: next.span,
            adjacent: true,
            end_offset: next.end_offset,
        };
        let batch = (pending.span, pending.position);
        let found = next.others.is_out_of_place(next.source, batch, &around, self.max_output_size);
        found.then_some(Placement::Misplaced { offset_field: None })
    }

    pub(super) fn judge(&self, expected: i64, span: Span, next: Option<Span>, end_offset: Option<i64>) -> Placement {
        let placement = place(expected, self.previous, span, next, end_offset.filter(|&end| end >= expected));
        let least = span.first.unwrap_or(span.last);
        match placement {
            // No batch of this segment was accepted, and its batches continue one another: so the name is wrong. Records that
            // the segment before has are skipped by the bound.
            Placement::PartlyRepeated if !self.started && least >= 0 => Placement::InOrder,
            Placement::Repeated if !self.started && least >= 0 && self.continues_below_base(span, next) => {
                Placement::InOrder
            }
            // It continues the segment before.
            Placement::Misplaced { .. }
                if !self.started && self.before.as_ref().is_some_and(|(_, from)| span.first == Some(*from)) =>
            {
                Placement::InOrder
            }
            Placement::InOrder
                if next.is_none()
                    && least > expected
                    && span.last.saturating_sub(self.context.base_offset) > MAX_RELATIVE_OFFSET
                    && expected.saturating_sub(self.context.base_offset) <= MAX_RELATIVE_OFFSET =>
            {
                Placement::Misplaced { offset_field: None }
            }
            other => other,
        }
    }

    /// Whether the first batch and the next one are both below the base offset, so that the name of the file is wrong.
    fn continues_below_base(&self, span: Span, next: Option<Span>) -> bool {
        match next.and_then(|next| next.first) {
            Some(next) => span.last.checked_add(1) == Some(next) || next < self.context.base_offset,
            None => self.before.as_ref().is_none_or(|(_, from)| span.last >= *from),
        }
    }
}
