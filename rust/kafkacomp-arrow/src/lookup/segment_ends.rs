//! Determines the end offset of a segment by the headers of its batches.

use std::sync::Arc;

use kafkacomp_core::log::{BatchHeader, HeaderWalk, Hop, LogFormat, ReadAt, Resync};

use crate::lookup::log_format::log_format_of;
use crate::options::{ScanOptions, Segment};
use crate::plan::index_pruning::Start;
use crate::report::ScanError;

/// The offset after the last batch of `segment`, by the headers. `None` if an intact batch follows a corrupt range.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
pub fn end_offset(segment: &Segment, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    let opened = open(segment, options)?;
    let (source, length) = (opened.source.as_ref(), opened.length);
    let base_offset = segment.base_offset_or_zero();
    if opened.log_format == LogFormat::MessageSet {
        return Ok(Some(base_offset.saturating_add_unsigned(length)));
    }
    // Begin at the last entry of the index.
    let mut walk = HeaderWalk::new(source, opened.start(segment).by_offset(i64::MAX)?, length);
    let mut last: Option<BatchHeader> = None;
    loop {
        let hop = walk.next_batch().map_err(|error| ScanError::chunk(&segment.name, error))?;
        let end = last.map_or(base_offset, |header| header.last_offset.saturating_add(1));
        match hop {
            Hop::Batch(header) => last = Some(header),
            Hop::End => return Ok(Some(end)),
            Hop::Truncated | Hop::Corrupt(_) => {
                // Preallocated zeros and a batch that is being written are not corruption.
                let (next, _) = <Resync>::new(walk.position(), length)
                    .next_intact_of_walk(source, walk.position(), last.as_ref())
                    .map_err(|error| ScanError::chunk(&segment.name, error))?;
                return Ok((next >= length).then_some(end));
            }
        }
    }
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
