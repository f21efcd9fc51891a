//! Partitions and message sets of Kafka 0.7 in later message formats.

use std::ops::ControlFlow;

use kafkacomp_core::log::maintain::migrate::{Mapping, Migrator};
use kafkacomp_core::log::maintain::partition::MigrateOptions;
use pyo3::prelude::*;

use crate::bytes::bytes;
use crate::error::log_to_py;
use crate::gil::call;
use crate::input::bytes_like;
use crate::job::{JobFields, Work};
use crate::rewrite::RewrittenPartition;
use crate::scan::log_format_name;
use crate::value::PackageClass;

static CONVERTED: PackageClass = PackageClass::new("kafkacomp.message_set._read", "Converted");

/// The log format of a partition: `0.7` or `0.8+`; `None` if neither content nor names decide.
#[pyfunction]
pub fn partition_format(py: Python<'_>, job: JobFields<'_>) -> PyResult<Option<&'static str>> {
    let found = Work::new(job)?.run(py, |work| work.job.log_format().map(ControlFlow::Continue))?;
    Ok(found.map(log_format_name))
}

/// Migrates a partition. `mapped` is called with old positions and the offsets that they lead to.
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
    let (report, found) = work.run(py, |work| {
        work.job.migrate(options, &mut |mappings, done| match hand(mapped.as_ref(), mappings) {
            Ok(()) => work.report(done),
            Err(error) => ControlFlow::Break(error),
        })
    })?;
    RewrittenPartition::new(py, &work, report, found)
}

fn hand(mapped: Option<&Py<PyAny>>, mappings: &[Mapping]) -> PyResult<()> {
    let Some(mapped) = mapped else { return Ok(()) };
    Python::attach(|py| call(mapped.bind(py), (mappings,)).map(drop))
}

/// Migrates a message set: the batches, and positions from `initial_offset` on with the offsets that they lead to.
#[pyfunction]
pub fn migrate_set<'py>(
    data: &Bound<'py, PyAny>,
    to_magic: i8,
    initial_offset: i64,
    first_offset: i64,
    batch_bytes: i32,
    max_output_size: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let data = bytes_like(data)?;
    let migrator = Migrator::new(to_magic, first_offset, batch_bytes, max_output_size);
    let migrated = py.detach(|| migrator.set(&data, initial_offset));
    let (batches, mappings) = migrated.map_err(|error| log_to_py(py, error, None))?;
    CONVERTED.make(py, (bytes(py, &batches)?, mappings))
}
