//! The header checksum of LZ4 frames by message format ([KIP-57](https://cwiki.apache.org/confluence/display/KAFKA/KIP-57+-+Interoperable+LZ4+Framing)).
//!
//! Kafka 0.8.2 and 0.9 computed the checksum over the frame's magic number too, and they wrote only messages of magic 0. Later
//! releases therefore write this checksum in magic 0, which the old releases may read, and do not verify it when they read magic 0.
//! In magic 1 and 2 the checksum is that of the specification.

use crate::compress::lz4::{HeaderChecksum, HeaderChecksumCheck};
use crate::compress::{DecodeOptions, Strictness};

/// The checksum that Kafka writes in batches and messages of this magic.
pub fn written_header_checksum(magic: i8) -> HeaderChecksum {
    if magic == 0 { HeaderChecksum::WithMagic } else { HeaderChecksum::FrameDescriptor }
}

/// The checksum that Kafka since 0.10 requires in batches and messages of this magic.
pub fn header_checksum_check(magic: i8) -> HeaderChecksumCheck {
    if magic == 0 { HeaderChecksumCheck::Ignore } else { HeaderChecksumCheck::Require(HeaderChecksum::FrameDescriptor) }
}

/// The options for decompressing a batch or message of this magic.
pub fn decode_options(magic: i8, strictness: Strictness) -> DecodeOptions {
    DecodeOptions { strictness, lz4_header_checksum: header_checksum_check(magic) }
}
