//! What the segments of a partition contain, by the headers of their batches: `kafkacomp.log._info`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kafkacomp_arrow::log_format::log_format_of;
use kafkacomp_arrow::report::ScanError;
use kafkacomp_arrow::{ScanOptions, Segment};
use kafkacomp_core::CompressionType;
use kafkacomp_core::log::{
    BatchCounts, BatchFormat, LogFormat, OpenTransaction, OpenTransactions, ReadAt, ReadError, SegmentSummary,
    Summarizer,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::scan_to_py;
use crate::file_object::Raised;
use crate::gil::call;
use crate::interrupt::interruptible;
use crate::job::missing_range;
use crate::segment::{PartitionFields, partition};
use crate::value::PackageClass;

static SUMMARY: PackageClass = PackageClass::new("kafkacomp.log._info", "SegmentSummary");
static COUNTS: PackageClass = PackageClass::new("kafkacomp.log._info", "BatchCounts");
static TRANSACTION: PackageClass = PackageClass::new("kafkacomp.log._info", "OpenTransaction");

/// Objects of Python.
type Objects<'py> = Vec<Bound<'py, PyAny>>;

/// Summarizes each segment of a partition, in order: `SegmentSummary` objects, or the exception of a segment that cannot be read;
/// and the transactions that are open at the end. `progress(bytes)` is called after each segment with its length.
#[pyfunction]
pub fn summarize_partition<'py>(
    py: Python<'py>,
    source: PartitionFields<'_>,
    log_format: &str,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Objects<'py>, Objects<'py>)> {
    let raised = Raised::default();
    let found = partition(source, &raised)?;
    let owner = (found.topic.clone(), found.partition);
    let options = ScanOptions { log_format: crate::scan::log_format(log_format), ..ScanOptions::default() };
    let mut transactions = OpenTransactions::new();
    let mut summaries = Vec::new();
    for segment in found.segments {
        let segment = interruptible(segment, &raised);
        let summarized = py.detach(|| summarize(&segment, &options, &mut transactions));
        let made = match summarized {
            Ok((summary, bytes_read)) => {
                let length = summary.length;
                let made = summary_to_py(py, &segment.name, &owner, &summary, bytes_read)?;
                if let Some(progress) = progress {
                    call(progress, (length,))?;
                }
                made
            }
            // What the file system says is about this segment; an interrupt ends the work.
            Err(error) => match raised.or::<()>(py, Err(scan_to_py(py, error))) {
                Err(error) if is_about_the_segment(py, &error) => error.into_value(py).into_bound(py).into_any(),
                Err(error) => return Err(error),
                Ok(()) => continue,
            },
        };
        summaries.push(made);
    }
    let mut open: Vec<_> = transactions.into_iter().collect();
    open.sort_unstable_by_key(|(producer_id, each)| (each.first_offset, *producer_id));
    let open = open.into_iter().map(|(producer_id, each)| {
        let OpenTransaction { producer_epoch, first_offset, last_offset, first_timestamp, records } = each;
        let first_timestamp = timestamp(first_timestamp);
        TRANSACTION.make(py, (producer_id, producer_epoch, first_offset, last_offset, first_timestamp, records))
    });
    Ok((summaries, open.collect::<PyResult<_>>()?))
}

/// Whether an exception is what the file system or the content of a segment says; others end the work.
fn is_about_the_segment(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyOSError>(py) || error.is_instance_of::<PyValueError>(py)
}

fn timestamp(found: i64) -> Option<i64> {
    (found >= 0).then_some(found)
}

fn summarize(
    segment: &Segment,
    options: &ScanOptions,
    transactions: &mut OpenTransactions,
) -> Result<(SegmentSummary, u64), ScanError> {
    let io = |error| failed(segment, ReadError::Io(error));
    let source = Counted { source: segment.files.open().map_err(io)?, bytes: AtomicU64::new(0) };
    let length = source.length().map_err(io)?;
    let log_format = log_format_of(segment, &source, length, options)?;
    let summarizer = Summarizer::new(segment.base_offset, segment.offsets, transactions);
    let summary = match log_format {
        LogFormat::MessageSet => summarizer.messages(&source),
        LogFormat::Records => summarizer.batches(&source),
    };
    let summary = summary.map_err(|error| failed(segment, error))?;
    Ok((summary, source.bytes.load(Ordering::Relaxed)))
}

/// The error of a segment that cannot be read.
fn failed(segment: &Segment, error: ReadError) -> ScanError {
    let segment = Arc::clone(&segment.name);
    match error {
        ReadError::Io(error) => ScanError::Io { segment, error },
        ReadError::Shrunk { length, expected } => ScanError::Shrunk { segment, length, expected },
    }
}

/// Counts the bytes that are read.
struct Counted {
    source: Arc<dyn ReadAt>,
    bytes: AtomicU64,
}

impl ReadAt for Counted {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
        let read = self.source.read_at(buffer, position)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.source.as_slice()
    }

    fn worth_reading(&self) -> usize {
        self.source.worth_reading()
    }

    fn is_remote(&self) -> bool {
        self.source.is_remote()
    }

    fn chunk_size(&self) -> u64 {
        self.source.chunk_size()
    }

    fn check_interrupt(&self) -> std::io::Result<()> {
        self.source.check_interrupt()
    }

    fn length(&self) -> std::io::Result<u64> {
        self.source.length()
    }
}

fn summary_to_py<'py>(
    py: Python<'py>,
    name: &str,
    (topic, partition): &(Option<Arc<str>>, Option<i32>),
    summary: &SegmentSummary,
    bytes_read: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let missing = summary.missing.ranges().iter();
    let missing: Vec<_> = missing
        .map(|range| missing_range(py, (topic.as_deref(), *partition), name, *range))
        .collect::<PyResult<_>>()?;
    let counts: Vec<_> =
        summary.counts.iter().map(|(format, counts)| counts_to_py(py, *format, *counts)).collect::<PyResult<_>>()?;
    let fields = PyDict::new(py);
    fields.set_item("length", summary.length)?;
    fields.set_item("bytes_read", bytes_read)?;
    fields.set_item("counts", counts)?;
    fields.set_item("control_records", summary.control_records)?;
    fields.set_item("is_exact", summary.is_exact)?;
    fields.set_item("first_offset", summary.first_offset)?;
    fields.set_item("last_offset", summary.last_offset)?;
    fields.set_item("first_timestamp", summary.first_timestamp)?;
    fields.set_item("last_timestamp", summary.last_timestamp)?;
    fields.set_item("missing", missing)?;
    fields.set_item("more_missing", summary.missing.more())?;
    fields.set_item("is_compacted", summary.is_compacted)?;
    fields.set_item("repeated_batches", summary.repeated_batches)?;
    fields.set_item("corrupt_ranges", summary.corrupt_ranges)?;
    fields.set_item("corrupt_bytes", summary.corrupt_bytes)?;
    fields.set_item("is_truncated", summary.is_truncated)?;
    fields.set_item("zero_tail_bytes", summary.zero_tail_bytes)?;
    SUMMARY.make_with(&fields)
}

fn counts_to_py(py: Python<'_>, format: BatchFormat, counts: BatchCounts) -> PyResult<Bound<'_, PyAny>> {
    let codec = CompressionType::for_id(format.compression_id)
        .map_or_else(|| format!("unknown({})", format.compression_id), |kind| kind.name().to_owned());
    let message_format = format.magic.map_or_else(|| "0.7".to_owned(), |magic| magic.to_string());
    let BatchCounts { batches, records, stored_bytes } = counts;
    COUNTS.make(py, (message_format, codec, batches, records, stored_bytes))
}
