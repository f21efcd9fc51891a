//! The transactions that are open after batches.

use std::collections::{BTreeSet, HashMap};

use super::batch_headers::BatchHeader;

/// A transaction without an end marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTransaction {
    /// The producer epoch of its first batch.
    pub producer_epoch: i16,
    /// Its first offset.
    pub first_offset: i64,
    /// The last offset of its batches so far.
    pub last_offset: i64,
    /// The timestamp of its first record, ms.
    pub first_timestamp: Option<i64>,
    /// The number of its records so far.
    pub records: u64,
}

/// Open transactions by producer id. An end marker of any epoch ends the transaction of its producer (KIP-98, KIP-890).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenTransactions {
    open: HashMap<i64, OpenTransaction>,
    ended: BTreeSet<i64>,
}

impl OpenTransactions {
    /// Adds a batch with this number of records.
    pub fn add(&mut self, header: &BatchHeader, records: u64) {
        if !header.is_transactional {
            return;
        }
        if header.is_control_batch {
            self.open.remove(&header.producer_id);
            self.ended.insert(header.producer_id);
            return;
        }
        let open = self.open.entry(header.producer_id).or_insert(OpenTransaction {
            producer_epoch: header.producer_epoch,
            first_offset: header.offset_field,
            last_offset: header.last_offset,
            first_timestamp: Some(header.first_timestamp).filter(|&timestamp| timestamp >= 0),
            records: 0,
        });
        open.last_offset = header.last_offset;
        open.records = open.records.saturating_add(records);
    }

    /// The open transactions with their producer ids, by their first offsets.
    pub fn in_order(&self) -> Vec<(i64, OpenTransaction)> {
        let mut found: Vec<_> = self.open.iter().map(|(&producer_id, &open)| (producer_id, open)).collect();
        found.sort_unstable_by_key(|(producer_id, open)| (open.first_offset, *producer_id));
        found
    }

    /// The producers with an end marker among the batches.
    pub fn ended(&self) -> &BTreeSet<i64> {
        &self.ended
    }
}
