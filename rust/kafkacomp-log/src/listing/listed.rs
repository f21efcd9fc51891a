//! What a listing returns.

use std::io;
use std::path::{Path, PathBuf};

use kafkacomp_records::uuid::Uuid;

use super::kind::ListedFile;
use super::names::{TopicPartition, partition_of};
use super::path::name_of;
use super::remote::RemoteFolder;
use super::selection::Selection;

/// What a path contains.
#[derive(Debug, Default)]
pub struct Listing {
    /// The partitions, in the order of the names of their folders.
    pub partitions: Vec<ListedPartition>,
    /// The folders of remote storage, to which partitions and files refer by their places here.
    pub remotes: Vec<RemoteFolder>,
    /// The files of logs and log directories, in the order of the names of folders and files.
    pub files: Vec<LogFile>,
    /// What is not read, with the reasons.
    pub others: Vec<OtherFile>,
    /// What cannot be listed.
    pub failures: Vec<Failure>,
    /// How a broker that starts decides about the files of a compaction, and other decisions about folders that are read.
    pub decisions: Vec<Decision>,
}

/// A partition, and its segments in the order of their offsets, as a broker would load them when it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedPartition {
    /// The topic and partition in the name of the folder; `None` if the name has none.
    pub owner: Option<TopicPartition>,
    /// The segments; none if they are in remote storage, or if the selection rules the partition out.
    pub segments: Vec<ListedSegment>,
    /// The place of its folder in [`Listing::remotes`].
    pub remote: Option<usize>,
    /// The log directory with the checkpoints that have entries for it.
    pub log_dir: Option<PathBuf>,
    /// Whether its folder may have a loss file, `kafkacomp-repair.json`.
    pub has_loss_file: bool,
    /// The greatest offset in the name of a producer snapshot in its folder.
    pub snapshot: Option<i64>,
    /// The id of the topic, if it was needed because Kafka may have truncated the topic in the name of the folder.
    pub topic_id: Option<Uuid>,
    /// Whether later segments of its log may exist that are not among these.
    pub is_part: bool,
}

/// A segment of a broker's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSegment {
    /// Its path in the store.
    pub path: PathBuf,
    /// Its bytes when it was listed.
    pub size: u64,
    /// The offset in its name; `None` for a record set.
    pub base_offset: Option<i64>,
    /// Whether a broker may still be writing it.
    pub is_active: bool,
}

/// A file of a log or log directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFile {
    /// A file by its kind.
    File(ListedFile),
    /// The segments of a folder in remote storage, by its place in [`Listing::remotes`].
    Remote(usize),
}

/// A file or folder that is listed and not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherFile {
    /// Its path.
    pub path: PathBuf,
    /// The bytes of the file, or of the files in the folder.
    pub size: u64,
    /// Why it is not read, and how to read it.
    pub reason: String,
    /// Whether a verification reports an error: a log must not have such a file.
    pub is_error: bool,
    /// Whether nothing shows that it ever belonged to a log.
    pub is_foreign: bool,
}

/// A folder that cannot be listed.
#[derive(Debug)]
pub struct Failure {
    /// The folder.
    pub path: PathBuf,
    /// The error.
    pub error: io::Error,
}

impl Failure {
    /// Whether the folder is that of a partition that `selection` rules out, so that the error does not matter.
    pub fn is_ruled_out(&self, selection: &dyn Selection) -> bool {
        partition_of(name_of(&self.path)).is_some_and(|(topic, partition)| !selection.allows(&topic, partition))
    }
}

/// A decision about the files of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The folder or file.
    pub path: PathBuf,
    /// The decision, with the names of the files.
    pub text: String,
}

impl Listing {
    pub(super) fn decide(&mut self, path: &Path, text: String) {
        self.decisions.push(Decision { path: path.to_owned(), text });
    }

    pub(super) fn other(&mut self, path: &Path, size: u64, reason: impl Into<String>) {
        let reason = reason.into();
        self.others.push(OtherFile { path: path.to_owned(), size, reason, is_error: false, is_foreign: false });
    }

    pub(super) fn wrong(&mut self, path: &Path, size: u64, reason: impl Into<String>) {
        let reason = reason.into();
        self.others.push(OtherFile { path: path.to_owned(), size, reason, is_error: true, is_foreign: false });
    }

    pub(super) fn foreign(&mut self, path: &Path, size: u64, reason: &str) {
        let reason = reason.to_owned();
        self.others.push(OtherFile { path: path.to_owned(), size, reason, is_error: false, is_foreign: true });
    }
}

impl ListedPartition {
    /// A partition in remote storage.
    pub(super) fn remote(owner: Option<TopicPartition>, place: usize) -> Self {
        Self { owner, remote: Some(place), ..Self::default() }
    }
}
