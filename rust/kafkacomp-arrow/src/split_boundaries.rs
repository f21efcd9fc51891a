//! A piece of a segment, found again in a file that may have been replaced since it was cut.
//!
//! A broker that compacts a log writes `.cleaned` files, renames them to `.swap` and then to `.log`, under the name of
//! the first of the segments that they replace. Offsets stay what they were, positions do not: where the batches are no
//! longer those that stood at a piece's ends, its offsets tell what belongs to it. A file that is opened stays what it
//! was, so looking once is enough.

use std::io;
use std::sync::Arc;

use kafkacomp_core::log::read::source::read_full;
use kafkacomp_core::log::{BatchHeader, ReadAt};
use kafkacomp_core::record::batch::HEADER_SIZE_UP_TO_MAGIC;
use kafkacomp_core::record::{BatchHead, RecordBatch};

use crate::options::Segment;
use crate::report::ScanError;

/// The batch that stood where a segment was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitBoundary {
    /// Its offset field.
    pub offset: i64,
    /// Its size in bytes.
    pub size: u64,
    /// Its first offset; `None` where only its content tells: compressed messages of magic 0 and 1.
    pub first_offset: Option<i64>,
}

impl SplitBoundary {
    /// That of a batch.
    pub(crate) fn of(header: &BatchHeader, batch: &RecordBatch<'_>) -> Self {
        Self { offset: header.offset_field, size: header.size, first_offset: batch.base_offset() }
    }

    fn is_at(&self, source: &dyn ReadAt, position: u64) -> io::Result<bool> {
        let mut head = [0_u8; HEADER_SIZE_UP_TO_MAGIC];
        let read = read_full(source, &mut head, position)?;
        let head = BatchHead::read(head.get(..read).unwrap_or_default(), position);
        Ok(head
            .ok()
            .flatten()
            .is_some_and(|head| head.offset == self.offset && head.size_in_bytes() as u64 == self.size))
    }
}

/// What is known of a piece's ends. The default knows nothing: then the range is taken as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct SplitBoundaries {
    /// At the beginning of the range.
    pub begin: Option<SplitBoundary>,
    /// Behind its end; `None` at the segment's.
    pub end: Option<SplitBoundary>,
    /// The segment's length when it was found.
    pub length: u64,
    /// Where the next segment begins.
    pub next_base: Option<i64>,
}

/// Bytes that hold all batches of a piece, and the offsets that are its own of what they hold.
#[derive(Debug)]
pub(crate) struct Found {
    pub start: u64,
    pub stop: u64,
    /// Inclusive.
    pub first: i64,
    /// Inclusive.
    pub last: i64,
    /// Whether the file is another one than when the range was cut, as after compaction.
    pub is_replaced: bool,
}

/// Finds a segment's range in the file that is there now.
///
/// # Errors
/// What the file system says; [`ScanError::Replaced`].
pub(crate) fn find(segment: &Segment, source: &dyn ReadAt, length: u64) -> Result<Found, ScanError> {
    let (start, stop) = segment.range.unwrap_or((0, length));
    let mut found = Found { start, stop, first: i64::MIN, last: i64::MAX, is_replaced: false };
    let boundaries = &segment.boundaries;
    let moved = |boundary: Option<SplitBoundary>, position: u64| match boundary {
        None => Ok(None),
        Some(boundary) => match boundary.is_at(source, position) {
            Err(error) => Err(ScanError::io(&segment.name, error)),
            Ok(true) => Ok(None),
            Ok(false) => match boundary.first_offset {
                Some(offset) => Ok(Some(offset)),
                None => Err(ScanError::Replaced { segment: Arc::clone(&segment.name) }),
            },
        },
    };
    if let Some(first) = moved(boundaries.begin, start)? {
        found.first = first;
        found.start = 0;
        found.is_replaced = true;
    }
    let is_shifted = found.start != start;
    let end = match boundaries.next_base {
        Some(next) if boundaries.end.is_none() && (is_shifted || length != boundaries.length) => Some(next),
        _ => moved(boundaries.end, stop)?,
    };
    // A file that only grew is the same one.
    found.is_replaced |= end.is_some() || length < boundaries.length;
    if let Some(end) = end {
        found.last = end.saturating_sub(1);
        found.stop = length;
    } else if is_shifted && boundaries.end.is_none() {
        found.stop = length;
    }
    Ok(found)
}
