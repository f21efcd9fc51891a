//! The search of a folder and the folders in it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::checkpoints::topic_id;
use super::container::Container;
use super::error::ListError;
use super::kind::{FileKind, ListedFile, is_kept_next_to_logs, is_metadata, is_transient};
use super::listed::{Failure, ListedPartition, ListedSegment, Listing, LogFile};
use super::loader::{Loaded, loaded};
use super::names::{
    DELETED, Mark, SWAP, TopicPartition, given_partition_of, is_compressed_segment, is_like_a_segment, is_marked,
    is_segment, last_snapshot, leading_offset, mark_of, may_be_truncated, partition_of, segment_offset, side_file_name,
};
use super::path::{name_of, text_of};
use super::remote::RemoteFolder;
use super::selection::Selection;
use super::store::{Entry, Store};
use super::swapped::end_offset;

/// What is wrong with a name that is like that of a segment.
pub(super) const NOT_A_SEGMENT: &str = "the name of a segment has 20 digits, and is at most 2^63 - 1";
/// The name of the file in which a repair writes what the log had lost.
const LOSS_FILE: &str = "kafkacomp-repair.json";
const NOT_PART_OF_A_LOG: &str = "not part of a log";
/// The most folders in one another that are searched: keys of object stores may begin with a prefix of several names.
const MOST_FOLDERS: usize = 8;
/// How often a folder is listed again in which a running broker has completed a compaction since.
const ATTEMPTS: usize = 5;

/// Lists a folder and the folders in it; partitions that `selection` rules out have no segments in the result.
///
/// `may_vanish` says whether a folder that was deleted since it was listed is a failure in the listing, not an error.
///
/// # Errors
/// The folder itself cannot be listed, or another one was deleted since it was listed.
pub fn list_folder(
    store: &dyn Store,
    path: &Path,
    selection: &dyn Selection,
    may_vanish: bool,
) -> Result<Listing, ListError> {
    let mut search = Search { store, selection, may_vanish, listing: Listing::default(), searched: HashMap::new() };
    let entries = search.list(path)?;
    search.folder(path, &entries, 0)?;
    Ok(search.listing)
}

struct Search<'s> {
    store: &'s dyn Store,
    selection: &'s dyn Selection,
    may_vanish: bool,
    listing: Listing,
    /// The folders of folders that were searched, and how deep: links may form loops.
    searched: HashMap<(u64, u64), usize>,
}

/// The files of a partition's folder by name, after a broker has loaded it, and the broker's decisions.
struct Files<'e> {
    by_name: BTreeMap<String, &'e Entry>,
    state: Loaded,
}

impl Search<'_> {
    fn list(&mut self, path: &Path) -> Result<Vec<Entry>, ListError> {
        let entries = self.store.list(path).map_err(|error| ListError::io(path, error))?;
        self.warn_of_links(&entries);
        Ok(entries)
    }

    fn warn_of_links(&mut self, entries: &[Entry]) {
        for entry in entries.iter().filter(|entry| entry.is_dangling) {
            self.listing.decide(&entry.path, "a link whose target does not exist".to_owned());
        }
    }

    /// Adds what a folder contains, and returns whether any of it belongs to a log.
    fn folder(&mut self, path: &Path, entries: &[Entry], depth: usize) -> Result<bool, ListError> {
        let owner = given_partition_of(name_of(path));
        let mut is_local = false;
        let mut may_be_swapped = false;
        for entry in entries.iter().filter(|entry| !entry.is_folder) {
            let name = text_of(&entry.path);
            is_local |= is_segment(&name);
            may_be_swapped |= name.strip_suffix(SWAP).is_some_and(is_segment);
        }
        if (is_local || may_be_swapped) && depth > 0 && self.is_ruled_out(owner.as_ref()) {
            self.listing.partitions.push(ListedPartition { owner, ..ListedPartition::default() });
            return Ok(true);
        }
        // Next to segments of a broker, files with segment ids are copies from tiered storage.
        if !is_local && let Some(folder) = RemoteFolder::of(path, entries) {
            self.remote(folder, entries, depth);
            return Ok(true);
        }
        self.local(path, entries, depth)
    }

    fn is_ruled_out(&self, owner: Option<&TopicPartition>) -> bool {
        owner.is_some_and(|(topic, partition)| !self.selection.allows(topic, *partition))
    }

    /// Adds a folder of a broker's files, or of other folders, as [`folder`](Self::folder) does.
    fn local(&mut self, path: &Path, entries: &[Entry], depth: usize) -> Result<bool, ListError> {
        let owner = given_partition_of(name_of(path));
        let (relisted, state) = self.loaded(path, entries)?;
        let listed = relisted.as_deref().unwrap_or(entries);
        let files = Files::of(listed, state);
        let mut own = files.segments();
        if !own.is_empty() && owner.is_none() && depth > 0 {
            self.listing.other(path, size_of(entries), "the folder's name is not <topic>-<partition>");
            return Ok(true);
        }
        if own.is_empty() && depth > MOST_FOLDERS {
            return Ok(false);
        }
        for warning in &files.state.warnings {
            self.listing.decide(path, warning.clone());
        }
        let mut is_log = self.files(&files, !own.is_empty() || owner.is_some());
        if let Some(last) = own.last_mut() {
            last.is_active = true;
            self.partition(path, own, owner, &files);
            self.inside(entries);
            return Ok(true);
        }
        let is_deleted = |entry: &&Entry| text_of(&entry.path).strip_suffix(DELETED).is_some_and(is_segment);
        if entries
            .iter()
            .filter(|entry| !entry.is_folder)
            .any(|entry| is_deleted(&entry) || is_segment(&text_of(&entry.path)))
        {
            self.listing.other(path, size_of(entries), "its segments are marked as deleted (.log.deleted)");
            is_log = true;
        }
        if is_marked(&text_of(path)) || !self.enters(path, depth)? {
            return Ok(is_log);
        }
        Ok(self.subfolders(entries, depth)? || is_log)
    }

    /// The broker's decisions about the files of a folder, and its entries if it had to be listed again.
    fn loaded(&mut self, path: &Path, entries: &[Entry]) -> Result<(Option<Vec<Entry>>, Loaded), ListError> {
        let mut relisted: Option<Vec<Entry>> = None;
        for attempt in 1.. {
            let entries = relisted.as_deref().unwrap_or(entries);
            let files = Files::of(entries, Loaded::default());
            let found = loaded(files.by_name.keys().map(String::as_str), |name| {
                let Some(entry) = files.by_name.get(name) else { return Ok(None) };
                let base = leading_offset(name).unwrap_or_default();
                let end = self.store.segment(&entry.path).and_then(|files| end_offset(files.as_ref(), base));
                end.map_err(|error| ListError::io(&entry.path, error))
            });
            match found {
                // A running broker has completed the swap since the listing.
                Err(ListError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => {}
                found => return Ok((relisted, found?)),
            }
            relisted = Some(self.list(path)?);
        }
        Ok((relisted, Loaded::default()))
    }

    fn partition(
        &mut self,
        path: &Path,
        segments: Vec<ListedSegment>,
        owner: Option<TopicPartition>,
        files: &Files<'_>,
    ) {
        // The checkpoints of a log directory are about the folder that is part of the log.
        let has_checkpoints = owner.is_some() && !is_marked(&text_of(path));
        let mut found = ListedPartition {
            owner,
            segments,
            log_dir: path.parent().filter(|_| has_checkpoints).map(Path::to_owned),
            has_loss_file: files.by_name.contains_key(LOSS_FILE),
            snapshot: last_snapshot(files.by_name.keys().map(String::as_str)),
            ..ListedPartition::default()
        };
        if may_be_truncated(name_of(path)) {
            found.topic_id = topic_id(self.store, path);
            let which = found.topic_id.map_or_else(String::new, |id| format!("; the topic's id is {id}"));
            self.listing.decide(path, format!("Kafka may have truncated the topic in this name{which}"));
        }
        self.listing.partitions.push(found);
    }

    fn remote(&mut self, found: RemoteFolder, entries: &[Entry], depth: usize) {
        let has_manifests = found.has_manifests();
        if found.owner.is_none() && depth > 0 && !has_manifests {
            let reason = "the folder's name is not that of a partition in tiered storage";
            self.listing.other(&found.path, size_of(entries), reason);
            return;
        }
        // The topic in the name of a folder may have a prefix; the manifest decides.
        if depth > 0 && !has_manifests && self.is_ruled_out(found.owner.as_ref()) {
            self.listing.partitions.push(ListedPartition { owner: found.owner, ..ListedPartition::default() });
            return;
        }
        let place = self.listing.remotes.len();
        self.listing.partitions.push(ListedPartition::remote(found.owner.clone(), place));
        self.listing.files.push(LogFile::Remote(place));
        self.listing.remotes.push(found);
        if !has_manifests {
            let mut files: Vec<&Entry> = entries.iter().filter(|entry| !entry.is_folder).collect();
            files.sort_by(|one, other| one.path.cmp(&other.path));
            for entry in files {
                if let Some(kind) = FileKind::of_name(&text_of(&entry.path)) {
                    self.add_file(entry, kind);
                }
            }
        }
        self.inside(entries);
    }

    fn add_file(&mut self, entry: &Entry, kind: FileKind) {
        let file = ListedFile { path: entry.path.clone(), size: entry.size, kind };
        self.listing.files.push(LogFile::File(file));
    }

    fn subfolders(&mut self, entries: &[Entry], depth: usize) -> Result<bool, ListError> {
        let mut is_log = false;
        for entry in folders(entries) {
            let name = text_of(&entry.path);
            if let Some(mark) = mark_of(&name) {
                self.marked(entry, mark);
                is_log = true;
                continue;
            }
            let inside = match self.store.list(&entry.path) {
                Ok(inside) => inside,
                Err(error) if error.kind() == io::ErrorKind::NotFound && !self.may_vanish => {
                    return Err(ListError::io(&entry.path, error));
                }
                Err(error) => {
                    self.listing.failures.push(Failure { path: entry.path.clone(), error });
                    is_log = true;
                    continue;
                }
            };
            self.warn_of_links(&inside);
            let others = self.listing.others.len();
            if self.folder(&entry.path, &inside, depth + 1)? {
                is_log = true;
            } else if partition_of(OsStr::new(&*name)).is_none() && !is_kept_next_to_logs(&name) {
                // One entry for the whole folder.
                let found = self.listing.others.split_off(others);
                let files = inside.iter().filter(|each| !each.is_folder).map(|each| each.path.as_path());
                let files: HashSet<&Path> = files.collect();
                let below = found.iter().filter(|other| !files.contains(other.path.as_path()));
                let size = size_of(&inside) + below.map(|other| other.size).sum::<u64>();
                self.listing.foreign(&entry.path, size, NOT_PART_OF_A_LOG);
            }
        }
        Ok(is_log)
    }

    /// Whether a folder is to be searched: for the first time, or from a lower depth, from which more is reached.
    fn enters(&mut self, path: &Path, depth: usize) -> Result<bool, ListError> {
        let Some(identity) = self.store.identity(path).map_err(|error| ListError::io(path, error))? else {
            return Ok(true);
        };
        if self.searched.get(&identity).is_some_and(|&known| known <= depth) {
            return Ok(false);
        }
        self.searched.insert(identity, depth);
        Ok(true)
    }

    /// Adds a folder that is not part of a log, with how to read it.
    fn marked(&mut self, entry: &Entry, mark: Mark) {
        let name = text_of(&entry.path);
        if is_staging(&name) {
            return;
        }
        let size = self.store.list(&entry.path).map_or(0, |inside| size_of(&inside));
        let owner = given_partition_of(name_of(&entry.path));
        let what = match mark {
            Mark::Delete => "a partition that the broker is deleting",
            Mark::Future => "an incomplete copy of a partition, from a move between log directories",
            Mark::Stray => "a partition that the broker does not recognize as its own, which may be the only copy",
        };
        let id = may_be_truncated(name_of(&entry.path)).then(|| topic_id(self.store, &entry.path)).flatten();
        let whose = match (owner, id) {
            (None, _) => String::new(),
            (Some((topic, partition)), None) => format!(" ({topic}-{partition})"),
            (Some((topic, partition)), Some(id)) => format!(" ({topic}...-{partition}, topic id {id})"),
        };
        self.listing.other(&entry.path, size, format!("{what}{whose}: to read it, give the path of this folder"));
    }

    /// Adds the files of a folder by their names, and returns whether one is of a log.
    fn files(&mut self, files: &Files<'_>, is_partition: bool) -> bool {
        let mut is_log = false;
        for (name, entry) in files.remaining() {
            let kind = if files.state.swapped.contains(name) { Some(FileKind::Log) } else { FileKind::of_name(name) };
            let Some(kind) = kind else {
                is_log |= self.unknown(name, entry, is_partition);
                continue;
            };
            is_log = true;
            self.add_file(entry, kind);
            if kind.is_index() {
                let segment = side_file_name(name, "log");
                if !files.has(&segment) && !files.has(&format!("{segment}{SWAP}")) {
                    self.listing.wrong(&entry.path, entry.size, without_segment(name));
                }
            }
        }
        is_log
    }

    /// Adds a file of no kind, and returns whether it belonged to a log.
    fn unknown(&mut self, name: &str, entry: &Entry, is_partition: bool) -> bool {
        let (path, size) = (entry.path.as_path(), entry.size);
        if is_like_a_segment(name) || (is_partition && FileKind::of_suffix(name).is_some()) {
            match Container::of_name(name) {
                Some(other) => self.listing.other(path, size, other.to_string()),
                None => self.listing.wrong(path, size, NOT_A_SEGMENT),
            }
            return true;
        }
        if is_compressed_segment(name) {
            self.listing.other(path, size, "a compressed segment: decompress it first");
            return true;
        }
        if let Some(other) = Container::of_name(name) {
            self.listing.other(path, size, other.to_string());
            return false;
        }
        let is_known = is_kept_next_to_logs(name) || is_metadata(name) || is_transient(name);
        if !is_known && leading_offset(name).is_none() {
            self.listing.foreign(path, size, NOT_PART_OF_A_LOG);
        }
        false
    }

    /// Adds the folders in a partition's folder, in which a broker has none.
    fn inside(&mut self, entries: &[Entry]) {
        for entry in folders(entries) {
            if !is_kept_next_to_logs(&text_of(&entry.path)) {
                let size = self.store.list(&entry.path).map_or(0, |inside| size_of(&inside));
                self.listing.foreign(&entry.path, size, "a folder in the folder of a partition");
            }
        }
    }
}

impl<'e> Files<'e> {
    fn of(entries: &'e [Entry], state: Loaded) -> Self {
        let files = entries.iter().filter(|entry| !entry.is_folder);
        Self { by_name: files.map(|entry| (text_of(&entry.path).into_owned(), entry)).collect(), state }
    }

    /// The files that a broker does not remove when it starts.
    fn remaining(&self) -> impl Iterator<Item = (&str, &'e Entry)> {
        let files = self.by_name.iter().filter(|(name, _)| !self.state.removed.contains(*name));
        files.map(|(name, entry)| (name.as_str(), *entry))
    }

    fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name) && !self.state.removed.contains(name)
    }

    /// The segments in offset order.
    fn segments(&self) -> Vec<ListedSegment> {
        let mut found: Vec<(i64, &str, &Entry)> = Vec::new();
        for (name, entry) in self.remaining() {
            let base = if self.state.swapped.contains(name) { leading_offset(name) } else { segment_offset(name) };
            found.extend(base.map(|base| (base, name, entry)));
        }
        found.sort_by_key(|&(base, name, _)| (base, name));
        let segment = |(base, _, entry): (i64, &str, &Entry)| ListedSegment {
            path: entry.path.clone(),
            size: entry.size,
            base_offset: Some(base),
            is_active: false,
        };
        found.into_iter().map(segment).collect()
    }
}

/// What is wrong with an index file whose segment does not exist.
pub fn without_segment(index: &str) -> String {
    format!("index without a segment: {} does not exist", side_file_name(index, "log"))
}

/// The folders among entries in the order of their names: partition 10 comes after partition 9.
fn folders(entries: &[Entry]) -> Vec<&Entry> {
    let mut folders: Vec<&Entry> = entries.iter().filter(|entry| entry.is_folder).collect();
    folders.sort_by_cached_key(|entry| {
        let name = name_of(&entry.path);
        partition_of(name).unwrap_or_else(|| (name.to_string_lossy().into_owned(), -1))
    });
    folders
}

/// The bytes of the files among entries.
fn size_of(entries: &[Entry]) -> u64 {
    entries.iter().filter(|entry| !entry.is_folder).map(|entry| entry.size).sum()
}

/// Whether a folder is one in which a job of kafkacomp writes: it is marked as deleted, so that no broker loads it.
fn is_staging(name: &str) -> bool {
    let hex = name.strip_prefix("kafkacomp-0.").and_then(|name| name.strip_suffix("-delete"));
    hex.is_some_and(|hex| hex.len() == 32 && mark_of(name).is_some())
}
