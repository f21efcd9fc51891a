//! Writes rows of many topics and partitions to files of batches, from which the folders of the log are assembled once all
//! writers are done.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch as ArrowRecordBatch;
use kafkacomp_records::record::BatchSettings;

use super::log_folder::slices;
use super::partitioned::{PartitionedBatcher, Target};
use super::route::Routing;
use super::write_error::WriteError;

/// The most bytes of a partition that are kept in memory before they are written.
const GATHERED: usize = 1 << 20;
/// The most bytes of all partitions that are kept in memory.
const ALL_GATHERED: usize = 32 << 20;

/// A file of batches of one partition, with offsets from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// The number of batches.
    pub batches: u64,
    /// The number of records.
    pub records: u64,
}

/// Writes rows as batches to files `<prefix>.<number>.batches`, one for each topic and partition.
#[derive(Debug)]
pub struct StagedBatches {
    batcher: PartitionedBatcher,
    prefix: PathBuf,
    /// The size of each file in bytes.
    sizes: Vec<u64>,
}

impl StagedBatches {
    /// A writer without rows. The parent of `prefix` must exist.
    ///
    /// # Errors
    /// Settings that the magic does not support.
    pub fn new(prefix: PathBuf, settings: BatchSettings, routing: Routing) -> Result<Self, WriteError> {
        Ok(Self { batcher: PartitionedBatcher::new(settings, routing)?, prefix, sizes: Vec::new() })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Invalid rows, or an I/O error.
    pub fn push(&mut self, rows: &ArrowRecordBatch) -> Result<(), WriteError> {
        for slice in slices(rows) {
            self.batcher.push(&slice)?;
            let gathered: usize = self.batcher.targets().map(|(_, _, target)| target.out.len()).sum();
            self.write(if gathered > ALL_GATHERED { 0 } else { GATHERED })?;
        }
        Ok(())
    }

    /// Writes the remaining batches and returns all files.
    ///
    /// # Errors
    /// An I/O error, or lack of memory for a codec.
    pub fn finish(&mut self) -> Result<Vec<StagedFile>, WriteError> {
        self.batcher.finish()?;
        self.write(0)?;
        let Self { batcher, prefix, sizes } = self;
        let targets = batcher.targets().zip(sizes.iter()).enumerate();
        let file = |(index, ((topic, partition, target), &bytes)): (usize, ((&str, i32, &mut Target), &u64))| {
            let Target { batches, records, .. } = *target;
            StagedFile { topic: topic.to_owned(), partition, path: file_name(prefix, index), bytes, batches, records }
        };
        Ok(targets.map(file).collect())
    }

    /// Appends the batches of those partitions that have more than `least` bytes to their files.
    fn write(&mut self, least: usize) -> Result<(), kafkacomp_log::Error> {
        let Self { batcher, prefix, sizes } = self;
        for (index, (_, _, target)) in batcher.targets().enumerate() {
            sizes.resize(sizes.len().max(index.saturating_add(1)), 0);
            let Some(size) = sizes.get_mut(index).filter(|_| target.out.len() > least) else { continue };
            let path = file_name(prefix, index);
            // An existing file belongs to another writer, or was left by one.
            let open = File::options().append(true).create(*size > 0).create_new(*size == 0).open(&path);
            let written = open.and_then(|mut file| file.write_all(&target.out));
            written.map_err(|source| kafkacomp_log::Error::Io { path, source })?;
            *size = size.saturating_add(target.out.len() as u64);
            target.out.clear();
        }
        Ok(())
    }
}

fn file_name(prefix: &Path, index: usize) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!(".{index}.batches"));
    name.into()
}
