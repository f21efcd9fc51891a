//! Writes rows as a partition's folder.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch as ArrowRecordBatch;
use arrow_schema::ArrowError;
use kafkacomp_log::write::{ClosedLog, LogWriter, WriteOptions};
use kafkacomp_records::record::{BatchSettings, Batches};

use super::batcher::Batcher;
use super::write_error::WriteError;

/// The number of rows that are added at once. A table may be one record batch, whose Kafka batches should not all be in memory.
const ROWS: usize = 8192;

/// Slices of about [`ROWS`] rows.
pub(super) fn slices(rows: &ArrowRecordBatch) -> impl Iterator<Item = ArrowRecordBatch> {
    (0..rows.num_rows()).step_by(ROWS).map(|start| rows.slice(start, ROWS.min(rows.num_rows().saturating_sub(start))))
}

/// What was written.
#[derive(Debug)]
pub struct LogWritten {
    /// The folder, which is not published yet.
    pub log: ClosedLog,
    /// The number of records, one for each row.
    pub records: usize,
}

/// Writes all rows as the folder `target` of a partition, which the caller publishes. Its first segment begins at the offset of the
/// first batch.
///
/// # Errors
/// Invalid rows, an error of the stream, or an I/O error. The new folder is removed.
pub fn write_log(
    rows: impl IntoIterator<Item = Result<ArrowRecordBatch, ArrowError>>,
    target: &Path,
    settings: BatchSettings,
    options: WriteOptions,
) -> Result<LogWritten, WriteError> {
    let mut folder = Folder { target: target.to_owned(), options, settings, writer: None, out: Vec::new() };
    let mut batcher = Batcher::new(settings)?;
    for rows in rows {
        for slice in slices(&rows?) {
            batcher.push(&slice, &mut folder.out)?;
            folder.flush()?;
        }
    }
    batcher.finish(&mut folder.out)?;
    Ok(LogWritten { log: folder.close()?, records: batcher.rows() })
}

/// The folder that is being written.
struct Folder {
    target: PathBuf,
    options: WriteOptions,
    settings: BatchSettings,
    writer: Option<LogWriter>,
    out: Vec<u8>,
}

impl Folder {
    /// Writes the complete batches.
    fn flush(&mut self) -> Result<(), WriteError> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        let first = Batches::new(&out, 0).next().and_then(Result::ok).and_then(|batch| batch.base_offset());
        self.writer(first)?.append(&out)?;
        self.out = out;
        self.out.clear();
        Ok(())
    }

    fn writer(&mut self, first_offset: Option<i64>) -> Result<&mut LogWriter, WriteError> {
        let writer = self.take_writer(first_offset)?;
        Ok(self.writer.insert(writer))
    }

    fn take_writer(&mut self, first_offset: Option<i64>) -> Result<LogWriter, WriteError> {
        Ok(match self.writer.take() {
            Some(writer) => writer,
            None => LogWriter::create(&self.target, first_offset.unwrap_or(self.settings.base_offset), self.options)?,
        })
    }

    fn close(mut self) -> Result<ClosedLog, WriteError> {
        self.flush()?;
        Ok(self.take_writer(None)?.close()?)
    }
}
