//! Finds segments with wrong names.
//!
//! The name of a segment is an offset that is not greater than any of its batches, and less than the name of the next segment.
//! This is not so for files that were renamed or copied under another name. If they were read in the order of their names,
//! their records would be out of order, or be taken for repeated ones.
//!
//! A name that contradicts the first batch is wrong if the offset of that batch is confirmed: the next batch continues it, it
//! continues the segment before, no single altered bit of its offset field explains the contradiction, or the offset index was
//! written for another base offset. A name may also be less than the last offset of the segment before, although the first
//! batch comes after that. Then it is wrong if the first batch continues the segment before, or if no single altered batch
//! explains why that segment extends beyond the name. The segment is then placed by its batches, provided that no other
//! segment has their offsets, as after an interrupted compaction.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::log::error::ReadError;
use crate::log::index::offset::OffsetIndex;
use crate::log::read::batch_headers::{HeaderWalk, Hop};
use crate::log::read::chunk::{ChunkEnd, ChunkReader, chunk_bytes};
use crate::log::read::chunk_buffer::ChunkBuffer;
use crate::log::read::segment_files::OpenSegment;
use crate::log::read::source::ReadAt;
use crate::memory;
use crate::record::{Batches, RecordReader};

/// The most batches whose offsets are kept for a partition: 24 MiB.
const MOST_KEPT: usize = 1 << 20;

/// The number of entries of an offset index that are compared with their batches.
const COMPARED_ENTRIES: usize = 16;

/// A segment whose first offset is not the one in its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misnamed {
    /// Its index among the segments.
    pub index: usize,
    /// The first offset of its first batch.
    pub first_offset: i64,
}

/// The first and last offset of a batch, and its offset field.
type Offsets = (i64, i64, i64);

/// The segments of a partition whose names are certainly wrong. `base_offsets` are the offsets in the names, in order. The
/// name of a segment that cannot be read is taken to be right.
pub fn misnamed_segments(base_offsets: &[i64], files: &[Arc<dyn OpenSegment>]) -> Vec<Misnamed> {
    let files = Files {
        base_offsets,
        segments: files,
        offsets: RefCell::default(),
        last_offsets: RefCell::default(),
        before: RefCell::default(),
    };
    let mut found = Vec::new();
    for (index, &base) in base_offsets.iter().enumerate() {
        let next = base_offsets.iter().copied().find(|&next| next > base);
        let Some(segment) = files.segments.get(index) else { continue };
        let Ok(source) = segment.open() else { continue };
        if !is_suspicious(source.as_ref(), base) {
            continue;
        }
        // An index or a segment before that cannot be read is no evidence.
        let data = segment.offset_index();
        let bounds = Bounds { base, next, before: files.before(base).unwrap_or_default() };
        let continues = |first: i64| {
            let end = first.checked_add(1).and_then(|after| files.before(after).ok());
            end.and_then(|before| before.last?.checked_add(1)) == Some(first)
        };
        if let Ok(Some(first_offset)) = begins_elsewhere(source.as_ref(), &data, bounds, &continues) {
            found.push(Misnamed { index, first_offset });
        }
    }
    let places: Vec<i64> = base_offsets
        .iter()
        .enumerate()
        .map(|(index, &base)| found.iter().find(|each| each.index == index).map_or(base, |each| each.first_offset))
        .collect();
    found.retain(|each| {
        files.is_free(&places, *each).is_ok_and(|is_free| is_free)
            && files.is_partly_named(*each).is_ok_and(|is_partly_named| !is_partly_named)
    });
    found
}

/// The bounds of a segment by its name and those of its neighbours.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    base: i64,
    /// The base offset of the next segment.
    next: Option<i64>,
    before: Before,
}

/// What the batches of the segment before show about a name.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    /// The last offset.
    last: Option<i64>,
    /// Whether they extend beyond the name, and no single altered batch explains it.
    is_beyond: bool,
}

impl Bounds {
    fn contradict(self, first: i64) -> bool {
        first < self.base || self.next.is_some_and(|next| first >= next) || self.is_within(first)
    }

    /// Whether the name is within the segment before, although the first batch comes after that segment.
    fn is_within(self, first: i64) -> bool {
        let Some(last) = self.before.last.filter(|&last| self.base <= last && last < first) else { return false };
        self.before.is_beyond || last.checked_add(1) == Some(first)
    }
}

/// Whether the first offset may differ from the name. It reads the header of the first batch; a wrapper, whose header has only
/// its last offset, is read as a whole.
fn is_suspicious(source: &dyn ReadAt, base: i64) -> bool {
    let Ok(length) = source.length() else { return false };
    match HeaderWalk::new(source, 0, length).next_batch() {
        // It is above the name if compaction removed the records before it, or if the name is too low.
        Ok(Hop::Batch(header)) if header.span.first.is_some() => header.span.first != Some(base),
        Ok(Hop::Batch(_)) => !matches!(first_batches(source), Ok((Some((first, _, _)), _)) if first == base),
        _ => false,
    }
}

/// The segments of a partition, and what was read of them. Their headers are read once, however many names depend on them.
struct Files<'f> {
    base_offsets: &'f [i64],
    segments: &'f [Arc<dyn OpenSegment>],
    /// The offsets of the batches by segment; the first offset of a wrapper is its last one.
    offsets: RefCell<HashMap<usize, Vec<Offsets>>>,
    /// The last offset by segment.
    last_offsets: RefCell<HashMap<usize, Option<i64>>>,
    /// What a segment shows about the one with this base offset.
    before: RefCell<HashMap<(usize, i64), Before>>,
}

impl Files<'_> {
    /// What the segment before the one with this base offset shows about it.
    fn before(&self, base: i64) -> Result<Before, ReadError> {
        let Some(index) = self.base_offsets.iter().rposition(|&other| other < base) else {
            return Ok(Before::default());
        };
        if let Some(known) = self.before.borrow().get(&(index, base)) {
            return Ok(*known);
        }
        let known = self.last_offsets.borrow().get(&index).copied();
        let found = match known {
            Some(last) if last.is_none_or(|last| last < base) => Before { last, is_beyond: false },
            _ => self.read_before(index, base)?,
        };
        self.before.borrow_mut().insert((index, base), found);
        Ok(found)
    }

    fn read_before(&self, index: usize, base: i64) -> Result<Before, ReadError> {
        let Some(segment) = self.segments.get(index) else { return Ok(Before::default()) };
        let source = segment.open()?;
        let mut from = self.base_offsets[index];
        let data = segment.offset_index();
        if let Some(last) = indexed_last(source.as_ref(), &data, from)?.filter(|&last| last < base) {
            return Ok(Before { last: Some(last), is_beyond: false });
        }
        let (mut last, mut is_beyond) = (None, false);
        let mut beyond: Option<Offsets> = None;
        self.for_each(index, source.as_ref(), &mut |batch| {
            last = last.max(Some(batch.1));
            if batch.1 < base {
                from = from.max(batch.1.saturating_add(1));
            } else {
                is_beyond = beyond.replace(batch).is_some();
            }
        })?;
        self.last_offsets.borrow_mut().insert(index, last);
        if let Some((first, last, field)) = beyond.filter(|_| !is_beyond) {
            is_beyond = !may_be_altered(first, last, field, (from, base));
        }
        Ok(Before { last, is_beyond })
    }

    /// Whether a batch of a segment that begins above the next one is where the name puts it: then the first batches are in the
    /// wrong place, not the segment.
    fn is_partly_named(&self, misnamed: Misnamed) -> Result<bool, ReadError> {
        let Some(&base) = self.base_offsets.get(misnamed.index) else { return Ok(false) };
        let next = self.base_offsets.iter().copied().find(|&next| next > base);
        let Some(next) = next.filter(|&next| misnamed.first_offset >= next) else { return Ok(false) };
        let Some(segment) = self.segments.get(misnamed.index) else { return Ok(false) };
        let mut is_found = false;
        self.for_each(misnamed.index, segment.open()?.as_ref(), &mut |batch| {
            is_found |= batch.0 >= base && batch.1 < next;
        })?;
        Ok(is_found)
    }

    /// Whether no other segment has offsets of a misnamed one. `places` are the offsets at which the segments begin.
    fn is_free(&self, places: &[i64], misnamed: Misnamed) -> Result<bool, ReadError> {
        let Misnamed { index, first_offset } = misnamed;
        let others = || places.iter().copied().enumerate().filter(|&(other, _)| other != index);
        let before = others().filter(|&(_, place)| place <= first_offset).max_by_key(|&(_, place)| place);
        let after = others().map(|(_, place)| place).filter(|&place| place > first_offset).min();
        if let Some((before, _)) = before
            && self.last_offset(before)?.is_some_and(|last| last >= first_offset)
        {
            return Ok(false);
        }
        let last = self.last_offset(index)?;
        Ok(after.is_none_or(|after| last.is_none_or(|last| last < after)))
    }

    /// The greatest offset of the batches that are reached by headers.
    fn last_offset(&self, index: usize) -> Result<Option<i64>, ReadError> {
        if let Some(known) = self.last_offsets.borrow().get(&index) {
            return Ok(*known);
        }
        let Some(segment) = self.segments.get(index) else { return Ok(None) };
        let source = segment.open()?;
        let mut last = None;
        self.for_each(index, source.as_ref(), &mut |batch| last = last.max(Some(batch.1)))?;
        self.last_offsets.borrow_mut().insert(index, last);
        Ok(last)
    }

    /// Visits the offsets of the batches that are reached by headers.
    fn for_each(&self, index: usize, source: &dyn ReadAt, visit: &mut dyn FnMut(Offsets)) -> Result<(), ReadError> {
        if let Some(known) = self.offsets.borrow().get(&index) {
            known.iter().copied().for_each(visit);
            return Ok(());
        }
        let kept: usize = self.offsets.borrow().values().map(Vec::len).sum();
        let mut found = Some(Vec::new());
        let mut walk = HeaderWalk::sparse(source, 0, source.length()?);
        while let Hop::Batch(header) = walk.next_batch()? {
            let offsets = (header.span.first.unwrap_or(header.last_offset), header.last_offset, header.offset_field);
            visit(offsets);
            found = found.filter(|found| kept.saturating_add(found.len()) < MOST_KEPT);
            if found.as_mut().is_some_and(|found| memory::push(found, offsets).is_err()) {
                found = None;
            }
        }
        if let Some(found) = found {
            self.offsets.borrow_mut().insert(index, found);
        }
        Ok(())
    }
}

/// The last offset of a segment, read from the last entry of its offset index on, if that entry is right.
fn indexed_last(source: &dyn ReadAt, index: &[u8], base: i64) -> Result<Option<i64>, ReadError> {
    let entry = OffsetIndex::parse(index, base).ok().and_then(|entries| entries.iter().last());
    let Some(entry) = entry else { return Ok(None) };
    let mut walk = HeaderWalk::new(source, entry.position.into(), source.length()?);
    let mut last = None;
    while let Hop::Batch(header) = walk.next_batch()? {
        // Brokers before 0.10.1 wrote the first offset of a batch.
        if last.is_none() && header.last_offset < entry.offset {
            return Ok(None);
        }
        last = last.max(Some(header.last_offset));
    }
    Ok(last)
}

/// The first offset of a segment whose name is certainly wrong; otherwise `None`. `continues` returns whether an offset follows
/// the last one of the segment before it.
fn begins_elsewhere(
    source: &dyn ReadAt,
    index: &[u8],
    bounds: Bounds,
    continues: &dyn Fn(i64) -> bool,
) -> Result<Option<i64>, ReadError> {
    let base = bounds.base;
    let end = bounds.next.unwrap_or(i64::MAX);
    let (first, second) = first_batches(source)?;
    let Some((first, last, field)) = first.filter(|&(first, last, _)| first >= 0 && last >= first) else {
        return Ok(None);
    };
    if !bounds.contradict(first) {
        return Ok(None);
    }
    let is_certain = match second {
        // One of the two is altered, and perhaps it is the first one.
        Some((next, next_last, _)) if next <= last || next_last < next => return Ok(None),
        _ if bounds.is_within(first) => true,
        Some((next, _, _)) if last.checked_add(1) == Some(next) => true,
        // In a compacted log, the next batch contradicts the name as well, or the first one may be altered.
        Some((next, next_last, _)) if next_last < base || next >= end => true,
        _ if bounds.before.last.and_then(|last| last.checked_add(1)) == Some(first) => true,
        None if continues(first) => true,
        second => !may_be_altered(first, last, field, (base, second.map_or(end, |(next, _, _)| next))),
    };
    let is_wrong = is_certain || index_contradicts(source, index, base)?;
    Ok(Some(first).filter(|_| is_wrong))
}

/// The first two batches, if they are adjacent and their checksums are right.
fn first_batches(source: &dyn ReadAt) -> Result<(Option<Offsets>, Option<Offsets>), ReadError> {
    let mut chunks = ChunkReader::new(0, source.length()?, true);
    let (mut buffer, mut found) = (ChunkBuffer::default(), Vec::new());
    loop {
        let position = chunks.position();
        // A path to the method instead of the closure would fix the lifetime of the batch.
        #[allow(clippy::redundant_closure_for_method_calls)]
        let (used, ended) = chunks.read(source, &mut buffer, 0, |batch| batch.ensure_valid())?;
        let mut reader = RecordReader::new(DEFAULT_MAX_OUTPUT_SIZE);
        let batches = Batches::whole(chunk_bytes(source, &buffer, position, used), position);
        found.extend(batches.take(2).map(|batch| {
            reader.base_offset(&batch).ok().map(|first| (first, batch.last_offset(), batch.offset_field()))
        }));
        // A chunk of large batches may have only one.
        if found.len() > 1 || !matches!(ended, ChunkEnd::More) {
            let at = |index: usize| found.get(index).copied().flatten();
            return Ok((at(0), at(1)));
        }
    }
}

/// Whether flipping a single bit of a batch's offset field puts all its offsets into a range.
pub(super) fn may_be_altered(first: i64, last: i64, field: i64, (from, until): (i64, i64)) -> bool {
    (0..i64::BITS).any(|bit| {
        let moved = (field ^ (1_i64 << bit)).wrapping_sub(field);
        first.wrapping_add(moved) >= from && last.checked_add(moved).is_some_and(|last| last < until)
    })
}

/// Whether all entries of a segment's offset index are relative to another base offset.
fn index_contradicts(source: &dyn ReadAt, index: &[u8], base: i64) -> Result<bool, ReadError> {
    let Ok(entries) = OffsetIndex::parse(index, base) else { return Ok(false) };
    let length = source.length()?;
    let mut shift = None;
    for entry in entries.iter().filter(|entry| entry.position > 0).take(COMPARED_ENTRIES) {
        let Hop::Batch(header) = HeaderWalk::new(source, entry.position.into(), length).next_batch()? else {
            return Ok(false);
        };
        let difference = header.last_offset.wrapping_sub(entry.offset);
        if difference == 0 || shift.is_some_and(|shift| shift != difference) {
            return Ok(false);
        }
        shift = Some(difference);
    }
    Ok(shift.is_some())
}
