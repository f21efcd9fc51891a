//! The report of a partition, and the one error about its gaps.

use std::collections::BTreeMap;

use super::report::{Finding, FindingFile, SegmentReport};
use crate::continuity::missing::{MissingRange, MissingReason};
use crate::map::OffsetRange;
use crate::map::wording::{gap_text, more_gaps_text, unlisted_text};

/// The result of a check of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifiedPartition {
    /// The reports of its files.
    pub reports: Vec<SegmentReport>,
    /// The offsets that no file has, in order, each range with the index of the file that should have them.
    pub missing: Vec<(usize, MissingRange)>,
    /// The number of further ranges.
    pub more_missing: u64,
    /// The number of offsets that at least one file has.
    pub covered_offsets: u64,
    /// The positions at which the log continues, by the index of the file and the first missing offset.
    pub(super) positions: BTreeMap<(usize, i64), u64>,
}

/// What is missing, and the error about gaps, each with the index of its file.
pub type Gaps = (Vec<(usize, MissingRange)>, Option<(usize, Finding)>);

impl VerifiedPartition {
    /// What is missing, and the error about gaps that are not among the `known` offsets, each range from the first to the last and in
    /// order; the error with the index of its file. It ends with `hint`, which says what would show that a gap is no loss. What is known
    /// was a gap, not the result of compaction.
    pub fn gaps(&self, known: &[(i64, i64)], hint: Option<&str>) -> Gaps {
        let mut missing = Vec::with_capacity(self.missing.len());
        let mut gaps = Vec::new();
        for &(index, range) in &self.missing {
            let position = self.positions.get(&(index, range.first_offset)).copied().unwrap_or_default();
            for (part, is_known) in parts(range, known) {
                let reason =
                    if is_known && part.reason == MissingReason::Compacted { MissingReason::Gap } else { part.reason };
                missing.push((index, MissingRange { reason, ..part }));
                if part.reason == MissingReason::Gap && !is_known && self.is_gap(index, &range) {
                    gaps.push((index, part, position));
                }
            }
        }
        let error = self.error(&gaps, hint);
        (joined(missing), error)
    }

    /// Whether a range is reported as a gap, not by a finding about the truncation of its file.
    fn is_gap(&self, index: usize, range: &MissingRange) -> bool {
        self.positions.contains_key(&(index, range.first_offset))
    }

    /// One error for gaps. The ranges that are not listed are gaps, unless compaction explains one that is.
    fn error(&self, gaps: &[(usize, MissingRange, u64)], hint: Option<&str>) -> Option<(usize, Finding)> {
        let is_compacted = |(_, range): &(usize, MissingRange)| range.reason == MissingReason::Compacted;
        let unlisted = if self.missing.iter().any(is_compacted) { 0 } else { self.more_missing };
        let Some(&(index, range, position)) = gaps.first() else {
            let index = self.missing.last().map_or(0, |&(index, _)| index);
            return (unlisted > 0).then(|| (index, gap(0, unlisted_text(unlisted), None)));
        };
        let offsets_of = |range: &MissingRange| OffsetRange::inclusive(range.first_offset, range.last_offset);
        let first = offsets_of(&range)?;
        let text = gap_text(first, position);
        let more = (gaps.len() as u64 - 1).saturating_add(unlisted);
        let offsets = gaps.iter().filter_map(|(_, range, _)| offsets_of(range)).map(OffsetRange::len);
        let offsets = offsets.fold(0, u64::saturating_add);
        let text = if more == 0 { text } else { more_gaps_text(&text, more, offsets, unlisted > 0) };
        let text = hint.map_or_else(|| text.clone(), |hint| format!("{text}. {hint}"));
        let missing = (more == 0).then_some((range.first_offset, range.last_offset));
        Some((index, gap(position, text, missing)))
    }
}

fn gap(position: u64, message: String, missing: Option<(i64, i64)>) -> Finding {
    Finding { file: FindingFile::Log, position, is_error: true, message, missing, is_gap: true }
}

/// The parts of a range, each with whether it is known.
fn parts(range: MissingRange, known: &[(i64, i64)]) -> Vec<(MissingRange, bool)> {
    let mut parts = Vec::new();
    let mut from = range.first_offset;
    let start = known.partition_point(|&(_, last)| last < from);
    for &(first, last) in known.get(start..).unwrap_or_default() {
        if first > range.last_offset {
            break;
        }
        let (first, last) = (first.max(from), last.min(range.last_offset));
        if from < first {
            parts.push((MissingRange { first_offset: from, last_offset: first - 1, ..range }, false));
        }
        parts.push((MissingRange { first_offset: first, last_offset: last, ..range }, true));
        from = last.saturating_add(1);
    }
    if from <= range.last_offset {
        parts.push((MissingRange { first_offset: from, ..range }, false));
    }
    parts
}

/// Joins ranges of a file that continue one another.
pub(super) fn joined(ranges: Vec<(usize, MissingRange)>) -> Vec<(usize, MissingRange)> {
    let mut joined: Vec<(usize, MissingRange)> = Vec::with_capacity(ranges.len());
    for (index, range) in ranges {
        match joined.last_mut() {
            Some((file, last)) if *file == index && last.continues_with(&range) => last.last_offset = range.last_offset,
            _ => joined.push((index, range)),
        }
    }
    joined
}
