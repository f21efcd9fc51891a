//! What is to be reported about a partition that was rewritten.

use std::collections::BTreeMap;

use super::job::{Current, PartitionJob};
use crate::continuity::compaction::Compaction;
use crate::continuity::coverage::listed;
use crate::continuity::missing::MissingRange;
use crate::map::wording::{end_text, in_parts_text, name_text};
use crate::map::{BatchId, LogMap, OffsetRange, Use};

/// The findings in the segments of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionFindings {
    /// Missing offsets, each range with the index of the segment that should have it; at most
    /// [`MAX_MISSING_RANGES`](crate::MAX_MISSING_RANGES).
    pub missing: Vec<(usize, MissingRange)>,
    /// The number of further ranges.
    pub more_missing: u64,
    /// The offset up to which compaction explains missing offsets, if it has removed records.
    pub compacted_to: Option<i64>,
    /// Repeated batches, wrong names and overlapping files.
    pub warnings: Vec<String>,
}

impl PartitionFindings {
    /// What the map of a job's segments finds. `warnings` are those of the work about a segment.
    pub(super) fn of(
        job: &PartitionJob,
        segments: &[&Current<'_>],
        map: &LogMap<'_>,
        mut warnings: impl FnMut(usize) -> Vec<String>,
    ) -> Self {
        let mut found = Self::default();
        let segment_of = |file: usize| segments.get(file).map_or(0, |segment| segment.index);
        for (file, facts) in map.files().iter().enumerate() {
            let segment = segment_of(file);
            let name = map.misnamed(file).map(|first| name_text(first, facts.name));
            let in_parts = map.is_in_parts(file).then(in_parts_text);
            for text in name.into_iter().chain(in_parts).chain(warnings(segment)) {
                found.warnings.push(format!("{}: {text}", job.name(segment)));
            }
        }
        for ((earlier, later), offsets) in overlaps(map) {
            let (earlier, later) = (job.name(segment_of(earlier)), job.name(segment_of(later)));
            let (first, last) = (offsets.start(), offsets.end() - 1);
            let text = format!("{earlier} and {later} both have offsets {first} to {last}; they are written once");
            found.warnings.push(text);
        }
        for each in map.missing() {
            if let Some(witness) = map.end_witness(each) {
                found.warnings.push(format!("{}: {}", job.name(segment_of(each.file)), end_text(witness)));
            }
        }
        let missing = map.missing().iter().map(|each| {
            let (first_offset, last_offset) = (each.offsets.start(), each.offsets.end() - 1);
            (segment_of(each.file), MissingRange { first_offset, last_offset, reason: each.reason })
        });
        (found.missing, found.more_missing) = listed(missing.collect());
        found.compacted_to = match map.compaction(job.history.compaction) {
            Compaction::To(offset) => Some(offset),
            Compaction::Somewhere => map.end_offset(),
            Compaction::Unknown => None,
        };
        found
    }
}

/// Whether a file has a batch only because it overlaps another one: nothing happened to it.
pub(super) fn is_overlap(map: &LogMap<'_>, id: BatchId, batch_use: Use) -> bool {
    matches!(batch_use, Use::Repeat { of } if of.file != id.file) && map.is_beyond_window(id)
}

/// The pairs of files that have the same batches, from the first of these to the last.
fn overlaps(map: &LogMap<'_>) -> BTreeMap<(usize, usize), OffsetRange> {
    let mut found = BTreeMap::new();
    for (id, batch_use) in map.exceptions().filter(|&(id, batch_use)| is_overlap(map, id, batch_use)) {
        if let (Use::Repeat { of }, Some(batch)) = (batch_use, map.batch(id)) {
            let pair = (id.file.min(of.file), id.file.max(of.file));
            let offsets: &mut OffsetRange = found.entry(pair).or_insert(batch.offsets());
            *offsets = offsets.around(batch.offsets());
        }
    }
    found
}
