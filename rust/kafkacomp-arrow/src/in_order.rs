//! Transactions of a log in which base offsets may be altered: no checksum covers them.
//!
//! An altered base offset would move a transaction's begin or end past batches of others, which then would be taken for
//! aborted ones, or for committed ones. So each batch is held until the next one is known. If it cannot stand between its
//! neighbours, and they leave room for it, its offsets count as those of the room: no other batch is there.

use kafkacomp_core::log::{TransactionCollector, TransactionEvent};
use kafkacomp_core::record::{RecordBatch, RecordReader};

/// Hands the batches of a partition to a collector, one behind.
#[derive(Debug, Default)]
pub struct InOrder {
    /// The offset after the batches before the one that is held.
    end: Option<i64>,
    held: Option<Held>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    first: i64,
    last: i64,
    producer_id: i64,
    event: Option<TransactionEvent>,
}

impl InOrder {
    /// The log begins at this offset, if nothing came before.
    pub fn begin(&mut self, base_offset: Option<i64>) {
        if self.held.is_none() {
            self.end = self.end.or(base_offset);
        }
    }

    /// Takes the next batch of the log.
    pub fn push(&mut self, batch: &RecordBatch<'_>, reader: &mut RecordReader, collector: &mut TransactionCollector) {
        let last = batch.last_offset();
        let first = batch.base_offset().unwrap_or(last);
        self.settle(Some(first), collector);
        let event = TransactionEvent::of(batch, reader);
        self.held = Some(Held { first, last, producer_id: batch.producer_id(), event });
    }

    /// The log ends here.
    pub fn finish(&mut self, collector: &mut TransactionCollector) {
        self.settle(None, collector);
    }

    fn settle(&mut self, next: Option<i64>, collector: &mut TransactionCollector) {
        let Some(mut held) = self.held.take() else { return };
        if let Some(room) = self.room_of(&held, next) {
            (held.first, held.last) = room;
        } else {
            let end = held.last.saturating_add(1);
            self.end = Some(self.end.map_or(end, |before| before.max(end)));
        }
        if let Some(event) = held.event {
            collector.apply(held.producer_id, event, held.first, held.last);
        }
    }

    /// First and last offset that the neighbours leave for a batch whose own contradict them.
    fn room_of(&self, held: &Held, next: Option<i64>) -> Option<(i64, i64)> {
        let (end, next) = (self.end?, next?);
        let contradicts = held.first < end || (held.first > end && held.last >= next);
        (contradicts && next >= end).then(|| (end, next.saturating_sub(1)))
    }
}
