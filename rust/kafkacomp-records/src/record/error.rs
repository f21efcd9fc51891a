//! Why batches and records cannot be read or rebuilt. Variants carry numbers and byte positions; text is formatted only
//! when it is requested.

use super::build_fault::BuildFault;
use super::control_fault::ControlFault;
use super::fault::RecordFault;
use crate::compress::{CodecError, CodecFault, CodecFaultKind};
use crate::error_kind::{Category, ErrorKind};
use crate::memory::OutOfMemory;

/// The result of reading or rebuilding records.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of reading or rebuilding records. `position` is the byte of the given buffer or file at which the failing batch,
/// message or field begins, unless a variant says otherwise.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Compressed data inside a record set.
    #[error("cannot decompress the records of the batch at byte {position}: {source}")]
    BatchCodec {
        /// Where the batch begins.
        position: u64,
        /// The error of the codec; its position counts from the start of the compressed payload.
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
    /// A compression type id that Kafka does not know.
    #[error("unknown compression type id {id} in the batch at byte {position}")]
    UnknownCompressionType {
        /// Where the batch begins.
        position: u64,
        /// The id found.
        id: u8,
    },
    /// The bytes end inside a batch, and a whole batch is required.
    #[error("incomplete batch at byte {position}: {available} of {needed} bytes are there")]
    IncompleteBatch {
        /// Where the batch begins.
        position: u64,
        /// The available bytes.
        available: u64,
        /// The bytes of the batch according to its size field.
        needed: u64,
    },
    /// A record that is too large for a column, and for a batch of Kafka's.
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
    /// A zstd batch that is to be converted to a format without zstd.
    #[error(
        "the batch at byte {position} is compressed with zstd, which formats before magic 2 do not have: recompress it first, such as with lz4"
    )]
    DownConvertZstd {
        /// Where the batch begins.
        position: u64,
    },
    /// The records of a batch cannot be rebuilt.
    #[error("cannot rebuild the batch at byte {position}: {fault}")]
    Rebuild {
        /// The position of the batch that contains the records.
        position: u64,
        /// The error of the builder.
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
    /// Memory ran out.
    #[error("out of memory: cannot allocate {bytes} bytes for the batch at byte {position}")]
    OutOfMemory {
        /// Where the batch begins.
        position: u64,
        /// The requested size in bytes.
        bytes: u64,
    },
}

impl Error {
    /// Lack of memory for the batch at `position`.
    pub fn out_of_memory(error: OutOfMemory, position: u64) -> Self {
        Self::OutOfMemory { position, bytes: error.bytes as u64 }
    }

    /// The kind, which decides the category, Kafka's error code and Python's exception.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::BatchCodec { source, .. } => match source.fault.kind() {
                CodecFaultKind::OutputLimit => ErrorKind::OutputLimit,
                CodecFaultKind::OutOfMemory => ErrorKind::OutOfMemory,
                CodecFaultKind::Truncated | CodecFaultKind::Malformed => ErrorKind::CorruptRecord,
                CodecFaultKind::Encoding => ErrorKind::Compression,
                CodecFaultKind::Unsupported => ErrorKind::UnsupportedCompressionType,
            },
            Self::SizeTooSmall { .. }
            | Self::UnknownMagic { .. }
            | Self::CrcMismatch { .. }
            | Self::IncompleteBatch { .. } => ErrorKind::CorruptRecord,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::RecordTooLarge { .. } => ErrorKind::RecordTooLarge,
            Self::DownConvertZstd { .. } => ErrorKind::UnsupportedCompressionType,
            Self::ControlRecord { .. } => ErrorKind::InvalidRecord,
            Self::UnknownCompressionType { .. } => ErrorKind::UnknownCompressionType,
            Self::Rebuild { fault, .. } => fault.kind(),
            Self::Invalid { fault, .. } => fault.kind(),
        }
    }

    /// What the error means for a reader of a log.
    pub fn category(&self) -> Category {
        self.kind().category()
    }

    /// The limit that was reached, for [`ErrorKind::OutputLimit`].
    pub fn output_limit(&self) -> Option<u64> {
        match self {
            Self::BatchCodec { source: CodecError { fault: CodecFault::OutputLimit { limit }, .. }, .. } => {
                Some(*limit)
            }
            _ => None,
        }
    }

    /// The byte position that the error names.
    pub fn position(&self) -> u64 {
        match self {
            Self::BatchCodec { position, .. }
            | Self::SizeTooSmall { position, .. }
            | Self::UnknownMagic { position, .. }
            | Self::CrcMismatch { position, .. }
            | Self::UnknownCompressionType { position, .. }
            | Self::RecordTooLarge { position, .. }
            | Self::IncompleteBatch { position, .. }
            | Self::Invalid { position, .. }
            | Self::DownConvertZstd { position }
            | Self::OutOfMemory { position, .. }
            | Self::Rebuild { position, .. }
            | Self::ControlRecord { position, .. } => *position,
        }
    }
}
