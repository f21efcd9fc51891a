//! What can be wrong with a message set of Kafka 0.7, by the exceptions of its own classes.

use crate::compress::{CodecError, CodecFault, CodecFaultKind};
use crate::memory::OutOfMemory;

/// The kinds that Kafka 0.7 tells apart, one per exception class of its `kafka.message` package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageSetKind {
    /// `InvalidMessageSizeException`.
    InvalidMessageSize,
    /// `IndexOutOfBoundsException`: no room for the header.
    EntryTooSmall,
    /// `UnknownMagicByteException`.
    UnknownMagic,
    /// `InvalidMessageException`.
    Crc,
    /// `UnknownCodecException`.
    UnknownCodec,
    /// `IOException` and its like: the payload does not decompress.
    Decompression,
}

impl MessageSetKind {
    /// The kind's name in the Python package.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidMessageSize => "invalid_message_size",
            Self::EntryTooSmall => "entry_too_small",
            Self::UnknownMagic => "unknown_magic",
            Self::Crc => "crc",
            Self::UnknownCodec => "unknown_codec",
            Self::Decompression => "decompression",
        }
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
        /// Bytes that are left behind the size field.
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
        /// What the codec said; its position counts from the start of the compressed payload.
        source: CodecError,
    },
    /// Memory ran out.
    #[error("out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// The bytes asked for.
        bytes: u64,
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
    /// The kind, `None` where nothing is wrong with the bytes: the caller's cap was reached, or memory ran out.
    pub fn kind(&self) -> Option<MessageSetKind> {
        Some(match self {
            Self::InvalidMessageSize { .. } => MessageSetKind::InvalidMessageSize,
            Self::EntryTooSmall { .. } => MessageSetKind::EntryTooSmall,
            Self::UnknownMagic { .. } => MessageSetKind::UnknownMagic,
            Self::Crc { .. } => MessageSetKind::Crc,
            Self::UnknownCodec { .. } => MessageSetKind::UnknownCodec,
            Self::Nesting { .. } => MessageSetKind::Decompression,
            Self::OutOfMemory { .. } => return None,
            Self::Codec { source } => match source.fault.kind() {
                CodecFaultKind::OutputLimit | CodecFaultKind::OutOfMemory => return None,
                CodecFaultKind::Truncated | CodecFaultKind::Malformed | CodecFaultKind::Encoding => {
                    MessageSetKind::Decompression
                }
            },
        })
    }

    /// Whether memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::OutOfMemory { .. } => true,
            Self::Codec { source } => source.fault == CodecFault::OutOfMemory,
            _ => false,
        }
    }

    /// The cap that was reached, if that is what failed.
    pub fn output_limit(&self) -> Option<u64> {
        match self {
            Self::Codec { source: CodecError { fault: CodecFault::OutputLimit { limit }, .. } } => Some(*limit),
            _ => None,
        }
    }
}
