//! What is placed at the offsets of a partition.
//!
//! Most batches are in place, and found by binary search in the facts. Only those that are moved to other offsets or other
//! files are kept in a tree. No two placed batches share an offset.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Range;

use super::facts::{BatchFact, BatchId, SegmentFacts};
use super::ranges::OffsetRange;
use super::runs::Run;
use super::segment::SegmentMap;

/// A batch and the offsets at which it is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// The batch.
    pub id: BatchId,
    /// Its offsets in the log; they are not those of its header if these were restored.
    pub offsets: OffsetRange,
}

/// Batches that are in place, side by side.
#[derive(Debug, Clone)]
struct Stretch {
    file: usize,
    run: Run,
}

/// The batches that are placed.
#[derive(Debug, Clone)]
pub(super) struct Placed<'f> {
    files: Vec<SegmentFacts<'f>>,
    /// The batches in place, in the order of offsets: windows share no offset.
    home: Vec<Stretch>,
    /// The part of `home` of each file.
    home_of: Vec<Range<usize>>,
    /// The other placed batches, by their first offsets.
    moved: BTreeMap<i64, Placement>,
}

impl<'f> Placed<'f> {
    /// Nothing but what is in place in its own file.
    pub(super) fn new(files: &[SegmentFacts<'f>], maps: &[SegmentMap]) -> Self {
        let mut in_order: Vec<usize> = (0..files.len().min(maps.len())).collect();
        in_order.sort_by_key(|&file| maps.get(file).and_then(|map| map.window));
        let mut home = Vec::new();
        let mut home_of = vec![0..0; files.len()];
        for number in in_order {
            let start = home.len();
            if let (Some(file), Some(map), Some(place)) = (files.get(number), maps.get(number), home_of.get_mut(number))
            {
                home.extend(map.stretches_in_place(file).into_iter().map(|run| Stretch { file: number, run }));
                *place = start..home.len();
            }
        }
        Self { files: files.to_vec(), home, home_of, moved: BTreeMap::new() }
    }

    pub(super) fn files(&self) -> &[SegmentFacts<'f>] {
        &self.files
    }

    /// A batch by its id.
    pub(super) fn batch(&self, id: BatchId) -> Option<&'f BatchFact> {
        self.files.get(id.file)?.facts.get(id.index)?.batch()
    }

    /// Places a batch at offsets where nothing is placed.
    pub(super) fn put(&mut self, id: BatchId, offsets: OffsetRange) {
        self.moved.insert(offsets.start(), Placement { id, offsets });
    }

    /// The runs of a file that are in place.
    fn home(&self, file: usize) -> &[Stretch] {
        let part = self.home_of.get(file).cloned().unwrap_or_default();
        self.home.get(part).unwrap_or_default()
    }

    /// Whether a batch is in place in its own file.
    pub(super) fn is_in_place(&self, id: BatchId) -> bool {
        let runs = self.home(id.file);
        let place = runs.partition_point(|stretch| stretch.run.facts.end <= id.index);
        runs.get(place).is_some_and(|stretch| stretch.run.facts.contains(&id.index))
    }

    /// The index of the last fact of a file that is in place.
    pub(super) fn last_in_place(&self, file: usize) -> Option<usize> {
        self.home(file).last().map(|stretch| stretch.run.facts.end.saturating_sub(1))
    }

    /// The indices of the facts between the batches in place of a file that are below a hole, and those above it.
    pub(super) fn facts_around(&self, file: usize, hole: OffsetRange) -> Range<usize> {
        let runs = self.home(file);
        let Some(facts) = self.files.get(file).map(|file| file.facts) else { return 0..0 };
        let next = runs.partition_point(|stretch| stretch.run.offsets.end() <= hole.start());
        let start = next.checked_sub(1).and_then(|last| runs.get(last)).map_or(0, |before| before.run.facts.end);
        match runs.get(next) {
            // Its batches are side by side.
            Some(around) if around.run.offsets.contains(hole) => {
                let after = around.run.partition_point(facts, |batch| batch.offsets().end() <= hole.start());
                after..after
            }
            Some(after) => start..after.run.facts.start,
            None => start..facts.len(),
        }
    }

    fn at(&self, file: usize, index: usize) -> Option<Placement> {
        let id = BatchId { file, index };
        self.batch(id).map(|batch| Placement { id, offsets: batch.offsets() })
    }

    /// The last placed batch that begins below an offset.
    pub(super) fn before(&self, offset: i64) -> Option<Placement> {
        let count = self.home.partition_point(|stretch| stretch.run.offsets.start() < offset);
        let home = count.checked_sub(1).and_then(|last| self.home.get(last)).and_then(|Stretch { file, run }| {
            let facts = self.files.get(*file)?.facts;
            let end = run.partition_point(facts, |batch| batch.offsets().start() < offset);
            self.at(*file, end.checked_sub(1)?)
        });
        let moved = self.moved.range(..offset).next_back().map(|(_, placement)| *placement);
        [home, moved].into_iter().flatten().max_by_key(|placement| placement.offsets.start())
    }

    /// The first placed batch that begins at an offset or above it.
    pub(super) fn at_or_after(&self, offset: i64) -> Option<Placement> {
        // The first run that ends above the offset: its last batch may begin below it, then the next run is it.
        let place = self.home.partition_point(|stretch| stretch.run.offsets.end() <= offset);
        let home = self.home.get(place..).unwrap_or_default().iter().find_map(|Stretch { file, run }| {
            let facts = self.files.get(*file)?.facts;
            let index = run.partition_point(facts, |batch| batch.offsets().start() < offset);
            self.at(*file, Some(index).filter(|index| run.facts.contains(index))?)
        });
        let moved = self.moved.range(offset..).next().map(|(_, placement)| *placement);
        [home, moved].into_iter().flatten().min_by_key(|placement| placement.offsets.start())
    }

    /// The last one of all placed batches.
    pub(super) fn last(&self) -> Option<Placement> {
        let home = self.home.last().and_then(|stretch| self.at(stretch.file, stretch.run.facts.end.checked_sub(1)?));
        let moved = self.moved.last_key_value().map(|(_, placement)| *placement);
        [home, moved].into_iter().flatten().max_by_key(|placement| placement.offsets.start())
    }

    /// The placed batches that have some of these offsets, in no particular order.
    pub(super) fn touching(&self, offsets: OffsetRange) -> impl Iterator<Item = Placement> {
        let first = self.home.partition_point(|stretch| stretch.run.offsets.end() <= offsets.start());
        let stretches = self.home.get(first..).unwrap_or_default().iter();
        let stretches = stretches.take_while(move |stretch| stretch.run.offsets.overlaps(offsets));
        let home = stretches.flat_map(move |Stretch { file, run }| {
            let facts = self.files.get(*file).map_or(&[][..], |file| file.facts);
            let start = run.partition_point(facts, |batch| batch.offsets().end() <= offsets.start());
            let end = run.partition_point(facts, |batch| batch.offsets().start() < offsets.end());
            (start..end).filter_map(|index| self.at(*file, index))
        });
        let moved = self.moved.range(..offsets.end()).rev().map(|(_, placement)| *placement);
        home.chain(moved.take_while(move |placement| placement.offsets.end() > offsets.start()))
    }

    /// Whether nothing is placed at these offsets.
    pub(super) fn is_free(&self, offsets: OffsetRange) -> bool {
        self.touching(offsets).next().is_none()
    }

    /// Whether a placed batch has fewer records than offsets, as after compaction.
    pub(super) fn is_thinned(&self) -> bool {
        self.in_offset_order().any(|placement| self.batch(placement.id).is_some_and(BatchFact::is_thinned))
    }

    /// All placed batches in the order of their offsets.
    pub(super) fn in_offset_order(&self) -> impl Iterator<Item = Placement> {
        let home = self
            .home
            .iter()
            .flat_map(|Stretch { file, run }| run.facts.clone().filter_map(|index| self.at(*file, index)));
        InOffsetOrder { home: home.peekable(), moved: self.moved.values().copied().peekable() }
    }
}

/// Merges two series of placements, each in the order of offsets.
struct InOffsetOrder<A: Iterator, B: Iterator> {
    home: Peekable<A>,
    moved: Peekable<B>,
}

impl<A: Iterator<Item = Placement>, B: Iterator<Item = Placement>> Iterator for InOffsetOrder<A, B> {
    type Item = Placement;

    fn next(&mut self) -> Option<Placement> {
        match (self.home.peek(), self.moved.peek()) {
            (Some(home), Some(moved)) => match home.offsets.cmp(&moved.offsets) {
                Ordering::Greater => self.moved.next(),
                _ => self.home.next(),
            },
            (Some(_), None) => self.home.next(),
            (None, _) => self.moved.next(),
        }
    }
}
