//! One error type for the whole core. Variants carry numbers and byte positions; text is made only when
//! asked. [`ErrorKind`] is what a binding matches on, without a wildcard.

use crate::compress::{CodecError, CodecFault, CodecFaultKind};
use crate::log::LogFileFault;
use crate::message_set::{MessageSetFault, MessageSetKind};
use crate::record::{BuildFault, ControlFault};

/// The core's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure it is: one per exception class of the Python package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Data that do not compress.
    Compression,
    /// Compressed data that do not decode.
    Decompression,
    /// Compressed data that end too early.
    Truncated,
    /// The cap on decompressed bytes was reached.
    OutputLimit,
    /// Kafka's `CorruptRecordException`, code 2.
    CorruptRecord,
    /// A message set that Kafka 0.7 refuses. Among today's codes it is a corrupt record, 2.
    MessageSet(MessageSetKind),
    /// Kafka's `RecordTooLargeException`, code 10.
    RecordTooLarge,
    /// Kafka's `InvalidRecordException`, code 87.
    InvalidRecord,
    /// Kafka's `InvalidTimestampException`, code 32.
    InvalidTimestamp,
    /// Kafka's `UnsupportedForMessageFormatException`, code 43.
    UnsupportedForMessageFormat,
    /// Kafka's `UnsupportedCompressionTypeException`, code 76.
    UnsupportedCompressionType,
    /// Kafka's `OffsetsOutOfOrderException`, which has no code of its own.
    OffsetsOutOfOrder,
    /// Whatever else Kafka answers -1 to.
    UnknownServer,
    /// Memory ran out; nothing is known of the data.
    OutOfMemory,
}

/// What an error means for whoever reads a log: which of them may go on after it, and what it may be called.
///
/// Strict reading ends at every error. Repair goes on after [`Category::Corrupt`] alone: nothing else says that data are
/// lost. Skipping goes on after what is corrupt, over a limit, or unreadable, and reports each as what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// The bytes are not what Kafka wrote.
    Corrupt,
    /// The bytes may be right, and this library or the target format cannot take them.
    Unsupported,
    /// A limit that the caller set, or that a column has.
    Limit,
    /// Memory or threads ran out.
    Resource,
    /// What a broker or builder refuses.
    Rejected,
    /// The storage.
    Io,
    /// The caller's own argument.
    Argument,
}

impl ErrorKind {
    /// The category.
    pub fn category(self) -> Category {
        match self {
            Self::OutputLimit | Self::RecordTooLarge => Category::Limit,
            Self::OutOfMemory => Category::Resource,
            Self::Compression => Category::Rejected,
            Self::UnsupportedCompressionType | Self::UnsupportedForMessageFormat => Category::Unsupported,
            Self::Decompression
            | Self::Truncated
            | Self::CorruptRecord
            | Self::MessageSet(_)
            | Self::InvalidRecord
            | Self::InvalidTimestamp
            | Self::OffsetsOutOfOrder
            | Self::UnknownServer => Category::Corrupt,
        }
    }

    /// Kafka's error code, or `None` where the failure is not one of a record set.
    pub fn error_code(self) -> Option<i16> {
        match self {
            Self::Compression | Self::Decompression | Self::Truncated | Self::OutputLimit | Self::OutOfMemory => None,
            Self::CorruptRecord | Self::MessageSet(_) => Some(2),
            Self::RecordTooLarge => Some(10),
            Self::InvalidRecord => Some(87),
            Self::InvalidTimestamp => Some(32),
            Self::UnsupportedForMessageFormat => Some(43),
            Self::UnsupportedCompressionType => Some(76),
            Self::OffsetsOutOfOrder | Self::UnknownServer => Some(-1),
        }
    }
}

/// What went wrong. `position` is the byte in the buffer or file that the call was given at which the
/// failing batch, message or field begins, unless a variant says otherwise.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Compressed data outside a record set.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Compressed data inside a record set.
    #[error("cannot decompress the records of the batch at byte {position}: {source}")]
    BatchCodec {
        /// Where the batch begins.
        position: u64,
        /// What the codec said; its position counts from the start of the compressed payload.
        source: CodecError,
    },
    /// A batch's or message's stored size is below what its format needs.
    #[error("record size {size} at byte {position} is less than the minimum record overhead ({minimum})")]
    SizeTooSmall {
        /// Where the batch begins.
        position: u64,
        /// The stored size.
        size: i32,
        /// The least that the format needs.
        minimum: i32,
    },
    /// A magic that no version of Kafka wrote.
    #[error("invalid magic {magic} in the batch at byte {position}")]
    UnknownMagic {
        /// Where the batch begins.
        position: u64,
        /// The magic found.
        magic: i8,
    },
    /// The stored checksum is not the checksum of the bytes.
    #[error("record batch at byte {position} is corrupt (stored crc = {stored}, computed crc = {computed})")]
    CrcMismatch {
        /// Where the batch begins.
        position: u64,
        /// The checksum found.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// The offset field of a batch, which no checksum covers, contradicts the batches around it.
    #[error(
        "offset field {stored} of the batch at byte {position} cannot be right: offset {expected} is expected there"
    )]
    OffsetField {
        /// Where the batch begins.
        position: u64,
        /// The offset field found.
        stored: i64,
        /// The offset at which the log continues.
        expected: i64,
    },
    /// The leader epoch of a batch, which no checksum covers, contradicts the batches around it.
    #[error("leader epoch {stored} of the batch at byte {position} cannot be right: leader epochs do not decrease")]
    LeaderEpoch {
        /// Where the batch begins.
        position: u64,
        /// The leader epoch found.
        stored: i32,
    },
    /// A compression type id that Kafka does not know.
    #[error("unknown compression type id {id} in the batch at byte {position}")]
    UnknownCompressionType {
        /// Where the batch begins.
        position: u64,
        /// The id found.
        id: u8,
    },
    /// The bytes end inside a batch where a whole one is needed.
    #[error("incomplete batch at byte {position}: {available} of {needed} bytes are there")]
    IncompleteBatch {
        /// Where the batch begins.
        position: u64,
        /// Bytes that are there.
        available: u64,
        /// Bytes that the batch says it has.
        needed: u64,
    },
    /// A record that no column (and no batch of Kafka's) can hold.
    #[error("a record of {size} bytes in the batch at byte {position} is over the limit of {limit}")]
    RecordTooLarge {
        /// Where the batch begins.
        position: u64,
        /// The record's size.
        size: u64,
        /// The most that is allowed.
        limit: u64,
    },
    /// The content of a batch breaks a rule of its format.
    #[error("{fault} in the batch at byte {position}")]
    Invalid {
        /// Where the batch begins.
        position: u64,
        /// The rule.
        fault: RecordFault,
    },
    /// A zstd batch that is asked for in a format without zstd.
    #[error("the batch at byte {position} is compressed with zstd, which formats before magic 2 do not have")]
    DownConvertZstd {
        /// Where the batch begins.
        position: u64,
    },
    /// The records of a batch cannot be written anew.
    #[error("cannot rebuild the batch at byte {position}: {fault}")]
    Rebuild {
        /// Where the batch begins that the records come from.
        position: u64,
        /// What the builder said.
        fault: BuildFault,
    },
    /// The key or value of a control record that does not follow its schema.
    #[error("{fault} at byte {position} of the control record's key or value")]
    ControlRecord {
        /// The byte of the key or value.
        position: u64,
        /// What is wrong.
        fault: ControlFault,
    },
    /// A message set of Kafka 0.7 that breaks a rule.
    #[error("{fault}, {} at byte {position}", inside(*.depth))]
    MessageSet {
        /// Where the failing entry begins; of what is wrong inside a wrapper, where the outermost begins.
        position: u64,
        /// How many wrappers are around what is wrong.
        depth: usize,
        /// The rule.
        fault: MessageSetFault,
    },
    /// Memory ran out.
    #[error("out of memory: cannot allocate {bytes} bytes for the batch at byte {position}")]
    OutOfMemory {
        /// Where the batch begins.
        position: u64,
        /// The bytes asked for.
        bytes: u64,
    },
    /// A file beside a segment (index, snapshot, checkpoint) that breaks a rule of its format.
    #[error("{fault} at byte {position}")]
    LogFile {
        /// The byte of the file at which the failing entry or field begins.
        position: u64,
        /// The rule.
        fault: LogFileFault,
    },
}

/// Where a fault of a message set is, as a message tells it.
fn inside(depth: usize) -> String {
    match depth {
        0 => "in the entry".to_owned(),
        1 => "inside the compressed message".to_owned(),
        levels => format!("{levels} levels inside the compressed message"),
    }
}

/// A rule of the record formats that was broken. The numbers are what was found.
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

impl Error {
    /// The kind, for choosing an exception class.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Codec(e) => match e.fault.kind() {
                CodecFaultKind::OutputLimit => ErrorKind::OutputLimit,
                CodecFaultKind::Truncated => ErrorKind::Truncated,
                CodecFaultKind::OutOfMemory => ErrorKind::OutOfMemory,
                CodecFaultKind::Malformed => ErrorKind::Decompression,
                CodecFaultKind::Encoding => ErrorKind::Compression,
            },
            Self::BatchCodec { source, .. } => match source.fault.kind() {
                CodecFaultKind::OutputLimit => ErrorKind::OutputLimit,
                CodecFaultKind::OutOfMemory => ErrorKind::OutOfMemory,
                CodecFaultKind::Truncated | CodecFaultKind::Malformed => ErrorKind::CorruptRecord,
                CodecFaultKind::Encoding => ErrorKind::Compression,
            },
            Self::SizeTooSmall { .. }
            | Self::UnknownMagic { .. }
            | Self::CrcMismatch { .. }
            | Self::OffsetField { .. }
            | Self::LeaderEpoch { .. }
            | Self::IncompleteBatch { .. }
            | Self::LogFile { .. } => ErrorKind::CorruptRecord,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::MessageSet { fault, .. } if fault.is_out_of_memory() => ErrorKind::OutOfMemory,
            Self::Rebuild { fault, .. } if fault.is_out_of_memory() => ErrorKind::OutOfMemory,
            Self::MessageSet { fault, .. } => fault.kind().map_or(ErrorKind::OutputLimit, ErrorKind::MessageSet),
            Self::RecordTooLarge { .. }
            | Self::Rebuild { fault: BuildFault::RecordTooLarge { .. } | BuildFault::BatchTooLarge { .. }, .. } => {
                ErrorKind::RecordTooLarge
            }
            Self::DownConvertZstd { .. } => ErrorKind::UnsupportedCompressionType,
            Self::ControlRecord { .. } => ErrorKind::InvalidRecord,
            Self::Rebuild { .. } | Self::UnknownCompressionType { .. } => ErrorKind::UnknownServer,
            Self::Invalid { fault, .. } => match fault {
                RecordFault::InnerSize { .. } => ErrorKind::CorruptRecord,
                RecordFault::MessageField { .. } | RecordFault::SizeVarintTooLong { .. } => ErrorKind::UnknownServer,
                _ => ErrorKind::InvalidRecord,
            },
        }
    }

    /// What the error means for whoever reads a log.
    pub fn category(&self) -> Category {
        match self {
            Self::Rebuild { .. } if self.kind() != ErrorKind::OutOfMemory => Category::Rejected,
            // Its batch's checksum is right: a later version of Kafka may know the type.
            Self::UnknownCompressionType { .. } => Category::Unsupported,
            _ => self.kind().category(),
        }
    }

    /// The cap that was reached, for [`ErrorKind::OutputLimit`].
    pub fn output_limit(&self) -> Option<u64> {
        match self {
            Self::Codec(CodecError { fault: CodecFault::OutputLimit { limit }, .. })
            | Self::BatchCodec { source: CodecError { fault: CodecFault::OutputLimit { limit }, .. }, .. } => {
                Some(*limit)
            }
            Self::MessageSet { fault, .. } => fault.output_limit(),
            _ => None,
        }
    }

    /// The byte position that the error names.
    pub fn position(&self) -> u64 {
        match self {
            Self::Codec(e) => e.position,
            Self::BatchCodec { position, .. }
            | Self::SizeTooSmall { position, .. }
            | Self::UnknownMagic { position, .. }
            | Self::CrcMismatch { position, .. }
            | Self::OffsetField { position, .. }
            | Self::LeaderEpoch { position, .. }
            | Self::UnknownCompressionType { position, .. }
            | Self::RecordTooLarge { position, .. }
            | Self::IncompleteBatch { position, .. }
            | Self::Invalid { position, .. }
            | Self::DownConvertZstd { position }
            | Self::OutOfMemory { position, .. }
            | Self::Rebuild { position, .. }
            | Self::ControlRecord { position, .. }
            | Self::MessageSet { position, .. }
            | Self::LogFile { position, .. } => *position,
        }
    }
}
