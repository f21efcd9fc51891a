//! What a plan needs to know of segments before they are read: `kafkacomp._plan`.

use kafkacomp_arrow::byte_range::{self, MessageFormat};
use kafkacomp_arrow::committed::transaction_filter;
use kafkacomp_arrow::split_boundaries::SplitBoundary;
use kafkacomp_arrow::{OnError, Partition, ScanOptions, log_format, lookup, splits};
use kafkacomp_core::log::LogFormat;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::error::scan_to_py;
use crate::file_object::Raised;
use crate::interrupt::interruptible;
use crate::scan::log_format as log_format_of;
use crate::segment::{PartitionTuple, SeamTuple, SegmentTuple, Transactions, partitions, segment};

/// Where a segment may be cut: ranges of about `piece_bytes`, each with what the batch at its beginning is known by.
#[pyfunction]
pub fn cut_segment(
    py: Python<'_>,
    source: SegmentTuple<'_>,
    piece_bytes: u64,
    log_format: &str,
) -> PyResult<Vec<(u64, u64, Option<SeamTuple>)>> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), options(log_format, false, None));
    let splits = py.detach(|| splits::split(&segment, piece_bytes, &options));
    let splits = raised.or(py, splits.map_err(|error| scan_to_py(py, error)))?;
    let known = |boundary: SplitBoundary| (boundary.offset, boundary.size, boundary.first_offset);
    Ok(splits.into_iter().map(|(start, stop, boundary)| (start, stop, boundary.map(known))).collect())
}

/// Whether a segment is of Kafka 0.7.
#[pyfunction]
pub fn is_message_set(py: Python<'_>, source: SegmentTuple<'_>) -> PyResult<bool> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), ScanOptions::default());
    let found = py.detach(|| log_format::of_segment(&segment, &options)).map_err(|error| scan_to_py(py, error));
    raised.or(py, found).map(|log_format| log_format == LogFormat::MessageSet)
}

/// Where a log ends whose last segment is `source`; `None` where damage hides it.
#[pyfunction]
pub fn end_offset(py: Python<'_>, source: SegmentTuple<'_>, log_format: &str) -> PyResult<Option<i64>> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), options(log_format, false, None));
    let found = py.detach(|| lookup::end_offset(&segment, &options)).map_err(|error| scan_to_py(py, error));
    raised.or(py, found)
}

/// The first offset of the segment `source`, below that of its name if its batches show that the name is wrong.
#[pyfunction]
pub fn start_offset(py: Python<'_>, source: SegmentTuple<'_>, log_format: &str) -> PyResult<Option<i64>> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), options(log_format, false, None));
    let found = py.detach(|| lookup::start_offset(&segment, &options)).map_err(|error| scan_to_py(py, error));
    raised.or(py, found)
}

/// The batches, or messages of Kafka 0.7, that begin in a range of bytes: where the first one begins, their bytes, and whether
/// the segment ends within another one.
#[pyfunction]
pub fn read_range<'py>(
    py: Python<'py>,
    source: SegmentTuple<'py>,
    begin: u64,
    end: u64,
) -> PyResult<(u64, Bound<'py, PyBytes>, bool)> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), ScanOptions::default());
    let found = py.detach(|| byte_range::read_range(&segment, begin, end, &options));
    let found = raised.or(py, found.map_err(|error| scan_to_py(py, error)))?;
    Ok((found.position, bytes(py, &found.bytes)?, found.is_truncated))
}

/// The message format of a segment's last batch, `0.7` or the magic; `None` without a batch.
#[pyfunction]
pub fn newest_message_format(py: Python<'_>, source: SegmentTuple<'_>) -> PyResult<Option<String>> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), ScanOptions::default());
    let found = py.detach(|| byte_range::newest_message_format(&segment, &options));
    let found = raised.or(py, found.map_err(|error| scan_to_py(py, error)))?;
    Ok(found.map(|format| match format {
        MessageFormat::MessageSet => "0.7".to_owned(),
        MessageFormat::Magic(magic) => magic.to_string(),
    }))
}

/// The offset of the first record with `timestamp` ms or later.
#[pyfunction]
pub fn offset_for_time(
    py: Python<'_>,
    source: PartitionTuple<'_>,
    timestamp: i64,
    log_format: &str,
    skip: bool,
    max_output_size: usize,
) -> PyResult<Option<i64>> {
    let raised = Raised::default();
    let (partition, options) = (partition(source, &raised)?, options(log_format, skip, Some(max_output_size)));
    let found = py.detach(|| lookup::offset_for_time(&partition, timestamp, &options));
    raised.or(py, found.map_err(|error| scan_to_py(py, error)))
}

/// What a committed reader sees of a partition, and what was odd.
#[pyfunction]
pub fn find_transactions(
    py: Python<'_>,
    source: PartitionTuple<'_>,
    log_format: &str,
    skip: bool,
) -> PyResult<(Transactions, Vec<String>)> {
    let raised = Raised::default();
    let (partition, options) = (partition(source, &raised)?, options(log_format, skip, None));
    let found = py.detach(|| transaction_filter(&partition, &options));
    let (filter, warnings) = raised.or(py, found.map_err(|error| scan_to_py(py, error)))?;
    let mut aborted: Vec<_> =
        filter.aborted().map(|(producer_id, range)| (producer_id, range.first_offset, range.last_offset)).collect();
    aborted.sort_unstable();
    Ok(((filter.last_stable_offset(), aborted), warnings))
}

fn partition(source: PartitionTuple<'_>, raised: &Raised) -> PyResult<Partition> {
    let found = partitions(vec![source], raised)?.pop();
    let mut partition = found.ok_or_else(|| PyValueError::new_err("no partition"))?;
    for segments in [&mut partition.segments, &mut partition.context] {
        *segments = segments.drain(..).map(|segment| interruptible(segment, raised)).collect();
    }
    Ok(partition)
}

fn options(format: &str, skip: bool, max_output_size: Option<usize>) -> ScanOptions {
    let defaults = ScanOptions::default();
    ScanOptions {
        on_error: if skip { OnError::Skip } else { OnError::Raise },
        max_output_size: max_output_size.unwrap_or(defaults.max_output_size),
        log_format: log_format_of(format),
        ..defaults
    }
}
