//! The map of a partition: rules 3 to 7, in this order.
//!
//! What is in place in its own file is never changed by another file. Every other batch only fills holes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::assembly::Assembly;
use super::chain::MOST_RUNS;
use super::compare::CompareRecords;
use super::facts::{BatchFact, BatchId, SegmentFacts};
use super::hints::Hints;
use super::holes::{fill, fit};
use super::judge::judge_in_parts;
use super::log_end::EndWitness;
use super::missing::{MissingOffsets, Uses, missing};
use super::names::windows;
use super::placed::{Placed, Placement};
use super::ranges::OffsetRange;
use super::restore::{restore, set_rest};
use super::segment::{SegmentMap, Use};
use super::whole_files::place_whole_files;
use crate::continuity::compaction::Compaction;

/// The judgement of a partition.
#[derive(Debug, Clone)]
pub struct LogMap<'f> {
    placed: Placed<'f>,
    windows: Vec<Option<OffsetRange>>,
    is_in_order: Vec<bool>,
    /// The uses of the batches that are not in place in their own file.
    uses: BTreeMap<BatchId, Use>,
    missing: Vec<MissingOffsets>,
    /// The batches that are delivered, but not in the order of their file.
    out_of_order: BTreeSet<BatchId>,
    /// The files with so many runs that they were judged in parts, in order.
    in_parts: Vec<usize>,
    reached: Option<EndWitness>,
}

impl<'f> LogMap<'f> {
    /// The files, in the order of their names.
    pub fn files(&self) -> &[SegmentFacts<'f>] {
        self.placed.files()
    }

    /// The offsets that a file should have; `None` if its name is not believed.
    pub fn window(&self, file: usize) -> Option<OffsetRange> {
        self.windows.get(file).copied().flatten()
    }

    /// Whether all batches of a file are in place.
    pub fn is_in_order(&self, file: usize) -> bool {
        self.is_in_order.get(file).is_some_and(|&is_in_order| is_in_order)
    }

    /// Whether a file has so many runs of batches that continue one another (4 Mi) that they were judged in parts: which of
    /// them are in place may then depend on the border of a part.
    pub fn is_in_parts(&self, file: usize) -> bool {
        self.in_parts.binary_search(&file).is_ok()
    }

    /// The fact of a batch.
    pub fn batch(&self, id: BatchId) -> Option<&'f BatchFact> {
        self.placed.batch(id)
    }

    /// What is delivered, in the order of offsets. No two batches share an offset.
    pub fn in_offset_order(&self) -> impl Iterator<Item = Placement> {
        self.placed.in_offset_order()
    }

    /// The end offset: that after the last batch, or the name of the last file if it is greater; `None` without files.
    pub fn end(&self) -> Option<i64> {
        let placed = self.placed.last().map(|last| last.offsets.end());
        self.files().last().map(|file| file.name).max(placed)
    }

    /// What is done with a batch; `None` if there is none, or if the leader's epochs exclude its offsets.
    pub fn use_of(&self, id: BatchId) -> Option<Use> {
        self.uses.get(&id).copied().or_else(|| self.placed.is_in_place(id).then_some(Use::InPlace))
    }

    /// The uses of the batches that are not in place in their own file, in the order of files and positions.
    pub fn exceptions(&self) -> impl Iterator<Item = (BatchId, Use)> {
        self.uses.iter().map(|(&id, &batch_use)| (id, batch_use))
    }

    /// The last batch that is delivered below an offset.
    pub(super) fn last_below(&self, offset: i64) -> Option<Placement> {
        self.placed.before(offset)
    }

    /// The offsets at which a batch is delivered; `None` if it is not.
    pub fn placement(&self, id: BatchId) -> Option<Placement> {
        let own = self.batch(id)?.offsets();
        let offsets = match self.use_of(id)? {
            Use::InPlace | Use::Displaced => own,
            Use::Restored { first } => own.at(first),
            Use::Repeat { .. } | Use::OutOfPlace { .. } => return None,
        };
        Some(Placement { id, offsets })
    }

    /// Of the batches that are not where their headers say, the offset after the ones that a header states, and the one at which the log
    /// continues after the batch.
    pub fn continuations(&self) -> impl Iterator<Item = (i64, i64)> {
        self.exceptions().filter_map(|(id, batch_use)| {
            let continues_at = match batch_use {
                Use::Restored { .. } => self.placement(id)?.offsets.end(),
                Use::OutOfPlace { .. } => self.expected_at(id),
                Use::InPlace | Use::Displaced | Use::Repeat { .. } => return None,
            };
            Some((self.batch(id)?.offsets().end(), continues_at))
        })
    }

    /// Whether a batch that is delivered at its own offsets is above those that its file has before it, and below those after it, of
    /// those that are delivered: nothing is wrong with its place. If it is not in the window, a name is wrong.
    pub fn is_in_file_order(&self, id: BatchId) -> bool {
        !self.out_of_order.contains(&id)
    }

    /// The first of all offsets: those that are delivered, and those that are missing.
    pub fn start_offset(&self) -> Option<i64> {
        let name = self.files().first()?.name;
        Some(self.in_offset_order().next().map_or(name, |first| name.min(first.offsets.start())))
    }

    /// The offset after the last one that is delivered.
    pub fn end_offset(&self) -> Option<i64> {
        self.placed.last().map(|last| last.offsets.end())
    }

    /// What is known of the partition's compaction, if this is known without its batches.
    #[must_use]
    pub fn compaction(&self, known: Compaction) -> Compaction {
        known.or_thinned(known == Compaction::Unknown && self.placed.is_thinned())
    }

    /// The indices of the facts of a file where missing offsets should be: between the batches in place before and after them.
    pub fn facts_around(&self, missing: &MissingOffsets) -> Range<usize> {
        self.placed.facts_around(missing.file, missing.offsets)
    }

    /// The index of the last batch of a file that is in place.
    pub(super) fn last_in_place(&self, file: usize) -> Option<usize> {
        self.placed.last_in_place(file)
    }

    /// What shows that missing offsets were in the log, if they are those at its end.
    pub fn end_witness(&self, missing: &MissingOffsets) -> Option<EndWitness> {
        let is_end = |reached: &EndWitness| missing.offsets.end() == reached.end() && self.end() < Some(reached.end());
        self.reached.filter(is_end)
    }

    /// The offsets that are not delivered, from the first name or batch to the last, or to the offset that the log had reached, in
    /// order.
    pub fn missing(&self) -> &[MissingOffsets] {
        &self.missing
    }
}

/// Judges a partition: the files in any order.
///
/// # Errors
/// Records that must be compared cannot be read.
pub fn map_of<'f, C: CompareRecords>(
    files: &[SegmentFacts<'f>],
    hints: impl Into<Hints>,
    records: &mut C,
) -> Result<LogMap<'f>, C::Error> {
    map_in_parts(files, hints.into(), records, MOST_RUNS)
}

/// The same, with any number of runs that are judged at once.
pub(super) fn map_in_parts<'f, C: CompareRecords>(
    files: &[SegmentFacts<'f>],
    hints: impl Into<Hints>,
    records: &mut C,
    most: usize,
) -> Result<LogMap<'f>, C::Error> {
    let mut files = files.to_vec();
    files.sort_by_key(|file| file.name);
    let windows = windows(&files);
    let judge = |(file, window)| judge_in_parts(file, window, most);
    let maps: Vec<SegmentMap> = files.iter().zip(windows).map(judge).collect();
    merge_in_parts(&files, &maps, hints.into(), records, most)
}

/// Joins the judgements of a partition's files, which are in the order of their names, each with its map.
///
/// # Errors
/// Records that must be compared cannot be read.
pub fn merge<'f, C: CompareRecords>(
    files: &[SegmentFacts<'f>],
    maps: &[SegmentMap],
    hints: impl Into<Hints>,
    records: &mut C,
) -> Result<LogMap<'f>, C::Error> {
    merge_in_parts(files, maps, hints.into(), records, MOST_RUNS)
}

fn merge_in_parts<'f, C: CompareRecords>(
    files: &[SegmentFacts<'f>],
    maps: &[SegmentMap],
    hints: Hints,
    records: &mut C,
    most: usize,
) -> Result<LogMap<'f>, C::Error> {
    let compaction = hints.compaction;
    let mut log = Assembly::new(Placed::new(files, maps), maps, records);
    let mut in_parts: Vec<usize> =
        maps.iter().enumerate().filter_map(|(file, map)| map.is_in_parts.then_some(file)).collect();
    if maps.iter().any(|map| !map.others.is_empty()) {
        in_parts.extend(place_whole_files(&mut log, most));
        in_parts.sort_unstable();
        fill(&mut log)?;
        fit(&mut log);
        let is_thinned = compaction == Compaction::Unknown && log.placed.is_thinned();
        restore(&mut log, compaction.or_thinned(is_thinned))?;
        set_rest(&mut log)?;
    }
    let (placed, uses) = log.finish();
    let use_of = |id: BatchId| uses.get(&id).copied();
    let missing = missing(&placed, &Uses { maps, use_of: &use_of }, hints);
    let windows = maps.iter().map(|map| map.window).collect();
    let is_in_order = maps.iter().map(SegmentMap::is_in_order).collect();
    let mut map = LogMap {
        placed,
        windows,
        is_in_order,
        uses,
        missing,
        out_of_order: BTreeSet::new(),
        in_parts,
        reached: hints.reached,
    };
    map.out_of_order = map.find_out_of_order();
    Ok(map)
}
