//! Kafka's five compression types and their framings: bytes in, bytes out. Nothing here knows what the bytes are.
//!
//! | module | framing |
//! |---|---|
//! | [`gzip`] | RFC 1952 members |
//! | [`snappy`] | xerial's stream of blocks, or one raw block |
//! | [`lz4`] | LZ4 frames, with either header checksum of KIP-57 |
//! | [`zstd`] | Zstandard frames |
//!
//! [`compress`] and [`decompress`] work on whole payloads, [`stream`] on parts of any size. [`Strictness`] selects what is
//! accepted: what the specification allows, or what Kafka's own reader accepts. The header checksum that an LZ4 frame must
//! have is an argument, because it depends on the message format, which this layer does not know.

mod after_frame;
mod compression;
#[cfg(feature = "_gzip")]
mod construct;
#[cfg(any(feature = "_gzip", feature = "snappy", feature = "_zstd"))]
mod contexts;
mod decode_options;
mod fault;
#[cfg(feature = "_gzip")]
pub mod gzip;
mod input;
pub mod lz4;
mod one_shot;
mod skippable;
#[doc(hidden)]
pub mod snappy;
pub mod stream;
#[doc(hidden)]
pub mod zstd;

pub use compression::{Compression, LevelOutOfRange};
pub use decode_options::DecodeOptions;
pub use fault::{CodecError, CodecFault, CodecFaultKind};
pub(crate) use one_shot::{ROOM_FOR_BOTH, SHORTEST_OF_BOTH, is_faster_in_pairs, may_pair};
pub use one_shot::{compress, compress_both, decompress, decompress_both, open};

/// How closely compressed data must follow the specification of their codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strictness {
    /// Exactly: every checksum and size is checked, and bytes after the last frame are an error.
    #[default]
    Specification,
    /// What Kafka's own reader accepts, and valid LZ4 data that it does not read: linked blocks, skippable frames and
    /// further frames. Each codec's module says where Kafka's reader is looser than the specification.
    Tolerant,
    /// Exactly what Kafka's own reader accepts: of LZ4 the first frame only, without linked blocks.
    Kafka,
}

/// Kafka's compression types, with their ids in the attributes of a batch
/// (`org.apache.kafka.common.record.CompressionType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum CompressionType {
    /// Stored as it is.
    None = 0,
    /// RFC 1952 members.
    Gzip = 1,
    /// Xerial's stream of snappy blocks, or one raw block.
    Snappy = 2,
    /// LZ4 frames.
    Lz4 = 3,
    /// Zstandard frames (KIP-110).
    Zstd = 4,
}

impl CompressionType {
    /// All types in the order of their ids.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The type with this id, if Kafka has one.
    pub fn for_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// The type with this name, as configurations spell it (lower case only).
    pub fn for_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The id in a batch's attributes.
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}
