//! Partitions written anew: recompressed, converted, repaired.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use kafkacomp_core::log::continuity::sequence::start_offset;
use kafkacomp_core::log::maintain::repair::{Repair, RepairReport, Repairer, first_offset};
use kafkacomp_core::log::maintain::rewrite::{ParallelRecompressor, Rewrite, SegmentRewritten, rewrite_segment};
use kafkacomp_core::log::write::{LogWriter, ProducerState, Staging, WriteOptions, WriteReport};
use kafkacomp_core::log::{
    LeaderEpochEntry, PartitionMetadata, ProducerSnapshot, ReadError, read_leader_epoch_checkpoint,
};
use kafkacomp_core::record::{ConvertOptions, Converter, Merger};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::codec::kind;
use crate::encode::{Level, compression};
use crate::error::log_to_py;
use crate::job::{Job, JobError, JobTuple, completed};
use crate::sequence::{Found, FoundTuple, SegmentJob, Tracker};

/// A folder that appears whole or not at all.
#[pyclass(module = "kafkacomp._kafkacomp")]
pub struct StagedFolder(Option<Staging>);

#[pymethods]
impl StagedFolder {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
    fn new(py: Python<'_>, target: PathBuf) -> PyResult<Self> {
        Staging::new(&target).map(|staging| Self(Some(staging))).map_err(|error| log_to_py(py, error, None))
    }

    /// Where its content is to be written.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|staging| staging.folder().to_owned())
    }

    /// Gives it its name.
    fn publish(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0.take().map_or(Ok(()), Staging::publish).map_err(|error| log_to_py(py, error, None))
    }

    /// Removes it, if it has not been published.
    fn discard(&mut self) {
        self.0 = None;
    }
}

/// A repaired partition's folder before it appears.
#[pyclass(module = "kafkacomp._kafkacomp")]
pub struct RepairedFolder(Option<LogWriter>);

#[pymethods]
impl RepairedFolder {
    /// Puts a further file into it.
    fn write(&self, py: Python<'_>, name: &str, content: &[u8]) -> PyResult<()> {
        let written = self.0.as_ref().map_or(Ok(()), |writer| writer.staging().write(name, content));
        written.map_err(|error| log_to_py(py, error, None))
    }

    /// Gives it its name; nothing the second time.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Option<Counts>> {
        let Some(writer) = self.0.take() else { return Ok(None) };
        py.detach(|| writer.finish()).map(|report| Some(counts(report))).map_err(|error| log_to_py(py, error, None))
    }
}

impl Job {
    /// The entries of the leader epoch checkpoint.
    fn leader_epochs(&self) -> Result<Vec<LeaderEpochEntry>, JobError> {
        let epochs = self.history.1.as_deref().map(read_leader_epoch_checkpoint).transpose()?;
        Ok(epochs.unwrap_or_default())
    }

    fn writer(&self) -> Result<LogWriter, JobError> {
        let (snapshot, _, metadata, _) = &self.history;
        let metadata = metadata.as_deref().map(PartitionMetadata::parse).transpose()?;
        let options = WriteOptions { topic_id: metadata.map(|metadata| metadata.topic_id), ..self.options };
        let base_offset = match self.segments.first().and_then(|segment| segment.base_offset) {
            Some(offset) => start_offset(self.open(0)?.as_ref(), offset)?,
            None => first_offset(self.open(0)?.as_ref(), self.max_output_size)?,
        };
        let mut writer = LogWriter::create(&self.target, base_offset, options)?;
        let snapshot = snapshot.as_deref().map(ProducerSnapshot::parse).transpose()?;
        let producers = snapshot.map(|snapshot| ProducerState::from_entries(&snapshot.producers));
        writer.set_history(producers.unwrap_or_default(), self.leader_epochs()?)?;
        Ok(writer)
    }

    /// Does `work` for each segment, in an order that depends on their content alone.
    fn each(
        &self,
        writer: &mut LogWriter,
        mut work: impl FnMut(
            SegmentJob<'_>,
            &mut LogWriter,
            &mut dyn FnMut(u64) -> ControlFlow<PyErr>,
        ) -> Result<SegmentRewritten, JobError>,
    ) -> Result<Found, JobError> {
        let mut done = 0_u64;
        let mut tracker = Tracker::new(self, self.leader_epochs()?)?;
        while let Some(index) = tracker.next() {
            self.current.store(index, Ordering::Relaxed);
            let source = self.open(index)?;
            tracker.compare(source.as_ref())?;
            if let Some(base_offset) = tracker.base_offset().filter(|_| self.keeps_segments) {
                writer.begin_segment(base_offset)?;
            }
            let length = source.length().map_err(ReadError::Io)?;
            let segment = tracker.job(source.as_ref());
            let found = work(segment, writer, &mut |now| self.tell(done.saturating_add(now)))?;
            tracker.add(found);
            done = done.saturating_add(length);
        }
        Ok(tracker.finish(self.history.3))
    }

    fn rewrite(&self, rewrite: &mut Rewrite) -> Result<(WriteReport, Found), JobError> {
        let mut writer = self.writer()?;
        let found = self.each(&mut writer, |job, writer, progress| {
            let SegmentJob { source, bounds, from, .. } = job;
            let mut sink = |out: &[u8]| writer.append(out);
            let found = rewrite_segment(source, bounds, from, self.max_output_size, rewrite, &mut sink, progress)?;
            let found = completed(found)?;
            rewrite.finish(&mut sink)?;
            Ok(found)
        })?;
        Ok((writer.finish()?, found))
    }

    fn repair(&self, quarantine: Option<&str>) -> Result<(LogWriter, RepairReport, Found), JobError> {
        let mut writer = self.writer()?;
        let mut repairer = Repairer::new(self.max_output_size, quarantine);
        let found = self.each(&mut writer, |job, writer, progress| {
            let SegmentJob { source, bounds, from, index } = job;
            let sequence = completed(repairer.segment(source, index, bounds, from, writer, progress)?)?;
            Ok(SegmentRewritten { sequence, ..SegmentRewritten::default() })
        })?;
        let report = repairer.finish()?;
        Ok((writer, report, found))
    }
}

/// Segments, batches and bytes written, first offset, end offset.
pub(crate) type Counts = (u64, u64, u64, i64, i64);

pub(crate) fn counts(report: WriteReport) -> Counts {
    (report.segments, report.batches, report.bytes, report.log_start_offset, report.log_end_offset)
}

/// Recompresses a partition; with `merge_bytes` small batches are joined.
#[pyfunction]
pub fn recompress_partition(
    py: Python<'_>,
    job: JobTuple<'_>,
    compression_type: u8,
    level: Option<Level>,
    merge_bytes: Option<usize>,
    threads: usize,
) -> PyResult<(Counts, FoundTuple)> {
    let compression = compression(kind(compression_type)?, level)?;
    let job = Job::new(job)?;
    let mut rewrite = match merge_bytes {
        Some(bytes) => Rewrite::Merge(Merger::new(compression, bytes, job.max_output_size)),
        None => Rewrite::Recompress(ParallelRecompressor::new(compression, job.max_output_size, threads)),
    };
    let (report, found) = job.run(py, |job| job.rewrite(&mut rewrite))?;
    Ok((counts(report), found.to_tuple()))
}

/// Brings a partition to another message format.
#[pyfunction]
pub fn convert_partition(
    py: Python<'_>,
    job: JobTuple<'_>,
    to_magic: i8,
    upgrade: bool,
    batch_bytes: i32,
) -> PyResult<(Counts, FoundTuple)> {
    let job = Job::new(job)?;
    let max_output_size = job.max_output_size;
    let options = ConvertOptions { to_magic, upgrade, batch_bytes, max_output_size, ..ConvertOptions::default() };
    let mut rewrite = Rewrite::Convert(Converter::new(options));
    let (report, found) = job.run(py, |job| job.rewrite(&mut rewrite))?;
    Ok((counts(report), found.to_tuple()))
}

/// Repairs a partition; corrupt bytes go into the file `quarantine` of the new folder. The folder is still to be finished.
#[pyfunction]
pub fn repair_partition<'py>(
    py: Python<'py>,
    job: JobTuple<'_>,
    quarantine: Option<&str>,
) -> PyResult<(RepairedFolder, Bound<'py, PyDict>)> {
    let job = Job::new(job)?;
    let (writer, report, found) = job.run(py, |job| job.repair(quarantine))?;
    let fields = PyDict::new(py);
    fields.set_item("repairs", report.repairs.iter().map(repair).collect::<Vec<_>>())?;
    fields.set_item("more_repairs", report.more_repairs)?;
    fields.set_item("fixed_batches", report.fixed_batches)?;
    fields.set_item("restored_batches", report.restored_batches)?;
    fields.set_item("repeated_batches", report.repeated_batches)?;
    fields.set_item("corrupt_ranges", report.corrupt_ranges)?;
    fields.set_item("corrupt_bytes", report.corrupt_bytes)?;
    fields.set_item("zero_tail_bytes", report.zero_tail_bytes)?;
    fields.set_item("first_open_offset", writer.producers().first_open_offset())?;
    fields.set_item("found", found.to_tuple())?;
    Ok((RepairedFolder(Some(writer)), fields))
}

/// Segment, position, length, action, missing offsets, reason, place in the quarantine file.
type RepairTuple<'a> = (usize, u64, u64, &'static str, Option<(i64, i64)>, &'a str, Option<u64>);

fn repair(repair: &Repair) -> RepairTuple<'_> {
    let Repair { segment, position, length, action, missing, ref reason, quarantined_at } = *repair;
    (segment, position, length, action.name(), missing, reason, quarantined_at)
}
