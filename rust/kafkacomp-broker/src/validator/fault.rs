//! Why a broker refuses a batch.

use std::fmt;

use super::config::InterBrokerProtocolVersion;
use kafkacomp_records::error_kind::ErrorKind;

/// The most refused records that are listed. Kafka lists all of them; a batch of many million records of seven bytes must not
/// take gigabytes here.
pub const MAX_RECORD_ERRORS: usize = 100_000;

/// Why a broker refuses a batch or a record set as a whole.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValidationFault {
    /// No batch at all.
    #[error("the record set has no batches")]
    NoBatches,
    /// A second batch after one of magic 2 or a compressed one.
    #[error("more than one batch: compressed records and records of magic 2 must be in a single batch")]
    MoreThanOneBatch,
    /// A batch of another magic than the first.
    #[error("the batch's magic {found} differs from the first batch's {first}")]
    BatchMagic {
        /// The first batch's magic.
        first: i8,
        /// The magic of this batch.
        found: i8,
    },
    /// A last offset before the first.
    #[error("invalid offset range [{base}, {last}]")]
    OffsetRange {
        /// The base offset.
        base: i64,
        /// The last offset.
        last: i64,
    },
    /// A number of records that is not positive.
    #[error("invalid number of records {count}")]
    RecordsCount {
        /// The number found.
        count: i32,
    },
    /// A number of records that does not fit the offsets.
    #[error("the offset range [{base}, {last}] does not match {count} records")]
    OffsetsAndCount {
        /// The base offset.
        base: i64,
        /// The last offset.
        last: i64,
        /// The number of records.
        count: i32,
    },
    /// Control records from a client.
    #[error("clients may not write control records")]
    ControlFromClient,
    /// A producer id without a sequence.
    #[error("invalid sequence {sequence} of producer {producer_id}")]
    Sequence {
        /// The base sequence.
        sequence: i32,
        /// The producer.
        producer_id: i64,
    },
    /// Transactional records for a format without transactions.
    #[error("transactional records cannot be stored with magic {to_magic}")]
    Transactional {
        /// The topic's format.
        to_magic: i8,
    },
    /// A producer id for a format without producer ids.
    #[error("idempotent records cannot be stored with magic {to_magic}")]
    Idempotent {
        /// The topic's format.
        to_magic: i8,
    },
    /// zstd in a cluster with older brokers.
    #[error("brokers with inter.broker.protocol.version {version} do not take zstd (2.1 is the first)")]
    ZstdTooNew {
        /// The brokers' version.
        version: InterBrokerProtocolVersion,
    },
    /// Records that break a rule of the topic.
    #[error("{}", refused(.errors, *.more))]
    Records {
        /// The first of them.
        errors: Vec<RecordError>,
        /// The number of further errors.
        more: usize,
    },
    /// A batch of the metadata quorum's leader with another epoch than the leader's.
    #[error("the batch has leader epoch {found}, the leader has {expected}")]
    LeaderEpoch {
        /// The leader's epoch.
        expected: i32,
        /// The batch's.
        found: i32,
    },
    /// A client's batch of magic 2 that does not begin at 0.
    #[error("a producer's batch begins at offset 0, not at {found}")]
    BaseOffset {
        /// The base offset.
        found: i64,
    },
    /// A batch above `max.message.bytes`.
    #[error("a batch of {size} bytes is over the limit of {limit}")]
    BatchTooLarge {
        /// The batch's size.
        size: u64,
        /// The limit.
        limit: i32,
    },
    /// Batches whose offsets do not increase.
    #[error("offsets out of order: the last offset {found} follows {previous}")]
    OffsetsOutOfOrder {
        /// The last offset of the batch before.
        previous: i64,
        /// This batch's.
        found: i64,
    },
    /// A batch of format 0 or 1 in a request that allows format 2 only.
    #[error("a produce request of version 3 or later takes no magic {magic}")]
    ProduceMagic {
        /// The batch's magic.
        magic: i8,
    },
    /// zstd in a request that is older than zstd.
    #[error("a produce request before version 7 takes no zstd")]
    ZstdRequest,
    /// A message without a key on a compacted topic of an old broker.
    #[error("a compacted topic takes no message without a key")]
    MissingKey,
    /// A message whose timestamp a topic of an old broker refuses.
    #[error("timestamp {timestamp} is out of range, or of the wrong type")]
    Timestamp {
        /// The message's timestamp, ms.
        timestamp: i64,
    },
    /// A record of a compressed batch above `max.decompressed.message.bytes`.
    #[error("a record of {size} bytes in a compressed batch is over the limit of {limit}")]
    RecordSize {
        /// The size of the record, without its size field.
        size: i32,
        /// The limit.
        limit: i32,
    },
    /// No record to rebuild although LogAppendTime needs one. Kafka has no error code for it.
    #[error("there are no records to rebuild")]
    NoRecords,
    /// Records must be rebuilt whose keys and values were skipped. Kafka has no error code for it.
    #[error("an inner offset is not the expected one, but keys and values of the records were skipped")]
    SkippedRecords,
    /// A size above the memory of a broker. Kafka has no error code for it.
    #[error("a size above the memory of a broker")]
    JavaMemory,
}

impl ValidationFault {
    /// The kind, which decides the category, Kafka's error code and Python's exception.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Records { errors, .. } if errors.iter().any(RecordError::is_timestamp) => ErrorKind::InvalidTimestamp,
            Self::Records { .. }
            | Self::NoBatches
            | Self::MoreThanOneBatch
            | Self::BatchMagic { .. }
            | Self::OffsetRange { .. }
            | Self::RecordsCount { .. }
            | Self::OffsetsAndCount { .. }
            | Self::ControlFromClient
            | Self::Sequence { .. }
            | Self::ProduceMagic { .. }
            | Self::MissingKey
            | Self::LeaderEpoch { .. }
            | Self::RecordSize { .. }
            | Self::BaseOffset { .. } => ErrorKind::InvalidRecord,
            Self::Transactional { .. } | Self::Idempotent { .. } => ErrorKind::UnsupportedForMessageFormat,
            Self::Timestamp { .. } => ErrorKind::InvalidTimestamp,
            Self::ZstdTooNew { .. } | Self::ZstdRequest => ErrorKind::UnsupportedCompressionType,
            Self::BatchTooLarge { .. } => ErrorKind::RecordTooLarge,
            Self::OffsetsOutOfOrder { .. } => ErrorKind::OffsetsOutOfOrder,
            Self::NoRecords | Self::SkippedRecords | Self::JavaMemory => ErrorKind::UnknownServer,
        }
    }

    /// The refused records, where records were refused.
    pub fn record_errors(&self) -> &[RecordError] {
        match self {
            Self::Records { errors, .. } => errors,
            _ => &[],
        }
    }
}

/// The message for the first refusals.
fn refused(errors: &[RecordError], more: usize) -> String {
    let count = errors.len().saturating_add(more);
    let mut text = format!("{count} {} refused", if count == 1 { "record is" } else { "records are" });
    for (index, error) in errors.iter().take(3).enumerate() {
        text += if index == 0 { ": " } else { "; " };
        text += &error.to_string();
    }
    if count > 3 {
        text += "; ...";
    }
    text
}

/// A refused record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordError {
    /// The index of the record in its batch.
    pub batch_index: i32,
    /// The offset of the record as received.
    pub offset: i64,
    /// The reason.
    pub refusal: RecordRefusal,
}

impl RecordError {
    fn is_timestamp(&self) -> bool {
        matches!(self.refusal, RecordRefusal::TimestampRange { .. } | RecordRefusal::LogAppendTime)
    }

    /// The message without the batch index.
    pub fn message(&self) -> String {
        format!("{} (offset {})", self.refusal, self.offset)
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}: {}", self.batch_index, self.refusal)
    }
}

/// The rule that a record breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordRefusal {
    /// No key on a compacted topic.
    #[error("a compacted topic takes no record without a key")]
    MissingKey,
    /// An inner message of another magic than its batch.
    #[error("the record's magic {record} differs from its batch's {batch}")]
    Magic {
        /// The batch's magic.
        batch: i8,
        /// The record's.
        record: i8,
    },
    /// A create time that is too far from now.
    #[error("timestamp {timestamp} is outside [{least}, {most}]")]
    TimestampRange {
        /// The record's timestamp, ms.
        timestamp: i64,
        /// The least that is allowed, ms.
        least: i64,
        /// The most that is allowed, ms.
        most: i64,
    },
    /// A producer's batch with the timestamp type of a broker.
    #[error("a producer may not set the timestamp type to LogAppendTime")]
    LogAppendTime,
}

/// The refused records of one batch.
#[derive(Debug, Default)]
pub(super) struct RecordErrors {
    errors: Vec<RecordError>,
    more: usize,
}

impl RecordErrors {
    #[cold]
    pub(super) fn push(&mut self, error: RecordError) {
        if self.errors.len() < MAX_RECORD_ERRORS {
            self.errors.push(error);
        } else if error.is_timestamp() && !self.errors.iter().any(RecordError::is_timestamp) {
            // A single timestamp error decides the error code of the batch: it must be among those that are kept.
            if let Some(last) = self.errors.last_mut() {
                *last = error;
            }
            self.more = self.more.saturating_add(1);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// A single error, for versions that stop at the first one.
    pub(super) fn of(error: RecordError) -> Self {
        Self { errors: vec![error], more: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// The fault of the batch.
    pub(super) fn into_fault(self) -> Option<ValidationFault> {
        (!self.errors.is_empty()).then_some(ValidationFault::Records { errors: self.errors, more: self.more })
    }
}
