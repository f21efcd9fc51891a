//! Judges the leader epoch of a batch: leader epochs do not decrease along a partition.

use crate::log::LeaderEpochEntry;
use crate::log::read::placement::Span;
use crate::log::read::source::{ReadAt, read_full};
use crate::record::RecordBatch;
use crate::record::layout::v2::RECORD_BATCH_OVERHEAD;

/// A leader epoch that cannot be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochFault {
    /// The stored leader epoch.
    pub stored: i32,
    /// The leader epoch that its neighbours or the checkpoint determine.
    pub restored: Option<i32>,
}

/// The leader epochs of the next two batches.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NextEpochs {
    next: Option<i32>,
    after_next: Option<i32>,
}

impl NextEpochs {
    /// The leader epochs of the first two of `batches`.
    pub(super) fn of(batches: &[RecordBatch<'_>]) -> Self {
        let epoch = |index: usize| batches.get(index).and_then(epoch_of);
        Self { next: epoch(0), after_next: epoch(1) }
    }

    /// The leader epoch of the first batch of the next segment.
    pub(super) fn of_segment(next: &dyn ReadAt) -> std::io::Result<Self> {
        let mut header = [0_u8; RECORD_BATCH_OVERHEAD];
        let read = read_full(next, &mut header, 0)?;
        let epoch = header.get(12..16).and_then(|epoch| epoch.try_into().ok()).map(i32::from_be_bytes);
        let is_batch = read == header.len() && header.get(16) == Some(&2);
        Ok(Self { next: epoch.filter(|&epoch| is_batch && epoch != -1), after_next: None })
    }
}

/// The leader epoch of a batch, if it has one. Negative values other than -1 are altered ones.
fn epoch_of(batch: &RecordBatch<'_>) -> Option<i32> {
    Some(batch.partition_leader_epoch()).filter(|&epoch| epoch != -1)
}

/// The leader epochs up to the batch that is judged.
#[derive(Debug)]
pub(super) struct Epochs<'a> {
    checkpoint: &'a [LeaderEpochEntry],
    current: Option<i32>,
    /// Whether that batch is in this segment.
    is_own: bool,
}

impl<'a> Epochs<'a> {
    pub(super) fn new(checkpoint: &'a [LeaderEpochEntry], current: Option<i32>) -> Self {
        Self { checkpoint, current, is_own: false }
    }

    /// The leader epoch of the last batch in order.
    pub(super) fn current(&self) -> Option<i32> {
        self.current
    }

    /// Whether the batch has the leader epoch of the one before.
    #[inline]
    pub(super) fn continues(&self, batch: &RecordBatch<'_>) -> bool {
        let epoch = batch.partition_leader_epoch();
        epoch == -1 || Some(epoch) == self.current
    }

    pub(super) fn accept(&mut self, batch: &RecordBatch<'_>, fault: Option<EpochFault>) {
        let epoch = if fault.is_some_and(|fault| fault.restored.is_none()) { None } else { epoch_of(batch) };
        self.current = epoch.or(self.current);
        self.is_own |= epoch.is_some();
    }

    pub(super) fn judge(&self, batch: &RecordBatch<'_>, span: Span, following: NextEpochs) -> Option<EpochFault> {
        let stored = epoch_of(batch)?;
        let next = following.next.filter(|&next| next >= 0);
        let follows = stored >= 0 && self.current.is_none_or(|current| stored >= current);
        let is_spike = next.is_some_and(|next| stored > next);
        // If a lesser epoch follows a greater one, the lesser one is wrong if the next epoch is at least the greater one, unless
        // the lesser one is also the epoch before.
        let next_is_wrong = (next != self.current && following.after_next.is_some_and(|after| after >= stored))
            || next.zip(self.current).is_some_and(|(next, current)| next < current);
        // Two batches that agree outweigh the one before them. The last batch of another segment may itself be wrong.
        let is_confirmed = stored >= 0 && (next == Some(stored) || (next.is_none() && !self.is_own));
        if !follows && is_confirmed {
            return None;
        }
        if follows && (!is_spike || next_is_wrong) && !self.contradicts(stored, span, next) {
            return None;
        }
        let in_range = |epoch: &i32| {
            self.current.is_none_or(|current| *epoch >= current) && next.is_none_or(|next| *epoch <= next)
        };
        let restored = self.of_checkpoint(span).filter(in_range);
        let both = self.current.filter(|_| self.current == next);
        // A neighbour whose epoch differs in a single bit.
        let flipped = |epoch: &i32| (stored ^ *epoch).count_ones() == 1;
        let near = match (self.current.filter(flipped), next.filter(flipped)) {
            (Some(_), Some(_)) => None,
            (one, other) => one.or(other),
        };
        Some(EpochFault { stored, restored: restored.or(both).or(near) })
    }

    /// The leader epoch of the batch according to the checkpoint.
    fn of_checkpoint(&self, span: Span) -> Option<i32> {
        let first = span.first.unwrap_or(span.last);
        let at = self.checkpoint.partition_point(|entry| entry.start_offset <= first);
        self.checkpoint.get(at.checked_sub(1)?).map(|entry| entry.epoch)
    }

    /// Whether the checkpoint contradicts an epoch that neither neighbour has.
    fn contradicts(&self, stored: i32, span: Span, next: Option<i32>) -> bool {
        Some(stored) != self.current
            && Some(stored) != next
            && !self.checkpoint.iter().any(|entry| entry.epoch == stored)
            && self.of_checkpoint(span).is_some_and(|epoch| self.current.is_none_or(|current| epoch >= current))
    }
}
