//! Finds a split of a segment again, in a file that may have been replaced since the split was planned.
//!
//! A broker that compacts a log writes `.cleaned` files, renames them to `.swap` and then to `.log`, under the name of the first
//! of the segments that they replace. Offsets remain the same, positions do not. If the batches at the ends of a split are other
//! ones, its offsets determine its records. An open file is not affected by a replacement, so one check is enough.

use std::sync::Arc;

use kafkacomp_log::ReadAt;

use crate::lookup::split_boundaries::SplitBoundary;
use crate::options::Segment;
use crate::report::ScanError;

/// A range of bytes with all batches of a split, and the offsets in it that belong to the split.
#[derive(Debug)]
pub(crate) struct Found {
    pub start: u64,
    pub stop: u64,
    /// The first offset.
    pub first: i64,
    /// The last offset, inclusive.
    pub last: i64,
    /// Whether the file was replaced since the split was planned, as by compaction.
    pub is_replaced: bool,
}

/// Finds the range of a segment in the current file.
///
/// # Errors
/// An I/O error, or [`ScanError::Replaced`].
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
    // A file that has only grown was not replaced.
    found.is_replaced |= end.is_some() || length < boundaries.length;
    if let Some(end) = end {
        found.last = end.saturating_sub(1);
        found.stop = length;
    } else if is_shifted && boundaries.end.is_none() {
        found.stop = length;
    }
    Ok(found)
}
