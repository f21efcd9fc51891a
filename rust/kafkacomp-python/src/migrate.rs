//! Partitions and message sets of Kafka 0.7 carried over to later formats.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use kafkacomp_core::log::maintain::migrate::{Mapping, Migrator};
use kafkacomp_core::log::write::{LogWriter, WriteReport};
use kafkacomp_core::log::{LogFormat, ReadError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::error::log_to_py;
use crate::gil::call;
use crate::input::bytes_like;
use crate::job::{Job, JobError, JobTuple, completed};
use crate::rewrite::{Counts, counts};

/// Of which Kafka a partition is: `0.7` or `0.8+`, by the first segment that tells, else by its name; `None` undecided.
#[pyfunction]
pub fn partition_format(py: Python<'_>, job: JobTuple<'_>) -> PyResult<Option<&'static str>> {
    let job = Job::new(job)?;
    let log_format = job.run(py, |job| {
        let mut named = None;
        for (index, segment) in job.segments.iter().enumerate() {
            let source = job.open(index)?;
            let length = source.length().map_err(ReadError::Io)?;
            if let Some(found) = LogFormat::of_content(source.as_ref(), length)? {
                return Ok(Some(found));
            }
            named = named.or_else(|| LogFormat::of_name(&segment.name));
        }
        Ok(named)
    })?;
    Ok(log_format.map(|log_format| match log_format {
        LogFormat::MessageSet => "0.7",
        LogFormat::Records => "0.8+",
    }))
}

/// Carries a partition over. `mapped` is called with old positions and the offsets that they lead to.
#[pyfunction]
pub fn migrate_partition(
    py: Python<'_>,
    job: JobTuple<'_>,
    to_magic: i8,
    first_offset: i64,
    batch_bytes: i32,
    mapped: Option<Py<PyAny>>,
) -> PyResult<Counts> {
    let job = Job::new(job)?;
    let mut migrator = Migrator::new(to_magic, first_offset, batch_bytes, job.max_output_size);
    job.run(py, move |job| migrate(job, &mut migrator, first_offset, mapped.as_ref())).map(counts)
}

fn migrate(
    job: &Job,
    migrator: &mut Migrator,
    first_offset: i64,
    mapped: Option<&Py<PyAny>>,
) -> Result<WriteReport, JobError> {
    let mut writer = LogWriter::create(&job.target, first_offset, job.options)?;
    let (mut done, mut base) = (0_u64, 0_i64);
    for (index, segment) in job.segments.iter().enumerate() {
        job.current.store(index, Ordering::Relaxed);
        base = segment.base_offset.unwrap_or(base);
        let source = job.open(index)?;
        completed(migrator.segment(source.as_ref(), base, &mut writer, &mut |mappings, now| {
            if let Err(error) = hand(mapped, mappings) {
                return ControlFlow::Break(error);
            }
            job.tell(done.saturating_add(now))
        })?)?;
        let length = source.length().map_err(ReadError::Io)?;
        done = done.saturating_add(length);
        base = base.saturating_add_unsigned(length);
    }
    if let Some(end) = migrator.finish(&mut writer)? {
        hand(mapped, &[end]).map_err(JobError::Python)?;
    }
    Ok(writer.finish()?)
}

fn hand(mapped: Option<&Py<PyAny>>, mappings: &[Mapping]) -> PyResult<()> {
    let Some(mapped) = mapped else { return Ok(()) };
    Python::attach(|py| call(mapped.bind(py), (mappings,)).map(drop))
}

/// Carries a message set over: the batches, and positions from `initial_offset` on with the offsets that they lead to.
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
