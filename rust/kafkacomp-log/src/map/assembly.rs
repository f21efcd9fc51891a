//! A partition while it is put together: what is placed, the uses of the other batches, and what speaks for them.

use std::collections::BTreeMap;

use super::compare::{Agreement, CompareRecords};
use super::facts::{BatchFact, BatchId, Fact};
use super::placed::{Placed, Placement};
use super::ranges::OffsetRange;
use super::runs::Run;
use super::segment::{SegmentMap, Use};

/// The most placed batches that a copy may share offsets with. Compaction keeps the borders of batches in format 2, and in the
/// others makes batches smaller, so a batch over more of them is of another log.
pub(super) const MOST_SHARED: usize = 64;

/// The batches that are placed so far.
pub(super) struct Assembly<'m, 'f, C> {
    pub(super) placed: Placed<'f>,
    maps: &'m [SegmentMap],
    /// The uses of the batches that are not in place in their own file.
    uses: BTreeMap<BatchId, Use>,
    /// What `records` has answered.
    compared: BTreeMap<(BatchId, BatchId), Agreement>,
    records: &'m mut C,
}

/// What the batches that are placed at a batch's offsets say about it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Votes {
    /// A batch that has the same records.
    pub(super) same: Option<BatchId>,
    /// A batch that has other records.
    pub(super) different: Option<BatchId>,
}

impl<'m, 'f, C: CompareRecords> Assembly<'m, 'f, C> {
    pub(super) fn new(placed: Placed<'f>, maps: &'m [SegmentMap], records: &'m mut C) -> Self {
        Self { placed, maps, uses: BTreeMap::new(), compared: BTreeMap::new(), records }
    }

    /// The placed batches, and the uses of all that are not in place in their own file.
    pub(super) fn finish(self) -> (Placed<'f>, BTreeMap<BatchId, Use>) {
        (self.placed, self.uses)
    }

    /// The judgements of the files.
    pub(super) fn maps(&self) -> &'m [SegmentMap] {
        self.maps
    }

    pub(super) fn facts(&self, file: usize) -> &'f [Fact] {
        self.placed.files().get(file).map_or(&[], |file| file.facts)
    }

    /// The batches of a file that are not in place in it, with their ids, in the order of positions.
    pub(super) fn others(&self, file: usize) -> impl Iterator<Item = (BatchId, &'f BatchFact)> + use<'m, 'f, C> {
        let facts = self.facts(file);
        let stretches = self.maps.get(file).map_or(&[][..], |map| &map.others);
        let batches = stretches.iter().flat_map(|stretch| stretch.batches(facts));
        batches.map(move |(index, batch)| (BatchId { file, index }, batch))
    }

    /// The use of a batch that is not in place in its own file, if it is known.
    pub(super) fn use_of(&self, id: BatchId) -> Option<Use> {
        self.uses.get(&id).copied()
    }

    pub(super) fn set_use(&mut self, id: BatchId, batch_use: Use) {
        self.uses.insert(id, batch_use);
    }

    /// Places batches of a file at their own offsets, where nothing is placed.
    pub(super) fn displace(&mut self, file: usize, indices: &[usize]) {
        for id in indices.iter().map(|&index| BatchId { file, index }) {
            if let Some(batch) = self.placed.batch(id) {
                self.placed.put(id, batch.offsets());
                self.set_use(id, Use::Displaced);
            }
        }
    }

    /// Places a batch at other offsets than its own, where nothing is placed.
    pub(super) fn restore(&mut self, id: BatchId, offsets: OffsetRange) {
        self.placed.put(id, offsets);
        self.set_use(id, Use::Restored { first: offsets.start() });
    }

    /// The batches of a run at whose offsets nothing is placed.
    pub(super) fn free(&self, file: usize, run: &Run) -> Vec<usize> {
        let batches = run.batches(self.facts(file));
        batches.filter(|(_, batch)| self.placed.is_free(batch.offsets())).map(|(index, _)| index).collect()
    }

    /// Compares a batch with what is placed at its offsets.
    ///
    /// # Errors
    /// Records cannot be read.
    pub(super) fn votes(&mut self, id: BatchId) -> Result<Votes, C::Error> {
        let Some(batch) = self.placed.batch(id) else { return Ok(Votes::default()) };
        let own = Placement { id, offsets: batch.offsets() };
        let touching: Vec<Placement> = self.placed.touching(own.offsets).take(MOST_SHARED + 1).collect();
        if touching.len() > MOST_SHARED {
            return Ok(Votes { same: None, different: touching.first().map(|other| other.id) });
        }
        let mut votes = Votes::default();
        for other in touching {
            let vote = match self.agreement(own, batch, other)? {
                Agreement::Same => &mut votes.same,
                Agreement::Different => &mut votes.different,
                Agreement::NothingShared => continue,
            };
            vote.get_or_insert(other.id);
        }
        Ok(votes)
    }

    fn agreement(&mut self, own: Placement, batch: &BatchFact, other: Placement) -> Result<Agreement, C::Error> {
        let is_equal =
            own.id == other.id || self.placed.batch(other.id).is_some_and(|other| batch.has_content_of(other));
        if is_equal && own.offsets == other.offsets {
            return Ok(Agreement::Same);
        }
        if let Some(&known) = self.compared.get(&(own.id, other.id)) {
            return Ok(known);
        }
        let found = self.records.compare(own, other)?;
        self.compared.insert((own.id, other.id), found);
        Ok(found)
    }
}
