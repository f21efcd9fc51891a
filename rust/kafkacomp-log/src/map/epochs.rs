//! Altered leader epochs. No checksum covers the leader epoch of a batch, but along a log leader epochs never decrease.
//!
//! Of the batches that have one, in the order of offsets, those are right whose leader epochs do not decrease and that have the most
//! bytes. A batch with another one keeps its records: only the field is wrong.

use super::chain::{Link, heaviest};
use super::facts::BatchId;
use super::partition::LogMap;
use super::ranges::OffsetRange;
use crate::index::checkpoint::LeaderEpochEntry;

/// A leader epoch that cannot be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochFault {
    /// The batch.
    pub id: BatchId,
    /// The leader epoch in its header.
    pub stored: i32,
    /// The leader epoch that the checkpoint or the batches around it have there.
    pub right: i32,
}

/// Placed batches one after another that have the same leader epoch.
struct Run {
    epoch: i32,
    bytes: u128,
    offsets: OffsetRange,
}

impl LogMap<'_> {
    /// The batches whose leader epochs cannot be right, in the order of offsets. `checkpoint` are the entries of the leader epoch
    /// checkpoint, which may be empty.
    pub fn epoch_faults(&self, checkpoint: &[LeaderEpochEntry]) -> Vec<EpochFault> {
        let runs = self.epoch_runs();
        let is_right = |run: &Run| run.epoch >= 0;
        if runs.is_sorted_by_key(|run| run.epoch) && runs.iter().all(is_right) {
            return Vec::new();
        }
        let right = right_epochs(&runs, checkpoint);
        let mut faults = Vec::new();
        let mut run = 0;
        for (id, stored, offsets) in self.epochs() {
            while runs.get(run).is_some_and(|run| run.offsets.end() <= offsets.start()) {
                run += 1;
            }
            if let Some(&right) = right.get(run).filter(|&&right| right != stored) {
                faults.push(EpochFault { id, stored, right });
            }
        }
        faults
    }

    /// The batches that have a leader epoch, in the order of offsets.
    fn epochs(&self) -> impl Iterator<Item = (BatchId, i32, OffsetRange)> {
        let placements = self.in_offset_order();
        placements.filter_map(|each| Some((each.id, self.batch(each.id)?.leader_epoch()?, each.offsets)))
    }

    fn epoch_runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (id, epoch, offsets) in self.epochs() {
            let bytes = self.batch(id).map_or(0, |batch| batch.bytes().len()).into();
            match runs.last_mut() {
                Some(last) if last.epoch == epoch => {
                    last.bytes += bytes;
                    last.offsets = last.offsets.through(offsets);
                }
                _ => runs.push(Run { epoch, bytes, offsets }),
            }
        }
        runs
    }
}

/// The right leader epoch of each run.
fn right_epochs(runs: &[Run], checkpoint: &[LeaderEpochEntry]) -> Vec<i32> {
    let is_right = heaviest_epochs(runs);
    let mut right: Vec<Option<i32>> =
        runs.iter().zip(&is_right).map(|(run, &is_right)| is_right.then_some(run.epoch)).collect();
    let mut high = vec![None; runs.len()];
    let mut next = None;
    for (place, &epoch) in high.iter_mut().zip(&right).rev() {
        *place = next;
        next = epoch.or(next);
    }
    let mut low = None;
    for ((run, epoch), high) in runs.iter().zip(&mut right).zip(high) {
        if epoch.is_none() {
            let after = checkpoint.partition_point(|entry| entry.start_offset <= run.offsets.start());
            let known = after.checked_sub(1).and_then(|at| checkpoint.get(at)).map(|entry| entry.epoch);
            let fits = |&known: &i32| low.is_none_or(|low| low <= known) && high.is_none_or(|high| known <= high);
            *epoch = known.filter(fits).or(low).or(high);
        }
        low = epoch.or(low);
    }
    // Without any right one, there is nothing to restore.
    runs.iter().zip(right).map(|(run, right)| right.unwrap_or(run.epoch)).collect()
}

/// How many bytes it is worth that a run goes on with the leader epoch of the run before it: a leader is rarely changed for a batch.
const CONTINUED: u128 = 4096;

/// Those runs that do not decrease and together have the most bytes; of equals those that end with the lower epoch. A run counts
/// [`CONTINUED`] more if it has the leader epoch of the one before.
fn heaviest_epochs(runs: &[Run]) -> Vec<bool> {
    let possible: Vec<usize> = (0..runs.len()).filter(|&number| runs[number].epoch >= 0).collect();
    let link = |&number: &usize| {
        let Run { epoch, bytes, .. } = runs[number];
        Link { after: i64::from(epoch) - 1, end: epoch.into(), weight: bytes }
    };
    let mut is_right = vec![false; runs.len()];
    for place in heaviest(&possible.iter().map(link).collect::<Vec<_>>(), Some(CONTINUED)) {
        is_right[possible[place]] = true;
    }
    is_right
}
