//! Collects the transactions of a log in which base offsets may be altered, because no checksum covers them.
//!
//! An altered base offset would move the start or end of a transaction past other batches, which then would be taken for aborted
//! or for committed ones. Therefore each batch is kept until the next one is known. If its offsets do not fit between its
//! neighbours, and they leave room for it, it gets the offsets of that room.

use kafkacomp_core::log::{TransactionCollector, TransactionEvent};
use kafkacomp_core::record::{RecordBatch, RecordReader};

/// Passes the batches of a partition to a collector, each one after the next one is known.
#[derive(Debug, Default)]
pub struct InOrder {
    /// The offset after the batches before the one that is kept.
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
    /// Sets the offset at which the log begins, if no batch came before.
    pub fn begin(&mut self, base_offset: Option<i64>) {
        if self.held.is_none() {
            self.end = self.end.or(base_offset);
        }
    }

    /// Adds the next batch of the log.
    pub fn push(&mut self, batch: &RecordBatch<'_>, reader: &mut RecordReader, collector: &mut TransactionCollector) {
        let last = batch.last_offset();
        let first = batch.base_offset().unwrap_or(last);
        self.settle(Some(first), collector);
        let event = TransactionEvent::of(batch, reader);
        self.held = Some(Held { first, last, producer_id: batch.producer_id(), event });
    }

    /// Ends the log.
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

    /// The first and last offset between the neighbours of a batch whose own offsets contradict them.
    fn room_of(&self, held: &Held, next: Option<i64>) -> Option<(i64, i64)> {
        let (end, next) = (self.end?, next?);
        let contradicts = held.first < end || (held.first > end && held.last >= next);
        (contradicts && next >= end).then(|| (end, next.saturating_sub(1)))
    }
}
