//! How compressed data are read: the arguments of every decoder.

use super::Strictness;
use super::lz4::HeaderChecksumCheck;

/// How compressed data are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// How closely the data must follow the specification.
    pub strictness: Strictness,
    /// The header checksum that every LZ4 frame must have.
    pub lz4_header_checksum: HeaderChecksumCheck,
}
