//! Lists a path: a folder, or a file that is given alone.

use std::io;
use std::path::Path;

use super::container::{Container, HEAD_BYTES};
use super::error::ListError;
use super::kind::is_side_file;
use super::listed::{ListedPartition, ListedSegment, Listing};
use super::names::{SWAP, given_partition_of, is_like_a_segment, is_marked, is_tiered_segment, segment_offset};
use super::path::{name_of, text_of};
use super::remote::RemoteFolder;
use super::search::{NOT_A_SEGMENT, list_folder};
use super::selection::Selection;
use super::store::{Entry, Store};
use crate::read::source::read_full;

/// The most folders in one another in which files are looked for that are in the place of segments.
const MOST_FOLDERS: usize = 3;

/// Lists a file or folder of `store`. Folders that cannot be listed are among the [failures](Listing::failures).
///
/// # Errors
/// The path does not exist, has no segments, or is a file that is not a segment.
pub fn list(store: &dyn Store, path: &Path, selection: &dyn Selection) -> Result<Listing, ListError> {
    let entry = store.entry(path).map_err(|error| ListError::io(path, error))?;
    if !entry.is_folder {
        return list_file(store, &entry);
    }
    let listing = list_folder(store, path, selection, true)?;
    if listing.partitions.is_empty() && listing.failures.is_empty() {
        check_packed(store, path)?;
        return Err(ListError::Nothing { path: path.to_owned() });
    }
    Ok(listing)
}

/// Lists a file that is given alone. A file with another name than a segment is a record set, unless its content is that of an
/// archive, a compressed file or a table.
///
/// # Errors
/// It is not a segment.
pub fn list_file(store: &dyn Store, entry: &Entry) -> Result<Listing, ListError> {
    let path = entry.path.as_path();
    let name = text_of(path);
    let mut listing = Listing::default();
    if is_side_file(&name) {
        let suffix = name.rsplit_once('.').map_or(&*name, |(_, suffix)| suffix);
        let reason = format!("this is an index file (.{suffix}), not a segment: give the .log file or the folder");
        return Err(ListError::NotASegment { path: path.to_owned(), reason });
    }
    if is_like_a_segment(&name) {
        listing.decide(path, format!("read as a record set: {NOT_A_SEGMENT}"));
    }
    if is_tiered_segment(&name) {
        let folder = RemoteFolder::of_segment(store, path).map_err(|error| ListError::io(path, error))?;
        if let Some(folder) = folder {
            listing.partitions.push(ListedPartition::remote(folder.owner.clone(), 0));
            listing.remotes.push(folder);
            return Ok(listing);
        }
    }
    let parent = path.parent().unwrap_or_else(|| Path::new(""));
    let owner = given_partition_of(name_of(parent));
    let base_offset = segment_offset(name.strip_suffix(SWAP).unwrap_or(&name));
    if base_offset.is_none() {
        check_content(store, entry)?;
    }
    let is_of_log_dir = owner.is_some() && !is_marked(&text_of(parent));
    let log_dir = if is_of_log_dir { parent.parent().map(Path::to_owned) } else { None };
    listing.partitions.push(ListedPartition {
        owner,
        segments: vec![ListedSegment { path: path.to_owned(), size: entry.size, base_offset, is_active: false }],
        log_dir,
        has_loss_file: base_offset.is_some(),
        is_part: true,
        ..ListedPartition::default()
    });
    Ok(listing)
}

/// Refuses an archive, a compressed file, a table or a segment of another system, by its name and first bytes.
///
/// # Errors
/// It is one, or cannot be read.
pub fn check_content(store: &dyn Store, entry: &Entry) -> Result<(), ListError> {
    let path = entry.path.as_path();
    let head = || -> io::Result<Vec<u8>> {
        let size = usize::try_from(entry.size).unwrap_or(usize::MAX).min(HEAD_BYTES);
        let mut head = vec![0; size];
        let read = read_full(store.open(path)?.as_ref(), &mut head, 0)?;
        head.truncate(read);
        Ok(head)
    };
    let found = match Container::of_name(&text_of(path)) {
        Some(found) => Some(found),
        None => Container::of_content(&head().map_err(|error| ListError::io(path, error))?),
    };
    match found {
        Some(found) => Err(ListError::NotASegment { path: path.to_owned(), reason: found.to_string() }),
        None => Ok(()),
    }
}

/// Refuses a folder without segments in which there are compressed segments, archives or segments of other systems.
///
/// # Errors
/// That of the first such file. Folders that cannot be listed are left out.
pub fn check_packed(store: &dyn Store, folder: &Path) -> Result<(), ListError> {
    packed_in(store, folder, 0)
}

fn packed_in(store: &dyn Store, folder: &Path, depth: usize) -> Result<(), ListError> {
    const PACKED: [&str; 9] = [".zip", ".gz", ".zst", ".lz4", ".bz2", ".xz", ".7z", ".tar", ".tgz"];
    let Ok(mut entries) = store.list(folder) else { return Ok(()) };
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    for entry in entries.iter().filter(|entry| !entry.is_folder && entry.size > 0) {
        let name = text_of(&entry.path);
        if PACKED.iter().any(|suffix| name.ends_with(suffix)) || Container::of_name(&name).is_some() {
            check_content(store, entry)?;
        }
    }
    if depth < MOST_FOLDERS {
        for entry in entries.iter().filter(|entry| entry.is_folder) {
            packed_in(store, &entry.path, depth + 1)?;
        }
    }
    Ok(())
}
