//! The verdict about the files of a directory other than segments, which [`verify_partition`](crate::verify_partition) judges.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::copies::{Copies, copies};
use super::kind::FileKind;
use super::listed::{Listing, LogFile, OtherFile};
use super::names::leading_offset;
use super::path::text_of;
use super::store::Store;
use crate::error::ContentError;
use crate::index::checkpoint::{LeaderEpochEntry, read_leader_epoch_checkpoint, read_offset_checkpoint};
use crate::index::offset::OffsetIndex;
use crate::index::partition_metadata::PartitionMetadata;
use crate::index::producer_snapshot::ProducerSnapshot;
use crate::index::time::TimeIndex;
use crate::index::transaction::TransactionIndex;

/// An error in a file next to segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideFileFault {
    /// The byte of the file.
    pub position: u64,
    /// The error in words.
    pub message: String,
}

/// An error or warning about a file or folder of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryFinding {
    /// The file or folder.
    pub path: PathBuf,
    /// The byte of the file.
    pub position: u64,
    /// Whether it is an error; anomalies that Kafka accepts are warnings.
    pub is_error: bool,
    /// The error or warning in words.
    pub message: String,
}

/// The errors in the content of a side file, by its name. Of `quorum-state` and `meta.properties`, which are text, none are known.
///
/// ```
/// use kafkacomp_log::listing::{FileKind, check_side_file};
///
/// let faults = check_side_file(FileKind::LeaderEpochCheckpoint, "leader-epoch-checkpoint", b"0\n2\n3 0\n2 10\n");
/// assert_eq!(faults[0].message, "epoch 2 does not follow epoch 3");
/// ```
pub fn check_side_file(kind: FileKind, name: &str, content: &[u8]) -> Vec<SideFileFault> {
    let base = leading_offset(name).unwrap_or_default();
    let checked: Result<(), ContentError> = match kind {
        FileKind::OffsetIndex => OffsetIndex::parse(content, base).map(drop),
        FileKind::TimeIndex => TimeIndex::parse(content, base).map(drop),
        FileKind::TransactionIndex => TransactionIndex::parse(content, base).map(drop),
        FileKind::ProducerSnapshot => ProducerSnapshot::parse(content).map(drop),
        FileKind::OffsetCheckpoint => read_offset_checkpoint(content).map(drop),
        FileKind::PartitionMetadata => PartitionMetadata::parse(content).map(drop),
        FileKind::LeaderEpochCheckpoint => match read_leader_epoch_checkpoint(content) {
            Ok(epochs) => return disordered(&epochs),
            Err(error) => Err(error),
        },
        FileKind::Log
        | FileKind::MessageSet
        | FileKind::Checkpoint
        | FileKind::QuorumState
        | FileKind::MetaProperties => Ok(()),
    };
    let fault = |error: ContentError| SideFileFault { position: error.position(), message: error.to_string() };
    checked.map_err(fault).err().into_iter().collect()
}

/// Epochs that do not increase, or whose offsets decrease.
fn disordered(epochs: &[LeaderEpochEntry]) -> Vec<SideFileFault> {
    let pairs = epochs.iter().zip(epochs.iter().skip(1));
    let wrong = pairs.filter(|(one, next)| next.epoch <= one.epoch || next.start_offset < one.start_offset);
    let fault = |(one, next): (&LeaderEpochEntry, &LeaderEpochEntry)| SideFileFault {
        position: 0,
        message: format!("epoch {} does not follow epoch {}", next.epoch, one.epoch),
    };
    wrong.map(fault).collect()
}

impl OtherFile {
    /// What a verification reports of it: a warning has its size.
    pub fn finding(&self) -> DirectoryFinding {
        let size = if self.is_error { String::new() } else { format!(" ({} bytes)", grouped(self.size)) };
        DirectoryFinding {
            path: self.path.clone(),
            position: 0,
            is_error: self.is_error,
            message: format!("{}{size}", self.reason),
        }
    }
}

impl Listing {
    /// The partitions that are in several folders.
    pub fn copies(&self) -> Vec<Copies> {
        let folder = |path: &Path| path.parent().unwrap_or_else(|| Path::new("")).to_owned();
        let places = self.partitions.iter().filter_map(|each| {
            let named = each.segments.iter().all(|segment| segment.base_offset.is_some());
            let first = each.segments.first().filter(|_| named && each.remote.is_none())?;
            Some((each.owner.clone()?, folder(&first.path)))
        });
        copies(places)
    }

    /// The errors and warnings about the directory's files and folders other than segments and the indexes next to them, which are
    /// judged with them.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn findings(&self, store: &dyn Store) -> io::Result<Vec<DirectoryFinding>> {
        let files = self.files.iter().filter_map(|file| match file {
            LogFile::File(file) => Some(file),
            LogFile::Remote(_) => None,
        });
        let segments: HashSet<&Path> =
            files.clone().filter(|file| file.kind.has_batches()).map(|file| file.path.as_path()).collect();
        let mut found = Vec::new();
        for file in files.filter(|file| !file.kind.has_batches()) {
            if file.kind.is_index() && segments.contains(file.path.with_extension("log").as_path()) {
                continue;
            }
            // It may have been deleted since it was listed.
            let Some(content) = store.read(&file.path)? else { continue };
            let faults = check_side_file(file.kind, &text_of(&file.path), &content);
            found.extend(faults.into_iter().map(|SideFileFault { position, message }| DirectoryFinding {
                path: file.path.clone(),
                position,
                is_error: true,
                message,
            }));
        }
        found.extend(self.others.iter().map(OtherFile::finding));
        found.extend(self.copies().iter().filter_map(Copies::finding));
        Ok(found)
    }
}

impl Copies {
    /// What a verification reports of it.
    fn finding(&self) -> Option<DirectoryFinding> {
        let (topic, partition) = &self.owner;
        let folders: Vec<_> = self.folders.iter().map(|folder| folder.to_string_lossy()).collect();
        let (count, shown) = (folders.len(), folders.join(", "));
        Some(DirectoryFinding {
            path: self.folders.first()?.clone(),
            position: 0,
            is_error: false,
            message: format!("{topic}-{partition}: in {count} folders, and the records of each are read: {shown}"),
        })
    }
}

/// A number with a comma after each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
