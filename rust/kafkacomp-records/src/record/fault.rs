//! The rules that the content of a batch can break.

use crate::error_kind::ErrorKind;

/// A violated rule of the record formats, with the values found.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordFault {
    /// More bytes follow the declared number of records.
    #[error("incorrect declared batch size, records still remain after the {count} declared")]
    RecordsRemaining {
        /// Records that the header declares.
        count: i32,
    },
    /// Fewer records than declared.
    #[error("incorrect declared batch size, the data end after {read} of {count} records")]
    PrematureEnd {
        /// Records that the header declares.
        count: i32,
        /// Records that were read.
        read: i32,
    },
    /// A negative number of records.
    #[error("invalid record count {count}")]
    NegativeCount {
        /// The count found.
        count: i32,
    },
    /// A record's size reaches past the data.
    #[error("invalid record size: record {index} needs {size} bytes, {available} are left")]
    RecordSize {
        /// Which record of the batch, from 0.
        index: i32,
        /// The size found.
        size: i32,
        /// Bytes that are left.
        available: usize,
    },
    /// A record's fields do not fill the size that it declares.
    #[error("invalid record size: record {index} declares {size} bytes, its fields take {used}")]
    RecordLength {
        /// Which record of the batch, from 0.
        index: i32,
        /// The size found.
        size: i32,
        /// The bytes that its fields take.
        used: usize,
    },
    /// A varint of more than 5 or a varlong of more than 10 bytes.
    #[error("varint too long in record {index}")]
    VarintTooLong {
        /// Which record of the batch, from 0.
        index: i32,
    },
    /// The same in front of an uncompressed record, where Kafka has no error code for it.
    #[error("varint too long in the size of record {index}")]
    SizeVarintTooLong {
        /// Which record of the batch, from 0.
        index: i32,
    },
    /// A field reaches past its record.
    #[error("invalid record structure: a field of record {index} reaches past its end")]
    FieldOverrun {
        /// Which record of the batch, from 0.
        index: i32,
    },
    /// A negative number of headers, or more than bytes are left.
    #[error("invalid number of record headers {count} in record {index}")]
    HeaderCount {
        /// Which record of the batch, from 0.
        index: i32,
        /// The number found.
        count: i32,
    },
    /// A negative size of a header key.
    #[error("invalid negative header key size {size} in record {index}")]
    HeaderKeySize {
        /// Which record of the batch, from 0.
        index: i32,
        /// The size found.
        size: i32,
    },
    /// A size that reaches over other batches, or over bytes that are no records of the batch.
    #[error("implausible size {size}")]
    ImplausibleSize {
        /// The size found, with the fields before it.
        size: u64,
    },
    /// A compressed wrapper without messages.
    #[error("compressed message set with no inner messages")]
    EmptyWrapper,
    /// A compressed wrapper whose value is null.
    #[error("compressed message set with null value")]
    NullWrapper,
    /// A compressed message inside a compressed message.
    #[error("inner messages must not be compressed")]
    NestedCompression,
    /// An inner message of another magic than its wrapper.
    #[error("inner magic {inner} differs from the wrapper's {wrapper}")]
    InnerMagic {
        /// The wrapper's magic.
        wrapper: i8,
        /// The inner message's magic.
        inner: i8,
    },
    /// An inner message whose stored size is below its format's least.
    #[error("inner record size {size} is less than the minimum record overhead (14)")]
    InnerSize {
        /// The size found.
        size: i32,
    },
    /// A wrapper of magic 1 whose offset is below its last inner one.
    #[error("wrapper offset {wrapper} is less than the last inner offset {inner}")]
    WrapperOffset {
        /// The wrapper's offset.
        wrapper: i64,
        /// The last inner offset.
        inner: i64,
    },
    /// zstd in a format that does not have it.
    #[error("zstd is not supported for magic {magic}")]
    ZstdMagic {
        /// The batch's magic.
        magic: i8,
    },
    /// A key or value of a message (magic 0, 1) that reaches past the message.
    #[error("a key or value of {size} bytes reaches past its message")]
    MessageField {
        /// The size found.
        size: i32,
    },
}

impl RecordFault {
    /// The kind: what Kafka's classes throw for it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InnerSize { .. } => ErrorKind::CorruptRecord,
            Self::MessageField { .. } | Self::SizeVarintTooLong { .. } => ErrorKind::UnknownServer,
            Self::RecordsRemaining { .. }
            | Self::PrematureEnd { .. }
            | Self::NegativeCount { .. }
            | Self::RecordSize { .. }
            | Self::RecordLength { .. }
            | Self::VarintTooLong { .. }
            | Self::FieldOverrun { .. }
            | Self::HeaderCount { .. }
            | Self::HeaderKeySize { .. }
            | Self::ImplausibleSize { .. }
            | Self::EmptyWrapper
            | Self::NullWrapper
            | Self::NestedCompression
            | Self::InnerMagic { .. }
            | Self::WrapperOffset { .. }
            | Self::ZstdMagic { .. } => ErrorKind::InvalidRecord,
        }
    }
}
