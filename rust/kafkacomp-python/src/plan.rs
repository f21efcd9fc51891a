//! Properties of segments that are needed to plan reading them: `kafkacomp._plan`.

use kafkacomp_arrow::lookup::log_end as ends;
use kafkacomp_arrow::lookup::split_boundaries::SplitBoundary;
use kafkacomp_arrow::lookup::{byte_range, log_format, segment_ends, splits, time};
use kafkacomp_arrow::transactions::committed::{Found, transaction_filter};
use kafkacomp_arrow::{OnError, Partition, ScanOptions};
use kafkacomp_log::{AbortedRange, LogFormat};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::bytes::bytes;
use crate::error::scan_to_py;
use crate::file_object::Raised;
use crate::interrupt::interruptible;
use crate::segment::{PartitionFields, SegmentFields, partition, segment};
use crate::value::{PackageClass, list, value_methods};

static SPLIT: PackageClass = PackageClass::new("kafkacomp._storage.partition", "Split");
static SPLIT_BOUNDARY: PackageClass = PackageClass::new("kafkacomp._storage.partition", "SplitBoundary");
static ABORTED_RANGE: PackageClass = PackageClass::new("kafkacomp._storage.partition", "AbortedRange");
static TRANSACTIONS: PackageClass = PackageClass::new("kafkacomp._storage.partition", "Transactions");

/// Divides a segment into splits of about `split_bytes`, each with the batch at its beginning.
#[pyfunction]
pub fn split_segment<'py>(
    py: Python<'py>,
    source: SegmentFields<'_>,
    split_bytes: u64,
    log_format: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), options(log_format, false, None));
    let splits = py.detach(|| splits::split(&segment, split_bytes, &options));
    let splits = raised.or(py, splits.map_err(|error| scan_to_py(py, error)))?;
    let known = |SplitBoundary { offset, size, first_offset }: SplitBoundary| {
        SPLIT_BOUNDARY.make(py, (offset, size, first_offset))
    };
    let split = |(start, stop, boundary): (u64, u64, Option<SplitBoundary>)| {
        SPLIT.make(py, (start, stop, boundary.map(known).transpose()?))
    };
    splits.into_iter().map(split).collect()
}

/// Whether a segment is of Kafka 0.7.
#[pyfunction]
pub fn is_message_set(py: Python<'_>, source: SegmentFields<'_>) -> PyResult<bool> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), ScanOptions::default());
    let found = py.detach(|| log_format::of_segment(&segment, &options)).map_err(|error| scan_to_py(py, error));
    raised.or(py, found).map(|log_format| log_format == LogFormat::MessageSet)
}

/// The end offset of a segment; `None` if corruption hides it.
#[pyfunction]
pub fn end_offset(py: Python<'_>, source: SegmentFields<'_>, log_format: &str) -> PyResult<Option<i64>> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), options(log_format, false, None));
    let found = py.detach(|| segment_ends::end_offset(&segment, &options)).map_err(|error| scan_to_py(py, error));
    raised.or(py, found)
}

/// The end offset of a log; `None` if corruption hides it.
#[pyfunction]
pub fn log_end(py: Python<'_>, source: PartitionFields<'_>, log_format: &str) -> PyResult<Option<i64>> {
    let raised = Raised::default();
    let (partition, options) = (whole_partition(source, &raised)?, options(log_format, false, None));
    let found = py.detach(|| ends::log_end(&partition, &options)).map_err(|error| scan_to_py(py, error));
    raised.or(py, found)
}

/// The first offset of a log and the one after its last, by the batches of all files; `None` if there are none.
#[pyfunction]
pub fn judged_span(py: Python<'_>, source: PartitionFields<'_>, log_format: &str) -> PyResult<Option<(i64, i64)>> {
    let raised = Raised::default();
    let (partition, options) = (whole_partition(source, &raised)?, options(log_format, false, None));
    let found = py.detach(|| ends::judged_span(&partition, &options)).map_err(|error| scan_to_py(py, error));
    raised.or(py, found)
}

/// Where the log continues after a batch whose header states offsets that end before `end`, if it has other ones; `None` if there is none.
#[pyfunction]
pub fn continues_at(py: Python<'_>, source: PartitionFields<'_>, end: i64, log_format: &str) -> PyResult<Option<i64>> {
    let raised = Raised::default();
    let (partition, options) = (whole_partition(source, &raised)?, options(log_format, false, None));
    let found = py.detach(|| ends::continues_at(&partition, end, &options)).map_err(|error| scan_to_py(py, error));
    raised.or(py, found)
}

/// The offset above `end` that a log had reached; `None` if nothing shows one.
#[pyfunction]
pub fn reached_end(py: Python<'_>, source: PartitionFields<'_>, end: i64) -> PyResult<Option<i64>> {
    let raised = Raised::default();
    let partition = whole_partition(source, &raised)?;
    let found = py
        .detach(|| ends::reached_end(&partition, end, &ScanOptions::default()))
        .map_err(|error| scan_to_py(py, error));
    raised.or(py, found)
}

/// The batches, or messages of Kafka 0.7, that begin in a range of bytes.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all)]
pub struct ByteRange {
    /// Where the first one begins.
    position: u64,
    /// Their bytes.
    data: Py<PyBytes>,
    /// Whether the segment ends within another one.
    is_truncated: bool,
}

value_methods!(ByteRange { position, data, is_truncated });

/// The batches, or messages of Kafka 0.7, that begin in a range of bytes.
#[pyfunction]
pub fn read_range(py: Python<'_>, source: SegmentFields<'_>, begin: u64, end: u64) -> PyResult<ByteRange> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), ScanOptions::default());
    let found = py.detach(|| byte_range::read_range(&segment, begin, end, &options));
    let found = raised.or(py, found.map_err(|error| scan_to_py(py, error)))?;
    let data = bytes(py, &found.bytes)?.unbind();
    Ok(ByteRange { position: found.position, data, is_truncated: found.is_truncated })
}

/// The message format of a segment's last batch, `0.7` or the magic; `None` without a batch.
#[pyfunction]
pub fn newest_message_format(py: Python<'_>, source: SegmentFields<'_>) -> PyResult<Option<String>> {
    let raised = Raised::default();
    let (segment, options) = (interruptible(segment(source, &raised)?, &raised), ScanOptions::default());
    let found = py.detach(|| byte_range::newest_message_format(&segment, &options));
    let found = raised.or(py, found.map_err(|error| scan_to_py(py, error)))?;
    Ok(found.map(|format| format.to_string()))
}

/// The offset of the first record with `timestamp` ms or later.
#[pyfunction]
pub fn offset_for_time(
    py: Python<'_>,
    source: PartitionFields<'_>,
    timestamp: i64,
    log_format: &str,
    skip: bool,
    max_output_size: usize,
) -> PyResult<Option<i64>> {
    let raised = Raised::default();
    let (partition, options) = (whole_partition(source, &raised)?, options(log_format, skip, Some(max_output_size)));
    let found = py.detach(|| time::offset_for_time(&partition, timestamp, &options));
    raised.or(py, found.map_err(|error| scan_to_py(py, error)))
}

/// Finds the transactions of a partition for a committed reader.
#[pyfunction]
pub fn find_transactions(
    py: Python<'_>,
    source: PartitionFields<'_>,
    log_format: &str,
    skip: bool,
) -> PyResult<FoundTransactions> {
    let raised = Raised::default();
    let (partition, options) = (whole_partition(source, &raised)?, options(log_format, skip, None));
    let found = py.detach(|| transaction_filter(&partition, &options));
    let Found { filter, warnings, .. } = raised.or(py, found.map_err(|error| scan_to_py(py, error)))?;
    let aborted = aborted_ranges(py, filter.aborted())?;
    let transactions = TRANSACTIONS.make(py, (filter.last_stable_offset(), aborted))?.unbind();
    Ok(FoundTransactions { transactions, warnings })
}

/// The transactions of a partition, and warnings.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all)]
pub struct FoundTransactions {
    /// A `Transactions`.
    transactions: Py<PyAny>,
    /// Warnings, such as about the marker of a transaction whose beginning is missing.
    warnings: Vec<String>,
}

value_methods!(FoundTransactions { transactions, warnings });

/// Aborted transactions as `AbortedRange` objects, in order.
///
/// # Errors
/// Those of the import, or `MemoryError`.
pub fn aborted_ranges(py: Python<'_>, found: impl Iterator<Item = (i64, AbortedRange)>) -> PyResult<Bound<'_, PyList>> {
    let object = |(producer_id, range): (i64, AbortedRange)| {
        ABORTED_RANGE.make(py, (producer_id, range.first_offset, range.last_offset))
    };
    list(py, found.map(object))
}

fn whole_partition(source: PartitionFields<'_>, raised: &Raised) -> PyResult<Partition> {
    let mut partition = partition(source, raised)?;
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
        log_format: LogFormat::for_name(format),
        ..defaults
    }
}
