//! The attributes of a batch (magic 2) or message (magic 0, 1).
//!
//! ```text
//! | unused (7-15) | delete horizon (6) | control (5) | transactional (4) | timestamp type (3) | compression type (0-2) |
//! ```
//! Only the low byte has a meaning; bits 4 to 6 exist only in magic 2, bit 3 since magic 1.
//! Source: KIP-32, KIP-98, KIP-534; `DefaultRecordBatch`, `LegacyRecord`.

use crate::CompressionType;

/// Where a record's timestamp comes from (KIP-32).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i8)]
pub enum TimestampType {
    /// The format has no timestamps (magic 0).
    NoTimestampType = -1,
    /// Set by the producer.
    CreateTime = 0,
    /// Set by the broker on append.
    LogAppendTime = 1,
}

impl TimestampType {
    /// The timestamp type with this id.
    pub fn for_id(id: i8) -> Option<Self> {
        match id {
            -1 => Some(Self::NoTimestampType),
            0 => Some(Self::CreateTime),
            1 => Some(Self::LogAppendTime),
            _ => None,
        }
    }

    /// The name that Kafka's tools print.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoTimestampType => "NoTimestampType",
            Self::CreateTime => "CreateTime",
            Self::LogAppendTime => "LogAppendTime",
        }
    }
}

const COMPRESSION_CODEC_MASK: u8 = 0x07;
const TIMESTAMP_TYPE_MASK: u8 = 0x08;
const TRANSACTIONAL_FLAG_MASK: u8 = 0x10;
const CONTROL_FLAG_MASK: u8 = 0x20;
const DELETE_HORIZON_FLAG_MASK: u8 = 0x40;

/// The low byte of the attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes(pub u8);

impl Attributes {
    /// The attributes of a batch with these properties.
    pub fn new(
        compression_type: CompressionType,
        timestamp_type: TimestampType,
        is_transactional: bool,
        is_control: bool,
        has_delete_horizon: bool,
    ) -> Self {
        [
            (timestamp_type == TimestampType::LogAppendTime, TIMESTAMP_TYPE_MASK),
            (is_transactional, TRANSACTIONAL_FLAG_MASK),
            (is_control, CONTROL_FLAG_MASK),
            (has_delete_horizon, DELETE_HORIZON_FLAG_MASK),
        ]
        .into_iter()
        .filter(|(set, _)| *set)
        .fold(Self(compression_type.id()), |attributes, (_, mask)| Self(attributes.0 | mask))
    }

    /// The compression type's id, 0 to 7.
    #[inline]
    pub fn compression_id(self) -> u8 {
        self.0 & COMPRESSION_CODEC_MASK
    }

    /// The timestamp type of a format that has timestamps.
    #[inline]
    pub fn timestamp_type(self) -> TimestampType {
        if self.0 & TIMESTAMP_TYPE_MASK == 0 { TimestampType::CreateTime } else { TimestampType::LogAppendTime }
    }

    /// Whether the batch belongs to a transaction.
    #[inline]
    pub fn is_transactional(self) -> bool {
        self.0 & TRANSACTIONAL_FLAG_MASK != 0
    }

    /// Whether the batch contains control records.
    #[inline]
    pub fn is_control(self) -> bool {
        self.0 & CONTROL_FLAG_MASK != 0
    }

    /// Whether the base timestamp is the delete horizon (KIP-534).
    #[inline]
    pub fn has_delete_horizon(self) -> bool {
        self.0 & DELETE_HORIZON_FLAG_MASK != 0
    }
}
