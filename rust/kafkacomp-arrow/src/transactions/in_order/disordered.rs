//! The rest of a segment in which batches are in the place of others.

use kafkacomp_core::log::{TransactionCollector, TransactionEvent};
use kafkacomp_core::memory;

/// The most batches that are collected: 192 MiB. The transactions of more are applied in the order of the file.
const MOST_COLLECTED: usize = 1 << 22;

/// A batch, with its event if it is of a transaction.
#[derive(Debug, Clone, Copy)]
pub struct Collected {
    pub first: i64,
    pub last: i64,
    pub producer_id: i64,
    pub event: Option<TransactionEvent>,
    /// Whether it is not in the place of others.
    pub is_in_place: bool,
}

/// The batches since the first one in the place of others.
#[derive(Debug, Default)]
pub struct Disordered(Vec<Collected>);

impl Disordered {
    pub fn push(&mut self, batch: Collected, collector: &mut TransactionCollector) {
        if self.0.len() >= MOST_COLLECTED || memory::push(&mut self.0, batch).is_err() {
            std::mem::take(self).apply(collector);
        }
    }

    /// Applies the events in the order of their offsets. Those of a batch in the place of others count if no other batch has its
    /// offsets, and if there is a later batch: then it was moved, and its own place has others.
    pub fn apply(mut self, collector: &mut TransactionCollector) {
        self.0.sort_by_key(|batch| (batch.first, !batch.is_in_place));
        let limit = self.0.iter().filter(|batch| batch.is_in_place).map(|batch| batch.first).max();
        let mut end = i64::MIN;
        let mut batches = self.0.iter().peekable();
        while let Some(batch) = batches.next() {
            let next = batches.peek().filter(|next| next.first > batch.first).map(|next| next.first);
            let has_room = batch.first >= end && next.is_none_or(|next| batch.last < next);
            let was_moved = has_room && limit.is_some_and(|limit| batch.last < limit);
            if !batch.is_in_place && !was_moved {
                continue;
            }
            end = end.max(batch.last.saturating_add(1));
            if let Some(event) = batch.event {
                collector.apply(batch.producer_id, event, batch.first, batch.last);
            }
        }
    }
}
