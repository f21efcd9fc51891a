//! Kafka's five compression types and their framings. Knows nothing of records: which LZ4 header checksum
//! a message format wants is an argument (KIP-57).

mod decompressor;
pub use decompressor::Decompressor;
mod fault;

pub use fault::{CodecError, CodecFault};

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
