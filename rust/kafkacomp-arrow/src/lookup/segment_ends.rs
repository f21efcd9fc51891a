//! Determines the end offset of a segment by the headers of its batches.

use std::sync::Arc;

use kafkacomp_log::map::InOrder;
use kafkacomp_log::map::last_file::last_indexed;
use kafkacomp_log::{BatchHeader, HeaderWalk, Hop, LogFormat, ReadAt, Resync};

use crate::lookup::log_format::log_format_of;
use crate::options::{ScanOptions, Segment};
use crate::plan::index_pruning::Start;
use crate::report::ScanError;

/// The end of a segment, as the headers of its last batches show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The offset after the last batch; `None` if an intact batch follows a corrupt range.
    pub offset: Option<i64>,
    /// Whether nothing contradicts it: the offsets increase from the name of the segment on, the last checksum is right, and the offset
    /// index ends before it. In an object store, neither is fetched for that.
    pub is_certain: bool,
}

/// The offset after the last batch of `segment`, by the headers. `None` if an intact batch follows a corrupt range.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
pub fn end_offset(segment: &Segment, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    Ok(segment_end(segment, options)?.offset)
}

/// The end of `segment`.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
pub fn segment_end(segment: &Segment, options: &ScanOptions) -> Result<SegmentEnd, ScanError> {
    let opened = open(segment, options)?;
    let (source, length) = (opened.source.as_ref(), opened.length);
    let base_offset = segment.base_offset_or_zero();
    if opened.log_format == LogFormat::MessageSet {
        let offset = Some(base_offset.saturating_add_unsigned(length));
        return Ok(SegmentEnd { offset, is_certain: true });
    }
    // Begin at the last entry of the index.
    let mut walk = HeaderWalk::new(source, opened.start(segment).by_offset(i64::MAX)?, length);
    let mut last: Option<BatchHeader> = None;
    let mut order = InOrder::of_file(base_offset, None);
    let mut is_in_order = true;
    loop {
        let hop = walk.next_batch().map_err(|error| ScanError::chunk(&segment.name, error))?;
        let end = last.map_or(base_offset, |header| header.last_offset.saturating_add(1));
        match hop {
            Hop::Batch(header) => {
                is_in_order &= order.takes(header.span.first, header.last_offset);
                last = Some(header);
            }
            Hop::End => {
                let is_certain = is_in_order && is_confirmed(segment, source, last, end)?;
                return Ok(SegmentEnd { offset: Some(end), is_certain });
            }
            Hop::Truncated | Hop::Corrupt(_) => {
                // Preallocated zeros and a batch that is being written are not corruption.
                let (next, _) = <Resync>::new(walk.position(), length)
                    .next_intact_of_walk(source, walk.position(), last.as_ref())
                    .map_err(|error| ScanError::chunk(&segment.name, error))?;
                let is_certain = is_in_order && is_confirmed(segment, source, last, end)?;
                return Ok(SegmentEnd { offset: (next >= length).then_some(end), is_certain });
            }
        }
    }
}

/// Whether the checksum of the last batch is right, and the offset index ends before `end`.
fn is_confirmed(
    segment: &Segment,
    source: &dyn ReadAt,
    last: Option<BatchHeader>,
    end: i64,
) -> Result<bool, ScanError> {
    if source.traits().is_remote() {
        return Ok(true);
    }
    let indexed = last_indexed(segment.files.as_ref(), segment.base_offset_or_zero());
    let Some(header) = last else { return Ok(indexed.is_none()) };
    let verified = <Resync>::new(header.position, header.end()).verify(source, header.position, header.size);
    let is_intact = verified.map_err(|error| ScanError::chunk(&segment.name, error))?.is_ok();
    Ok(is_intact && indexed.is_none_or(|entry| entry.offset < end))
}

/// An open segment.
pub(crate) struct Opened {
    pub source: Arc<dyn ReadAt>,
    pub length: u64,
    pub log_format: LogFormat,
}

impl Opened {
    /// For lookups in the indexes of the segment.
    pub fn start<'s>(&'s self, segment: &'s Segment) -> Start<'s> {
        let (source, length) = (self.source.as_ref(), self.length);
        Start { segment, source, length, begin: 0, next_base: None, warn: &drop }
    }
}

/// Opens a segment and determines its format.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
pub(crate) fn open(segment: &Segment, options: &ScanOptions) -> Result<Opened, ScanError> {
    let source = segment.files.open().map_err(|error| ScanError::io(&segment.name, error))?;
    let length = source.length().map_err(|error| ScanError::io(&segment.name, error))?;
    let log_format = log_format_of(segment, source.as_ref(), length, options)?;
    Ok(Opened { source, length, log_format })
}
