//! Partitions that are recompressed, converted or repaired, and their new folders.

use std::path::PathBuf;

use kafkacomp_log::maintain::partition;
use kafkacomp_log::maintain::repair::Repair;
use kafkacomp_log::maintain::rewrite::Rewrite;
use kafkacomp_log::write::{ClosedLog, Staging, staging};
use kafkacomp_records::record::{ConvertOptions, Converter};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::encode::{Level, compression};
use crate::enums::compression_type_for_id;
use crate::error::log_to_py;
use crate::job::{JobFields, Work};
use crate::results::{PartitionFindings, WrittenLog};
use crate::value::{PackageClass, value_methods};

static REPAIR: PackageClass = PackageClass::new("kafkacomp.log._rewrite", "Repair");

/// Removes the temporary folders that killed processes have left next to a target. Errors are ignored.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
pub fn remove_abandoned(py: Python<'_>, target: PathBuf) {
    py.detach(|| staging::remove_abandoned(&target));
}

/// A folder that is published as a whole or not at all.
#[pyclass(module = "kafkacomp._kafkacomp")]
pub struct StagedFolder(Option<Staging>);

#[pymethods]
impl StagedFolder {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
    fn new(py: Python<'_>, target: PathBuf) -> PyResult<Self> {
        Staging::new(&target).map(|staging| Self(Some(staging))).map_err(|error| log_to_py(py, error, None))
    }

    /// The temporary folder for its files; `None` once it is published or discarded.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|staging| staging.folder().to_owned())
    }

    /// Renames it to the target.
    fn publish(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0.take().map_or(Ok(()), Staging::publish).map_err(|error| log_to_py(py, error, None))
    }

    /// Removes it, unless it has been published.
    fn discard(&mut self) {
        self.0 = None;
    }
}

/// The folder of a partition that is complete, but not published.
#[pyclass(module = "kafkacomp._kafkacomp")]
pub struct NewLog(Option<ClosedLog>);

impl NewLog {
    /// Of a log whose files are complete.
    pub fn new(log: ClosedLog) -> Self {
        Self(Some(log))
    }
}

#[pymethods]
impl NewLog {
    /// The temporary folder with its files; `None` once it is published or discarded.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|log| log.staging().folder().to_owned())
    }

    /// The first and last offset of each gap between its batches, at most 10,000.
    #[getter]
    fn gaps(&self) -> Vec<(i64, i64)> {
        let ranges = self.0.as_ref().map_or(&[][..], |log| log.gaps().ranges());
        ranges.iter().map(|range| (range.first_offset, range.last_offset)).collect()
    }

    /// Writes another file into it.
    fn write(&self, py: Python<'_>, name: &str, content: &[u8]) -> PyResult<()> {
        let written = self.0.as_ref().map_or(Ok(()), |log| log.staging().write(name, content));
        written.map_err(|error| log_to_py(py, error, None))
    }

    /// Renames it to the target; `None` if it has been published.
    fn publish(&mut self, py: Python<'_>) -> PyResult<Option<WrittenLog>> {
        let Some(log) = self.0.take() else { return Ok(None) };
        py.detach(|| log.publish()).map(|report| Some(report.into())).map_err(|error| log_to_py(py, error, None))
    }

    /// Removes it, unless it has been published.
    fn discard(&mut self) {
        self.0 = None;
    }
}

/// A partition that was rewritten.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all)]
pub struct RewrittenPartition {
    /// Its folder, which the caller publishes.
    folder: Py<NewLog>,
    /// A `PartitionFindings`.
    findings: Py<PartitionFindings>,
}

value_methods!(RewrittenPartition { folder, findings });

impl RewrittenPartition {
    /// The result of `work`.
    ///
    /// # Errors
    /// Only those of the import.
    pub fn new(py: Python<'_>, work: &Work, log: ClosedLog, found: partition::PartitionFindings) -> PyResult<Self> {
        let findings = Py::new(py, work.findings(py, found)?)?;
        Ok(Self { folder: Py::new(py, NewLog::new(log))?, findings })
    }
}

fn rewrite_partition(py: Python<'_>, job: JobFields<'_>, mut rewrite: Rewrite) -> PyResult<RewrittenPartition> {
    let work = Work::new(job)?;
    let (log, found) = work.run(py, |work| work.job.rewrite(&mut rewrite, &mut |done| work.report(done)))?;
    RewrittenPartition::new(py, &work, log, found)
}

/// Recompresses a partition; with `merge_bytes` small batches are merged.
#[pyfunction]
pub fn recompress_partition(
    py: Python<'_>,
    job: JobFields<'_>,
    compression_type: u8,
    level: Option<Level>,
    merge_bytes: Option<usize>,
    threads: usize,
) -> PyResult<RewrittenPartition> {
    let compression = compression(compression_type_for_id(compression_type)?, level)?;
    let rewrite = Rewrite::recompress(compression, merge_bytes, job.max_output_size(), threads);
    rewrite_partition(py, job, rewrite)
}

/// Converts a partition to another message format.
#[pyfunction]
pub fn convert_partition(
    py: Python<'_>,
    job: JobFields<'_>,
    to_magic: i8,
    upgrade: bool,
    batch_bytes: i32,
) -> PyResult<RewrittenPartition> {
    let max_output_size = job.max_output_size();
    let options = ConvertOptions { to_magic, upgrade, batch_bytes, max_output_size, ..ConvertOptions::default() };
    rewrite_partition(py, job, Rewrite::Convert(Converter::new(options)))
}

/// A partition that was repaired.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all)]
pub struct RepairedPartition {
    /// Its folder, which the caller publishes.
    folder: Py<NewLog>,
    /// `kafkacomp.log.Repair` objects.
    repairs: Py<PyTuple>,
    more_repairs: u64,
    fixed_batches: u64,
    restored_batches: u64,
    repeated_batches: u64,
    corrupt_ranges: u64,
    corrupt_bytes: u64,
    zero_tail_bytes: u64,
    /// The first offset of the earliest transaction that is open at the end of the log.
    first_open_offset: Option<i64>,
    /// What was found: a `PartitionFindings`.
    findings: Py<PartitionFindings>,
}

value_methods!(RepairedPartition {
    folder,
    repairs,
    more_repairs,
    fixed_batches,
    restored_batches,
    repeated_batches,
    corrupt_ranges,
    corrupt_bytes,
    zero_tail_bytes,
    first_open_offset,
    findings,
});

/// Repairs a partition; corrupt bytes go to the file `quarantine` of the new folder.
#[pyfunction]
pub fn repair_partition(py: Python<'_>, job: JobFields<'_>, quarantine: Option<&str>) -> PyResult<RepairedPartition> {
    let work = Work::new(job)?;
    let repaired = work.run(py, |work| work.job.repair(quarantine, &mut |done| work.report(done)))?;
    let partition::RepairedPartition { log, first_open_offset, report, findings } = repaired;
    let repairs = report.repairs.iter().map(|each| repair(py, &work, each)).collect::<PyResult<Vec<_>>>()?;
    Ok(RepairedPartition {
        repairs: PyTuple::new(py, repairs)?.unbind(),
        more_repairs: report.more_repairs,
        fixed_batches: report.fixed_batches,
        restored_batches: report.restored_batches,
        repeated_batches: report.repeated_batches,
        corrupt_ranges: report.corrupt_ranges,
        corrupt_bytes: report.corrupt_bytes,
        zero_tail_bytes: report.zero_tail_bytes,
        first_open_offset,
        findings: Py::new(py, work.findings(py, findings)?)?,
        folder: Py::new(py, NewLog::new(log))?,
    })
}

fn repair<'py>(py: Python<'py>, work: &Work, repair: &Repair) -> PyResult<Bound<'py, PyAny>> {
    let Repair { segment, position, length, action, missing, ref reason, quarantined_at } = *repair;
    let ((first, last), file) = (missing.unzip(), work.segment_name(segment));
    REPAIR.make(py, (file, position, length, action.name(), first, last, reason, quarantined_at))
}
