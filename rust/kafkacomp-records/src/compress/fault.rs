//! What can be wrong with compressed data: one enum for all codecs, numbers only.

use super::CompressionType;
use crate::buffer::NoRoom;
use crate::error_kind::ErrorKind;
use crate::memory::OutOfMemory;

/// Compressed data that cannot be decoded, or data that cannot be compressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{compression_type}: {fault} at byte {position}", compression_type = .compression_type.name())]
pub struct CodecError {
    /// The codec that refused.
    pub compression_type: CompressionType,
    /// The byte of the compressed data at which the refused element begins.
    pub position: u64,
    /// What is wrong there.
    pub fault: CodecFault,
}

impl CodecError {
    /// The kind, of compressed data outside a record set.
    pub fn kind(&self) -> ErrorKind {
        match self.fault.kind() {
            CodecFaultKind::OutputLimit => ErrorKind::OutputLimit,
            CodecFaultKind::Truncated => ErrorKind::Truncated,
            CodecFaultKind::OutOfMemory => ErrorKind::OutOfMemory,
            CodecFaultKind::Malformed => ErrorKind::Decompression,
            CodecFaultKind::Encoding => ErrorKind::Compression,
            CodecFaultKind::Unsupported => ErrorKind::UnsupportedCompressionType,
        }
    }

    /// The error for a codec that this build does not have.
    #[cfg(not(all(feature = "_gzip", feature = "snappy", feature = "_lz4", feature = "zstd")))]
    pub(crate) fn not_compiled(compression_type: CompressionType) -> Self {
        Self { compression_type, position: 0, fault: CodecFault::NotCompiled }
    }
}

/// The rule that was broken.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecFault {
    /// The data end inside a frame, or before the first one.
    #[error("the data end too early")]
    Truncated,
    /// More output than the caller allows.
    #[error("more than {limit} bytes of output")]
    OutputLimit {
        /// The limit in bytes.
        limit: u64,
    },
    /// No frame or member of the codec begins here.
    #[error("no frame begins with the bytes {found:02x?}")]
    BadMagic {
        /// The bytes found.
        found: [u8; 4],
    },
    /// A version of the framing that no specification defines.
    #[error("unsupported version {version}")]
    UnsupportedVersion {
        /// The version found.
        version: i64,
    },
    /// Bits that must be zero are not.
    #[error("reserved bits are set in {found:#04x}")]
    ReservedBits {
        /// The byte found.
        found: u8,
    },
    /// An id of a largest block size that LZ4 does not define.
    #[error("invalid block maximum size id {id} (4 to 7 are defined)")]
    BlockMaxSize {
        /// The id found.
        id: u8,
    },
    /// The header checksum of an LZ4 frame is not the required one.
    #[error("header checksum mismatch (stored {stored:#04x}, standard {standard:#04x}, broken {broken:#04x})")]
    HeaderChecksum {
        /// The byte found.
        stored: u8,
        /// The checksum according to the specification.
        standard: u8,
        /// The checksum that Kafka 0.8.2 and 0.9 write (KIP-57).
        broken: u8,
    },
    /// The checksum in a gzip header is not that of the header.
    #[error("header checksum mismatch (stored {stored:#06x}, computed {computed:#06x})")]
    HeaderCrc {
        /// The value found.
        stored: u16,
        /// The value of the bytes.
        computed: u16,
    },
    /// A gzip compression method other than deflate.
    #[error("unsupported compression method {method}")]
    CompressionMethod {
        /// The method found.
        method: u8,
    },
    /// A block whose stored size is above what its frame or format allows.
    #[error("block size {size} exceeds the maximum of {max}")]
    BlockSize {
        /// The size found.
        size: i64,
        /// The most that is allowed.
        max: i64,
    },
    /// An LZ4 block that is stored uncompressed, of more bytes than its frame allows.
    #[error("uncompressed block size {size} exceeds the maximum of {max}")]
    UncompressedBlockSize {
        /// The size found, without the bit that marks the block as uncompressed.
        size: u64,
        /// The most that is allowed.
        max: u64,
    },
    /// A block that claims more output than its bytes can hold.
    #[error("a block of {compressed} bytes cannot hold the {claimed} bytes that it claims")]
    ImplausibleSize {
        /// The bytes of the block.
        compressed: u64,
        /// The size that it claims.
        claimed: u64,
    },
    /// The content of a block breaks the codec's rules.
    #[error("corrupt block")]
    CorruptBlock,
    /// The checksum of a block is not that of its bytes.
    #[error("block checksum mismatch (stored {stored:#010x}, computed {computed:#010x})")]
    BlockChecksum {
        /// The value found.
        stored: u32,
        /// The value of the bytes.
        computed: u32,
    },
    /// The checksum of the whole content is not that of what was decoded.
    #[error("content checksum mismatch (stored {stored:#010x}, computed {computed:#010x})")]
    ContentChecksum {
        /// The value found.
        stored: u32,
        /// The value of the decoded bytes.
        computed: u32,
    },
    /// The checksum of the whole content is wrong, and the library does not report the values.
    #[error("content checksum mismatch")]
    ContentHash,
    /// The frame declares another size than its content has.
    #[error("content size mismatch (declared {declared}, decoded {actual})")]
    ContentSize {
        /// The size found.
        declared: u64,
        /// The size decoded, or the most that the frame's blocks can hold.
        actual: u64,
    },
    /// The frame needs a dictionary. Kafka never has one.
    #[error("the frame needs dictionary {id}, and dictionaries are not supported")]
    Dictionary {
        /// The dictionary's id.
        id: u32,
    },
    /// An LZ4 frame with linked blocks, if only what a broker reads is accepted.
    #[error("linked blocks, which no broker reads")]
    LinkedBlocks,
    /// A zstd window larger than Kafka's reader accepts.
    #[error("the frame needs a window of {window} bytes, the most is {max}")]
    WindowSize {
        /// The window of the frame.
        window: u64,
        /// The largest window that is accepted.
        max: u64,
    },
    /// Bytes that belong to no frame follow the last one.
    #[error("{length} bytes follow the last frame")]
    TrailingData {
        /// The number of bytes.
        length: u64,
    },
    /// Memory ran out, for the content or for the library's own context. This says nothing about the data.
    #[error("out of memory")]
    OutOfMemory,
    /// The library returned an error although its input was valid.
    #[error("the data could not be compressed")]
    Encoder,
    /// The crate was compiled without the codec or, in Rust alone, without its encoder.
    #[error("not supported by this build")]
    NotCompiled,
}

/// The kinds of fault that callers distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodecFaultKind {
    /// More bytes may complete it.
    Truncated,
    /// A higher limit may allow it.
    OutputLimit,
    /// More memory may allow it.
    OutOfMemory,
    /// The data are corrupt, whatever the limits are.
    Malformed,
    /// Compressing failed.
    Encoding,
    /// A build with the codec's feature may allow it.
    Unsupported,
}

impl CodecFault {
    /// Which of the kinds it is.
    pub fn kind(&self) -> CodecFaultKind {
        match self {
            Self::Truncated => CodecFaultKind::Truncated,
            Self::OutputLimit { .. } => CodecFaultKind::OutputLimit,
            Self::OutOfMemory => CodecFaultKind::OutOfMemory,
            Self::Encoder => CodecFaultKind::Encoding,
            Self::NotCompiled => CodecFaultKind::Unsupported,
            Self::BadMagic { .. }
            | Self::UnsupportedVersion { .. }
            | Self::ReservedBits { .. }
            | Self::BlockMaxSize { .. }
            | Self::HeaderChecksum { .. }
            | Self::HeaderCrc { .. }
            | Self::CompressionMethod { .. }
            | Self::BlockSize { .. }
            | Self::UncompressedBlockSize { .. }
            | Self::ImplausibleSize { .. }
            | Self::CorruptBlock
            | Self::BlockChecksum { .. }
            | Self::ContentChecksum { .. }
            | Self::ContentHash
            | Self::ContentSize { .. }
            | Self::Dictionary { .. }
            | Self::LinkedBlocks
            | Self::WindowSize { .. }
            | Self::TrailingData { .. } => CodecFaultKind::Malformed,
        }
    }
}

impl From<NoRoom> for CodecFault {
    fn from(reason: NoRoom) -> Self {
        match reason {
            NoRoom::LimitReached { limit } => Self::OutputLimit { limit: limit as u64 },
            NoRoom::OutOfMemory => Self::OutOfMemory,
        }
    }
}

impl From<OutOfMemory> for CodecFault {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}
