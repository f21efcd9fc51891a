//! The arguments of an append besides the record set.

use crate::validator::{BrokerCompressionType, DEFAULT_MAX_MESSAGE_SIZE, MAX_DECOMPRESSED_MESSAGE_BYTES};
use kafkacomp_records::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_records::record::TimestampType;

/// The settings of a topic and the fields of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Append {
    /// The topic's `compression.type`; ignored by 0.8.2.
    pub compression_type: BrokerCompressionType,
    /// Whether `cleanup.policy` contains compact; 0.8.2 accepts records without keys anyway.
    pub compacted: bool,
    /// The magic of `message.format.version`, from 0.10.0 to 2.8.
    pub message_format: Option<i8>,
    /// `message.timestamp.type`, from 0.10.0 on.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`; before 3.6 `message.timestamp.difference.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`, from 3.6 on.
    pub timestamp_after_max_ms: i64,
    /// `max.message.bytes`.
    pub max_message_size: i32,
    /// `max.decompressed.message.bytes`, from 4.4 on.
    pub max_decompressed_message_bytes: i32,
    /// The first offset.
    pub offset: i64,
    /// The time of the append, ms.
    pub now: i64,
    /// The partition leader epoch for batches of magic 2.
    pub partition_leader_epoch: i32,
    /// The version of the produce request; `None` disables the checks that depend on it.
    pub produce_version: Option<i16>,
    /// The most bytes that one batch may decompress to.
    pub max_output_size: usize,
}

impl Default for Append {
    /// A topic with default settings.
    fn default() -> Self {
        Self {
            compression_type: BrokerCompressionType::Producer,
            compacted: false,
            message_format: None,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: i64::MAX,
            max_message_size: DEFAULT_MAX_MESSAGE_SIZE,
            max_decompressed_message_bytes: MAX_DECOMPRESSED_MESSAGE_BYTES,
            offset: 0,
            now: 0,
            partition_leader_epoch: 0,
            produce_version: None,
            max_output_size: DEFAULT_MAX_OUTPUT_SIZE,
        }
    }
}
