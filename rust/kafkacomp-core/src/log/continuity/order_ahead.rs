//! Whether a batch after a gap is in the place of other batches.
//!
//! A batch with a greater offset than the expected one is in order: compaction leaves gaps. But if batches further on in the
//! segment have offsets inside the gap, either that batch or those batches are in the wrong place. A write to a wrong position
//! leaves this: it replaces batches by several others, which continue one another, so that only the ends of the run
//! contradict their neighbours.
//!
//! Then the batches in place are those of the longest sequence, from the gap to the end of the segment, in which offsets
//! increase. Of two sequences of the same length, it is the one with the lower offsets. But of two neighbours of which only one
//! can be in place, it is the one whose offset is as far from its producer's sequence number as those of the batches around
//! them. If that does not decide and they share offsets, so that the offset field of one of them is altered, it is the one for
//! which there would be no room on its side of the other, or which a single altered bit would not put beside its neighbour.
//!
//! The headers of the next 16 MiB are read for this. Only if their offsets do not increase, those of the rest of the segment
//! are read, too.

use std::ops::{ControlFlow, Range};

use crate::log::error::ReadError;
use crate::log::index::MAX_RELATIVE_OFFSET;
use crate::log::read::batch_headers::{BatchHeader, HeaderWalk, Hop};
use crate::log::read::chunk::ChunkReader;
use crate::log::read::placement::{Neighbours, Span};
use crate::log::read::source::{ReadAt, read_part};
use crate::log::read::walk::{SegmentPart, walk_chunks};
use crate::memory::{self, OutOfMemory};
use crate::record::batch::MAGIC_OFFSET;
use crate::record::layout::v2::RECORD_BATCH_OVERHEAD;
use crate::record::{Batches, RecordBatch};

/// How many bytes after a gap are read at least.
pub const WINDOW: u64 = 16 << 20;

/// The most headers that are kept: 96 MiB. If a segment has more, every gap is one that compaction left.
const MOST_KEPT: usize = 1 << 22;

/// The most bytes of a batch that is read only for its checksum.
const MOST_CHECKED: usize = 64 << 20;

/// The offsets and the position of a batch. The header of a wrapper has only its last offset, which is then the first one, too.
#[derive(Debug, Clone, Copy)]
struct Header {
    position: u64,
    first: i64,
    last: i64,
}

impl Header {
    /// Whether there is room for as many offsets.
    fn has_room(&self, room: &Range<i64>) -> bool {
        self.last.saturating_sub(self.first) < room.end.saturating_sub(room.start)
    }

    /// Whether a single altered bit of the base offset explains that the batch is not at the begin or the end of `room`.
    fn is_near_bounds(&self, room: &Range<i64>) -> bool {
        let count = self.last.saturating_sub(self.first).saturating_add(1);
        [room.start, room.end.saturating_sub(count)].iter().any(|first| (first ^ self.first).count_ones() == 1)
    }
}

/// The headers from a gap on.
#[derive(Debug, Clone, Default)]
struct Ahead {
    /// In the order of the file.
    headers: Vec<Header>,
    /// The position up to which they are read, and that of the end.
    frontier: u64,
    end: u64,
    /// Whether something that is not a batch, or a batch with lower offsets than the one before, begins at the frontier.
    has_anomaly: bool,
}

impl Ahead {
    /// Whether the offsets of the batches increase from `position` on, as far as is looked ahead.
    fn increases(&mut self, source: &dyn ReadAt, position: u64, expected: i64) -> Result<bool, ReadError> {
        if self.frontier <= position {
            *self = Self { frontier: position, end: source.length()?, ..Self::default() };
        }
        let passed = self.headers.partition_point(|header| header.position < position);
        if passed > self.headers.len() / 2 {
            self.headers.drain(..passed);
        }
        if !self.has_anomaly && self.frontier < self.end.min(position.saturating_add(WINDOW)) {
            let until = position.saturating_add(WINDOW).saturating_add(WINDOW / 4);
            self.read_until(source.for_reading_ahead().unwrap_or(source), until, expected)?;
        }
        Ok(!self.has_anomaly)
    }

    /// Reads the headers up to `until`, or up to the first anomaly.
    fn read_until(&mut self, source: &dyn ReadAt, until: u64, expected: i64) -> Result<(), ReadError> {
        let mut walk = HeaderWalk::sparse(source, self.frontier, self.end);
        while self.frontier < until.min(self.end) {
            match walk.next_batch()? {
                Hop::Batch(header) if self.continues(&header, expected) => self.add(&header).map_err(no_memory)?,
                _ => {
                    self.has_anomaly = true;
                    break;
                }
            }
        }
        Ok(())
    }

    fn continues(&self, header: &BatchHeader, expected: i64) -> bool {
        let least = header.span.first.unwrap_or(header.span.last);
        is_plausible(&header.span, expected) && self.headers.last().is_none_or(|before| before.last < least)
    }

    /// Reads all headers up to the end; false if there are too many. Where a header leads to anything else than a batch, the
    /// rest is read as a whole, so that only intact batches count.
    fn read_rest(&mut self, source: &dyn ReadAt, expected: i64) -> Result<bool, ReadError> {
        let mut walk = HeaderWalk::sparse(source, self.frontier, self.end);
        while self.headers.len() < MOST_KEPT {
            match walk.next_batch()? {
                Hop::Batch(header) if is_plausible(&header.span, expected) => self.add(&header).map_err(no_memory)?,
                Hop::End => return Ok(true),
                Hop::Batch(_) | Hop::Truncated | Hop::Corrupt(_) => {
                    self.drop_corrupt(source)?;
                    return self.read_intact(source, expected);
                }
            }
        }
        Ok(false)
    }

    /// Goes back to the first of the corrupt batches directly before the frontier, whose sizes have led there.
    fn drop_corrupt(&mut self, source: &dyn ReadAt) -> Result<(), ReadError> {
        while let Some(last) = self.headers.last().copied() {
            if is_intact(source, last.position, self.frontier)? {
                break;
            }
            self.headers.pop();
            self.frontier = last.position;
        }
        Ok(())
    }

    /// Reads the intact batches from the frontier to the end; false if there are too many.
    fn read_intact(&mut self, source: &dyn ReadAt, expected: i64) -> Result<bool, ReadError> {
        let mut chunks = ChunkReader::new(self.frontier, self.end, true);
        let walked = walk_chunks(source, &mut chunks, &mut |part, position| {
            if let SegmentPart::Batches { data, position } = part {
                for batch in Batches::whole(data, position) {
                    let header = BatchHeader::of(&batch);
                    if !is_plausible(&header.span, expected) {
                        continue;
                    }
                    if self.headers.len() >= MOST_KEPT {
                        return ControlFlow::Break(Ok(false));
                    }
                    if let Err(error) = self.add(&header) {
                        return ControlFlow::Break(Err(no_memory(error)));
                    }
                }
            }
            self.frontier = position;
            ControlFlow::Continue(())
        })?;
        match walked {
            ControlFlow::Continue(()) => Ok(true),
            ControlFlow::Break(ended) => ended,
        }
    }

    fn add(&mut self, header: &BatchHeader) -> Result<(), OutOfMemory> {
        let Span { first, last, .. } = header.span;
        let (position, first) = (header.position, first.unwrap_or(last));
        memory::push(&mut self.headers, Header { position, first, last })?;
        self.frontier = header.end();
        Ok(())
    }
}

/// The order of the batches after gaps of one segment.
#[derive(Debug, Clone, Default)]
pub struct OrderAhead {
    end_offset: Option<i64>,
    ahead: Ahead,
    /// The batches in place, from the first gap on, if the offsets do not increase.
    in_place: Option<Vec<Header>>,
}

impl OrderAhead {
    /// For a segment before the one with the base offset `end_offset`.
    pub fn new(end_offset: Option<i64>) -> Self {
        Self { end_offset, ..Self::default() }
    }

    /// The base offset of the next segment.
    pub fn end_offset(&self) -> Option<i64> {
        self.end_offset
    }

    /// Whether every batch so far has only greater offsets after it, as far as the segment was read.
    pub fn increases(&self) -> bool {
        self.in_place.is_none()
    }

    /// Whether the batch at `position`, with the offsets `batch`, is in the place of others. Its first offset, or its last one
    /// if the first one is unknown, is above the expected one. Gaps must be given in the order of their positions.
    ///
    /// # Errors
    /// The segment cannot be read, or memory is exhausted.
    pub fn is_out_of_place(
        &mut self,
        source: &dyn ReadAt,
        position: u64,
        batch: Span,
        around: &Neighbours,
    ) -> Result<bool, ReadError> {
        let expected = around.expected;
        if self.in_place.is_none() {
            if self.ahead.increases(source, position, expected)? {
                return Ok(false);
            }
            let is_complete = self.ahead.read_rest(source.for_reading_ahead().unwrap_or(source), expected)?;
            let mut headers = std::mem::take(&mut self.ahead).headers;
            let end = self.end_offset.filter(|&end| end >= expected).unwrap_or(i64::MAX);
            headers.retain(|header| header.position >= position && header.first >= expected && header.last < end);
            self.in_place = Some(if is_complete { in_place(source, &headers, expected, end)? } else { Vec::new() });
        }
        let in_place = self.in_place.as_deref().unwrap_or_default();
        let from = in_place.partition_point(|header| header.position < position || header.last < expected);
        // If its neighbours are swapped, one of them contradicts it.
        let contradicting = from.saturating_add(usize::from(around.is_between_swapped(batch)));
        Ok(in_place.get(contradicting).is_some_and(|next| next.position != position && next.first <= batch.last))
    }
}

/// Whether the offsets may be those of a batch of the segment; bytes that are not a header usually have others.
fn is_plausible(span: &Span, expected: i64) -> bool {
    let first = span.first.unwrap_or(span.last);
    first >= 0
        && first <= span.last
        && [first, span.last].iter().all(|each| each.abs_diff(expected) <= MAX_RELATIVE_OFFSET.unsigned_abs())
}

/// Whether the batch in these bytes is intact. One that is too large to be read for this counts as intact.
fn is_intact(source: &dyn ReadAt, position: u64, end: u64) -> Result<bool, ReadError> {
    let Some(size) = usize::try_from(end.saturating_sub(position)).ok().filter(|&size| size <= MOST_CHECKED) else {
        return Ok(true);
    };
    let mut buffer = Vec::new();
    let data = read_part(source, position, size, &mut buffer)?;
    Ok(RecordBatch::new(data, position).is_ok_and(|batch| batch.is_valid()))
}

/// The batches in place, with offsets from `expected` to `end`.
fn in_place(source: &dyn ReadAt, headers: &[Header], expected: i64, end: i64) -> Result<Vec<Header>, ReadError> {
    let mut found = longest_increasing(headers).map_err(no_memory)?;
    let first_of = |index: usize| headers.get(index).map(|header| header.first);
    let (mut begin, mut before) = (expected, None);
    for place in 0..found.len() {
        let Some(&index) = found.get(place) else { break };
        let next = found.get(place.saturating_add(1)).copied();
        let room = begin..next.and_then(first_of).unwrap_or(end);
        let left_out = |neighbour: usize| Some(neighbour) != before && Some(neighbour) != next;
        let earlier = index.checked_sub(1).filter(|&earlier| left_out(earlier));
        let later = Some(index).filter(|index| left_out(index.saturating_add(1)));
        for first in [earlier, later].into_iter().flatten() {
            let around = found.get(place.saturating_sub(WITNESSES)..).unwrap_or_default();
            let around = around.iter().take(2 * WITNESSES + 1).filter(|&&other| other != index);
            let unaltered = unaltered(source, headers, first, &room, around)?;
            if let (Some(unaltered), Some(chosen)) = (unaltered, found.get_mut(place)) {
                *chosen = unaltered;
                break;
            }
        }
        before = found.get(place).copied();
        begin = before.and_then(|at| headers.get(at)).map_or(begin, |header| header.last.saturating_add(1));
    }
    let mut in_place = memory::with_capacity(found.len()).map_err(no_memory)?;
    in_place.extend(found.into_iter().filter_map(|index| headers.get(index).copied()));
    Ok(in_place)
}

/// How many batches before and after two that share offsets are compared with them.
const WITNESSES: usize = 4;

/// Which of two neighbours is in place, if only one of them can be and that is known; `room` is what the batches in place leave.
fn unaltered<'i>(
    source: &dyn ReadAt,
    headers: &[Header],
    index: usize,
    room: &Range<i64>,
    around: impl Iterator<Item = &'i usize>,
) -> Result<Option<usize>, ReadError> {
    let following = index.saturating_add(1);
    let (Some(first), Some(second)) = (headers.get(index), headers.get(following)) else { return Ok(None) };
    if first.last < second.first || (first.first, first.last) == (second.first, second.last) {
        return Ok(None);
    }
    let mut witnesses = Vec::new();
    for witness in around.filter_map(|&other| headers.get(other)) {
        witnesses.extend(ProducerSequence::of(source, witness)?);
    }
    let continued =
        |header| Ok::<_, ReadError>(ProducerSequence::of(source, header)?.map(|own| own.continued_by(&witnesses)));
    let (of_first, of_second) = (continued(first)?.unwrap_or_default(), continued(second)?.unwrap_or_default());
    // Whether the first one is unaltered, and the second one.
    let mut unaltered = (of_first > of_second, of_second > of_first);
    let (before, after) = (room.start..second.first, first.last.saturating_add(1)..room.end);
    for explains in [Header::has_room, Header::is_near_bounds] {
        if unaltered.0 == unaltered.1 && first.first <= second.last && room.end != i64::MAX {
            unaltered = (explains(second, &after), explains(first, &before));
        }
    }
    let fits = |header: &Header| room.start <= header.first && header.last < room.end;
    Ok(match unaltered {
        (true, false) if fits(first) => Some(index),
        (false, true) if fits(second) => Some(following),
        _ => None,
    })
}

/// Whether batches of the same producer show that the offset of another one is right.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Continued {
    No,
    #[default]
    Unknown,
    Yes,
}

/// The producer of a batch, and how far its offsets are from the sequence numbers of the producer. While no other producer
/// writes, this is the same for all its batches.
#[derive(Debug, PartialEq, Eq)]
struct ProducerSequence {
    producer_id: i64,
    producer_epoch: i16,
    distance: i64,
}

impl ProducerSequence {
    fn continued_by(&self, witnesses: &[Self]) -> Continued {
        let same_producer =
            |other: &&Self| (other.producer_id, other.producer_epoch) == (self.producer_id, self.producer_epoch);
        let distances = witnesses.iter().filter(same_producer).map(|other| other.distance);
        distances.fold(Continued::Unknown, |found, distance| match found {
            Continued::No | Continued::Unknown if distance != self.distance => Continued::No,
            _ => Continued::Yes,
        })
    }

    /// That of the batch with this header, if its producer is idempotent.
    fn of(source: &dyn ReadAt, header: &Header) -> Result<Option<Self>, ReadError> {
        let mut buffer = Vec::new();
        let data = read_part(source, header.position, RECORD_BATCH_OVERHEAD, &mut buffer)?;
        if data.get(MAGIC_OFFSET) != Some(&2) {
            return Ok(None);
        }
        let batch = RecordBatch::of_header(data, header.position, 2);
        Ok(batch.filter(|batch| batch.producer_id() >= 0 && batch.base_sequence() >= 0).map(|batch| Self {
            producer_id: batch.producer_id(),
            producer_epoch: batch.producer_epoch(),
            distance: header.first.saturating_sub(batch.base_sequence().into()),
        }))
    }
}

/// The longest sequence of batches whose offsets increase and do not overlap, as places among `headers`.
fn longest_increasing(headers: &[Header]) -> Result<Vec<usize>, OutOfMemory> {
    // The last batch of the sequence of each length that ends with the lowest offset.
    let mut ends: Vec<u32> = Vec::new();
    // The batch before each one in the longest sequence that ends with it.
    let mut before: Vec<Option<u32>> = memory::with_capacity(headers.len())?;
    let last_of = |at: u32| headers.get(at as usize).map_or(i64::MIN, |header| header.last);
    for (index, header) in (0_u32..).zip(headers) {
        let follows_all = ends.last().is_none_or(|&end| last_of(end) < header.first);
        let length = if follows_all { ends.len() } else { ends.partition_point(|&end| last_of(end) < header.first) };
        memory::push(&mut before, length.checked_sub(1).and_then(|shorter| ends.get(shorter).copied()))?;
        match ends.get_mut(length) {
            Some(end) if header.last < last_of(*end) => *end = index,
            Some(_) => {}
            None => memory::push(&mut ends, index)?,
        }
    }
    let mut found = memory::with_capacity(ends.len())?;
    let mut at = ends.last().copied();
    while let Some(index) = at {
        memory::push(&mut found, index as usize)?;
        at = before.get(index as usize).copied().flatten();
    }
    found.reverse();
    Ok(found)
}

fn no_memory(error: OutOfMemory) -> ReadError {
    ReadError::Io(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::read::source::InMemory;

    fn in_place_before(end: i64, offsets: &[(i64, i64)]) -> Vec<i64> {
        let headers: Vec<_> =
            (0..).zip(offsets).map(|(position, &(first, last))| Header { position, first, last }).collect();
        super::in_place(&InMemory(&[]), &headers, 0, end).unwrap().iter().map(|header| header.first).collect()
    }

    fn in_place(offsets: &[(i64, i64)]) -> Vec<i64> {
        in_place_before(i64::MAX, offsets)
    }

    #[test]
    fn the_longest_increasing_sequence_is_in_place() {
        assert_eq!(in_place(&[]), []);
        assert_eq!(in_place(&[(3, 4), (5, 5), (9, 12)]), [3, 5, 9]);
        // Two batches by later ones, a copy, and a batch that overlaps several.
        assert_eq!(in_place(&[(7, 7), (9, 9), (3, 3), (4, 6), (7, 7), (8, 8), (9, 9)]), [3, 4, 7, 8, 9]);
        assert_eq!(in_place(&[(3, 3), (3, 3), (4, 4)]), [3, 4]);
        assert_eq!(in_place(&[(3, 9), (3, 4), (5, 9)]), [3, 5]);
    }

    #[test]
    fn of_two_sequences_of_the_same_length_the_lower_one_is_in_place() {
        assert_eq!(in_place(&[(5, 5), (6, 6), (3, 3), (4, 4), (7, 7)]), [3, 4, 7]);
        assert_eq!(in_place(&[(5, 5), (6, 6), (3, 3), (4, 4)]), [3, 4]);
    }

    #[test]
    fn of_two_that_share_offsets_the_one_without_room_elsewhere_is_in_place() {
        // 16 to 35 is altered from 80 to 99: there is no room for 20 to 39 before it.
        assert_eq!(in_place(&[(0, 9), (20, 39), (16, 35), (140, 159)]), [0, 20, 140]);
        assert_eq!(in_place_before(140, &[(0, 9), (20, 39), (16, 35)]), [0, 20]);
        // There is room for it, so that either may be altered.
        assert_eq!(in_place(&[(0, 9), (32, 51), (31, 50), (140, 159)]), [0, 31, 140]);
        // 112 to 131 is altered from 80 to 99, and there is no room for 120 to 139 after it.
        assert_eq!(in_place(&[(0, 9), (112, 131), (120, 139), (140, 159)]), [0, 120, 140]);
        // One bit puts 20 to 39 directly before 36 to 55, but none puts 36 to 55 beside another batch.
        assert_eq!(in_place(&[(0, 9), (20, 39), (36, 55), (140, 159)]), [0, 36, 140]);
        // All offsets are the same: a copy.
        assert_eq!(in_place(&[(0, 9), (20, 39), (20, 39), (140, 159)]), [0, 20, 140]);
    }
}
