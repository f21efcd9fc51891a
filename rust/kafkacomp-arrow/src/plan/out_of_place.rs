//! Whether a batch after a gap is in the place of others, as far as that is worth reading.

use kafkacomp_core::log::continuity::order_ahead::OrderAhead;
use kafkacomp_core::log::{Neighbours, ReadAt, Span};

use crate::plan::first_offset::first_offset;

/// Whether the batch at `position` is in the place of others; a later batch of the segment then has offsets inside the gap before
/// it. The rest of a segment in an object store is not read for this, so that the next batch decides. What cannot be read
/// contradicts nothing.
pub fn is_out_of_place(
    ahead: &mut OrderAhead,
    source: &dyn ReadAt,
    position: u64,
    mut span: Span,
    around: &Neighbours,
    max_output_size: usize,
) -> bool {
    let is_after_gap = |span: Span| span.first.unwrap_or(span.last) > around.expected;
    if !is_after_gap(span) {
        return false;
    }
    if source.is_remote() {
        return span.first.is_some() && around.next_contradicts(span);
    }
    let mut is_contradicted = |span| ahead.is_out_of_place(source, position, span, around).unwrap_or(false);
    if !is_contradicted(span) {
        return false;
    }
    if span.first.is_some() {
        return true;
    }
    // What contradicts the last offset of a wrapper may be within its offsets; if it is corrupt, these are unknown.
    span.first = first_offset(source, position, u64::MAX, max_output_size).ok().flatten();
    span.first.is_none() || (is_after_gap(span) && is_contradicted(span))
}
