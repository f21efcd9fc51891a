//! Searches the partition for copies of a batch, or for other batches with some of its offsets. This is done only for batches
//! that are out of place, so that an intact log costs nothing.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use kafkacomp_core::log::continuity::order_ahead::OrderAhead;
use kafkacomp_core::log::{HeaderWalk, Hop, Neighbours, ReadAt, Span};

use crate::options::Segment;
use crate::plan::known_headers::{Header, KnownHeaders, Place, walk_headers};
use crate::plan::out_of_place::is_out_of_place;
use crate::plan::whole_batch::whole_batch;

/// The most searches for one segment.
const MAX_SEARCHES: u32 = 16;

/// The most bytes of a batch that is compared with another one.
const MOST_COMPARED: usize = 64 << 20;

/// The position of the magic in a batch. No checksum covers the bytes before it.
const MAGIC: usize = 16;

/// The condition of a search: gets a source, a header, and the last offset of the batch before it.
type IsFound<'f> = &'f dyn Fn(&dyn ReadAt, &Header, Option<i64>) -> bool;

/// The other batches of a segment's partition: those before in the segment, and those of the other segments.
#[derive(Debug, Clone)]
pub struct OtherBatches {
    segments: Arc<[Segment]>,
    index: usize,
    known: Arc<KnownHeaders>,
    searches: Cell<u32>,
    ahead: RefCell<OrderAhead>,
}

impl OtherBatches {
    /// The other batches of the partition, for the segment with this index, whose order is `order`. `known` has the headers of
    /// the partition's segments that were searched before.
    pub fn new(segments: Arc<[Segment]>, index: usize, known: Arc<KnownHeaders>, order: OrderAhead) -> Self {
        Self { segments, index, known, searches: Cell::new(0), ahead: RefCell::new(order) }
    }

    /// The segment itself.
    pub fn segment(&self) -> Option<&Segment> {
        self.segments.get(self.index)
    }

    /// The base offset of the next segment.
    pub fn end_offset(&self) -> Option<i64> {
        self.ahead.borrow().end_offset()
    }

    /// Whether the batch at `position` is in the place of others ([`is_out_of_place`]).
    pub fn is_out_of_place(
        &self,
        source: &dyn ReadAt,
        (span, position): (Span, u64),
        around: &Neighbours,
        max_output_size: usize,
    ) -> bool {
        is_out_of_place(&mut self.ahead.borrow_mut(), source, position, span, around, max_output_size)
    }

    /// Whether there is a copy of the batch at `position` of the segment, whose bytes are `source`: before it, or in the
    /// segment that should have it. After too many searches, the result is false.
    pub fn has_copy(&self, source: &dyn ReadAt, span: Span, position: u64) -> bool {
        let is_same =
            |other: &dyn ReadAt, header: &Header, _: Option<i64>| is_copy(source, (span, position), other, header);
        self.any(source, span, position, &is_same).unwrap_or(false)
    }

    /// Whether the segment that should have the batch at `position` has a copy of it. Unlike [`has_copy`](Self::has_copy) it
    /// may be called for every batch of a segment: it reads only the batch that ends with the same offset.
    pub fn is_copied(&self, source: &dyn ReadAt, span: Span, position: u64) -> bool {
        let Some((place, other)) = self.open(span.first.unwrap_or(span.last)) else { return false };
        let Some(headers) = self.known.of(place, other.as_ref()) else { return self.has_copy(source, span, position) };
        let found = headers.get(headers.partition_point(|header| header.span.last < span.last));
        found.is_some_and(|header| is_copy(source, (span, position), other.as_ref(), header))
    }

    /// Whether batches before the one at `position`, or in the segment that should have it, have some of its offsets. After too
    /// many searches, the result is true.
    pub fn has_offsets(&self, source: &dyn ReadAt, span: Span, position: u64) -> bool {
        let least = span.first.unwrap_or(span.last);
        let overlaps = |_: &dyn ReadAt, header: &Header, before: Option<i64>| {
            // The header of a wrapper has only its last offset.
            let first = header.span.first.or(before.map(|last| last.saturating_add(1))).unwrap_or(i64::MIN);
            first <= span.last && header.span.last >= least
        };
        self.any(source, span, position, &overlaps).unwrap_or(true)
    }

    /// Whether a header satisfies the condition; `None` after too many searches.
    fn any(&self, source: &dyn ReadAt, span: Span, position: u64, found: IsFound<'_>) -> Option<bool> {
        let searches = self.searches.get().saturating_add(1);
        self.searches.set(searches);
        if searches > MAX_SEARCHES {
            return None;
        }
        if self.has(Place::Index(self.index), source, position, found) {
            return Some(true);
        }
        let Some((place, other)) = self.open(span.first.unwrap_or(span.last)) else { return Some(false) };
        Some(self.has(place, other.as_ref(), u64::MAX, found))
    }

    /// Whether a header of a batch that ends at or before `end` satisfies the condition.
    fn has(&self, place: Place, source: &dyn ReadAt, end: u64, found: IsFound<'_>) -> bool {
        let mut before = None;
        let mut is_found = |header: &Header| found(source, header, before.replace(header.span.last));
        match self.known.of(place, source) {
            Some(headers) => headers.iter().take_while(|header| header.end <= end).any(is_found),
            None => walk_headers(source, end, &mut is_found),
        }
    }

    /// The other segment that should have an offset according to its name. A task of Spark has only its own segment and
    /// searches the folder.
    fn open(&self, offset: i64) -> Option<(Place, Arc<dyn ReadAt>)> {
        let others = self.segments.iter().enumerate().rev().filter(|&(index, _)| index != self.index);
        let mut having = others.filter(|(_, segment)| segment.first_offset().is_some_and(|first| first <= offset));
        if let Some((index, segment)) = having.next() {
            return Some((Place::Index(index), segment.files.open().ok()?));
        }
        let others = self.segment()?.files.others()?;
        let (number, source) = others.open(offset).ok().flatten()?;
        Some((Place::Number(number), source))
    }
}

/// Whether a batch of another segment has the offsets, the checksum and the bytes of the batch at `position`.
fn is_copy(source: &dyn ReadAt, (span, position): (Span, u64), other: &dyn ReadAt, header: &Header) -> bool {
    let Span { first, last, crc } = header.span;
    let is_first = first.is_none() || span.first.is_none() || first == span.first;
    is_first && (last, crc) == (span.last, span.crc) && is_same(source, position, other, header.position)
}

/// Whether the batch at `position` has the bytes of another one, from the magic on.
fn is_same(source: &dyn ReadAt, position: u64, other: &dyn ReadAt, other_position: u64) -> bool {
    let header = |source: &dyn ReadAt, position| match HeaderWalk::sparse(source, position, u64::MAX).next_batch() {
        Ok(Hop::Batch(header)) => Some(header),
        _ => None,
    };
    let (Some(own), Some(header)) = (header(source, position), header(other, other_position)) else { return false };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    let one = whole_batch(source, &own, MOST_COMPARED, &mut one);
    let two = whole_batch(other, &header, MOST_COMPARED, &mut two);
    match (one, two) {
        (Ok(Some(one)), Ok(Some(two))) => one.data().get(MAGIC..) == two.data().get(MAGIC..),
        _ => false,
    }
}
