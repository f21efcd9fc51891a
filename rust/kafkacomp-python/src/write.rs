//! Arrow columns into a partition's folder.

use std::path::PathBuf;

use arrow_array::RecordBatch as ArrowRecordBatch;
use kafkacomp_arrow::build::Batcher;
use kafkacomp_core::log::write::{LogWriter, WriteOptions, WriteReport};
use kafkacomp_core::record::{BatchSettings, Batches};
use kafkacomp_core::uuid::Uuid;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;

use crate::builder::Settings;
use crate::error::{arrow_build_to_py, log_to_py};

/// Rows that are taken at once.
const ROWS: usize = 8192;

/// All rows as a partition's folder, written under another name first: what [`WriteReport`] has, and the rows.
#[pyfunction]
pub fn write_log(
    py: Python<'_>,
    rows: AnyRecordBatch,
    target: PathBuf,
    settings: Settings,
    segment_bytes: u32,
    topic_id: Option<&str>,
) -> PyResult<(u64, u64, u64, i64, i64, usize)> {
    let options = WriteOptions { segment_bytes, topic_id: parse_topic_id(topic_id)?, ..WriteOptions::default() };
    let settings = settings.settings()?;
    let reader = rows.into_reader()?;
    py.detach(|| {
        let mut folder = Folder { target, options, settings, writer: None, out: Vec::new() };
        let mut batcher = Batcher::new(settings).map_err(arrow_build_to_py)?;
        for rows in reader {
            folder.push(&mut batcher, &rows.map_err(|error| PyValueError::new_err(error.to_string()))?)?;
        }
        batcher.finish(&mut folder.out).map_err(arrow_build_to_py)?;
        let WriteReport { segments, batches, bytes, log_start_offset, log_end_offset } = folder.finish()?;
        Ok((segments, batches, bytes, log_start_offset, log_end_offset, batcher.rows()))
    })
}

/// The id that `partition.metadata` is to have.
pub(crate) fn parse_topic_id(text: Option<&str>) -> PyResult<Option<Uuid>> {
    text.map(|text| Uuid::parse(text).filter(|id| *id != Uuid::ZERO).ok_or_else(bad_topic_id)).transpose()
}

/// A table may come in one piece, and its batches shall not lie in memory all together.
pub(crate) fn slices(rows: &ArrowRecordBatch) -> impl Iterator<Item = ArrowRecordBatch> {
    (0..rows.num_rows()).step_by(ROWS).map(|start| rows.slice(start, ROWS.min(rows.num_rows() - start)))
}

fn bad_topic_id() -> PyErr {
    PyValueError::new_err("topic_id must be a Kafka Uuid: 22 characters of URL-safe base 64, not all zero")
}

/// The folder under way. Its first segment has the first batch's offset for a name.
struct Folder {
    target: PathBuf,
    options: WriteOptions,
    settings: BatchSettings,
    writer: Option<LogWriter>,
    out: Vec<u8>,
}

impl Folder {
    fn push(&mut self, batcher: &mut Batcher, rows: &ArrowRecordBatch) -> PyResult<()> {
        for piece in slices(rows) {
            batcher.push(&piece, &mut self.out).map_err(arrow_build_to_py)?;
            self.flush()?;
        }
        Ok(())
    }

    /// Appends the batches that are there.
    fn flush(&mut self) -> PyResult<()> {
        if !self.out.is_empty() {
            let out = std::mem::take(&mut self.out);
            let first = Batches::new(&out, 0).next().and_then(Result::ok).and_then(|batch| batch.base_offset());
            let appended = self.writer(first)?.append(&out);
            appended.map_err(|error| Python::attach(|py| log_to_py(py, error, None)))?;
            self.out = out;
            self.out.clear();
        }
        Ok(())
    }

    fn writer(&mut self, first_offset: Option<i64>) -> PyResult<&mut LogWriter> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => LogWriter::create(&self.target, first_offset.unwrap_or(self.settings.base_offset), self.options)
                .map_err(|error| Python::attach(|py| log_to_py(py, error, None)))?,
        };
        Ok(self.writer.insert(writer))
    }

    fn finish(mut self) -> PyResult<WriteReport> {
        self.flush()?;
        self.writer(None)?;
        let finished = self.writer.take().map(LogWriter::finish).transpose();
        finished.map(Option::unwrap_or_default).map_err(|error| Python::attach(|py| log_to_py(py, error, None)))
    }
}
