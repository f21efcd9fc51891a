//! Why a batch cannot be built. Where Kafka's builder throws an `IllegalArgumentException` or an
//! `IllegalStateException` there is a variant here, with numbers instead of its text.

use crate::compress::CodecError;
use crate::error_kind::ErrorKind;
use crate::memory::OutOfMemory;

/// A rule of the builder that was broken. What was there before is as it was.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildFault {
    /// A magic that no version of Kafka wrote.
    #[error("magic must be 0, 1 or 2, not {magic}")]
    UnknownMagic {
        /// The magic asked for.
        magic: i8,
    },
    /// A format with timestamps needs to know where they come from.
    #[error("a timestamp type is needed for magic {magic}")]
    TimestampTypeMissing {
        /// The magic asked for.
        magic: i8,
    },
    /// Something that came with a later format.
    #[error("magic {magic} has no {feature}")]
    Unsupported {
        /// The magic asked for.
        magic: i8,
        /// What it does not have.
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
    /// A leader change stands in a batch of the new leader's epoch.
    #[error("a leader change needs a partition leader epoch")]
    NoLeaderEpoch,
    /// An offset that does not come after the one before it.
    #[error("{}", offset_order(*.offset, *.previous))]
    OffsetOrder {
        /// The offset given.
        offset: i64,
        /// The last one appended.
        previous: i64,
    },
    /// An offset before the batch's first.
    #[error("offset {offset} lies before the base offset {base_offset}")]
    OffsetBeforeBase {
        /// The offset given.
        offset: i64,
        /// The batch's base offset.
        base_offset: i64,
    },
    /// An offset that is more than 2^31 - 1 after the batch's first.
    #[error("offset {offset} is more than 2147483647 after the base offset {base_offset}")]
    OffsetDelta {
        /// The offset given.
        offset: i64,
        /// The batch's base offset.
        base_offset: i64,
    },
    /// A timestamp below 0 that is not -1, which means none.
    #[error("invalid negative timestamp {timestamp}")]
    NegativeTimestamp {
        /// The timestamp given.
        timestamp: i64,
    },
    /// A transaction needs a producer id.
    #[error("a transactional batch needs a producer id")]
    TransactionWithoutProducerId,
    /// A producer id comes with an epoch.
    #[error("producer id {producer_id} needs a producer epoch")]
    NoProducerEpoch {
        /// The producer id.
        producer_id: i64,
    },
    /// A producer id comes with a sequence, but for control batches.
    #[error("producer id {producer_id} needs a base sequence of 0 or more, not {base_sequence}")]
    NegativeSequence {
        /// The producer id.
        producer_id: i64,
        /// The base sequence.
        base_sequence: i32,
    },
    /// A marker ends a producer's transaction: the batch must be one.
    #[error("an end-transaction marker needs a transactional batch")]
    MarkerOutsideTransaction,
    /// A record that no batch can hold.
    #[error("a record of {size} bytes is over the limit of {limit}")]
    RecordTooLarge {
        /// The record's size with its overhead.
        size: u64,
        /// The most that is left for it.
        limit: u64,
    },
    /// More bytes than a batch can hold.
    #[error("a batch of {size} bytes is over the limit of {limit}")]
    BatchTooLarge {
        /// The size that the batch would have.
        size: u64,
        /// The most that a batch can have.
        limit: u64,
    },
    /// The batch was built: no record can be added.
    #[error("the batch is built, nothing can be appended to it")]
    Closed,
    /// The batch was given up.
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
    /// The kind, where records are rebuilt. For the caller of a builder, what is of kind [`ErrorKind::Rebuild`] is a wrong
    /// argument.
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
            | Self::Closed
            | Self::Aborted => ErrorKind::Rebuild,
        }
    }
}

/// What formats before 2 do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Feature {
    /// KIP-98.
    #[error("transactions")]
    Transactions,
    /// KIP-98.
    #[error("control batches")]
    ControlBatches,
    /// KIP-110.
    #[error("zstd")]
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
