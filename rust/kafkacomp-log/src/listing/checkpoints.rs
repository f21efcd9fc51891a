//! What a broker stores about partitions as text: the offset checkpoints of a log directory, and topic ids.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use kafkacomp_records::uuid::Uuid;

use super::path::child;
use super::store::Store;
use crate::error::ContentError;
use crate::index::checkpoint::read_offset_checkpoint;
use crate::index::partition_metadata::PartitionMetadata;

/// An offset checkpoint of a log directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OffsetCheckpoint {
    /// `log-start-offset-checkpoint`: lower offsets are not part of the log.
    LogStart,
    /// `replication-offset-checkpoint`: the high watermarks.
    HighWatermark,
    /// `cleaner-offset-checkpoint`: compaction has removed records of lower offsets.
    Cleaned,
    /// `recovery-point-offset-checkpoint`: all records of lower offsets were written to disk.
    RecoveryPoint,
}

impl OffsetCheckpoint {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::LogStart, Self::HighWatermark, Self::Cleaned, Self::RecoveryPoint];

    /// The name of the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogStart => "log-start-offset-checkpoint",
            Self::HighWatermark => "replication-offset-checkpoint",
            Self::Cleaned => "cleaner-offset-checkpoint",
            Self::RecoveryPoint => "recovery-point-offset-checkpoint",
        }
    }

    /// The checkpoint with this [name](Self::name).
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.name() == name)
    }

    /// The offsets of partitions in this checkpoint of the log directory at `folder`; none if there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, or its content is invalid.
    pub fn read(self, store: &dyn Store, folder: &Path) -> Result<CheckpointOffsets, CheckpointError> {
        let content = store.read(&child(folder, self.name()))?.unwrap_or_default();
        Ok(offsets_in(&content)?)
    }
}

/// Offsets by topic and partition.
pub type CheckpointOffsets = BTreeMap<(String, i32), i64>;

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its content is invalid.
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// The offsets in the content of an offset checkpoint; negative ones are left out.
///
/// # Errors
/// The content is invalid.
pub fn offsets_in(content: &[u8]) -> Result<CheckpointOffsets, ContentError> {
    let entries = read_offset_checkpoint(content)?.into_iter().filter(|entry| entry.offset >= 0);
    Ok(entries.map(|entry| ((entry.topic, entry.partition), entry.offset)).collect())
}

/// The topic's id in the `partition.metadata` of a partition's folder; `None` if it is unknown.
pub fn topic_id(store: &dyn Store, folder: &Path) -> Option<Uuid> {
    let content = store.read(&child(folder, "partition.metadata")).ok()??;
    PartitionMetadata::parse(&content).ok().map(|metadata| metadata.topic_id)
}
