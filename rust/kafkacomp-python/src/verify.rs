//! Verifying a segment: `kafkacomp.log.verify_segment`; detecting log formats, and comparing segments that overlap.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use kafkacomp_arrow::source::watched::Watched;
use kafkacomp_core::CompressionType;
use kafkacomp_core::log::{
    self, Compaction, LeaderEpochEntry, LogFormat, OpenSegment, OverlapError, OverlappingFile, ReadAt, ReadError,
    SideFiles, VerifyOptions,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::error::{log_to_py, read_to_py};
use crate::file_object::Raised;
use crate::interrupt::interruptible_source;
use crate::job::missing_range;
use crate::progress::Progress;
use crate::segment::{Name, segment_files};
use crate::summary::{counts_to_py, open_to_py};
use crate::value::PackageClass;

static SEGMENT_REPORT: PackageClass = PackageClass::new("kafkacomp.log._verify", "SegmentReport");
static CODEC_COUNTS: PackageClass = PackageClass::new("kafkacomp.log._verify", "CodecCounts");
static SEGMENT_TRANSACTIONS: PackageClass = PackageClass::new("kafkacomp.log._verify", "SegmentTransactions");
static FINDING: PackageClass = PackageClass::new("kafkacomp.log._verify", "Finding");

/// The log format of a path, bytes or an opened segment by its content: `0.7` or `0.8+`; `None` if the content does not decide.
#[pyfunction]
pub fn format_of_content(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let raised = Raised::default();
    let (name, _, source) = open(source, &raised)?;
    let found = py.detach(|| {
        let length = source.length().map_err(ReadError::Io)?;
        LogFormat::of_named_content(&source, length, &name)
    });
    let log_format = raised.or(py, found.map_err(|error| read_to_py(py, &name, error)))?;
    Ok(log_format.map(LogFormat::name))
}

/// A path, bytes, or an object with `open_segment() -> file` and `name`: its name, its files and its content, of which Ctrl-C
/// interrupts the reading.
fn open(source: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<(String, Arc<dyn OpenSegment>, Watched)> {
    let py = source.py();
    let files = segment_files(source.clone(), raised)?;
    let name = match source.getattr_opt("name")? {
        _ if source.is_instance_of::<PyString>() => source.extract::<Name>()?.into_string(),
        Some(name) => name.extract::<Name>()?.into_string(),
        None => "<bytes>".to_owned(),
    };
    let opened = files.open().map_err(|error| read_to_py(py, &name, ReadError::Io(error)));
    let content = interruptible_source(raised.or(py, opened)?, raised);
    Ok((name, files, content))
}

/// A `SegmentToVerify` of `kafkacomp.log._verify`.
#[derive(FromPyObject)]
pub struct SegmentFields<'py> {
    source: Bound<'py, PyAny>,
    /// A path, which need not be Unicode, or the name of bytes.
    name: Bound<'py, PyString>,
    topic: Option<String>,
    partition: Option<i32>,
    base_offset: Option<i64>,
    next_base_offset: Option<i64>,
    cleaned_to: Option<i64>,
    leader_epochs: Vec<EpochFields>,
    offset_index: Option<PyBackedBytes>,
    time_index: Option<PyBackedBytes>,
    transaction_index: Option<PyBackedBytes>,
    counted: Option<(i64, i64)>,
    may_be_truncated: bool,
    log_format: Format,
}

/// A `LogFormat` of `kafkacomp.log`.
#[derive(Clone, Copy)]
struct Format(LogFormat);

impl FromPyObject<'_, '_> for Format {
    type Error = PyErr;

    fn extract(name: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let name: String = name.extract()?;
        let found = LogFormat::for_name(&name).map(Self);
        found.ok_or_else(|| PyValueError::new_err(format!("unknown log format {name:?}")))
    }
}

/// A `kafkacomp.log.LeaderEpochEntry`.
#[derive(FromPyObject)]
struct EpochFields {
    epoch: i32,
    start_offset: i64,
}

/// The batches of a partition's segments that were searched for copies. The checks of its segments share them, so that each
/// segment is read once for all searches.
#[pyclass(frozen, module = "kafkacomp._kafkacomp")]
#[derive(Debug, Default)]
pub struct KnownBatches(log::KnownBatches);

#[pymethods]
impl KnownBatches {
    #[new]
    fn new() -> Self {
        Self::default()
    }
}

/// Verifies a segment and returns a `kafkacomp.log.SegmentReport`. Calls `progress(bytes_done)`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
pub fn verify_segment<'py>(
    py: Python<'py>,
    segment: SegmentFields<'py>,
    max_output_size: usize,
    progress: Option<Py<PyAny>>,
    known: Option<&Bound<'py, KnownBatches>>,
) -> PyResult<Bound<'py, PyAny>> {
    let known = known.map(|known| &known.get().0);
    let raised = Raised::default();
    let (name, files, source) = open(&segment.source, &raised)?;
    let others = files.others();
    let side_files = SideFiles {
        offset_index: segment.offset_index.as_deref(),
        time_index: segment.time_index.as_deref(),
        transaction_index: segment.transaction_index.as_deref(),
    };
    let epochs = segment.leader_epochs.iter();
    let leader_epochs: Vec<_> =
        epochs.map(|&EpochFields { epoch, start_offset }| LeaderEpochEntry { epoch, start_offset }).collect();
    let options = VerifyOptions {
        base_offset: segment.base_offset,
        next_base_offset: segment.next_base_offset,
        compaction: Compaction::of(segment.topic.as_deref(), segment.cleaned_to),
        leader_epochs: &leader_epochs,
        max_output_size,
        counted: segment.counted,
        may_be_truncated: segment.may_be_truncated,
        others: others.as_deref(),
        known,
    };
    let log_format = segment.log_format;
    let progress = Progress::new(progress);
    let verified =
        py.detach(|| log::verify_file(&source, log_format.0, side_files, options, &mut |done| progress.report(done)));
    match verified {
        Ok(ControlFlow::Continue(found)) => segment_report(py, &segment, &found),
        Ok(ControlFlow::Break(error)) => Err(error),
        Err(error) => raised.or(py, Err(log_to_py(py, error, Some(&name)))),
    }
}

/// The files of a partition that are compared with one another, and what was read of them.
#[pyclass(frozen, module = "kafkacomp._kafkacomp")]
#[derive(Debug, Default)]
pub struct ComparedFiles(Mutex<log::ComparedFiles>);

#[pymethods]
impl ComparedFiles {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The least offset from `first_offset` to `last_offset` at which two files have different records. Each is a number that
    /// identifies it, and its source. For files of Kafka 0.7, `positions` are the positions of their first bytes.
    fn disagreement(
        &self,
        py: Python<'_>,
        earlier: (usize, Bound<'_, PyAny>),
        later: (usize, Bound<'_, PyAny>),
        offsets: (i64, i64),
        max_output_size: usize,
        positions: Option<(i64, i64)>,
    ) -> PyResult<Option<i64>> {
        let raised = Raised::default();
        let ((one_number, earlier), (other_number, later)) = (earlier, later);
        let (earlier_name, one_files, one) = open(&earlier, &raised)?;
        let (later_name, other_files, other) = open(&later, &raised)?;
        let positions = positions.unzip();
        let one =
            OverlappingFile { number: one_number, source: &one, files: one_files.as_ref(), position: positions.0 };
        let other = OverlappingFile {
            number: other_number,
            source: &other,
            files: other_files.as_ref(),
            position: positions.1,
        };
        let compared = py.detach(|| {
            let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            log::compare_files(&mut files, one, other, offsets, max_output_size)
        });
        let (name, error) = match compared {
            Ok(found) => return Ok(found),
            Err(OverlapError::Earlier(error)) => (earlier_name, error),
            Err(OverlapError::Later(error)) => (later_name, error),
        };
        raised.or(py, Err(log_to_py(py, error, Some(&name))))
    }
}

fn segment_report<'py>(
    py: Python<'py>,
    segment: &SegmentFields<'py>,
    report: &log::SegmentReport,
) -> PyResult<Bound<'py, PyAny>> {
    let codecs = PyDict::new(py);
    for (compression_type, counts) in CompressionType::ALL.iter().zip(&report.by_compression_type) {
        if counts.batches > 0 {
            let counts = (counts.batches, counts.records, counts.stored_bytes, counts.records_bytes);
            codecs.set_item(compression_type.name(), CODEC_COUNTS.make(py, counts)?)?;
        }
    }
    let owner = (segment.topic.as_deref(), segment.partition);
    let missing = report.sequence.missing.ranges().iter().map(|range| missing_range(py, owner, &segment.name, *range));
    let missing = PyTuple::new(py, missing.collect::<PyResult<Vec<_>>>()?)?;
    let findings = report.findings.iter().map(|each| {
        let (first, last) = each.missing.unzip();
        let file = each.file.suffix();
        FINDING.make(py, (file, each.position, each.is_error, each.message.as_str(), first, last, each.is_gap))
    });
    let findings = PyTuple::new(py, findings.collect::<PyResult<Vec<_>>>()?)?;
    let transactions = &report.transactions;
    let (open, ended) = (Vec::from_iter(&transactions.open), Vec::from_iter(&transactions.ended));
    let transactions = (open, ended, transactions.is_interrupted, transactions.unlisted.clone());
    let open = open_to_py(py, report.open_transactions.in_order())?;
    let fields = PyDict::new(py);
    fields.set_item("_open_transactions", open)?;
    fields.set_item("_ended_transactions", Vec::from_iter(report.open_transactions.ended()))?;
    fields.set_item("_last_message", report.last_message)?;
    fields.set_item("is_truncated", report.is_truncated)?;
    fields.set_item("_transactions", SEGMENT_TRANSACTIONS.make(py, transactions)?)?;
    fields.set_item("by_compression_type", codecs)?;
    fields.set_item("counts", counts_to_py(py, &report.counts)?)?;
    fields.set_item("control_records", report.control_records)?;
    fields.set_item("is_exact", report.is_exact)?;
    fields.set_item("length", report.length)?;
    fields.set_item("corrupt_batches", report.corrupt_batches)?;
    fields.set_item("repeated_batches", report.repeated_batches)?;
    fields.set_item("unreadable_bytes", report.unreadable_bytes)?;
    fields.set_item("zero_tail_bytes", report.zero_tail_bytes)?;
    fields.set_item("first_offset", report.sequence.first_offset)?;
    fields.set_item("last_offset", report.sequence.last_offset)?;
    fields.set_item("first_timestamp", report.times.first())?;
    fields.set_item("last_timestamp", report.times.last())?;
    fields.set_item("missing", missing)?;
    fields.set_item("more_missing", report.sequence.missing.more())?;
    fields.set_item("is_compacted", report.sequence.is_compacted)?;
    fields.set_item("first_leader_epoch", report.sequence.first_leader_epoch)?;
    fields.set_item("last_leader_epoch", report.sequence.last_leader_epoch)?;
    fields.set_item("findings", findings)?;
    fields.set_item("more_findings", report.more_findings)?;
    fields.set_item("errors", report.errors)?;
    fields.set_item("warnings", report.warnings)?;
    SEGMENT_REPORT.make_with(&fields)
}
