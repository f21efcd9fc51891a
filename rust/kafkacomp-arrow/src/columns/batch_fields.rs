//! The fields of a batch that become columns of its records, for batches of every log format.

use kafkacomp_records::CompressionType;
use kafkacomp_records::message_set::Entry;
use kafkacomp_records::record::RecordBatch;
use kafkacomp_records::record::batch::{NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP};

/// The fields that all records of a batch share.
pub trait BatchFields {
    /// The position of the batch in its segment.
    fn position(&self) -> u64;
    /// The first offset; of a wrapper, the last one.
    fn offset_field(&self) -> i64;
    /// The message format.
    fn magic(&self) -> i8;
    /// The greatest timestamp in the header, ms; negative if there is none.
    fn max_timestamp(&self) -> i64;
    /// The id of the compression type.
    fn compression_id(&self) -> u8;
    /// The leader epoch; -1 if there is none.
    fn leader_epoch(&self) -> i32;
    /// The producer id; -1 if there is none.
    fn producer_id(&self) -> i64;
    /// The producer epoch; -1 if there is none.
    fn producer_epoch(&self) -> i16;
    /// Whether it belongs to a transaction.
    fn is_transactional(&self) -> bool;
    /// Whether it contains control records.
    fn is_control(&self) -> bool;
}

impl BatchFields for RecordBatch<'_> {
    fn position(&self) -> u64 {
        self.position()
    }

    fn offset_field(&self) -> i64 {
        self.offset_field()
    }

    fn magic(&self) -> i8 {
        self.magic()
    }

    fn max_timestamp(&self) -> i64 {
        self.max_timestamp()
    }

    fn compression_id(&self) -> u8 {
        self.attributes().compression_id()
    }

    fn leader_epoch(&self) -> i32 {
        self.partition_leader_epoch()
    }

    fn producer_id(&self) -> i64 {
        self.producer_id()
    }

    fn producer_epoch(&self) -> i16 {
        self.producer_epoch()
    }

    fn is_transactional(&self) -> bool {
        self.is_transactional()
    }

    fn is_control(&self) -> bool {
        self.is_control_batch()
    }
}

/// A top-level entry of a log of Kafka 0.7.
#[derive(Debug, Clone, Copy)]
pub struct EntryFields {
    position: u64,
    offset: i64,
    magic: i8,
    compression_type: CompressionType,
}

impl EntryFields {
    /// The fields of an entry in a chunk that begins at `begin` of a file, whose first byte is at the position `base_offset` of
    /// the partition.
    pub fn new(entry: &Entry<'_>, begin: u64, base_offset: i64) -> Self {
        let position = begin.saturating_add(entry.position as u64);
        Self {
            position,
            offset: base_offset.saturating_add_unsigned(position),
            magic: entry.message.magic(),
            compression_type: entry.message.compression_type().unwrap_or(CompressionType::None),
        }
    }
}

impl BatchFields for EntryFields {
    fn position(&self) -> u64 {
        self.position
    }

    fn offset_field(&self) -> i64 {
        self.offset
    }

    fn magic(&self) -> i8 {
        self.magic
    }

    fn max_timestamp(&self) -> i64 {
        NO_TIMESTAMP
    }

    fn compression_id(&self) -> u8 {
        self.compression_type.id()
    }

    fn leader_epoch(&self) -> i32 {
        NO_PARTITION_LEADER_EPOCH
    }

    fn producer_id(&self) -> i64 {
        NO_PRODUCER_ID
    }

    fn producer_epoch(&self) -> i16 {
        NO_PRODUCER_EPOCH
    }

    fn is_transactional(&self) -> bool {
        false
    }

    fn is_control(&self) -> bool {
        false
    }
}
