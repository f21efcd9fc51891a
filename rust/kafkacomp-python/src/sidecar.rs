//! `kafkacomp.log`: side files and control records as plain tuples, and the check of a segment.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use kafkacomp_core::CompressionType;
use kafkacomp_core::log::continuity::sequence::{FolderSegments, OtherSegments};
use kafkacomp_core::log::{
    self, InMemory, OffsetIndex, OpenSegment, PartitionMetadata, ProducerSnapshot, ReadAt, ReadError,
};
use kafkacomp_core::log::{OverlapError, SideFiles, TimeIndex, TransactionIndex, VerifyOptions};
use kafkacomp_core::record::control::{LeaderChangeVoter, Voter};
use kafkacomp_core::record::{ControlRecord, ControlRecordType};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyString};

use crate::error::{log_to_py, read_to_py, to_py};
use crate::file_object::{PySegment, Raised};
use crate::gil::call;
use crate::input::bytes_like;
use crate::interrupt::interruptible_source;

/// Runs `read` with the GIL free; `name` is the file that errors name.
fn parsed<T: Send>(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    name: Option<&str>,
    read: impl FnOnce(&[u8]) -> Result<T, log::ContentError> + Send,
) -> PyResult<T> {
    let data = bytes_like(data)?;
    py.detach(|| read(&data)).map_err(|error| to_py(py, &error, name))
}

/// Offset and position of each entry.
#[pyfunction]
pub fn read_offset_index(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    base_offset: i64,
    name: Option<&str>,
) -> PyResult<Vec<(i64, u32)>> {
    parsed(py, data, name, |data| {
        let index = OffsetIndex::parse(data, base_offset)?;
        Ok(index.iter().map(|entry| (entry.offset, entry.position)).collect())
    })
}

/// Timestamp and offset of each entry.
#[pyfunction]
pub fn read_time_index(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    base_offset: i64,
    name: Option<&str>,
) -> PyResult<Vec<(i64, i64)>> {
    parsed(py, data, name, |data| {
        let index = TimeIndex::parse(data, base_offset)?;
        Ok(index.iter().map(|entry| (entry.timestamp, entry.offset)).collect())
    })
}

/// Version, producer id, first, last and last stable offset.
type AbortedTuple = (i16, i64, i64, i64, i64);

/// The fields of each aborted transaction.
#[pyfunction]
pub fn read_transaction_index(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    base_offset: i64,
    name: Option<&str>,
) -> PyResult<Vec<AbortedTuple>> {
    parsed(py, data, name, |data| {
        let index = TransactionIndex::parse(data, base_offset)?;
        let fields =
            |t: log::AbortedTxn| (t.version, t.producer_id, t.first_offset, t.last_offset, t.last_stable_offset);
        Ok(index.iter().map(fields).collect())
    })
}

/// A producer's fields in the file's order.
type ProducerTuple = (i64, i16, i32, i64, i32, i64, i32, i64);

/// Each producer, in the order of the file's fields, and its first sequence.
#[pyfunction]
pub fn read_producer_snapshot(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    name: Option<&str>,
) -> PyResult<Vec<(ProducerTuple, i32)>> {
    parsed(py, data, name, |data| {
        let snapshot = ProducerSnapshot::parse(data)?;
        let fields = |p: &log::ProducerEntry| {
            let head = (p.producer_id, p.epoch, p.last_sequence, p.last_offset, p.offset_delta);
            let tail = (p.timestamp, p.coordinator_epoch, p.current_txn_first_offset);
            ((head.0, head.1, head.2, head.3, head.4, tail.0, tail.1, tail.2), p.first_sequence())
        };
        Ok(snapshot.producers.iter().map(fields).collect())
    })
}

/// Epoch and first offset of each entry.
#[pyfunction]
pub fn read_leader_epoch_checkpoint(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    name: Option<&str>,
) -> PyResult<Vec<(i32, i64)>> {
    parsed(py, data, name, |data| {
        let entries = log::read_leader_epoch_checkpoint(data)?;
        Ok(entries.iter().map(|entry| (entry.epoch, entry.start_offset)).collect())
    })
}

/// Topic, partition and offset of each entry.
#[pyfunction]
pub fn read_offset_checkpoint(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    name: Option<&str>,
) -> PyResult<Vec<(String, i32, i64)>> {
    parsed(py, data, name, |data| {
        let entries = log::read_offset_checkpoint(data)?;
        Ok(entries.into_iter().map(|entry| (entry.topic, entry.partition, entry.offset)).collect())
    })
}

/// Version and topic id.
#[pyfunction]
pub fn read_partition_metadata(py: Python<'_>, data: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<(i32, String)> {
    let metadata = parsed(py, data, name, PartitionMetadata::parse)?;
    Ok((metadata.version, metadata.topic_id.to_string()))
}

/// The type's name and id, and the value's fields under the names of Kafka's schemas.
#[pyfunction]
pub fn parse_control_record<'py>(
    py: Python<'py>,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> PyResult<(&'static str, i16, Bound<'py, PyDict>)> {
    let record = ControlRecord::parse(key, value).map_err(|error| to_py(py, &error, None))?;
    let kind: ControlRecordType = record.control_record_type();
    Ok((kind.name(), kind.id(), control_fields(py, &record)?))
}

fn control_fields<'py>(py: Python<'py>, record: &ControlRecord) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    match record {
        ControlRecord::EndTxnMarker { version, coordinator_epoch, .. } => {
            fields.set_item("version", version)?;
            fields.set_item("coordinatorEpoch", coordinator_epoch)?;
        }
        ControlRecord::LeaderChange(message) => {
            fields.set_item("version", message.version)?;
            fields.set_item("leaderId", message.leader_id)?;
            fields.set_item("voters", leader_change_voters(py, &message.voters)?)?;
            fields.set_item("grantingVoters", leader_change_voters(py, &message.granting_voters)?)?;
        }
        ControlRecord::SnapshotHeader { version, last_contained_log_timestamp } => {
            fields.set_item("version", version)?;
            fields.set_item("lastContainedLogTimestamp", last_contained_log_timestamp)?;
        }
        ControlRecord::SnapshotFooter { version } => fields.set_item("version", version)?,
        ControlRecord::KRaftVersion { version, kraft_version } => {
            fields.set_item("version", version)?;
            fields.set_item("kRaftVersion", kraft_version)?;
        }
        ControlRecord::KRaftVoters(record) => {
            fields.set_item("version", record.version)?;
            let voters = record.voters.iter().map(|each| voter(py, each)).collect::<PyResult<Vec<_>>>()?;
            fields.set_item("voters", voters)?;
        }
        ControlRecord::Unknown { .. } => {}
    }
    Ok(fields)
}

fn leader_change_voters<'py>(py: Python<'py>, voters: &[LeaderChangeVoter]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let one = |voter: &LeaderChangeVoter| {
        let fields = PyDict::new(py);
        fields.set_item("voterId", voter.voter_id)?;
        if let Some(id) = voter.voter_directory_id {
            fields.set_item("voterDirectoryId", id.to_string())?;
        }
        Ok(fields)
    };
    voters.iter().map(one).collect()
}

fn voter<'py>(py: Python<'py>, voter: &Voter) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("voterId", voter.voter_id)?;
    fields.set_item("voterDirectoryId", voter.voter_directory_id.to_string())?;
    let mut endpoints = Vec::new();
    for endpoint in &voter.endpoints {
        let each = PyDict::new(py);
        each.set_item("name", &endpoint.name)?;
        each.set_item("host", &endpoint.host)?;
        each.set_item("port", endpoint.port)?;
        endpoints.push(each);
    }
    fields.set_item("endpoints", endpoints)?;
    let feature = PyDict::new(py);
    feature.set_item("minSupportedVersion", voter.min_supported_version)?;
    feature.set_item("maxSupportedVersion", voter.max_supported_version)?;
    fields.set_item("kRaftVersionFeature", feature)?;
    Ok(fields)
}

/// The contents of `.index`, `.timeindex` and `.txnindex`, as far as there are any.
type Indexes = (Option<PyBackedBytes>, Option<PyBackedBytes>, Option<PyBackedBytes>);

/// Which log format a path, bytes or an opened segment are of by their content: `0.7` or `0.8+`; `None` if it does not decide.
#[pyfunction]
pub fn format_of_content(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let raised = Raised::default();
    let (name, source) = open(source, &raised)?;
    let found = py.detach(|| {
        let length = source.length().map_err(ReadError::Io)?;
        log::LogFormat::of_named_content(source.as_ref(), length, &name)
    });
    let log_format = raised.or(py, found.map_err(|error| read_to_py(py, &name, error)))?;
    Ok(log_format.map(|log_format| match log_format {
        log::LogFormat::MessageSet => "0.7",
        log::LogFormat::Records => "0.8+",
    }))
}

/// A path, bytes, or an object with `open_segment() -> file` and `name`; and its name. Ctrl-C interrupts reading it.
fn open(source: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<(String, Box<dyn ReadAt>)> {
    let py = source.py();
    let failed = |name: &str, error| read_to_py(py, name, ReadError::Io(error));
    let (name, file): (String, Arc<dyn ReadAt>) = if source.is_instance_of::<PyString>() {
        let path = source.extract::<PathBuf>()?;
        let name = path.to_string_lossy().into_owned();
        let file = log::open_file(&path).map_err(|error| failed(&name, error))?;
        (name, Arc::new(file))
    } else if source.hasattr("open_segment")? {
        let name = source.getattr("name")?.extract::<String>()?;
        let opened = PySegment::new(source.clone().unbind(), raised).open();
        let file = raised.or(py, opened.map_err(|error| failed(&name, error)))?;
        (name, file)
    } else {
        ("<bytes>".to_owned(), Arc::new(InMemory(bytes_like(source)?)))
    };
    Ok((name, Box::new(interruptible_source(file, raised))))
}

/// A segment's base offset, the next segment's, and the entries of the leader epoch checkpoint.
type Bounds = (Option<i64>, Option<i64>, Vec<(i32, i64)>);

/// Checks a segment: a path, bytes, or what opens it; its place in the partition; the contents of its indexes; whether its end may be
/// truncated, and whether it is of Kafka 0.7. `progress(bytes_done)`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
pub fn verify_segment<'py>(
    py: Python<'py>,
    source: &Bound<'_, PyAny>,
    bounds: Bounds,
    indexes: Indexes,
    max_output_size: usize,
    kind: (bool, bool),
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let raised = Raised::default();
    let is_local = source.is_instance_of::<PyString>();
    let (name, source) = open(source, &raised)?;
    let (may_be_truncated, is_message_set) = kind;
    let (base_offset, next_base_offset, epochs) = bounds;
    let side_files = side_files(&indexes);
    let leader_epochs: Vec<_> =
        epochs.into_iter().map(|(epoch, start_offset)| log::LeaderEpochEntry { epoch, start_offset }).collect();
    let others = base_offset.filter(|_| is_local).map(|_| FolderSegments(PathBuf::from(&name)));
    let options = VerifyOptions {
        base_offset,
        next_base_offset,
        leader_epochs: &leader_epochs,
        max_output_size,
        may_be_truncated,
        others: others.as_ref().map(|others| others as &dyn OtherSegments),
    };
    let mut tell = |done: u64| tell(progress.as_ref(), done).map_or_else(ControlFlow::Break, ControlFlow::Continue);
    let report = py.detach(|| {
        if is_message_set {
            log::verify_message_set(source.as_ref(), options, &mut tell)
        } else {
            log::verify_segment(source.as_ref(), side_files, options, &mut tell)
        }
    });
    match report {
        Ok(ControlFlow::Continue(report)) => report_dict(py, &report),
        Ok(ControlFlow::Break(error)) => Err(error),
        Err(error) => raised.or(py, Err(log_to_py(py, error, Some(&name)))),
    }
}

/// The least offset from `first_offset` to `last_offset` at which two segment files have different records.
#[pyfunction]
pub fn compare_segments(
    py: Python<'_>,
    earlier: &Bound<'_, PyAny>,
    later: &Bound<'_, PyAny>,
    first_offset: i64,
    last_offset: i64,
    max_output_size: usize,
) -> PyResult<Option<i64>> {
    let raised = Raised::default();
    let ((earlier_name, earlier), (later_name, later)) = (open(earlier, &raised)?, open(later, &raised)?);
    let compared = py
        .detach(|| log::compare_overlap(earlier.as_ref(), later.as_ref(), first_offset, last_offset, max_output_size));
    let (name, error) = match compared {
        Ok(found) => return Ok(found),
        Err(OverlapError::Earlier(error)) => (earlier_name, error),
        Err(OverlapError::Later(error)) => (later_name, error),
    };
    raised.or(py, Err(log_to_py(py, error, Some(&name))))
}

fn side_files(indexes: &Indexes) -> SideFiles<'_> {
    SideFiles {
        offset_index: indexes.0.as_deref(),
        time_index: indexes.1.as_deref(),
        transaction_index: indexes.2.as_deref(),
    }
}

/// Tells how far the work is, and whether somebody wants it to end.
fn tell(progress: Option<&Py<PyAny>>, done: u64) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        progress.map_or(Ok(()), |progress| call(progress.bind(py), (done,)).map(drop))
    })
}

fn report_dict<'py>(py: Python<'py>, report: &log::SegmentReport) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    let codecs = PyDict::new(py);
    for (kind, counts) in CompressionType::ALL.iter().zip(&report.by_compression_type) {
        if counts.batches > 0 {
            let counts = (counts.batches, counts.records, counts.stored_bytes, counts.records_bytes);
            codecs.set_item(kind.name(), counts)?;
        }
    }
    fields.set_item("by_compression_type", codecs)?;
    fields.set_item("length", report.length)?;
    fields.set_item("corrupt_batches", report.corrupt_batches)?;
    fields.set_item("repeated_batches", report.repeated_batches)?;
    fields.set_item("unreadable_bytes", report.unreadable_bytes)?;
    fields.set_item("zero_tail_bytes", report.zero_tail_bytes)?;
    fields.set_item("first_offset", report.first_offset)?;
    fields.set_item("last_offset", report.last_offset)?;
    let missing = report.missing.ranges().iter();
    let missing = missing.map(|range| (range.first_offset, range.last_offset, range.reason.name()));
    fields.set_item("missing", missing.collect::<Vec<_>>())?;
    fields.set_item("more_missing", report.missing.more())?;
    fields.set_item("is_compacted", report.is_compacted)?;
    fields.set_item("first_leader_epoch", report.first_leader_epoch)?;
    fields.set_item("last_leader_epoch", report.last_leader_epoch)?;
    let findings = report.findings.iter().map(|f| {
        let (first, last) = f.missing.unzip();
        (f.file.suffix(), f.position, f.is_error, f.message.as_str(), first, last, f.is_gap)
    });
    fields.set_item("findings", findings.collect::<Vec<_>>())?;
    fields.set_item("more_findings", report.more_findings)?;
    fields.set_item("errors", report.errors)?;
    fields.set_item("warnings", report.warnings)?;
    Ok(fields)
}
