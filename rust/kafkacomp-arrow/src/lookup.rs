//! Looks up the offset of a timestamp, and the end of a log, as a broker does for `ListOffsets`.
//!
//! The result is the first record, in the order of offsets, whose timestamp is at least the requested one. Timestamps need not
//! increase. A broker trusts the last entry of the time index for the greatest timestamp of a closed segment. Here the batch
//! headers decide, or, for a remote source, an index that agrees with them (`bounds`).
//! Source: `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.findOffsetByTimestamp`.

use std::sync::Arc;

use kafkacomp_core::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_core::log::continuity::sequence;
use kafkacomp_core::log::index::MAX_RELATIVE_OFFSET;
use kafkacomp_core::log::{BatchHeader, HeaderWalk, Hop, LogFormat, ReadAt, Resync};
use kafkacomp_core::record::{RecordReader, TimestampType};

use crate::index_pruning::Start;
use crate::log_format::log_format_of;
use crate::options::{OnError, Partition, ScanOptions, Segment};
use crate::report::ScanError;
use crate::whole_batch::whole_batch;

/// The offset of the first record of `partition` whose timestamp is at least `timestamp` ms; `None` if there is none,
/// or the format has no timestamps.
///
/// # Errors
/// An I/O error, and corruption with `on_error="raise"`.
pub fn offset_for_time(partition: &Partition, timestamp: i64, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    for (index, segment) in partition.segments.iter().enumerate() {
        let is_closed = index.saturating_add(1) < partition.segments.len();
        if let Some(offset) = first_in_segment(segment, is_closed, timestamp, options)? {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}

/// The offset after the last batch of `segment`, by the headers. `None` if corruption hides it.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
pub fn end_offset(segment: &Segment, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    let Opened { source, length, log_format } = open(segment, options)?;
    let base_offset = segment.base_offset_or_zero();
    if log_format == LogFormat::MessageSet {
        return Ok(Some(base_offset.saturating_add_unsigned(length)));
    }
    // Begin at the last entry of the index.
    let start = Start { segment, source: source.as_ref(), length, begin: 0, warn: &drop };
    let start = start.position(i64::MAX, options)?;
    let mut walk = HeaderWalk::new(source.as_ref(), start, length);
    let mut last: Option<BatchHeader> = None;
    loop {
        let hop = walk.next_batch().map_err(|error| ScanError::chunk(&segment.name, error))?;
        let end = last.map_or(base_offset, |header| header.last_offset.saturating_add(1));
        match hop {
            Hop::Batch(header) => last = Some(header),
            Hop::End => return Ok(Some(end)),
            Hop::Truncated(_) | Hop::Corrupt(_) => {
                // Preallocated zeros and a batch that is being written are not corruption.
                let (next, _) = <Resync>::new(walk.position(), length)
                    .next_intact_of_walk(source.as_ref(), walk.position(), last.as_ref())
                    .map_err(|error| ScanError::chunk(&segment.name, error))?;
                return Ok((next >= length).then_some(end));
            }
        }
    }
}

/// The offset after the greatest one among the batches of `segment` from the last entry of its index on, also behind
/// corruption. That of [`end_offset`] in an intact segment; a greater one if the last batch is out of place. Offsets that no
/// segment with this base offset can have do not count.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
pub fn reach(segment: &Segment, options: &ScanOptions) -> Result<i64, ScanError> {
    let Opened { source, length, log_format } = open(segment, options)?;
    let base_offset = segment.base_offset_or_zero();
    if log_format == LogFormat::MessageSet {
        return Ok(base_offset.saturating_add_unsigned(length));
    }
    let start =
        Start { segment, source: source.as_ref(), length, begin: 0, warn: &drop }.position(i64::MAX, options)?;
    let mut walk = HeaderWalk::new(source.as_ref(), start, length);
    let mut reach = base_offset;
    let most = base_offset.saturating_add(MAX_RELATIVE_OFFSET);
    let mut last: Option<BatchHeader> = None;
    loop {
        match walk.next_batch().map_err(|error| ScanError::chunk(&segment.name, error))? {
            Hop::Batch(header) => {
                if header.last_offset <= most {
                    reach = reach.max(header.last_offset.saturating_add(1));
                }
                last = Some(header);
            }
            Hop::End => return Ok(reach),
            // A batch is truncated, too, if its length is wrong.
            Hop::Truncated(_) | Hop::Corrupt(_) => {
                let (next, _) = <Resync>::new(walk.position(), length)
                    .next_intact_of_walk(source.as_ref(), walk.position(), last.take().as_ref())
                    .map_err(|error| ScanError::chunk(&segment.name, error))?;
                walk = HeaderWalk::new(source.as_ref(), next, length);
            }
        }
    }
}

/// The first offset of `segment`: that of its name, or a lower one if its first two batches show that the name is wrong.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
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
    let mut last: Option<BatchHeader> = None;
    let mut reader = RecordReader::new(options.max_output_size);
    let chunk = |error| ScanError::chunk(&segment.name, error);
    loop {
        let position = walk.position();
        let hop = walk.next_batch().map_err(chunk)?;
        let error = match &hop {
            Hop::End => return Ok(None),
            Hop::Batch(header) => {
                last = Some(*header);
                if header.max_timestamp < timestamp {
                    continue;
                }
                match first_in_batch(segment, source, header, timestamp, &mut reader) {
                    Ok(None) => continue,
                    Err(error) if matches!(error, ScanError::Record { .. }) => {
                        last = None;
                        error
                    }
                    found => return found,
                }
            }
            Hop::Truncated(error) | Hop::Corrupt(error) => ScanError::record(&segment.name, error.clone()),
        };
        let (next, fault) = search.next_intact_of_walk(source, position, last.take().as_ref()).map_err(chunk)?;
        // The end may be preallocated zeros, or a batch that is being written.
        let ends = !matches!(hop, Hop::Batch(_)) && next >= length;
        if options.on_error == OnError::Raise && !ends {
            return Err(fault.map_or(error, |fault| ScanError::record(&segment.name, fault)));
        }
        walk.seek(next);
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
