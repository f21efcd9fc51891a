//! Partitions that are recompressed, converted or repaired, and their new folders.

use std::path::PathBuf;

use kafkacomp_core::log::maintain::partition::{PartitionFindings, RepairedPartition};
use kafkacomp_core::log::maintain::repair::Repair;
use kafkacomp_core::log::maintain::rewrite::{ParallelRecompressor, Rewrite};
use kafkacomp_core::log::write::{LogWriter, Staging, WriteReport};
use kafkacomp_core::record::{ConvertOptions, Converter, Merger};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::codec::kind;
use crate::encode::{Level, compression};
use crate::error::log_to_py;
use crate::job::{self, JobTuple, completed};

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

    /// Where its files are written before it appears; `None` once it is published or discarded.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|staging| staging.folder().to_owned())
    }

    /// Gives it its name.
    fn publish(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0.take().map_or(Ok(()), Staging::publish).map_err(|error| log_to_py(py, error, None))
    }

    /// Removes it, unless it has been published.
    fn discard(&mut self) {
        self.0 = None;
    }
}

/// A repaired partition's folder before it appears.
#[pyclass(module = "kafkacomp._kafkacomp")]
pub struct RepairedFolder(Option<LogWriter>);

#[pymethods]
impl RepairedFolder {
    /// Writes another file into it.
    fn write(&self, py: Python<'_>, name: &str, content: &[u8]) -> PyResult<()> {
        let written = self.0.as_ref().map_or(Ok(()), |writer| writer.staging().write(name, content));
        written.map_err(|error| log_to_py(py, error, None))
    }

    /// Gives it its name; `None` if that is done already.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Option<Counts>> {
        let Some(writer) = self.0.take() else { return Ok(None) };
        py.detach(|| writer.finish()).map(|report| Some(counts(report))).map_err(|error| log_to_py(py, error, None))
    }
}

/// Segments, batches and bytes written, first offset, end offset.
pub type Counts = (u64, u64, u64, i64, i64);

/// As Python takes it.
pub fn counts(report: WriteReport) -> Counts {
    (report.segments, report.batches, report.bytes, report.log_start_offset, report.log_end_offset)
}

/// What is missing in the source by segment, first and last offset and reason; how many further ranges; warnings.
type FoundTuple = (Vec<(usize, i64, i64, &'static str)>, u64, Vec<String>);

fn found(findings: PartitionFindings) -> FoundTuple {
    let PartitionFindings { missing, more_missing, warnings } = findings;
    let missing = missing
        .into_iter()
        .map(|(index, range)| (index, range.first_offset, range.last_offset, range.reason.name()))
        .collect();
    (missing, more_missing, warnings)
}

fn rewrite_partition(py: Python<'_>, arguments: JobTuple<'_>, mut rewrite: Rewrite) -> PyResult<(Counts, FoundTuple)> {
    let (job, progress) = job::job(arguments)?;
    let done = py.detach(|| job.rewrite(&mut rewrite, &mut |done| progress.report(done)));
    let (report, findings) = completed(py, done)?;
    Ok((counts(report), found(findings)))
}

/// Recompresses a partition; with `merge_bytes` small batches are merged.
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
    let max_output_size = job.4;
    let rewrite = match merge_bytes {
        Some(bytes) => Rewrite::Merge(Merger::new(compression, bytes, max_output_size)),
        None => Rewrite::Recompress(ParallelRecompressor::new(compression, max_output_size, threads)),
    };
    rewrite_partition(py, job, rewrite)
}

/// Converts a partition to another message format.
#[pyfunction]
pub fn convert_partition(
    py: Python<'_>,
    job: JobTuple<'_>,
    to_magic: i8,
    upgrade: bool,
    batch_bytes: i32,
) -> PyResult<(Counts, FoundTuple)> {
    let max_output_size = job.4;
    let options = ConvertOptions { to_magic, upgrade, batch_bytes, max_output_size, ..ConvertOptions::default() };
    rewrite_partition(py, job, Rewrite::Convert(Converter::new(options)))
}

/// Repairs a partition; corrupt bytes go to the file `quarantine` of the new folder, which the caller finishes.
#[pyfunction]
pub fn repair_partition<'py>(
    py: Python<'py>,
    job: JobTuple<'_>,
    quarantine: Option<&str>,
) -> PyResult<(RepairedFolder, Bound<'py, PyDict>)> {
    let (job, progress) = crate::job::job(job)?;
    let done = py.detach(|| job.repair(quarantine, &mut |done| progress.report(done)));
    let RepairedPartition { writer, report, findings } = completed(py, done)?;
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
    fields.set_item("found", found(findings))?;
    Ok((RepairedFolder(Some(writer)), fields))
}

/// Segment, position, length, action, missing offsets, reason, place in the quarantine file.
type RepairTuple<'a> = (usize, u64, u64, &'static str, Option<(i64, i64)>, &'a str, Option<u64>);

fn repair(repair: &Repair) -> RepairTuple<'_> {
    let Repair { segment, position, length, action, missing, ref reason, quarantined_at } = *repair;
    (segment, position, length, action.name(), missing, reason, quarantined_at)
}
