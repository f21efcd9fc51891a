//! The state of a partition's producers after each batch, as a broker keeps it: sequence numbers, open transactions, and
//! transactions that were aborted.

use std::collections::BTreeMap;

use crate::index::producer_snapshot::{ProducerEntry, encode_producer_snapshot};
use crate::index::transaction::{AbortedTxn, CURRENT_VERSION};
use kafkacomp_records::record::batch::{NO_PRODUCER_ID, NO_SEQUENCE};
use kafkacomp_records::record::{ControlRecord, RecordBatch, RecordReader, Result};

/// The producers of one partition, by id.
#[derive(Debug, Clone, Default)]
pub struct ProducerState {
    producers: BTreeMap<i64, ProducerEntry>,
}

/// The entry of a new producer.
fn unknown(producer_id: i64) -> ProducerEntry {
    ProducerEntry {
        producer_id,
        epoch: -1,
        last_sequence: NO_SEQUENCE,
        last_offset: -1,
        offset_delta: 0,
        timestamp: -1,
        coordinator_epoch: -1,
        current_txn_first_offset: -1,
    }
}

impl ProducerState {
    /// Without producers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The state that a snapshot contains.
    pub fn from_entries(entries: &[ProducerEntry]) -> Self {
        Self { producers: entries.iter().map(|entry| (entry.producer_id, *entry)).collect() }
    }

    /// Whether there are no producers.
    pub fn is_empty(&self) -> bool {
        self.producers.is_empty()
    }

    /// Adds a batch, and returns the transaction that it aborts, if that has records. Only a control batch needs its body, which
    /// `reader` reads.
    ///
    /// # Errors
    /// A control batch cannot be read.
    pub fn append(&mut self, batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<Option<AbortedTxn>> {
        let producer_id = batch.producer_id();
        if producer_id == NO_PRODUCER_ID {
            return Ok(None);
        }
        if batch.is_control_batch() {
            return self.append_marker(batch, reader);
        }
        let entry = self.producers.entry(producer_id).or_insert_with(|| unknown(producer_id));
        let base_offset = batch.offset_field();
        entry.epoch = batch.producer_epoch();
        entry.last_sequence = batch.last_sequence();
        entry.last_offset = batch.last_offset();
        entry.offset_delta = batch.last_offset_delta();
        entry.timestamp = batch.max_timestamp();
        if batch.is_transactional() && entry.current_txn_first_offset < 0 {
            entry.current_txn_first_offset = base_offset;
        }
        Ok(None)
    }

    fn append_marker(&mut self, batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<Option<AbortedTxn>> {
        // If compaction has removed the marker from a control batch, it has removed the whole transaction.
        let Some(record) = reader.records(batch)?.next().transpose()? else { return Ok(None) };
        let ControlRecord::EndTxnMarker { is_commit, coordinator_epoch, .. } =
            ControlRecord::parse(record.key, record.value)?
        else {
            return Ok(None);
        };
        let producer_id = batch.producer_id();
        let entry = self.producers.entry(producer_id).or_insert_with(|| unknown(producer_id));
        let first_offset = entry.current_txn_first_offset;
        if entry.epoch != batch.producer_epoch() {
            // A new epoch restarts the sequence numbers.
            *entry = ProducerEntry { epoch: batch.producer_epoch(), ..unknown(producer_id) };
        }
        entry.coordinator_epoch = coordinator_epoch;
        entry.timestamp = record.timestamp;
        entry.current_txn_first_offset = -1;
        let last_offset = batch.offset_field();
        Ok((!is_commit && first_offset >= 0).then(|| AbortedTxn {
            version: CURRENT_VERSION,
            producer_id,
            first_offset,
            last_offset,
            last_stable_offset: self.first_open_offset().unwrap_or(last_offset.saturating_add(1)),
        }))
    }

    /// The first offset of the earliest open transaction.
    pub fn first_open_offset(&self) -> Option<i64> {
        let open = self.producers.values().map(|entry| entry.current_txn_first_offset);
        open.filter(|&offset| offset >= 0).min()
    }

    /// Whether a transaction of this producer is open.
    pub fn has_open_transaction(&self, producer_id: i64) -> bool {
        self.producers.get(&producer_id).is_some_and(|entry| entry.current_txn_first_offset >= 0)
    }

    /// The content of a producer `.snapshot`.
    pub fn snapshot(&self) -> Vec<u8> {
        encode_producer_snapshot(&self.producers.values().copied().collect::<Vec<_>>())
    }
}
