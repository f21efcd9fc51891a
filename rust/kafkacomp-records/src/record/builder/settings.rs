//! The fields of a batch that are known before its records.

use crate::CompressionType;
use crate::compress::Compression;
use crate::record::TimestampType;
use crate::record::batch::{
    LOG_OVERHEAD, NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP,
};
use crate::record::build_fault::{BuildFault, Feature};
use crate::record::layout::v0_v1::record_overhead;
use crate::record::layout::v2::RECORD_BATCH_OVERHEAD;

/// The settings of a batch. Start from [`BatchSettings::default`]: magic 2, no compression, CreateTime, base
/// offset 0, no producer, no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSettings {
    /// The message format: 0, 1 or 2.
    pub magic: i8,
    /// Compression type and level.
    pub compression: Compression,
    /// The timestamp type; ignored in magic 0, which has no timestamps.
    pub timestamp_type: TimestampType,
    /// The base offset.
    pub base_offset: i64,
    /// With LogAppendTime, the timestamp of all records, ms.
    pub log_append_time: i64,
    /// The producer id, -1 without one (magic 2).
    pub producer_id: i64,
    /// The producer epoch, -1 without a producer id.
    pub producer_epoch: i16,
    /// The sequence of the first record, -1 without a producer id.
    pub base_sequence: i32,
    /// Whether the batch belongs to a transaction (magic 2).
    pub is_transactional: bool,
    /// Whether it contains control records (magic 2).
    pub is_control_batch: bool,
    /// The partition leader epoch, -1 without one; magic 0 and 1 do not store it.
    pub partition_leader_epoch: i32,
    /// The time from which tombstones and markers in it may be removed, ms (KIP-534; magic 2).
    pub delete_horizon_ms: Option<i64>,
    /// The size in bytes at which the batch is full, as an estimate where it is compressed. One record always fits.
    pub write_limit: i32,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            magic: 2,
            compression: Compression::of(CompressionType::None),
            timestamp_type: TimestampType::CreateTime,
            base_offset: 0,
            log_append_time: NO_TIMESTAMP,
            producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_PRODUCER_EPOCH,
            base_sequence: NO_SEQUENCE,
            is_transactional: false,
            is_control_batch: false,
            partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
            delete_horizon_ms: None,
            write_limit: i32::MAX,
        }
    }
}

impl BatchSettings {
    /// Checks the settings, except those that may still change.
    ///
    /// # Errors
    /// A setting that the magic does not support, an invalid timestamp.
    pub fn check(&self) -> Result<(), BuildFault> {
        let magic = self.magic;
        if !(0..=2).contains(&magic) {
            return Err(BuildFault::UnknownMagic { magic });
        }
        if magic > 0 && self.timestamp_type == TimestampType::NoTimestampType {
            return Err(BuildFault::TimestampTypeMissing { magic });
        }
        if magic < 2 {
            let zstd = self.compression.compression_type() == CompressionType::Zstd;
            for (asked, feature) in [
                (self.is_transactional, Feature::Transactions),
                (self.is_control_batch, Feature::ControlBatches),
                (zstd, Feature::Zstd),
                (self.delete_horizon_ms.is_some(), Feature::DeleteHorizon),
            ] {
                if asked {
                    return Err(BuildFault::Unsupported { magic, feature });
                }
            }
        }
        check_timestamp(self.log_append_time)?;
        self.delete_horizon_ms.map_or(Ok(()), check_timestamp)
    }

    /// Checks the producer state, as Kafka does when it builds the batch.
    pub(super) fn check_producer(&self) -> Result<(), BuildFault> {
        let Self { magic, producer_id, base_sequence, .. } = *self;
        if producer_id == NO_PRODUCER_ID {
            return if self.is_transactional { Err(BuildFault::TransactionWithoutProducerId) } else { Ok(()) };
        }
        if self.producer_epoch == NO_PRODUCER_EPOCH {
            return Err(BuildFault::NoProducerEpoch { producer_id });
        }
        if base_sequence < 0 && !self.is_control_batch {
            return Err(BuildFault::NegativeSequence { producer_id, base_sequence });
        }
        if magic < 2 {
            return Err(BuildFault::Unsupported { magic, feature: Feature::ProducerIds });
        }
        Ok(())
    }

    /// Whether the records are compressed.
    #[inline]
    pub(super) fn is_compressed(&self) -> bool {
        self.compression.compression_type() != CompressionType::None
    }

    /// Bytes before the records: the header of magic 2, the wrapper of compressed messages of magic 0 and 1.
    #[inline]
    pub fn batch_header_size_in_bytes(&self) -> usize {
        match (self.magic, self.is_compressed()) {
            (2.., _) => RECORD_BATCH_OVERHEAD,
            (magic, true) => LOG_OVERHEAD + record_overhead(magic),
            (_, false) => 0,
        }
    }
}

/// Kafka refuses timestamps below 0, except -1.
#[inline]
pub(super) fn check_timestamp(timestamp: i64) -> Result<(), BuildFault> {
    if timestamp < NO_TIMESTAMP { Err(BuildFault::NegativeTimestamp { timestamp }) } else { Ok(()) }
}
