//! Decides which files of a partition's folder are its log, as a broker does when it starts (Kafka's `LogLoader`).
//!
//! Compaction writes the remaining records of several segments to files with the suffix `.cleaned`; a segment that is too
//! large is split in the same way. Complete files are renamed to `.swap`, then the old files to `.deleted`, and then `.swap` is
//! removed from the new names. A broker that was killed in between finishes this or reverts it:
//!
//! 1. `.deleted` files are not part of the log.
//! 2. `.cleaned` files are incomplete and not part of the log. `.swap` files whose offset is not less than the smallest offset of a
//!    `.cleaned` file belong to the same group, which is reverted as a whole.
//! 3. The other `.swap` files replace the files in their range: those whose offset is at least the smallest offset of the
//!    `.log.swap` files and less than their greatest next offset.
//!
//! Until then, a `.swap` file may be the only copy, or the old segments may still exist, several for one `.swap` file.

use std::collections::{BTreeMap, BTreeSet};

use super::kind::FileKind;
use super::names::{CLEANED, SWAP, is_segment, leading_offset};

/// A broker's decisions about the files in a partition's folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Names of `.log.swap` files that become segments.
    pub swapped: BTreeSet<String>,
    /// Names of files that are removed: replaced files, and reverted `.swap` files.
    pub removed: BTreeSet<String>,
    /// The decisions about segments, with the names of the files.
    pub warnings: Vec<String>,
}

/// Decides which files are the log's, by the names of the files in a partition's folder.
///
/// `end_offset` finds the offset after the last one in a `.log.swap` file; `None` if its end is corrupt.
///
/// # Errors
/// That of `end_offset`.
pub fn loaded<'n, E>(
    names: impl IntoIterator<Item = &'n str>,
    mut end_offset: impl FnMut(&str) -> Result<Option<i64>, E>,
) -> Result<Loaded, E> {
    let offsets: BTreeMap<&str, i64> =
        names.into_iter().filter_map(|name| Some((name, leading_offset(name)?))).collect();
    let ending = |suffix: &'static str| offsets.iter().filter(move |(name, _)| name.ends_with(suffix));
    let mut folder = Folder { offsets: &offsets, state: Loaded::default() };
    let least_cleaned = ending(CLEANED).map(|(_, &offset)| offset).min();
    let is_reverted = |offset: i64| least_cleaned.is_some_and(|least| offset >= least);
    let (reverted, swaps): (Vec<_>, Vec<_>) = ending(SWAP).partition(|(_, offset)| is_reverted(**offset));
    let mut swaps: Vec<(&str, i64)> = swaps.into_iter().map(|(name, offset)| (*name, *offset)).collect();
    folder.revert(reverted.iter().map(|(name, _)| **name), ending(CLEANED).map(|(name, _)| *name));
    let mut segments = Vec::new();
    let mut corrupt = Vec::new();
    for &(name, offset) in swaps.iter().filter(|(name, _)| swapped_name(name).is_some()) {
        match end_offset(name)? {
            None if swapped_name(name).is_some_and(|old| offsets.contains_key(old)) => corrupt.push((name, offset)),
            end => segments.push((name, offset, end)),
        }
    }
    if !corrupt.is_empty() {
        // A broker would not start. The old segments are complete, so they are read.
        let names: Vec<&str> = corrupt.iter().map(|(name, _)| *name).collect();
        folder.warn(format!("{}: not read: corrupt, and the segments that it replaces exist", names.join(", ")));
        swaps.retain(|&(name, offset)| {
            let is_corrupt = corrupt.iter().any(|&(_, of)| of == offset);
            if is_corrupt {
                folder.state.removed.insert(name.to_owned());
            }
            !is_corrupt
        });
    }
    folder.replace(&swaps, &segments);
    Ok(folder.state)
}

struct Folder<'f, 'n> {
    offsets: &'f BTreeMap<&'n str, i64>,
    state: Loaded,
}

impl Folder<'_, '_> {
    fn warn(&mut self, text: String) {
        self.state.warnings.push(text);
    }

    /// Leaves out the `.swap` files of a group whose `.cleaned` files are not finished.
    fn revert<'n>(&mut self, swaps: impl Iterator<Item = &'n str>, cleaned: impl Iterator<Item = &'n str>) {
        let swaps: Vec<&str> = swaps.collect();
        self.state.removed.extend(swaps.iter().map(|&name| name.to_owned()));
        let refused: Vec<&str> = swaps.into_iter().filter(|name| swapped_name(name).is_some()).collect();
        if refused.is_empty() {
            return;
        }
        let all: Vec<&str> = cleaned.collect();
        let logs: Vec<&str> = all
            .iter()
            .copied()
            .filter(|name| {
                name.strip_suffix(CLEANED).is_some_and(|old| FileKind::of_suffix(old) == Some(FileKind::Log))
            })
            .collect();
        let with = if logs.is_empty() { all } else { logs }.join(", ");
        self.warn(format!("{}: not read: part of an unfinished compaction or split, with {with}", refused.join(", ")));
    }

    /// Replaces the files in the range of the `.log.swap` files, each with its offset and its end.
    fn replace(&mut self, swaps: &[(&str, i64)], segments: &[(&str, i64, Option<i64>)]) {
        let (Some(least), Some(end)) = (
            segments.iter().map(|(_, offset, _)| *offset).min(),
            segments.iter().map(|(_, offset, end)| end.unwrap_or(0).max(*offset)).max(),
        ) else {
            return;
        };
        let in_range = |offset: i64| least <= offset && offset < end;
        let of_range = self.offsets.iter().filter(|(name, offset)| in_range(**offset) && !name.ends_with(SWAP));
        let mut replaced: BTreeSet<&str> = of_range.map(|(name, _)| *name).collect();
        let named = swaps.iter().filter_map(|(name, _)| name.strip_suffix(SWAP));
        replaced.extend(named.filter(|name| self.offsets.contains_key(name)));
        let old: Vec<&str> = replaced.iter().copied().filter(|name| is_segment(name)).collect();
        let swapped: Vec<&str> = segments.iter().map(|(name, ..)| *name).collect();
        let swapped = swapped.join(", ");
        let warning = if old.is_empty() {
            format!("{swapped}: read as a segment, as a broker does when it starts")
        } else {
            format!("{swapped}: read in place of {}, which a broker removes when it starts", old.join(", "))
        };
        self.state.removed.extend(replaced.into_iter().map(str::to_owned));
        self.state.swapped.extend(segments.iter().map(|(name, ..)| (*name).to_owned()));
        self.warn(warning);
    }
}

/// The name of a segment that has not replaced others yet, without the suffix.
fn swapped_name(name: &str) -> Option<&str> {
    name.strip_suffix(SWAP).filter(|name| is_segment(name))
}
