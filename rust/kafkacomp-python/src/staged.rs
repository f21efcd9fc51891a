//! Files of batches that several writers stage, and the partition folders that are assembled from them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use kafkacomp_arrow::build::{self, Routing};
use kafkacomp_log::write::{WriteOptions, assemble_log as assemble};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::batch_settings::Settings;
use crate::error::log_to_py;
use crate::process::Owner;
use crate::results::{StagedFile, WrittenLog};
use crate::rows::{Rows, rows_to_py};
use crate::write::{parse_topic_id, write_to_py};

/// Writes rows as batches to files `<prefix>.<number>.batches`, one for each topic and partition.
#[pyclass(module = "kafkacomp._kafkacomp", frozen)]
pub struct StagedBatches {
    staged: Mutex<build::StagedBatches>,
    owner: Owner,
}

#[pymethods]
impl StagedBatches {
    /// The arguments from `topic` on are the fields of [`Routing`].
    #[new]
    fn new(
        py: Python<'_>,
        settings: Settings,
        prefix: PathBuf,
        topic: Option<String>,
        partitions: Option<i32>,
        known: HashMap<String, i32>,
        start: u32,
    ) -> PyResult<Self> {
        let settings = settings.settings()?;
        let routing = Routing { topic, partitions, known, start };
        let staged = build::StagedBatches::new(prefix, settings, routing).map_err(|error| write_to_py(py, error))?;
        Ok(Self { staged: Mutex::new(staged), owner: Owner::current() })
    }

    /// Adds rows.
    fn push(&self, py: Python<'_>, rows: Rows) -> PyResult<()> {
        self.owner.check("writer")?;
        py.detach(|| {
            for rows in rows {
                // The reader may be code of the caller's, so it runs without the lock.
                let rows = rows.map_err(rows_to_py)?;
                let pushed = self.staged.lock().unwrap_or_else(PoisonError::into_inner).push(&rows);
                pushed.map_err(|error| Python::attach(|py| write_to_py(py, error)))?;
            }
            Ok(())
        })
    }

    /// Writes the remaining batches and returns all files.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<StagedFile>> {
        self.owner.check("writer")?;
        let mut guard = self.staged.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let staged = &mut *guard;
        let files = py.detach(|| staged.finish()).map_err(|error| write_to_py(py, error))?;
        Ok(files.into_iter().map(Into::into).collect())
    }
}

/// Writes staged files, in order, as segments of the folder `target`. They continue the log in `existing`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
pub fn assemble_log(
    py: Python<'_>,
    staged: Vec<PathBuf>,
    target: PathBuf,
    existing: Option<PathBuf>,
    segment_bytes: u32,
    topic_id: Option<&str>,
) -> PyResult<WrittenLog> {
    let options = WriteOptions { segment_bytes, topic_id: parse_topic_id(topic_id)?, ..WriteOptions::default() };
    let report = py.detach(|| assemble(&staged, &target, existing.as_deref(), options));
    report.map(Into::into).map_err(|error| log_to_py(py, error, None))
}
