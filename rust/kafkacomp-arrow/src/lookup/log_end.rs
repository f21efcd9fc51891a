//! The end of a log.

use kafkacomp_log::LogFormat;
use kafkacomp_log::map::LastFile;

use crate::lookup::segment_ends::{SegmentEnd, end_offset, open, segment_end};
use crate::options::{OnError, Partition, ScanOptions, Segment};
use crate::plan::judged::{self, Judged};
use crate::report::ScanError;

/// The offset after the last one of a log; `None` if corrupt bytes before intact batches hide it.
///
/// It is the end of the last segment, unless a segment is misnamed, the one before the last reaches beyond its start, or its last
/// batches are not in order: then all files show where the log ends.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
pub fn log_end(partition: &Partition, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    let mut segments: Vec<&Segment> = partition.segments.iter().chain(&partition.context).collect();
    segments.sort_by_key(|segment| segment.first_offset());
    let Some((last, earlier)) = segments.split_last() else { return Ok(None) };
    let SegmentEnd { offset: end, is_certain } = segment_end(last, options)?;
    // The offsets of a segment in remote storage are those that the leader's epochs give it.
    if let Some((_, valid_end)) = last.offsets {
        return Ok(end.map(|end| end.min(valid_end)));
    }
    let Some(base) = last.base_offset else { return Ok(end) };
    let reaches_beyond = match earlier.last() {
        Some(before) => end_offset(before, options)?.is_some_and(|before| before > base),
        None => false,
    };
    if (is_certain && end.is_some() && !reaches_beyond && !partition.is_misnamed)
        || open(last, options)?.log_format == LogFormat::MessageSet
    {
        return Ok(end);
    }
    Ok(judged_span(partition, options)?.map(|(_, end)| end))
}

/// The first offset of a log and the one after its last, by the batches of all its files; `None` if no offset is found.
///
/// # Errors
/// An I/O error.
pub fn judged_span(partition: &Partition, options: &ScanOptions) -> Result<Option<(i64, i64)>, ScanError> {
    Ok(judged(partition, options)?.span)
}

/// Where the log continues after a batch whose header states offsets that end before `end`, if it has other ones; `None` if there is no such
/// batch. What follows it was not read by a stream that has read up to `end`.
///
/// # Errors
/// An I/O error.
pub fn continues_at(partition: &Partition, end: i64, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    let continuations = judged(partition, options)?.continuations;
    Ok(continuations.into_iter().rev().find(|&(stated, _)| stated == end).map(|(_, continues_at)| continues_at))
}

fn judged(partition: &Partition, options: &ScanOptions) -> Result<Judged, ScanError> {
    let options = ScanOptions { on_error: OnError::Skip, ..options.clone() };
    judged::judge(partition, partition.compaction(), &options)
}

/// The offset that a log had reached, if other files than its segments show that it is above `end`.
///
/// # Errors
/// An I/O error.
pub fn reached_end(partition: &Partition, end: i64, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    let segments = partition.segments.iter().chain(&partition.context);
    let Some(last) = segments.max_by_key(|segment| segment.first_offset()) else { return Ok(None) };
    let Some(name) = last.base_offset.filter(|_| last.offsets.is_none()) else { return Ok(None) };
    let io = |error| ScanError::io(&last.name, error);
    let source = last.files.open().map_err(io)?;
    let length = source.length().map_err(io)?;
    let (files, source) = (last.files.as_ref(), source.as_ref());
    let reads_indexes = !source.traits().is_remote() || partition.is_within(options.horizon);
    let file = LastFile { name, files, source, position: length, end, length, has_zero_tail: false, reads_indexes };
    let witness = partition.checkpoints.reached.beyond(end, &file);
    Ok(witness.map_err(|error| ScanError::chunk(&last.name, error))?.map(|witness| witness.end()))
}
