//! Batches that many writers stage in files of their own, and the folders that are made of them.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch as ArrowRecordBatch;
use kafkacomp_arrow::build::{PartitionedBatcher, Routing};
use kafkacomp_core::log;
use kafkacomp_core::log::write::rebase::append_file;
use kafkacomp_core::log::write::{LogEnd, WriteOptions, WriteReport};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3_arrow::input::AnyRecordBatch;

use crate::builder::Settings;
use crate::error::{arrow_build_to_py, log_to_py};
use crate::process::Owner;
use crate::write::{parse_topic_id, slices};

/// Bytes of one target, and of all, that are gathered before they are written.
const GATHERED: usize = 1 << 20;
const ALL_GATHERED: usize = 32 << 20;

/// Topic, partition, file, its bytes, batches and records.
type StagedFile = (String, i32, PathBuf, u64, u64, u64);

/// Rows as batches in files `<prefix>.<number>.batches`, one for each topic and partition.
#[pyclass(module = "kafkacomp._kafkacomp", frozen)]
pub struct StagedBatches {
    staging: Mutex<Staging>,
    owner: Owner,
}

struct Staging {
    batcher: PartitionedBatcher,
    prefix: PathBuf,
    /// Bytes of each file.
    sizes: Vec<u64>,
}

#[pymethods]
impl StagedBatches {
    /// `partitions` and `known`: as [`Routing`] has them.
    #[new]
    fn new(
        settings: Settings,
        prefix: PathBuf,
        topic: Option<String>,
        partitions: Option<i32>,
        known: HashMap<String, i32>,
        start: u32,
    ) -> PyResult<Self> {
        let settings = settings.settings()?;
        let routing = Routing { topic, partitions, known, start, sticky_bytes: settings.write_limit as u64 };
        let batcher = PartitionedBatcher::new(settings, routing).map_err(arrow_build_to_py)?;
        let staging = Mutex::new(Staging { batcher, prefix, sizes: Vec::new() });
        Ok(Self { staging, owner: Owner::current() })
    }

    /// Takes rows.
    fn push(&self, py: Python<'_>, rows: AnyRecordBatch) -> PyResult<()> {
        self.owner.check("writer")?;
        let reader = rows.into_reader()?;
        py.detach(|| {
            for rows in reader {
                // The reader may be code of the caller's, so it runs without the lock.
                let rows = rows.map_err(|error| PyValueError::new_err(error.to_string()))?;
                self.staging.lock().unwrap_or_else(PoisonError::into_inner).push(&rows)?;
            }
            Ok(())
        })
    }

    /// Writes what is left; what was written.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<StagedFile>> {
        self.owner.check("writer")?;
        let mut guard = self.staging.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let staging = &mut *guard;
        py.detach(|| {
            staging.batcher.finish().map_err(arrow_build_to_py)?;
            staging.write(0)?;
            Ok(staging.files())
        })
    }
}

impl Staging {
    fn push(&mut self, rows: &ArrowRecordBatch) -> PyResult<()> {
        for piece in slices(rows) {
            self.batcher.push(&piece).map_err(arrow_build_to_py)?;
            let gathered: usize = self.batcher.targets().map(|(_, _, target)| target.out.len()).sum();
            self.write(if gathered > ALL_GATHERED { 0 } else { GATHERED })?;
        }
        Ok(())
    }

    /// Appends what is there to the files of those targets that have more than `least` bytes.
    fn write(&mut self, least: usize) -> PyResult<()> {
        let Self { batcher, prefix, sizes } = self;
        for (index, (_, _, target)) in batcher.targets().enumerate() {
            sizes.resize(sizes.len().max(index + 1), 0);
            let Some(size) = sizes.get_mut(index).filter(|_| target.out.len() > least) else { continue };
            let path = file_name(prefix, index);
            // A file that is there already is another writer's, or its remains.
            let open = File::options().append(true).create(*size > 0).create_new(*size == 0).open(&path);
            let written = open.and_then(|mut file| file.write_all(&target.out));
            let failed = |source| log::Error::Io { path, source };
            written.map_err(|error| Python::attach(|py| log_to_py(py, failed(error), None)))?;
            *size += target.out.len() as u64;
            target.out.clear();
        }
        Ok(())
    }

    fn files(&mut self) -> Vec<StagedFile> {
        let Self { batcher, prefix, sizes } = self;
        let targets = batcher.targets().zip(sizes.iter()).enumerate();
        let file = |(index, ((topic, partition, target), size)): (usize, ((&str, i32, &mut _), &u64))| {
            let kafkacomp_arrow::build::Target { batches, records, .. } = target;
            (topic.to_owned(), partition, file_name(prefix, index), *size, *batches, *records)
        };
        targets.map(file).collect()
    }
}

fn file_name(prefix: &std::path::Path, index: usize) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!(".{index}.batches"));
    name.into()
}

/// Staged files, in order, as segments in a folder that is to become `target`; they begin where the log in `existing`
/// ends. Segments, batches, bytes, first and next offset.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
pub fn assemble_log(
    py: Python<'_>,
    staged: Vec<PathBuf>,
    target: PathBuf,
    existing: Option<PathBuf>,
    segment_bytes: u32,
    topic_id: Option<&str>,
) -> PyResult<(u64, u64, u64, i64, i64)> {
    let options = WriteOptions { segment_bytes, topic_id: parse_topic_id(topic_id)?, ..WriteOptions::default() };
    let assemble = || -> Result<WriteReport, log::Error> {
        let end = existing.as_deref().map(LogEnd::of_folder).transpose()?.unwrap_or_default();
        let leader_epoch = end.leader_epoch;
        let mut writer = end.continue_in(&target, options)?;
        staged.iter().try_for_each(|path| append_file(&mut writer, path, leader_epoch))?;
        writer.finish()
    };
    let report = py.detach(assemble).map_err(|error| log_to_py(py, error, None))?;
    Ok((report.segments, report.batches, report.bytes, report.log_start_offset, report.log_end_offset))
}
