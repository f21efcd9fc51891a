//! Builds the three indexes of a segment while batches are appended.
//!
//! Once more than `index.interval.bytes` of log have been appended since the last entry, the next batch gets an entry in
//! `.index` and `.timeindex`. The time index gets the greatest timestamp so far, if it is greater than that of its last entry,
//! and again when the segment is closed.

use crate::index::offset::{OffsetPosition, relative_offset};
use crate::index::time::{NO_TIMESTAMP, TimestampOffset};
use crate::index::transaction::AbortedTxn;
use kafkacomp_records::record::RecordBatch;

/// Kafka's default of `index.interval.bytes`.
pub const DEFAULT_INDEX_INTERVAL_BYTES: u32 = 4096;

/// The indexes of a segment; see the module.
#[derive(Debug, Clone)]
pub struct SegmentIndexes {
    base_offset: i64,
    interval: u64,
    position: u64,
    since_entry: u64,
    greatest: TimestampOffset,
    last_timestamp: i64,
    offsets: Vec<u8>,
    times: Vec<u8>,
    transactions: Vec<u8>,
}

impl SegmentIndexes {
    /// The indexes of an empty segment that begins at `base_offset`, with an entry every `interval` bytes.
    pub fn new(base_offset: i64, interval: u32) -> Self {
        Self {
            base_offset,
            interval: u64::from(interval),
            position: 0,
            since_entry: 0,
            greatest: TimestampOffset { timestamp: NO_TIMESTAMP, offset: base_offset },
            last_timestamp: NO_TIMESTAMP,
            offsets: Vec::new(),
            times: Vec::new(),
            transactions: Vec::new(),
        }
    }

    /// The segment's base offset.
    pub fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// Bytes of the segment so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether a batch of `size` bytes that ends at `last_offset` fits into the segment: positions and relative offsets have
    /// 31 bits.
    pub fn can_hold(&self, last_offset: i64, size: usize) -> bool {
        relative_offset(last_offset, self.base_offset).is_some()
            && i32::try_from(self.position.saturating_add(size as u64)).is_ok()
    }

    /// Adds the next batch, which must [fit](Self::can_hold) into the segment.
    pub fn append(&mut self, batch: &RecordBatch<'_>) {
        let (last_offset, timestamp) = (batch.last_offset(), batch.max_timestamp());
        if timestamp > self.greatest.timestamp {
            self.greatest = TimestampOffset { timestamp, offset: last_offset };
        }
        if self.since_entry > self.interval {
            let entry = OffsetPosition { offset: last_offset, position: self.position as u32 };
            self.offsets.extend(entry.encode(self.base_offset).into_iter().flatten());
            self.note_time();
            self.since_entry = 0;
        }
        let size = batch.size_in_bytes() as u64;
        self.position = self.position.saturating_add(size);
        self.since_entry = self.since_entry.saturating_add(size);
    }

    /// Adds an aborted transaction whose marker is in this segment.
    pub fn add_aborted(&mut self, transaction: AbortedTxn) {
        self.transactions.extend(transaction.encode());
    }

    fn note_time(&mut self) {
        if self.greatest.timestamp > self.last_timestamp {
            self.times.extend(self.greatest.encode(self.base_offset).into_iter().flatten());
            self.last_timestamp = self.greatest.timestamp;
        }
    }

    /// The contents of `.index`, `.timeindex` and `.txnindex` of the closed segment.
    pub fn finish(mut self) -> [Vec<u8>; 3] {
        self.note_time();
        [self.offsets, self.times, self.transactions]
    }
}
