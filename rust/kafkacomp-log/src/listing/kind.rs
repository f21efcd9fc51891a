//! The kinds of files in a log directory or in tiered storage, by their names.

use std::path::PathBuf;

use super::names::{MANIFEST, SWAP, leading_offset, segment_offset, tiered_file};

/// The kind of a file of a log or log directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A segment: `.log`.
    Log,
    /// A segment of Kafka 0.7: `.kafka`.
    MessageSet,
    /// `.index`: offset to position.
    OffsetIndex,
    /// `.timeindex`: timestamp to offset.
    TimeIndex,
    /// `.txnindex`: aborted transactions.
    TransactionIndex,
    /// `.snapshot`: producers.
    ProducerSnapshot,
    /// `leader-epoch-checkpoint`, or in tiered storage `.leader_epoch_checkpoint` of a segment.
    LeaderEpochCheckpoint,
    /// One of the [offset checkpoints](super::checkpoints::OffsetCheckpoint) of a log directory.
    OffsetCheckpoint,
    /// A snapshot of the metadata log, which consists of batches: `.checkpoint`.
    Checkpoint,
    /// `partition.metadata`: the topic id.
    PartitionMetadata,
    /// `quorum-state` of the metadata log.
    QuorumState,
    /// `meta.properties` of a log directory.
    MetaProperties,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Log,
        Self::MessageSet,
        Self::OffsetIndex,
        Self::TimeIndex,
        Self::TransactionIndex,
        Self::ProducerSnapshot,
        Self::LeaderEpochCheckpoint,
        Self::OffsetCheckpoint,
        Self::Checkpoint,
        Self::PartitionMetadata,
        Self::QuorumState,
        Self::MetaProperties,
    ];

    /// The kind of a file by its name; `None` for other files.
    ///
    /// ```
    /// use kafkacomp_log::listing::FileKind;
    ///
    /// assert_eq!(FileKind::of_name("00000000000000000042.timeindex"), Some(FileKind::TimeIndex));
    /// assert_eq!(FileKind::of_name("notes.txt"), None);
    /// ```
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "leader-epoch-checkpoint" => return Some(Self::LeaderEpochCheckpoint),
            "partition.metadata" => return Some(Self::PartitionMetadata),
            "quorum-state" => return Some(Self::QuorumState),
            "meta.properties" => return Some(Self::MetaProperties),
            "bootstrap.checkpoint" => return Some(Self::Checkpoint),
            _ if super::checkpoints::OffsetCheckpoint::of_name(name).is_some() => return Some(Self::OffsetCheckpoint),
            _ => {}
        }
        if segment_offset(name).is_some() {
            return Self::of_suffix(name);
        }
        if tiered_file(name).is_some_and(|(.., suffix)| suffix == "leader_epoch_checkpoint") {
            return Some(Self::LeaderEpochCheckpoint);
        }
        if is_metadata_snapshot(name) {
            return Some(Self::Checkpoint);
        }
        let (stem, suffix) = name.split_once('.')?;
        let kind = match suffix {
            "index" => Self::OffsetIndex,
            "timeindex" => Self::TimeIndex,
            "txnindex" => Self::TransactionIndex,
            "snapshot" => Self::ProducerSnapshot,
            _ => return None,
        };
        let is_of_segment = stem.len() == 20 || tiered_file(name).is_some();
        (is_of_segment && leading_offset(name).is_some()).then_some(kind)
    }

    /// The kind of a file that is given alone, and need not have the name of a segment; `None` for a record set.
    pub fn of_file(name: &str) -> Option<Self> {
        Self::of_name(name.strip_suffix(SWAP).unwrap_or(name)).or_else(|| Self::of_suffix(name))
    }

    /// The kind of a segment by the suffix of its name.
    pub fn of_suffix(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "log" => Some(Self::Log),
            "kafka" => Some(Self::MessageSet),
            _ => None,
        }
    }

    /// The kind with this [name](Self::name).
    pub fn for_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The word for the kind: the suffix or name of such files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::MessageSet => "message set",
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TransactionIndex => "txnindex",
            Self::ProducerSnapshot => "snapshot",
            Self::LeaderEpochCheckpoint => "leader-epoch-checkpoint",
            Self::OffsetCheckpoint => "offset-checkpoint",
            Self::Checkpoint => "checkpoint",
            Self::PartitionMetadata => "partition.metadata",
            Self::QuorumState => "quorum-state",
            Self::MetaProperties => "meta.properties",
        }
    }

    /// Whether such a file is an index of the segment that it is next to.
    pub fn is_index(self) -> bool {
        matches!(self, Self::OffsetIndex | Self::TimeIndex | Self::TransactionIndex)
    }

    /// Whether such a file consists of batches or messages.
    pub fn has_batches(self) -> bool {
        matches!(self, Self::Log | Self::MessageSet | Self::Checkpoint)
    }
}

/// A snapshot of the metadata log: its end offset and its epoch.
fn is_metadata_snapshot(name: &str) -> bool {
    let stem = name.strip_suffix(".checkpoint").and_then(|stem| stem.split_once('-'));
    let are_digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    stem.is_some_and(|(offset, epoch)| are_digits(offset, 20) && are_digits(epoch, 10))
}

/// Whether a file is known to hold metadata, by the end of its name.
pub(super) fn is_metadata(name: &str) -> bool {
    ["-checkpoint", ".metadata", MANIFEST].iter().any(|suffix| name.ends_with(suffix))
}

/// Whether a file is an index file, or metadata: not a segment, if it is given as one.
pub fn is_side_file(name: &str) -> bool {
    let suffix = name.rsplit_once('.').map_or(name, |(_, suffix)| suffix);
    matches!(suffix, "index" | "timeindex" | "txnindex" | "snapshot") || is_metadata(name)
}

/// Whether a file is an index file, metadata, or a file that a broker deletes, swaps in or keeps for itself: a pattern that matches
/// it does not mean it.
pub fn is_not_a_segment(name: &str) -> bool {
    is_side_file(name) || name.starts_with('.') || is_transient(name)
}

/// Whether a broker deletes a file, swaps it in or keeps it for itself, by the end of its name.
pub(super) fn is_transient(name: &str) -> bool {
    [".deleted", ".swap", ".cleaned", ".lock", ".properties", ".tmp"].iter().any(|suffix| name.ends_with(suffix))
}

/// Whether brokers or kafkacomp keep a file or folder of this name next to logs.
pub(super) fn is_kept_next_to_logs(name: &str) -> bool {
    let is_checkpoint =
        [".checkpoint", ".checkpoint.deleted", ".checkpoint.part"].iter().any(|suffix| name.ends_with(suffix));
    let is_own = name.starts_with('.') || name.starts_with("kafkacomp-");
    is_own || is_checkpoint || matches!(name, "_SUCCESS" | "remote-log-index-cache")
}

/// A file of a log, with its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Its path in the store.
    pub path: PathBuf,
    /// Its bytes when it was listed.
    pub size: u64,
    /// Its kind.
    pub kind: FileKind,
}
