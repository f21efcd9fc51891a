//! Why a message set of Kafka 0.7 cannot be read or written, by the exceptions of its own classes.

use crate::compress::{CodecError, CodecFault, CodecFaultKind};
use crate::error_kind::{Category, ErrorKind, MessageSetKind};
use crate::memory::OutOfMemory;

/// The result of reading a message set.
pub type Result<T> = std::result::Result<T, Error>;

/// A message set of Kafka 0.7 that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}, {} at byte {position}", inside(*.depth))]
pub struct Error {
    /// Where the failing entry begins; for a fault inside a wrapper, where the outermost wrapper begins.
    pub position: u64,
    /// How many wrappers are around the failing entry.
    pub depth: usize,
    /// The rule.
    pub fault: MessageSetFault,
}

impl Error {
    /// A fault of the top-level entry at `position`.
    pub fn of_entry(position: u64, fault: MessageSetFault) -> Self {
        Self { position, depth: 0, fault }
    }

    /// The same error of a set that begins at byte `begin` of a file.
    #[must_use]
    pub fn in_file(mut self, begin: u64) -> Self {
        self.position = self.position.saturating_add(begin);
        self
    }

    /// The kind, which decides the category, the error code and Python's exception.
    pub fn kind(&self) -> ErrorKind {
        self.fault.kind()
    }

    /// What the error means for a reader of a log.
    pub fn category(&self) -> Category {
        self.kind().category()
    }
}

/// Where a fault of a message set is, in words.
fn inside(depth: usize) -> String {
    match depth {
        0 => "in the entry".to_owned(),
        1 => "inside the compressed message".to_owned(),
        levels => format!("{levels} levels inside the compressed message"),
    }
}

/// A rule of the format that was broken. The numbers are what was found.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageSetFault {
    /// A negative size, or one beyond the end of a set that has no entry before it.
    #[error("invalid message size {size}, {available} bytes are left")]
    InvalidMessageSize {
        /// The size found.
        size: i32,
        /// The number of bytes after the size field.
        available: usize,
    },
    /// A size that leaves no room for the header.
    #[error("a message of {size} bytes is less than its header ({minimum})")]
    EntryTooSmall {
        /// The size found.
        size: usize,
        /// The least that the format needs.
        minimum: usize,
    },
    /// A magic other than 0 and 1.
    #[error("magic byte {magic} is unknown in Kafka 0.7")]
    UnknownMagic {
        /// The magic found.
        magic: i8,
    },
    /// The stored checksum is not the checksum of the payload.
    #[error("message is corrupt (stored crc = {stored}, computed crc = {computed})")]
    Crc {
        /// The checksum found.
        stored: u32,
        /// The checksum of the payload.
        computed: u32,
    },
    /// A codec that Kafka 0.7 does not know.
    #[error("{id} is an unknown compression codec")]
    UnknownCodec {
        /// The id found.
        id: u8,
    },
    /// The payload of a wrapper does not decompress.
    #[error("cannot decompress: {source}")]
    Codec {
        /// The error of the codec; its position counts from the start of the compressed payload.
        source: CodecError,
    },
    /// Memory ran out.
    #[error("out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// The requested size in bytes.
        bytes: u64,
    },
    /// A message that is to be written and whose size field cannot hold its size.
    #[error("a message of {size} bytes is larger than 2147483647")]
    TooLarge {
        /// The message's size.
        size: usize,
    },
    /// More levels of compressed sets than are opened.
    #[error("compressed message sets are nested more than {limit} levels deep")]
    Nesting {
        /// The most levels.
        limit: usize,
    },
}

impl From<OutOfMemory> for MessageSetFault {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes: error.bytes as u64 }
    }
}

impl MessageSetFault {
    /// The kind, which decides the category, the error code and Python's exception.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::MessageSet(match self {
            Self::InvalidMessageSize { .. } => MessageSetKind::InvalidMessageSize,
            Self::EntryTooSmall { .. } => MessageSetKind::EntryTooSmall,
            Self::UnknownMagic { .. } => MessageSetKind::UnknownMagic,
            Self::Crc { .. } => MessageSetKind::Crc,
            Self::UnknownCodec { .. } => MessageSetKind::UnknownCodec,
            Self::Nesting { .. } => MessageSetKind::Decompression,
            Self::OutOfMemory { .. } => return ErrorKind::OutOfMemory,
            Self::TooLarge { .. } => return ErrorKind::RecordTooLarge,
            Self::Codec { source } => match source.fault.kind() {
                CodecFaultKind::OutputLimit => return ErrorKind::OutputLimit,
                CodecFaultKind::OutOfMemory => return ErrorKind::OutOfMemory,
                CodecFaultKind::Encoding => return ErrorKind::Compression,
                CodecFaultKind::Unsupported => return ErrorKind::UnsupportedCompressionType,
                CodecFaultKind::Truncated | CodecFaultKind::Malformed => MessageSetKind::Decompression,
            },
        })
    }

    /// The output limit, if it was exceeded.
    pub fn output_limit(&self) -> Option<u64> {
        match self {
            Self::Codec { source: CodecError { fault: CodecFault::OutputLimit { limit }, .. } } => Some(*limit),
            _ => None,
        }
    }
}
