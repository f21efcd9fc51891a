//! The partition to rewrite, and the target.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::PartitionError;
use crate::continuity::compaction::Compaction;
use crate::error::{Error, ReadError};
use crate::index::checkpoint::{LeaderEpochEntry, read_leader_epoch_checkpoint};
use crate::index::partition_metadata::PartitionMetadata;
use crate::index::producer_snapshot::ProducerSnapshot;
use crate::map::ReachedOffsets;
use crate::read::log_format::LogFormat;
use crate::read::segment_files::{OpenSegment, Sibling, SideFile};
use crate::read::source::ReadAt;
use crate::write::{LogWriter, ProducerState, WriteOptions};

/// A segment of the partition that is rewritten.
#[derive(Debug, Clone)]
pub struct SourceSegment {
    /// Its path or name, for messages.
    pub name: Arc<str>,
    /// The offset in its name; `None` for a captured record set.
    pub base_offset: Option<i64>,
    /// Opens it.
    pub files: Arc<dyn OpenSegment>,
}

/// The contents of those of a partition's other files that exist.
#[derive(Debug, Clone, Default)]
pub struct PartitionHistory {
    /// The `.snapshot` of producers at the first segment's base offset.
    pub producer_snapshot: Option<Vec<u8>>,
    /// `leader-epoch-checkpoint`.
    pub leader_epoch_checkpoint: Option<Vec<u8>>,
    /// `partition.metadata`.
    pub partition_metadata: Option<Vec<u8>>,
    /// What is known of its compaction.
    pub compaction: Compaction,
    /// What shows how far the log reached, besides its indexes and leader epochs.
    pub reached: ReachedOffsets,
}

impl PartitionHistory {
    pub(super) fn leader_epochs(&self) -> Result<Vec<LeaderEpochEntry>, Error> {
        let epochs = self.leader_epoch_checkpoint.as_deref().map(read_leader_epoch_checkpoint).transpose()?;
        Ok(epochs.unwrap_or_default())
    }

    fn producers(&self) -> Result<ProducerState, Error> {
        let snapshot = self.producer_snapshot.as_deref().map(ProducerSnapshot::parse).transpose()?;
        Ok(snapshot.map(|snapshot| ProducerState::from_entries(&snapshot.producers)).unwrap_or_default())
    }

    fn metadata(&self) -> Result<Option<PartitionMetadata>, Error> {
        Ok(self.partition_metadata.as_deref().map(PartitionMetadata::parse).transpose()?)
    }
}

/// A partition that is rewritten into a new folder.
#[derive(Debug, Clone)]
pub struct PartitionJob {
    /// Its segments, sorted by base offset.
    pub segments: Vec<SourceSegment>,
    /// The contents of its other files.
    pub history: PartitionHistory,
    /// The new folder.
    pub target: PathBuf,
    /// The most bytes of a new segment. With `None`, new segments begin where the old ones do, and only segments that exceed
    /// Kafka's default are divided.
    pub segment_bytes: Option<u32>,
    /// The most bytes that one batch's records may decompress to.
    pub max_output_size: usize,
}

impl PartitionJob {
    /// The log format of the partition, by the first segment whose content decides, otherwise by its name; `None` if neither
    /// decides.
    ///
    /// # Errors
    /// A segment cannot be read.
    pub fn log_format(&self) -> Result<Option<LogFormat>, PartitionError> {
        let mut named = None;
        for (index, segment) in self.segments.iter().enumerate() {
            let source = self.open(index)?;
            let content = source.length().map_err(ReadError::Io);
            let content =
                content.and_then(|length| LogFormat::of_named_content(source.as_ref(), length, &segment.name));
            if let Some(found) = content.map_err(|error| self.at(index, error))? {
                return Ok(Some(found));
            }
            named = named.or_else(|| LogFormat::of_name(&segment.name));
        }
        Ok(named)
    }

    pub(super) fn name(&self, index: usize) -> Arc<str> {
        self.segments.get(index).map_or_else(|| Arc::from(""), |segment| Arc::clone(&segment.name))
    }

    pub(super) fn base_offset(&self, index: usize) -> Option<i64> {
        self.segments.get(index)?.base_offset
    }

    /// An error in the segment with this index.
    pub(super) fn at(&self, index: usize, error: impl Into<Error>) -> PartitionError {
        PartitionError::Segment { segment: self.name(index), error: error.into() }
    }

    pub(super) fn open(&self, index: usize) -> Result<Arc<dyn ReadAt>, PartitionError> {
        let segment = self.segments.get(index).ok_or(std::io::ErrorKind::NotFound);
        let opened = segment.map_err(Into::into).and_then(|segment| segment.files.open());
        opened.map_err(|error| self.at(index, ReadError::Io(error)))
    }

    pub(super) fn write_options(&self) -> WriteOptions {
        let defaults = WriteOptions::default();
        WriteOptions { segment_bytes: self.segment_bytes.unwrap_or(defaults.segment_bytes), ..defaults }
    }

    /// The writer of the new partition from an offset on, with the state that the old one had before its first batch.
    pub(super) fn writer(&self, start_offset: i64) -> Result<LogWriter, PartitionError> {
        let created = || {
            let topic_id = self.history.metadata()?.map(|metadata| metadata.topic_id);
            let options = WriteOptions { topic_id, ..self.write_options() };
            let mut writer = LogWriter::create(&self.target, start_offset, options)?;
            writer.set_history(self.history.producers()?, self.history.leader_epochs()?)?;
            Ok(writer)
        };
        created().map_err(|error: Error| self.at(0, error))
    }

    /// Calls `work`. A panic is returned as an error that names the `current` segment; the new folder is removed.
    pub(super) fn catching_panics<T>(
        &self,
        current: impl Fn() -> usize,
        work: impl FnOnce() -> Result<T, PartitionError>,
    ) -> Result<T, PartitionError> {
        let done = catch_unwind(AssertUnwindSafe(work));
        done.unwrap_or_else(|panic| Err(PartitionError::panicked(self.name(current()), panic.as_ref())))
    }
}

/// Opens a segment, and remembers that it is the current one.
#[derive(Debug)]
pub(super) struct Current<'a> {
    /// Opens it.
    pub(super) files: &'a dyn OpenSegment,
    /// Its index in the job.
    pub(super) index: usize,
    /// The index of the current one.
    pub(super) last: &'a AtomicUsize,
}

impl OpenSegment for Current<'_> {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        self.last.store(self.index, Ordering::Relaxed);
        self.files.open()
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        self.files.side_file(kind)
    }

    fn open_side_file(&self, kind: SideFile) -> io::Result<Option<Arc<dyn ReadAt>>> {
        self.files.open_side_file(kind)
    }

    fn siblings(&self) -> io::Result<Vec<Sibling>> {
        self.files.siblings()
    }
}
