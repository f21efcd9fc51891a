//! The log format of a segment.

use std::sync::Arc;

use kafkacomp_log::{LogFormat, ReadAt};
use kafkacomp_records::record::batch::HEADER_SIZE_UP_TO_MAGIC;

use crate::options::{ScanOptions, Segment};
use crate::report::ScanError;

/// The log format: the one of the options, otherwise that of the content, otherwise that of the name. Bytes that end within the
/// first header contain nothing in either format: they count as a truncated batch.
///
/// # Errors
/// None of them determines it, or the bytes cannot be read.
pub fn log_format_of(
    segment: &Segment,
    source: &dyn ReadAt,
    length: u64,
    options: &ScanOptions,
) -> Result<LogFormat, ScanError> {
    if let Some(log_format) = options.log_format {
        return Ok(log_format);
    }
    if length == 0 {
        return Ok(LogFormat::of_name(&segment.name).unwrap_or(LogFormat::Records));
    }
    let content = LogFormat::of_named_content(source, length, &segment.name);
    let content = content.map_err(|error| ScanError::chunk(&segment.name, error))?;
    let without_batch = (length < HEADER_SIZE_UP_TO_MAGIC as u64).then_some(LogFormat::Records);
    let log_format = content.or_else(|| LogFormat::of_name(&segment.name)).or(without_batch);
    log_format.ok_or_else(|| ScanError::Undecided { segment: Arc::clone(&segment.name) })
}

/// As [`log_format_of`], for a segment that is not open.
///
/// # Errors
/// As [`log_format_of`].
pub fn of_segment(segment: &Segment, options: &ScanOptions) -> Result<LogFormat, ScanError> {
    let io = |error| ScanError::io(&segment.name, error);
    let source = segment.files.open().map_err(io)?;
    let length = source.length().map_err(io)?;
    log_format_of(segment, source.as_ref(), length, options)
}
