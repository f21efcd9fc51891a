//! Finds the missing offsets of a partition from the offsets of its segment files.

use super::compaction::Compaction;
use super::missing::{MAX_MISSING_RANGES, MissingRange, MissingReason};

/// The offsets of a segment file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileOffsets {
    /// The offset in its name.
    pub base_offset: i64,
    /// The first offset of an intact batch; `None` if there is none.
    pub first_offset: Option<i64>,
    /// The last offset of an intact batch.
    pub last_offset: Option<i64>,
    /// The missing offsets in it.
    pub missing: Vec<MissingRange>,
    /// Whether compaction has removed records from its batches.
    pub is_compacted: bool,
}

impl FileOffsets {
    /// The part of the file at and after `offset`.
    pub fn since(&self, offset: i64) -> Self {
        let is_after = |last: Option<i64>| last.is_some_and(|last| last >= offset);
        let ranges = self.missing.iter().filter(|range| range.last_offset >= offset);
        Self {
            first_offset: self.first_offset.filter(|_| is_after(self.last_offset)).map(|first| first.max(offset)),
            last_offset: self.last_offset.filter(|_| is_after(self.last_offset)),
            missing: ranges
                .map(|range| MissingRange { first_offset: range.first_offset.max(offset), ..*range })
                .collect(),
            ..*self
        }
    }
}

/// Two files that have offsets in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// The index of the one with the lesser base offset.
    pub earlier: usize,
    /// The index of the other one.
    pub later: usize,
    /// The first offset that both may have.
    pub first_offset: i64,
    /// The last offset that both may have.
    pub last_offset: i64,
}

/// The files that have offsets in common with an earlier one. `files` are in the order of their base offsets. Each offset of a
/// file is in at most one overlap: with the first file that has it, which is the one that is read.
pub fn overlaps(files: &[FileOffsets]) -> Vec<Overlap> {
    let mut found = Vec::new();
    let mut read: Vec<FileOffsets> = Vec::new();
    let mut end = i64::MIN;
    for (later, file) in files.iter().enumerate() {
        let own = file.since(end);
        end = end.max(file.last_offset.map_or(end, |last| last.saturating_add(1)));
        let (Some(first), Some(last)) = (file.first_offset, file.last_offset) else {
            read.push(own);
            continue;
        };
        for (earlier, before) in read.iter().enumerate() {
            let (Some(from), Some(to)) = (before.first_offset, before.last_offset) else { continue };
            let (first_offset, last_offset) = (first.max(from), last.min(to));
            if first_offset <= last_offset {
                found.push(Overlap { earlier, later, first_offset, last_offset });
            }
        }
        read.push(own);
    }
    found
}

/// The offsets that no file of a partition has, in order, each with the index of the file that should have it. `files` are
/// in the order of their base offsets; `compaction` is what is known without their batches, `reached` the offset that the log had
/// reached.
pub fn missing_offsets(
    files: &[FileOffsets],
    compaction: Compaction,
    reached: Option<i64>,
) -> Vec<(usize, MissingRange)> {
    let covered = covered(files);
    let compaction = compaction.or_thinned(files.iter().any(|file| file.is_compacted));
    let mut lacking: Vec<(usize, MissingRange)> = files
        .iter()
        .enumerate()
        .flat_map(|(index, file)| file.missing.iter().map(move |range| (index, undecided(*range))))
        .collect();
    let mut end: Option<i64> = None;
    for (index, file) in files.iter().enumerate() {
        if let Some(end) = end {
            let between = MissingRange::between(end, file.base_offset, MissingReason::Gap);
            lacking.extend(between.map(|range| (index.saturating_sub(1), range)));
        }
        let known = file.last_offset.into_iter().chain(file.missing.iter().map(|range| range.last_offset)).max();
        let own_end = known.map_or(file.base_offset, |last| last.saturating_add(1));
        end = Some(end.map_or(own_end, |end| end.max(own_end)));
    }
    if let (Some(last), Some(end), Some(reached)) = (files.len().checked_sub(1), end, reached) {
        // Compaction does not explain it, unless the checkpoint of the cleaner does.
        let is_gap = matches!(compaction, Compaction::To(_));
        let reason = if is_gap { MissingReason::Gap } else { MissingReason::Truncated };
        lacking.extend(MissingRange::between(end, reached, reason).map(|range| (last, range)));
    }
    // Of a corrupt range and a gap with the same offsets, the corrupt range is reported.
    lacking.sort_by_key(|(index, range)| (range.first_offset, range.reason == MissingReason::Gap, *index));
    let mut found: Vec<(usize, MissingRange)> = Vec::new();
    let mut done = i64::MIN;
    for (index, range) in lacking {
        let mut from = range.first_offset.max(done);
        done = done.max(range.last_offset.saturating_add(1));
        while from <= range.last_offset {
            let at = covered.partition_point(|&(_, to)| to < from);
            let next = covered.get(at).copied().unwrap_or((i64::MAX, i64::MAX));
            if next.0 > from {
                let to = range.last_offset.min(next.0.saturating_sub(1));
                for part in compaction.parts(MissingRange { first_offset: from, last_offset: to, ..range }) {
                    add(&mut found, index, part);
                }
            }
            from = next.1.saturating_add(1);
            if next.1 == i64::MAX {
                break;
            }
        }
    }
    found
}

/// The ranges that a report lists, in order, and the number of further ones. Those that compaction explains are left out first.
pub fn listed(mut missing: Vec<(usize, MissingRange)>) -> (Vec<(usize, MissingRange)>, u64) {
    let more = missing.len().saturating_sub(MAX_MISSING_RANGES);
    let is_compacted = |range: &MissingRange| range.reason == MissingReason::Compacted;
    let mut kept = missing.iter().filter(|(_, range)| is_compacted(range)).count().saturating_sub(more);
    missing.retain(|(_, range)| {
        let is_kept = !is_compacted(range) || kept > 0;
        kept = kept.saturating_sub(usize::from(is_compacted(range)));
        is_kept
    });
    missing.truncate(MAX_MISSING_RANGES);
    (missing, more as u64)
}

/// The range as a gap: whether compaction explains it depends on the partition, not on a segment.
fn undecided(range: MissingRange) -> MissingRange {
    let reason = if range.reason == MissingReason::Compacted { MissingReason::Gap } else { range.reason };
    MissingRange { reason, ..range }
}

/// Adds a range. It is merged with the one before if it continues that.
fn add(found: &mut Vec<(usize, MissingRange)>, index: usize, range: MissingRange) {
    match found.last_mut() {
        Some((file, last)) if *file == index && last.continues_with(&range) => last.last_offset = range.last_offset,
        _ => found.push((index, range)),
    }
}

/// The offsets of the files as sorted ranges that do not touch.
pub fn covered(files: &[FileOffsets]) -> Vec<(i64, i64)> {
    let mut parts = Vec::new();
    for file in files {
        let (Some(mut from), Some(last)) = (file.first_offset, file.last_offset) else { continue };
        for range in file.missing.iter().filter(|range| range.first_offset <= last) {
            if range.last_offset < from {
                continue;
            }
            if range.first_offset > from {
                parts.push((from, range.first_offset.saturating_sub(1)));
            }
            from = range.last_offset.saturating_add(1);
        }
        if from <= last {
            parts.push((from, last));
        }
    }
    parts.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (from, to) in parts {
        match merged.last_mut() {
            Some((_, end)) if from <= end.saturating_add(1) => *end = (*end).max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(base_offset: i64, last: i64, missing: &[(i64, i64, MissingReason)]) -> FileOffsets {
        let missing = missing.iter().map(|&(first_offset, last_offset, reason)| MissingRange {
            first_offset,
            last_offset,
            reason,
        });
        FileOffsets {
            base_offset,
            first_offset: Some(base_offset),
            last_offset: Some(last),
            missing: missing.collect(),
            is_compacted: false,
        }
    }

    fn found(files: &[FileOffsets], compaction: Compaction) -> Vec<(usize, i64, i64, MissingReason)> {
        let ranges = missing_offsets(files, compaction, None);
        ranges.into_iter().map(|(file, range)| (file, range.first_offset, range.last_offset, range.reason)).collect()
    }

    #[test]
    fn a_report_lists_what_compaction_does_not_explain_first() {
        let range =
            |offset: usize, reason| MissingRange { first_offset: offset as i64, last_offset: offset as i64, reason };
        for lost in [1, MAX_MISSING_RANGES - 1, MAX_MISSING_RANGES + 2] {
            let compacted = (0..MAX_MISSING_RANGES).map(|at| (0, range(2 * at, MissingReason::Compacted)));
            let gaps = (0..lost).map(|at| (0, range(2 * (MAX_MISSING_RANGES + at), MissingReason::Gap)));
            let (found, more) = listed(compacted.chain(gaps).collect());
            assert_eq!((found.len(), more), (MAX_MISSING_RANGES, lost as u64));
            let gaps = found.iter().filter(|(_, range)| range.reason == MissingReason::Gap).count();
            assert_eq!(gaps, lost.min(MAX_MISSING_RANGES));
            assert!(found.is_sorted_by_key(|(_, range)| range.first_offset));
        }
    }

    #[test]
    fn files_that_follow_one_another_lack_nothing() {
        let files = [file(0, 9, &[]), file(10, 19, &[]), file(20, 25, &[])];
        assert_eq!(found(&files, Compaction::Unknown), []);
        assert_eq!(overlaps(&files), []);
    }

    #[test]
    fn a_deleted_file_is_a_gap() {
        let files = [file(0, 9, &[(10, 19, MissingReason::Gap)]), file(20, 25, &[])];
        assert_eq!(found(&files, Compaction::Unknown), [(0, 10, 19, MissingReason::Gap)]);
        let files = [file(0, 9, &[]), file(20, 25, &[])];
        assert_eq!(found(&files, Compaction::Unknown), [(0, 10, 19, MissingReason::Gap)]);
        assert_eq!(
            found(&files, Compaction::To(15)),
            [(0, 10, 14, MissingReason::Compacted), (0, 15, 19, MissingReason::Gap)]
        );
        assert_eq!(found(&files, Compaction::To(20)), [(0, 10, 19, MissingReason::Compacted)]);
    }

    #[test]
    fn what_another_file_has_is_not_missing() {
        let files =
            [file(0, 130, &[(131, 219, MissingReason::Gap)]), file(0, 219, &[(50, 59, MissingReason::Corrupt)])];
        assert_eq!(found(&files, Compaction::Unknown), []);
        let overlap = Overlap { earlier: 0, later: 1, first_offset: 0, last_offset: 130 };
        assert_eq!(overlaps(&files), [overlap]);
        let files = [
            file(0, 130, &[(40, 54, MissingReason::Gap)]),
            file(0, 219, &[(50, 59, MissingReason::Corrupt)]),
            file(240, 250, &[]),
        ];
        assert_eq!(
            found(&files, Compaction::Unknown),
            [(0, 50, 54, MissingReason::Gap), (1, 220, 239, MissingReason::Gap)]
        );
    }

    #[test]
    fn a_file_without_intact_batches_is_missing() {
        let mut empty = file(10, 19, &[(10, 19, MissingReason::Corrupt)]);
        (empty.first_offset, empty.last_offset) = (None, None);
        let files = [file(0, 9, &[]), empty, file(20, 25, &[])];
        assert_eq!(found(&files, Compaction::Unknown), [(1, 10, 19, MissingReason::Corrupt)]);
    }
}
