//! Divides a large segment into splits that begin at batches, without reading its records.
//!
//! The offset index gives a batch near each position. From there, or without an index from the last boundary, headers lead to
//! the next one. A split begins at a batch whose checksum is right, so that a reader that skips corruption in the split before
//! ends there. The offsets of boundaries increase, so that each offset of the segment is in one split. A segment of which a header is
//! out of order is not divided: which of its batches belong to the log is decided by all of them.

use std::iter::Peekable;

use kafkacomp_log::index::offset::OffsetIndex;
use kafkacomp_log::map::in_order::{InOrder, Place};
use kafkacomp_log::{
    BatchHeader, HeaderWalk, Hop, LogFormat, OffsetPosition, ReadAt, ReadError, Resync, Span, next_entry_from,
};
use kafkacomp_records::record::{RecordBatch, RecordReader};

use crate::lookup::log_format::log_format_of;
use crate::lookup::split_boundaries::SplitBoundary;
use crate::options::{ScanOptions, Segment};
use crate::plan::whole_batch::{MOST_CHECKED, whole_batch};
use crate::report::ScanError;

/// The most valid batches that are examined to find one that the next batch continues.
const MOST_CANDIDATES: usize = 8;

/// A range of bytes and its first batch; `None` at the start of the segment and in logs of 0.7.
pub type Split = (u64, u64, Option<SplitBoundary>);

/// Divides `segment` into adjacent ranges of about `split_bytes`, which contain all of it. A batch belongs to the range in
/// which it begins. A last range of less than half the size is joined with the one before. A range is longer if it cannot be
/// divided: at corruption without an index entry after it, or at a larger batch.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
pub fn split(segment: &Segment, split_bytes: u64, options: &ScanOptions) -> Result<Vec<Split>, ScanError> {
    let source = segment.files.open().map_err(|error| ScanError::io(&segment.name, error))?;
    let length = source.length().map_err(|error| ScanError::io(&segment.name, error))?;
    let split_bytes = split_bytes.max(1);
    let last = length.saturating_sub(split_bytes / 2);
    let mut splits = Vec::new();
    let (mut begin, mut boundary) = (0, None);
    if split_bytes < last {
        let source = source.as_ref();
        let log_format = log_format_of(segment, source, length, options)?;
        // An offset index that cannot be read or is invalid is ignored.
        let index = segment.files.offset_index();
        let index = segment.base_offset.and_then(|base| OffsetIndex::parse(&index, base).ok());
        let entries = index.iter().flat_map(OffsetIndex::iter).peekable();
        let mut finder = BoundaryFinder {
            source,
            length,
            reader: RecordReader::new(options.max_output_size),
            order: match segment.base_offset {
                Some(name) => InOrder::of_file(name, segment.boundaries.next_base),
                None => InOrder::new(i64::MIN, i64::MAX),
            },
            known: 0,
            reached: None,
            compared: None,
            is_disordered: false,
            entries,
            entry: None,
            entry_before: None,
        };
        let mut target = chunk_boundary(source, 0, split_bytes);
        while target < last {
            let found = match log_format {
                LogFormat::Records => finder.batch_from(target),
                LogFormat::MessageSet => finder.entry_from(target).map(|found| found.map(|position| (position, None))),
            };
            let found = found.map_err(|error| ScanError::chunk(&segment.name, error))?;
            if finder.is_disordered {
                (begin, boundary) = (0, None);
                splits.clear();
                break;
            }
            if let Some((position, batch)) = found.filter(|&(position, _)| position < last) {
                splits.push((begin, position, boundary));
                (begin, boundary) = (position, batch);
                target = chunk_boundary(source, position, split_bytes);
            } else if let Some(entry) = finder.entries.peek().filter(|_| found.is_none()) {
                // Headers lead no further; from the next index entry on, they may.
                target = u64::from(entry.position);
            } else {
                break;
            }
        }
    }
    splits.push((begin, length, boundary));
    Ok(splits)
}

/// The end of the split that begins at `begin`: the end of a chunk of the source, so that few chunks are fetched for two
/// splits.
fn chunk_boundary(source: &dyn ReadAt, begin: u64, split_bytes: u64) -> u64 {
    let chunk_size = source.traits().chunk_size.max(1);
    let chunks = |position: u64| position / chunk_size;
    let last = chunks(begin.saturating_add(split_bytes)).max(chunks(begin).saturating_add(1));
    last.saturating_mul(chunk_size)
}

/// Finds split boundaries, one after another.
struct BoundaryFinder<'s, I: Iterator<Item = OffsetPosition>> {
    source: &'s dyn ReadAt,
    length: u64,
    /// Reads the first offsets of wrappers.
    reader: RecordReader,
    /// Follows the offsets of the batches that were seen.
    order: InOrder,
    /// The position that headers have reached: of a batch in its place, or of something else.
    known: u64,
    /// The last offset of that batch.
    reached: Option<i64>,
    /// The position of the last one.
    compared: Option<u64>,
    /// Whether a batch was seen that is not above those before it.
    is_disordered: bool,
    entries: Peekable<I>,
    /// The last index entry that is not after the requested position, and the one before it.
    entry: Option<OffsetPosition>,
    entry_before: Option<OffsetPosition>,
}

impl<I: Iterator<Item = OffsetPosition>> BoundaryFinder<'_, I> {
    /// The first batch at `target` or after it whose checksum is right, that continues the batch before, and that the next
    /// batch continues. The neighbours are checked because no checksum covers the base offset, which identifies a split. If
    /// none of the next batches is like that (as in a compacted log), it is the first one. A batch found by an index entry has no
    /// batch before it that could contradict it.
    fn batch_from(&mut self, target: u64) -> Result<Option<(u64, Option<SplitBoundary>)>, ReadError> {
        self.known = self.indexed(target)?.unwrap_or(self.known);
        let mut walk = HeaderWalk::new(self.source, self.known, self.length);
        let mut buffer = Vec::new();
        // The last two batches: the later one is looked at when the one after it is known.
        let (mut before, mut current) = (None::<BatchHeader>, None::<BatchHeader>);
        let mut in_order: Option<(BatchHeader, SplitBoundary)> = None;
        let mut left = MOST_CANDIDATES;
        let stopped_at = loop {
            let mut hop = walk.next_batch()?;
            if matches!(hop, Hop::Corrupt(_) | Hop::Truncated) && !self.source.traits().is_remote() {
                // What follows corrupt bytes may be out of order, too. Their header may state more bytes than the file has.
                let (next, _) = <Resync>::new(walk.position(), self.length).next_intact_of_walk(
                    self.source,
                    walk.position(),
                    current.as_ref(),
                )?;
                if next < self.length {
                    walk.seek(next);
                    (before, current) = (None, None);
                    hop = walk.next_batch()?;
                }
            }
            let next = if let Hop::Batch(header) = hop { Some(header) } else { None };
            if next.is_some_and(|header| self.is_out_of_order(&header)) {
                self.is_disordered = true;
                return Ok(None);
            }
            if let Some(header) = current {
                if header.position < target {
                    (self.known, self.reached) = (header.position, Some(header.last_offset));
                } else if left == 0 {
                    break self.known;
                } else if let Some(before) = before {
                    left = left.saturating_sub(1);
                    let found = self.boundary(&before, &header, (next.as_ref(), hop == Hop::End), &mut buffer)?;
                    // The header of a compressed message does not have its first offset.
                    let first = found.0.and_then(|boundary| boundary.first_offset);
                    let order = InOrder::new(before.last_offset.saturating_add(1), i64::MAX);
                    if first.is_some() && order.place(first, header.last_offset) == Place::OutOfOrder {
                        self.is_disordered = true;
                        return Ok(None);
                    }
                    match found {
                        (Some(boundary), true) if next.is_some() || in_order.is_none() => {
                            (self.known, self.reached) = (header.position, Some(header.last_offset));
                            return Ok(Some((header.position, Some(boundary))));
                        }
                        (Some(boundary), _) if next.is_some() => {
                            in_order = in_order.or(Some((header, boundary)));
                        }
                        _ => {}
                    }
                }
                before = Some(header);
            }
            current = next;
            if next.is_none() {
                break walk.position();
            }
        };
        self.known = in_order.map_or(stopped_at, |(header, _)| header.position);
        self.reached = in_order.map_or(self.reached, |(header, _)| Some(header.last_offset));
        Ok(in_order.map(|(header, boundary)| (header.position, Some(boundary))))
    }

    /// Whether a batch that was not seen before is out of order.
    fn is_out_of_order(&mut self, header: &BatchHeader) -> bool {
        if self.compared.is_some_and(|position| header.position <= position) {
            return false;
        }
        self.compared = Some(header.position);
        !self.order.takes(header.span.first, header.last_offset)
    }

    /// The boundary at `header`, if its checksum is right; and whether it continues the batch `before`, and the next one, or the end,
    /// continues it.
    fn boundary(
        &mut self,
        before: &BatchHeader,
        header: &BatchHeader,
        (next, at_end): (Option<&BatchHeader>, bool),
        buffer: &mut Vec<u8>,
    ) -> Result<(Option<SplitBoundary>, bool), ReadError> {
        let batch = whole_batch(self.source, header, MOST_CHECKED, buffer)?.filter(RecordBatch::is_valid);
        let boundary = batch.map(|batch| SplitBoundary::of(header, &batch, &mut self.reader));
        // The first offset of a wrapper is read from its records.
        let first = boundary.and_then(|boundary| boundary.first_offset).or(header.span.first);
        let continued = continues(before, &BatchHeader { span: Span { first, ..header.span }, ..*header });
        // There is no batch after the last one that could contradict it.
        Ok((boundary, continued && next.map_or(at_end, |next| continues(header, next))))
    }

    /// The position of a batch closer to `target`, by the index; `None` if there is none, or if the batch there is not that of
    /// the index entry. An entry has the last offset of the batches that were appended at its position, so that the batch there
    /// has greater offsets than the entry before.
    fn indexed(&mut self, target: u64) -> Result<Option<u64>, ReadError> {
        while let Some(entry) = self.entries.next_if(|entry| u64::from(entry.position) <= target) {
            self.entry_before = self.entry.replace(entry);
        }
        let Some(entry) = self.entry.filter(|entry| u64::from(entry.position) > self.known) else { return Ok(None) };
        let position = u64::from(entry.position);
        let Hop::Batch(header) = HeaderWalk::new(self.source, position, self.length).next_batch()? else {
            return Ok(None);
        };
        let mut buffer = Vec::new();
        let is_meant = header.last_offset <= entry.offset
            && self.entry_before.is_none_or(|before| header.last_offset > before.offset)
            // Only batches in their places count; in an object store, it is unknown which are.
            && (self.source.traits().is_remote() || self.reached.is_none_or(|reached| header.last_offset > reached));
        let is_intact = is_meant
            && whole_batch(self.source, &header, MOST_CHECKED, &mut buffer)?.is_some_and(|batch| batch.is_valid());
        Ok(is_intact.then_some(position))
    }

    /// The first top-level entry of a log of 0.7 at `target` or after it.
    fn entry_from(&mut self, target: u64) -> Result<Option<u64>, ReadError> {
        let found = next_entry_from(self.source, self.known, target, self.length)?;
        self.known = found.unwrap_or(self.length);
        Ok(found)
    }
}

/// Whether a batch begins with the offset after another one, as far as its header shows.
fn continues(before: &BatchHeader, next: &BatchHeader) -> bool {
    let order = InOrder::new(before.last_offset.saturating_add(1), i64::MAX);
    order.place(next.span.first, next.last_offset) == Place::Next
}
