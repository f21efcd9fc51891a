//! Writing Arrow columns as the folder of a partition.

use std::path::PathBuf;

use kafkacomp_arrow::build::{self, LogWritten, WriteError};
use kafkacomp_log::write::WriteOptions;
use kafkacomp_records::uuid::Uuid;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::batch_settings::Settings;
use crate::error::{arrow_build_to_py, log_to_py};
use crate::rewrite::NewLog;
use crate::rows::{Rows, rows_to_py};

/// Writes all rows as the folder of a partition, which the caller publishes; also returns their number.
#[pyfunction]
pub fn write_log(
    py: Python<'_>,
    rows: Rows,
    target: PathBuf,
    settings: Settings,
    segment_bytes: u32,
    topic_id: Option<&str>,
) -> PyResult<(NewLog, usize)> {
    let options = WriteOptions { segment_bytes, topic_id: parse_topic_id(topic_id)?, ..WriteOptions::default() };
    let settings = settings.settings()?;
    let written = py.detach(move || build::write_log(rows, &target, settings, options));
    let LogWritten { log, records } = written.map_err(|error| write_to_py(py, error))?;
    Ok((NewLog::new(log), records))
}

/// The topic id in `partition.metadata`.
///
/// # Errors
/// `ValueError` if it is not a Kafka `Uuid`, or is the reserved one of zeros.
pub fn parse_topic_id(text: Option<&str>) -> PyResult<Option<Uuid>> {
    text.map(|text| Uuid::parse_topic_id(text).ok_or_else(bad_topic_id)).transpose()
}

fn bad_topic_id() -> PyErr {
    PyValueError::new_err("topic_id must be a Kafka Uuid: 22 characters of URL-safe base 64, not all zero")
}

/// The exception for rows that cannot be written.
pub fn write_to_py(py: Python<'_>, error: WriteError) -> PyErr {
    match error {
        WriteError::Build(error) => arrow_build_to_py(error),
        WriteError::Log(error) => log_to_py(py, error, None),
        WriteError::Rows(error) => rows_to_py(error),
    }
}
