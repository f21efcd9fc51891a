//! The layout of remote storage: paths of segments in Kafka's `LocalTieredStorage` and of Aiven's plugin.
//!
//! ```text
//! <topic>-<partition>-<topic id>/<start>-<segment id>.{log,index,timeindex,txnindex,snapshot,leader_epoch_checkpoint}
//! <prefix><topic>-<topic id>/<partition>/<start>-<segment id>.{log,indexes,rsm-manifest}
//! ```
//!
//! `start` has 20 digits. Both ids are 22 characters of URL-safe base64, which may include dashes, so names are split from the
//! right. The prefix is any text, with or without a slash at its end; the manifest has the topic's name alone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::names::{TopicPartition, offset, tiered_file, tiered_partition_of, tiered_topic_id};
use super::path::text_of;
use super::store::{Entry, Store};

/// A file of a segment in remote storage, by its suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RemoteFile {
    /// `.log`: the batches, by Aiven's plugin in chunks that may be compressed or encrypted.
    Log,
    /// `.indexes`: all indexes in one file.
    Indexes,
    /// `.rsm-manifest`: the sizes of the chunks, and where the indexes are.
    Manifest,
}

impl RemoteFile {
    /// The suffix, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Indexes => "indexes",
            Self::Manifest => "rsm-manifest",
        }
    }

    fn of_suffix(suffix: &str) -> Option<Self> {
        [Self::Log, Self::Indexes, Self::Manifest].into_iter().find(|each| each.suffix() == suffix)
    }
}

/// The listed files of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSegment {
    /// Its id, as in the names.
    pub id: String,
    /// The offset in the names.
    pub start_offset: i64,
    /// The files that exist, each of them once.
    pub files: Vec<(RemoteFile, Entry)>,
}

/// A folder with the remote segments of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFolder {
    /// Its path.
    pub path: PathBuf,
    /// The topic and partition in the names of the folders, if the names have them.
    pub owner: Option<TopicPartition>,
    /// The topic id in the names of the folders, if the names have it.
    pub topic_id: Option<String>,
    /// The segments in the order of their listing.
    pub segments: Vec<StoredSegment>,
    /// Segments with the same id as another one.
    pub ambiguous: Vec<StoredSegment>,
    /// Whether these are all segments of the folder, and not only files that were given one by one.
    pub is_complete: bool,
}

impl RemoteFolder {
    /// The remote folder at a path, if some of its entries are files of remote segments.
    pub fn of(path: &Path, entries: &[Entry]) -> Option<Self> {
        let mut folder = Self {
            path: path.to_owned(),
            owner: tiered_partition_of(path),
            topic_id: tiered_topic_id(path),
            segments: Vec::new(),
            ambiguous: Vec::new(),
            is_complete: true,
        };
        let mut by_id: HashMap<String, (i64, usize)> = HashMap::new();
        let mut others: HashMap<(String, i64), usize> = HashMap::new();
        for entry in entries.iter().filter(|entry| !entry.is_folder) {
            let name = text_of(&entry.path);
            let Some((digits, id, suffix)) = tiered_file(&name) else { continue };
            let (Some(start_offset), Some(kind)) = (offset(digits), RemoteFile::of_suffix(suffix)) else { continue };
            let segment = || StoredSegment { id: id.to_owned(), start_offset, files: Vec::new() };
            let (first, at) = *by_id.entry(id.to_owned()).or_insert((start_offset, folder.segments.len()));
            let (list, at) = if first == start_offset {
                (&mut folder.segments, at)
            } else {
                let at = *others.entry((id.to_owned(), start_offset)).or_insert(folder.ambiguous.len());
                (&mut folder.ambiguous, at)
            };
            if at == list.len() {
                list.push(segment());
            }
            if let Some(segment) = list.get_mut(at) {
                segment.files.push((kind, entry.clone()));
            }
        }
        (!folder.segments.is_empty()).then_some(folder)
    }

    /// The remote folder of a segment that is given alone, with no files but its own; `None` if its name is not that of one.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn of_segment(store: &dyn Store, segment: &Path) -> std::io::Result<Option<Self>> {
        let parent = segment.parent().unwrap_or_else(|| Path::new(""));
        let name = text_of(segment);
        let stem = name.strip_suffix("log").unwrap_or(&name);
        let mut entries = store.list(parent)?;
        entries.retain(|entry| text_of(&entry.path).starts_with(stem));
        Ok(Self::of(parent, &entries).map(|folder| Self { is_complete: false, ..folder }))
    }

    /// Whether Aiven's plugin wrote the folder.
    pub fn has_manifests(&self) -> bool {
        let mut files = self.segments.iter().flat_map(|segment| &segment.files);
        files.any(|(kind, _)| *kind == RemoteFile::Manifest)
    }
}
