//! Partitions and message sets of Kafka 0.7 in later message formats.

use std::ops::ControlFlow;

use kafkacomp_log::LogFormat;
use kafkacomp_log::maintain::migrate::{MappedPosition, Migrator};
use kafkacomp_log::maintain::partition::MigrateOptions;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::bytes::bytes;
use crate::error::log_to_py;
use crate::gil::call;
use crate::input::detached;
use crate::job::{JobFields, Work};
use crate::rewrite::RewrittenPartition;
use crate::value::{PackageClass, list};

static CONVERTED: PackageClass = PackageClass::new("kafkacomp.message_set._read", "Converted");
static MAPPED_POSITION: PackageClass = PackageClass::new("kafkacomp.message_set._read", "MappedPosition");

/// The log format of a partition: `0.7` or `0.8+`; `None` if neither content nor names decide.
#[pyfunction]
pub fn partition_format(py: Python<'_>, job: JobFields<'_>) -> PyResult<Option<&'static str>> {
    let found = Work::new(job)?.run(py, |work| work.job.log_format().map(ControlFlow::Continue))?;
    Ok(found.map(LogFormat::name))
}

/// Migrates a partition. `mapped` is called with lists of `MappedPosition` objects.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
pub fn migrate_partition(
    py: Python<'_>,
    job: JobFields<'_>,
    to_magic: i8,
    first_offset: i64,
    batch_bytes: i32,
    mapped: Option<Py<PyAny>>,
) -> PyResult<RewrittenPartition> {
    let options = MigrateOptions { to_magic, first_offset, batch_bytes };
    let work = Work::new(job)?;
    let (log, found) = work.run(py, |work| {
        work.job.migrate(options, &mut |positions, done| match hand_over(mapped.as_ref(), positions) {
            Ok(()) => work.report(done),
            Err(error) => ControlFlow::Break(error),
        })
    })?;
    RewrittenPartition::new(py, &work, log, found)
}

fn hand_over(callback: Option<&Py<PyAny>>, mapped: &[MappedPosition]) -> PyResult<()> {
    let Some(callback) = callback else { return Ok(()) };
    Python::attach(|py| call(callback.bind(py), (positions(py, mapped)?,)).map(drop))
}

/// Migrates a message set whose first byte is at `initial_offset`: a `Converted`.
#[pyfunction]
pub fn migrate_set<'py>(
    data: &Bound<'py, PyAny>,
    to_magic: i8,
    initial_offset: i64,
    first_offset: i64,
    batch_bytes: i32,
    max_output_size: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let migrator = Migrator::new(to_magic, first_offset, batch_bytes, max_output_size);
    let migrated = detached("data", data, |set| migrator.set(set, initial_offset))?;
    let py = data.py();
    let (batches, mapped) = migrated.map_err(|error| log_to_py(py, error, None))?;
    CONVERTED.make(py, (bytes(py, &batches)?, positions(py, &mapped)?))
}

/// `MappedPosition` objects.
fn positions<'py>(py: Python<'py>, mapped: &[MappedPosition]) -> PyResult<Bound<'py, PyList>> {
    list(py, mapped.iter().map(|each| MAPPED_POSITION.make(py, (each.position, each.offset))))
}
