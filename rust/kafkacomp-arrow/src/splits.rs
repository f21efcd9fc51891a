//! Divides a large segment into splits that begin at batches, without reading its records.
//!
//! The offset index gives a batch near each position. From there, or without an index from the last boundary, headers lead to the
//! next one. A split begins at a batch whose checksum is right, so that a reader that skips corruption in the split before ends
//! there.

use std::iter::Peekable;

use kafkacomp_core::log::index::offset::OffsetIndex;
use kafkacomp_core::log::{
    BatchHeader, HeaderWalk, Hop, LogFormat, OffsetPosition, ReadAt, ReadError, Span, next_entry_from,
};
use kafkacomp_core::record::{RecordBatch, RecordReader};

use crate::log_format::log_format_of;
use crate::options::{ScanOptions, Segment};
use crate::report::ScanError;
use crate::split_boundaries::SplitBoundary;
use crate::whole_batch::{MOST_CHECKED, whole_batch};

/// The most valid batches that are examined to find one that the next batch continues.
const MOST_CANDIDATES: usize = 8;

/// A range of bytes and its first batch; `None` at the start of the segment and in logs of 0.7.
pub type Split = (u64, u64, Option<SplitBoundary>);

/// Divides `segment` into adjacent ranges of about `split_bytes`, which contain all of it. A batch belongs to the range in which
/// it begins. A last range of less than half the size is joined with the one before. A range is longer if it cannot be divided:
/// at corruption without an index entry after it, or at a larger batch.
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
        let reader = RecordReader::new(options.max_output_size);
        let mut finder = BoundaryFinder { source, length, reader, known: 0, entries, entry: None };
        let mut target = chunk_boundary(source, 0, split_bytes);
        while target < last {
            let found = match log_format {
                LogFormat::Records => finder.batch_from(target),
                LogFormat::MessageSet => finder.entry_from(target).map(|found| found.map(|position| (position, None))),
            };
            let found = found.map_err(|error| ScanError::chunk(&segment.name, error))?;
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

/// The end of the split that begins at `begin`: the end of a chunk of the source, so that few chunks are fetched for two splits.
fn chunk_boundary(source: &dyn ReadAt, begin: u64, split_bytes: u64) -> u64 {
    let chunk_size = source.chunk_size().max(1);
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
    /// The position that headers have reached: of a batch, or of something else.
    known: u64,
    entries: Peekable<I>,
    /// The last index entry that is not after the requested position.
    entry: Option<OffsetPosition>,
}

impl<I: Iterator<Item = OffsetPosition>> BoundaryFinder<'_, I> {
    /// The first batch at `target` or after it whose checksum is right, that continues the batch before, and that the next batch
    /// continues. The neighbours are checked because no checksum covers the base offset, which identifies a split. If none of the
    /// next batches is like that (as in a compacted log), it is the first one that is in order. A batch found by an index entry has
    /// no batch before it that could contradict it.
    fn batch_from(&mut self, target: u64) -> Result<Option<(u64, Option<SplitBoundary>)>, ReadError> {
        self.known = self.indexed(target)?.unwrap_or(self.known);
        let mut walk = HeaderWalk::new(self.source, self.known, self.length);
        let mut buffer = Vec::new();
        let mut previous: Option<BatchHeader> = None;
        let mut candidate: Option<(BatchHeader, SplitBoundary)> = None;
        let mut in_order: Option<(BatchHeader, SplitBoundary)> = None;
        let mut left = MOST_CANDIDATES;
        let mut continued = true;
        let at_end = loop {
            let header = match walk.next_batch()? {
                Hop::Batch(header) => header,
                hop => break hop == Hop::End,
            };
            if let Some((before, boundary)) = candidate.take_if(|(before, _)| rises(before, &header)) {
                if continued && continues(&before, &header) {
                    self.known = before.position;
                    return Ok(Some((before.position, Some(boundary))));
                }
                in_order = in_order.or(Some((before, boundary)));
            }
            if header.position < target {
                self.known = header.position;
            } else if left == 0 {
                break false;
            } else if let Some(before) = previous {
                left = left.saturating_sub(1);
                candidate = whole_batch(self.source, &header, MOST_CHECKED, &mut buffer)?
                    .filter(RecordBatch::is_valid)
                    .filter(|_| rises(&before, &header))
                    .map(|batch| (header, SplitBoundary::of(&header, &batch, &mut self.reader)));
                // The first offset of a wrapper is read from its records.
                let first = candidate.and_then(|(_, boundary)| boundary.first_offset).or(header.span.first);
                continued = continues(&before, &BatchHeader { span: Span { first, ..header.span }, ..header });
            }
            previous = Some(header);
        };
        // There is no batch after the last one that could contradict it.
        let found = in_order.or(candidate.filter(|_| at_end && continued));
        self.known = found.map_or(walk.position(), |(header, _)| header.position);
        Ok(found.map(|(header, boundary)| (header.position, Some(boundary))))
    }

    /// The position of a batch closer to `target`, by the index; `None` if there is none, or if the batch there is not that of the
    /// index entry.
    fn indexed(&mut self, target: u64) -> Result<Option<u64>, ReadError> {
        while let Some(entry) = self.entries.next_if(|entry| u64::from(entry.position) <= target) {
            self.entry = Some(entry);
        }
        let Some(entry) = self.entry.filter(|entry| u64::from(entry.position) > self.known) else { return Ok(None) };
        let position = u64::from(entry.position);
        let Hop::Batch(header) = HeaderWalk::new(self.source, position, self.length).next_batch()? else {
            return Ok(None);
        };
        let mut buffer = Vec::new();
        let is_intact = header.last_offset <= entry.offset
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
    let expected = before.last_offset.saturating_add(1);
    next.span.first.map_or(next.last_offset >= expected, |first| first == expected)
}

/// Whether a batch has no offset of another one before it, as far as its header shows.
fn rises(before: &BatchHeader, next: &BatchHeader) -> bool {
    next.span.first.unwrap_or(next.last_offset) > before.last_offset
}
