//! Kafka's five compression types and their framings. Knows nothing of records: which LZ4 header checksum
//! a message format wants is an argument (KIP-57).
//!
//! | module | framing | one-shot |
//! |---|---|---|
//! | [`gzip`] | RFC 1952 members | [`gzip::decompress`] |
//! | [`snappy`] | xerial's stream of blocks, or one raw block | [`snappy::decompress`] |
//! | [`lz4`] | LZ4 frames, with either header checksum of KIP-57 | [`lz4::decompress`] |
//! | [`zstd`] | Zstandard frames | [`zstd::decompress`] |
//!
//! The one-shots keep the specifications. A record set is read wherever Kafka's own streams read it, by a
//! [`Decompressor`]: see [`Strictness`].

mod compression;
mod compressor;
mod context;
mod decompressor;
mod fault;
pub mod gzip;
mod input;
pub mod lz4;
pub mod snappy;
mod snappy_1_0;
pub mod stream;
pub mod zstd;

pub use compression::{Compression, LevelOutOfRange};
pub use compressor::{Compressor, compress};
pub use decompressor::{Decompressor, MessageSetCodec};
pub use fault::{CodecError, CodecFault, CodecFaultKind};

/// How much of its specification compressed data must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strictness {
    /// All of it: every checksum and size counts, and bytes after the last frame are an error.
    #[default]
    Specification,
    /// As much as Kafka's own reader looks at. Each codec's module says what that leaves out.
    RecordSet,
    /// As [`RecordSet`](Self::RecordSet), and nothing that Kafka's own reader refuses or does not see: of LZ4 the
    /// first frame only, without linked blocks. What a broker's answer hangs on.
    Broker,
}

/// Kafka's compression types with the ids that the attributes of a batch carry
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
    /// LZ4 frames; in magic 0 with the header checksum of KIP-57.
    Lz4 = 3,
    /// Zstandard frames (magic 2 only, KIP-110).
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
