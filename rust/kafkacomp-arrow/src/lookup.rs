//! Which offset a time stands for, and where a log ends: what a broker answers to `ListOffsets`.
//!
//! The first record, in the order of offsets, whose timestamp is not below the one asked for. Timestamps need not
//! rise. A broker takes the last entry of a closed segment's time index for its greatest timestamp; here headers decide, or,
//! where reads are requests, an index that agrees with them (`bounds`).
//! Source: `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.findOffsetByTimestamp`.

use std::sync::Arc;

use kafkacomp_core::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_core::log::continuity::sequence;
use kafkacomp_core::log::{BatchHeader, HeaderWalk, Hop, LogFormat, ReadAt, Resync};
use kafkacomp_core::record::{RecordReader, TimestampType};

use crate::bounds::Start;
use crate::committed::whole_batch;
use crate::log_format::log_format_of;
use crate::options::{OnError, Partition, ScanOptions, Segment};
use crate::report::ScanError;

/// The offset of the first record of `partition` whose timestamp is at least `timestamp` ms; `None` if there is none,
/// or the format has no timestamps.
///
/// # Errors
/// What the file system says, and damage on the way with `on_error="raise"`.
pub fn offset_for_time(partition: &Partition, timestamp: i64, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    for (index, segment) in partition.segments.iter().enumerate() {
        let is_closed = index.saturating_add(1) < partition.segments.len();
        if let Some(offset) = first_in_segment(segment, is_closed, timestamp, options)? {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}

/// The offset behind the last batch of `segment`, by the headers: where the log ends if it is the last one. `None` where
/// damage hides it.
///
/// # Errors
/// What the file system says; a log format that cannot be determined.
pub fn end_offset(segment: &Segment, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    let Opened { source, length, log_format } = open(segment, options)?;
    let base_offset = segment.base_offset_or_zero();
    if log_format == LogFormat::MessageSet {
        return Ok(Some(base_offset.saturating_add_unsigned(length)));
    }
    // The index's last entry: of a batch that the offset asked for cannot precede.
    let start = Start { segment, source: source.as_ref(), length, begin: 0, warn: &drop };
    let start = start.position(i64::MAX, options)?;
    let mut walk = HeaderWalk::new(source.as_ref(), start, length);
    let mut end = Some(base_offset);
    loop {
        match walk.next_batch().map_err(|error| ScanError::chunk(&segment.name, error))? {
            Hop::Batch(header) => end = Some(header.last_offset.saturating_add(1)),
            Hop::End | Hop::Truncated => return Ok(end),
            Hop::Corrupt(_) => {
                // Zeros that were reserved for batches to come are no damage.
                let next = <Resync>::new(walk.position(), length)
                    .next_intact(source.as_ref(), walk.position())
                    .map_err(|error| ScanError::chunk(&segment.name, error))?;
                return Ok(end.filter(|_| next >= length));
            }
        }
    }
}

/// The first offset of `segment`: that of its name, or one below it if its first two batches show that the name is wrong.
///
/// # Errors
/// What the file system says; a log format that cannot be determined.
pub fn start_offset(segment: &Segment, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    let Opened { source, log_format, .. } = open(segment, options)?;
    match segment.base_offset {
        Some(base) if log_format == LogFormat::Records => {
            let found = sequence::start_offset(source.as_ref(), base);
            found.map(Some).map_err(|error| ScanError::chunk(&segment.name, error))
        }
        base => Ok(base),
    }
}

struct Opened {
    source: Arc<dyn ReadAt>,
    length: u64,
    log_format: LogFormat,
}

fn open(segment: &Segment, options: &ScanOptions) -> Result<Opened, ScanError> {
    let source = segment.files.open().map_err(|error| ScanError::io(&segment.name, error))?;
    let length = source.length().map_err(|error| ScanError::io(&segment.name, error))?;
    let log_format = log_format_of(segment, source.as_ref(), length, options)?;
    Ok(Opened { source, length, log_format })
}

fn first_in_segment(
    segment: &Segment,
    is_closed: bool,
    timestamp: i64,
    options: &ScanOptions,
) -> Result<Option<i64>, ScanError> {
    let Opened { source, length, log_format } = open(segment, options)?;
    if log_format == LogFormat::MessageSet {
        return Ok(None);
    }
    let source = source.as_ref();
    let bounds = ScanOptions { start_timestamp: Some(timestamp), ..options.clone() };
    let start = Start { segment, source, length, begin: 0, warn: &drop };
    if is_closed && source.is_remote() && start.is_earlier(timestamp)? {
        return Ok(None);
    }
    let start = start.position(i64::MIN, &bounds)?;
    let mut walk = HeaderWalk::new(source, start, length);
    let mut search: Resync = Resync::new(start, length);
    let mut reader = RecordReader::new(options.max_output_size);
    let chunk = |error| ScanError::chunk(&segment.name, error);
    loop {
        let position = walk.position();
        let hop = walk.next_batch().map_err(chunk)?;
        let error = match &hop {
            Hop::End | Hop::Truncated => return Ok(None),
            Hop::Batch(header) if header.max_timestamp >= timestamp => {
                match first_in_batch(segment, source, header, timestamp, &mut reader) {
                    Err(error) if matches!(error, ScanError::Record { .. }) => Some(error),
                    Ok(None) => None,
                    found => return found,
                }
            }
            Hop::Batch(_) => None,
            Hop::Corrupt(error) => Some(ScanError::record(&segment.name, error.clone())),
        };
        if let Some(error) = error {
            let next = search.next_intact(source, position).map_err(chunk)?;
            // Zeros that were reserved for batches to come are no damage.
            let reserved = matches!(hop, Hop::Corrupt(_)) && next >= length;
            if options.on_error == OnError::Raise && !reserved {
                return Err(error);
            }
            walk.seek(next);
        }
    }
}

fn first_in_batch(
    segment: &Segment,
    source: &dyn ReadAt,
    header: &BatchHeader,
    timestamp: i64,
    reader: &mut RecordReader,
) -> Result<Option<i64>, ScanError> {
    let mut buffer = Vec::new();
    let read = whole_batch(source, header, DEFAULT_MAX_OUTPUT_SIZE, &mut buffer)
        .map_err(|error| ScanError::io(&segment.name, error))?;
    let Some(batch) = read else { return Ok(None) };
    let record = |error| ScanError::record(&segment.name, error);
    batch.ensure_valid().map_err(record)?;
    for found in reader.records(&batch).map_err(record)? {
        let found = found.map_err(record)?;
        if found.timestamp_type != TimestampType::NoTimestampType && found.timestamp >= timestamp {
            return Ok(Some(found.offset));
        }
    }
    Ok(None)
}
