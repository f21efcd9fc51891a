//! Partitions and message sets of Kafka 0.7 in later message formats.

use std::ops::ControlFlow;

use kafkacomp_core::log::LogFormat;
use kafkacomp_core::log::maintain::migrate::{Mapping, Migrator};
use kafkacomp_core::log::maintain::partition::MigrateOptions;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::error::log_to_py;
use crate::gil::call;
use crate::input::bytes_like;
use crate::job::{JobTuple, completed, partition_to_py};
use crate::rewrite::{Counts, counts};

/// The log format of a partition: `0.7` or `0.8+`; `None` if neither content nor names decide.
#[pyfunction]
pub fn partition_format(py: Python<'_>, job: JobTuple<'_>) -> PyResult<Option<&'static str>> {
    let (job, _) = crate::job::job(job)?;
    let log_format = py.detach(|| job.log_format()).map_err(|error| partition_to_py(py, error))?;
    Ok(log_format.map(|log_format| match log_format {
        LogFormat::MessageSet => "0.7",
        LogFormat::Records => "0.8+",
    }))
}

/// Migrates a partition. `mapped` is called with old positions and the offsets that they lead to.
#[pyfunction]
pub fn migrate_partition(
    py: Python<'_>,
    job: JobTuple<'_>,
    to_magic: i8,
    first_offset: i64,
    batch_bytes: i32,
    mapped: Option<Py<PyAny>>,
) -> PyResult<Counts> {
    let (job, progress) = crate::job::job(job)?;
    let options = MigrateOptions { to_magic, first_offset, batch_bytes };
    let done = py.detach(move || {
        job.migrate(options, &mut |mappings, done| match hand(mapped.as_ref(), mappings) {
            Ok(()) => progress.report(done),
            Err(error) => ControlFlow::Break(error),
        })
    });
    completed(py, done).map(counts)
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
) -> PyResult<(Bound<'py, PyBytes>, Vec<Mapping>)> {
    let py = data.py();
    let data = bytes_like(data)?;
    let migrator = Migrator::new(to_magic, first_offset, batch_bytes, max_output_size);
    let migrated = py.detach(|| migrator.set(&data, initial_offset));
    let (batches, mappings) = migrated.map_err(|error| log_to_py(py, error, None))?;
    Ok((bytes(py, &batches)?, mappings))
}
