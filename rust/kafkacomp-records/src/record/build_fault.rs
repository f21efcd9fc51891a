//! Why a batch cannot be built. Each case in which Kafka's builder throws an `IllegalArgumentException` or an
//! `IllegalStateException` is a variant, with numbers instead of the text.

use crate::compress::CodecError;
use crate::error_kind::ErrorKind;
use crate::memory::OutOfMemory;

/// The reason for which the builder refuses a call. The builder is unchanged then.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildFault {
    /// A magic that no version of Kafka wrote.
    #[error("magic must be 0, 1 or 2, not {magic}")]
    UnknownMagic {
        /// The requested magic.
        magic: i8,
    },
    /// No timestamp type for a format with timestamps.
    #[error("a timestamp type is needed for magic {magic}")]
    TimestampTypeMissing {
        /// The requested magic.
        magic: i8,
    },
    /// A feature of a later message format.
    #[error("magic {magic} has no {feature}")]
    Unsupported {
        /// The requested magic.
        magic: i8,
        /// The feature.
        feature: Feature,
    },
    /// A control record in a batch of data, or data in a control batch.
    #[error("{}", control_mismatch(*.is_control_batch))]
    ControlMismatch {
        /// Whether the batch is a control batch.
        is_control_batch: bool,
    },
    /// A control record of a type that Kafka does not know.
    #[error("unknown control record type {type_id}")]
    UnknownControlType {
        /// The type's id.
        type_id: i16,
    },
    /// A leader change in a batch without a leader epoch.
    #[error("a leader change needs a partition leader epoch")]
    NoLeaderEpoch,
    /// An offset that is not greater than the one before.
    #[error("{}", offset_order(*.offset, *.previous))]
    OffsetOrder {
        /// The given offset.
        offset: i64,
        /// The last one appended.
        previous: i64,
    },
    /// An offset before the batch's first.
    #[error("offset {offset} is before the base offset {base_offset}")]
    OffsetBeforeBase {
        /// The given offset.
        offset: i64,
        /// The batch's base offset.
        base_offset: i64,
    },
    /// An offset that is more than 2^31 - 1 after the batch's first.
    #[error("offset {offset} is more than 2147483647 after the base offset {base_offset}")]
    OffsetDelta {
        /// The given offset.
        offset: i64,
        /// The batch's base offset.
        base_offset: i64,
    },
    /// A timestamp below 0 that is not -1, which means none.
    #[error("invalid negative timestamp {timestamp}")]
    NegativeTimestamp {
        /// The given timestamp.
        timestamp: i64,
    },
    /// A transactional batch without a producer id.
    #[error("a transactional batch needs a producer id")]
    TransactionWithoutProducerId,
    /// A producer id without an epoch.
    #[error("producer id {producer_id} needs a producer epoch")]
    NoProducerEpoch {
        /// The producer id.
        producer_id: i64,
    },
    /// A producer id without a sequence, except in a control batch.
    #[error("producer id {producer_id} needs a base sequence of 0 or more, not {base_sequence}")]
    NegativeSequence {
        /// The producer id.
        producer_id: i64,
        /// The base sequence.
        base_sequence: i32,
    },
    /// The marker of a transaction in a batch that is not transactional.
    #[error("an end-transaction marker needs a transactional batch")]
    MarkerOutsideTransaction,
    /// A record that is too large for a batch.
    #[error("a record of {size} bytes is over the limit of {limit}")]
    RecordTooLarge {
        /// The record's size with its overhead.
        size: u64,
        /// The number of bytes left for it.
        limit: u64,
    },
    /// A batch that becomes too large.
    #[error("a batch of {size} bytes is over the limit of {limit}")]
    BatchTooLarge {
        /// The size that the batch would have.
        size: u64,
        /// The most that a batch can have.
        limit: u64,
    },
    /// An estimated compression ratio that is negative or not finite.
    #[error("a compression ratio must be 0 or more, not {}", f32::from_bits(*.ratio_bits))]
    CompressionRatio {
        /// The bits of the ratio: an `f32` has no total equality.
        ratio_bits: u32,
    },
    /// The batch was built: no record can be added.
    #[error("the batch is built, nothing can be appended to it")]
    Closed,
    /// The batch was aborted.
    #[error("the batch was aborted")]
    Aborted,
    /// The codec failed.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Memory ran out.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

impl BuildFault {
    /// The kind of the error if records are rebuilt. For the caller of a builder, a fault of kind [`ErrorKind::Rebuild`] is a
    /// wrong argument.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unsupported { feature: Feature::Zstd, .. } => ErrorKind::UnsupportedCompressionType,
            Self::RecordTooLarge { .. } | Self::BatchTooLarge { .. } => ErrorKind::RecordTooLarge,
            Self::OutOfMemory(_) => ErrorKind::OutOfMemory,
            Self::Codec(error) => error.kind(),
            Self::UnknownMagic { .. }
            | Self::TimestampTypeMissing { .. }
            | Self::Unsupported { .. }
            | Self::ControlMismatch { .. }
            | Self::UnknownControlType { .. }
            | Self::NoLeaderEpoch
            | Self::OffsetOrder { .. }
            | Self::OffsetBeforeBase { .. }
            | Self::OffsetDelta { .. }
            | Self::NegativeTimestamp { .. }
            | Self::TransactionWithoutProducerId
            | Self::NoProducerEpoch { .. }
            | Self::NegativeSequence { .. }
            | Self::MarkerOutsideTransaction
            | Self::CompressionRatio { .. }
            | Self::Closed
            | Self::Aborted => ErrorKind::Rebuild,
        }
    }
}

/// The features that formats before 2 do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Feature {
    /// KIP-98.
    #[error("transactions")]
    Transactions,
    /// KIP-98.
    #[error("control batches")]
    ControlBatches,
    /// KIP-110.
    #[error("zstd: choose another compression type, such as lz4, or convert to magic 2 first")]
    Zstd,
    /// KIP-534.
    #[error("delete horizon")]
    DeleteHorizon,
    /// KIP-82.
    #[error("record headers")]
    Headers,
    /// KIP-98.
    #[error("producer ids")]
    ProducerIds,
}

fn offset_order(offset: i64, previous: i64) -> String {
    if previous == i64::MAX {
        return format!("no offset follows {previous}");
    }
    format!("offset {offset} does not follow offset {previous}: offsets must increase")
}

fn control_mismatch(is_control_batch: bool) -> &'static str {
    if is_control_batch {
        "only control records can be appended to a control batch"
    } else {
        "control records can be appended to control batches only"
    }
}
