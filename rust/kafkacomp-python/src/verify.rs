//! Verifying partitions: `kafkacomp.log.verify_partition`; detecting log formats.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kafkacomp_arrow::source::watched::Watched;
use kafkacomp_log::map::OffsetRange;
use kafkacomp_log::{
    self, Compaction, FileToVerify, LeaderEpochEntry, LogFormat, MissingRange, OpenSegment, ReadAt, ReadError,
    VerifyError, VerifyOptions,
};
use kafkacomp_records::CompressionType;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::error::{log_to_py, read_to_py};
use crate::file_object::Raised;
use crate::interrupt::{interruptible_source, stoppable};
use crate::job::missing_range;
use crate::progress::Progress;
use crate::segment::{Name, ReachedFields, SegmentFields, segment, segment_files};
use crate::summary::{counts_to_py, open_to_py};
use crate::value::PackageClass;

static SEGMENT_REPORT: PackageClass = PackageClass::new("kafkacomp.log._verify", "SegmentReport");
static CODEC_COUNTS: PackageClass = PackageClass::new("kafkacomp.log._verify", "CodecCounts");
static FINDING: PackageClass = PackageClass::new("kafkacomp.log._verify", "Finding");

/// Suffixes of files that a broker ends with a complete batch; a captured record set may be truncated.
const WHOLE: [&str; 3] = [".log", ".checkpoint", ".kafka"];
/// `errno` of a file that does not exist, and of bytes that the storage cannot read.
const UNREAD: [i32; 2] = [2, 5];

/// The log format of a path, bytes or an opened segment by its content: `0.7` or `0.8+`; `None` if the content does not decide.
#[pyfunction]
pub fn format_of_content(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let raised = Raised::default();
    let (name, source) = open(source, &raised)?;
    let found = py.detach(|| {
        let length = source.length().map_err(ReadError::Io)?;
        LogFormat::of_named_content(&source, length, &name)
    });
    let log_format = raised.or(py, found.map_err(|error| read_to_py(py, &name, error)))?;
    Ok(log_format.map(LogFormat::name))
}

/// A path, bytes, or an object with `open_segment() -> file` and `name`: its name and its content, of which Ctrl-C interrupts the
/// reading.
fn open(source: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<(String, Watched)> {
    let py = source.py();
    let files: Arc<dyn OpenSegment> = segment_files(source.clone(), raised)?;
    let name = match source.getattr_opt("name")? {
        _ if source.is_instance_of::<PyString>() => source.extract::<Name>()?.into_string(),
        Some(name) => name.extract::<Name>()?.into_string(),
        None => "<bytes>".to_owned(),
    };
    let opened = files.open().map_err(|error| read_to_py(py, &name, ReadError::Io(error)));
    let content = interruptible_source(raised.or(py, opened)?, raised);
    Ok((name, content))
}

/// A `PartitionToVerify` of `kafkacomp.log._verify`.
#[derive(FromPyObject)]
pub struct PartitionFields<'py> {
    topic: Option<String>,
    partition: Option<i32>,
    segments: Vec<Bound<'py, PyAny>>,
    bounds: Vec<i64>,
    log_format: Option<Format>,
    cleaned_to: Option<i64>,
    leader_epochs: Vec<EpochFields>,
    reached: ReachedFields,
    log_start_offset: Option<i64>,
    max_output_size: usize,
    threads: usize,
    leaves_out_unread: bool,
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

/// What was found in a partition.
#[pyclass(frozen, module = "kafkacomp._kafkacomp")]
pub struct VerifiedPartition {
    owner: (Option<String>, Option<i32>),
    /// The paths of the segments, which need not be Unicode.
    names: Vec<Py<PyString>>,
    found: kafkacomp_log::VerifiedPartition,
    /// The segments that cannot be read, by their indexes: `str`.
    #[pyo3(get)]
    unread: Vec<(usize, String)>,
    /// The `SegmentReport` of each other segment, with its index.
    #[pyo3(get)]
    segments: Vec<(usize, Py<PyAny>)>,
    /// The indexes of the segments that were read.
    read: Vec<usize>,
}

/// `MissingRange` objects, and a `Finding` with the index of its segment.
type Gaps<'py> = (Bound<'py, PyTuple>, Option<(usize, Bound<'py, PyAny>)>);

#[pymethods]
impl VerifiedPartition {
    /// The offsets that no segment has: `MissingRange` objects.
    #[getter]
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.ranges(py, &self.found.missing)
    }

    /// The number of further ranges.
    #[getter]
    fn more_missing(&self) -> u64 {
        self.found.more_missing
    }

    /// The number of offsets that at least one segment has.
    #[getter]
    fn covered_offsets_count(&self) -> u64 {
        self.found.covered_offsets
    }

    /// What is missing, and the one error about gaps that are not among the known offsets, with the index of its segment; each range of
    /// known offsets from the first to the last. `hint` says what would show that a gap is no loss.
    #[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
    fn gaps<'py>(&self, py: Python<'py>, known: Vec<(i64, i64)>, hint: Option<&str>) -> PyResult<Gaps<'py>> {
        let (missing, gap) = self.found.gaps(&known, hint);
        let gap = gap.map(|(index, each)| Ok::<_, PyErr>((self.index(index), finding(py, &each)?))).transpose()?;
        Ok((self.ranges(py, &missing)?, gap))
    }
}

impl VerifiedPartition {
    fn index(&self, read: usize) -> usize {
        self.read.get(read).copied().unwrap_or_default()
    }

    fn ranges<'py>(&self, py: Python<'py>, missing: &[(usize, MissingRange)]) -> PyResult<Bound<'py, PyTuple>> {
        let owner = (self.owner.0.as_deref(), self.owner.1);
        let ranges = missing
            .iter()
            .filter_map(|&(index, range)| Some((self.names.get(self.index(index))?, range)))
            .map(|(name, range)| missing_range(py, owner, name.bind(py), range));
        PyTuple::new(py, ranges.collect::<PyResult<Vec<_>>>()?)
    }
}

/// Verifies a partition. Calls `progress` with the number of bytes done since its last call.
#[pyfunction]
pub fn verify_partition(
    py: Python<'_>,
    partition: PartitionFields<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<VerifiedPartition> {
    let raised = Raised::default();
    let PartitionFields { topic, partition: number, segments, mut bounds, log_format, leader_epochs, .. } = partition;
    let mut names = Vec::with_capacity(segments.len());
    let mut read: Vec<usize> = (0..segments.len()).collect();
    let mut files = Vec::with_capacity(segments.len());
    let stopped = Arc::default();
    for each in &segments {
        names.push(each.getattr("name")?.cast_into::<PyString>()?.unbind());
        files.push(file(each.extract()?, log_format, (&raised, &stopped))?);
    }
    let leader_epochs: Vec<_> = leader_epochs
        .iter()
        .map(|&EpochFields { epoch, start_offset }| LeaderEpochEntry { epoch, start_offset })
        .collect();
    let progress = Progress::new(progress);
    let mut unread = Vec::new();
    let found = loop {
        let options = VerifyOptions {
            bounds: &bounds,
            compaction: Compaction::of(topic.as_deref(), partition.cleaned_to),
            leader_epochs: &leader_epochs,
            reached: partition.reached.into(),
            log_start_offset: partition.log_start_offset.unwrap_or(i64::MIN),
            max_output_size: partition.max_output_size,
            threads: partition.threads,
        };
        let verified = py.detach(|| {
            kafkacomp_log::verify_partition(&files, &options, &mut |done| {
                let reported = progress.report(done);
                // Signals arrive on this thread, and others read the files.
                stopped.fetch_or(reported.is_break(), Ordering::Relaxed);
                reported
            })
        });
        let (at, error) = match verified {
            Ok(ControlFlow::Continue(found)) => break found,
            Ok(ControlFlow::Break(error)) => return Err(error),
            Err(failed) => failed,
        };
        let name = files.get(at).map_or_else(|| Arc::from(""), |file| Arc::clone(&file.name));
        let error = raised.or::<()>(py, Err(verify_to_py(py, error, &name))).err();
        let Some(error) = error else { continue };
        let index = read.get(at).copied().unwrap_or_default();
        let is_object = segments.get(index).is_some_and(|each| is_remote(each).unwrap_or(false));
        match reason_unread(py, &error).filter(|_| partition.leaves_out_unread && is_object) {
            Some(reason) => {
                unread.push((index, reason));
                read.remove(at);
                bounds.extend(files.remove(at).base_offset);
            }
            None => return Err(error),
        }
    };
    let owner = (topic, number);
    let mut reports = Vec::with_capacity(read.len());
    for (&index, report) in read.iter().zip(&found.reports) {
        let name = names.get(index).map(|name| name.bind(py));
        let owner = (owner.0.as_deref(), owner.1);
        reports.push((index, segment_report(py, owner, name, report)?.unbind()));
    }
    Ok(VerifiedPartition { owner, names, found, unread, segments: reports, read })
}

/// A `Segment` of `kafkacomp._storage.partition`, to be verified.
fn file(
    fields: SegmentFields<'_>,
    log_format: Option<Format>,
    (raised, stopped): (&Raised, &Arc<AtomicBool>),
) -> PyResult<FileToVerify> {
    let found = stoppable(segment(fields, raised)?, raised, stopped);
    let name = found.name.strip_suffix(".swap").unwrap_or(&found.name);
    let is_checkpoint = name.ends_with(".checkpoint");
    Ok(FileToVerify {
        base_offset: found.base_offset,
        // Snapshots of the metadata log are younger than Kafka 0.7.
        log_format: if is_checkpoint { Some(LogFormat::Records) } else { log_format.map(|given| given.0) },
        may_be_truncated: !WHOLE.iter().any(|suffix| name.ends_with(suffix)),
        valid: found.offsets.and_then(|(first, end)| OffsetRange::new(first, end)),
        name: found.name,
        files: found.files,
    })
}

/// Whether a segment is an object that Python opens, not a local path.
fn is_remote(segment: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!segment.getattr("source")?.is_instance_of::<PyString>())
}

/// Why a segment cannot be read, if it does not exist or its storage does not return its bytes.
fn reason_unread(py: Python<'_>, error: &PyErr) -> Option<String> {
    let value = error.value(py);
    let errno: i32 = value.getattr("errno").ok()?.extract().ok()?;
    if !error.is_instance_of::<PyOSError>(py) || !UNREAD.contains(&errno) {
        return None;
    }
    let text = value.getattr("strerror").ok().and_then(|text| text.extract::<String>().ok());
    text.or_else(|| Some(value.str().ok()?.to_string()))
}

fn verify_to_py(py: Python<'_>, error: VerifyError, name: &str) -> PyErr {
    match error {
        VerifyError::Log(error) => log_to_py(py, error, Some(name)),
        VerifyError::UndecidedFormat => {
            let undecided = py.import("kafkacomp._log_format").and_then(|module| module.getattr("undecided"));
            undecided.and_then(|undecided| undecided.call1((name,))).map_or_else(|error| error, PyErr::from_value)
        }
    }
}

fn finding<'py>(py: Python<'py>, found: &kafkacomp_log::Finding) -> PyResult<Bound<'py, PyAny>> {
    let (first, last) = found.missing.unzip();
    let file = found.file.suffix();
    FINDING.make(py, (file, found.position, found.is_error, found.message.as_str(), first, last, found.is_gap))
}

fn segment_report<'py>(
    py: Python<'py>,
    owner: (Option<&str>, Option<i32>),
    name: Option<&Bound<'py, PyString>>,
    report: &kafkacomp_log::SegmentReport,
) -> PyResult<Bound<'py, PyAny>> {
    let codecs = PyDict::new(py);
    for (compression_type, counts) in CompressionType::ALL.iter().zip(&report.by_compression_type) {
        if counts.batches > 0 {
            let counts = (counts.batches, counts.records, counts.stored_bytes, counts.records_bytes);
            codecs.set_item(compression_type.name(), CODEC_COUNTS.make(py, counts)?)?;
        }
    }
    let missing = report.missing.iter().map(|range| missing_range(py, owner, name, *range));
    let missing = PyTuple::new(py, missing.collect::<PyResult<Vec<_>>>()?)?;
    let findings = report.findings.iter().map(|each| finding(py, each));
    let findings = PyTuple::new(py, findings.collect::<PyResult<Vec<_>>>()?)?;
    let open = open_to_py(py, report.open_transactions.in_order())?;
    let fields = PyDict::new(py);
    fields.set_item("_open_transactions", open)?;
    fields.set_item("_ended_transactions", Vec::from_iter(report.open_transactions.ended()))?;
    fields.set_item("_last_message", report.last_message)?;
    fields.set_item("is_truncated", report.is_truncated)?;
    fields.set_item("by_compression_type", codecs)?;
    fields.set_item("counts", counts_to_py(py, &report.counts)?)?;
    fields.set_item("control_records", report.control_records)?;
    fields.set_item("is_exact", report.is_exact)?;
    fields.set_item("length", report.length)?;
    fields.set_item("corrupt_batches", report.corrupt_batches)?;
    fields.set_item("repeated_batches", report.repeated_batches)?;
    fields.set_item("unreadable_bytes", report.unreadable_bytes)?;
    fields.set_item("zero_tail_bytes", report.zero_tail_bytes)?;
    fields.set_item("first_offset", report.first_offset)?;
    fields.set_item("last_offset", report.last_offset)?;
    fields.set_item("first_timestamp", report.times.first())?;
    fields.set_item("last_timestamp", report.times.last())?;
    fields.set_item("missing", missing)?;
    fields.set_item("more_missing", report.more_missing)?;
    fields.set_item("is_compacted", report.is_compacted)?;
    fields.set_item("first_leader_epoch", report.first_leader_epoch)?;
    fields.set_item("last_leader_epoch", report.last_leader_epoch)?;
    fields.set_item("findings", findings)?;
    fields.set_item("more_findings", report.more_findings)?;
    fields.set_item("errors", report.errors)?;
    fields.set_item("warnings", report.warnings)?;
    SEGMENT_REPORT.make_with(&fields)
}
