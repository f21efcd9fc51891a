//! The header checksum of LZ4 frames by message format ([KIP-57](https://cwiki.apache.org/confluence/display/KAFKA/KIP-57+-+Interoperable+LZ4+Layout)).
//!
//! Kafka 0.8.2 and 0.9 computed it over the frame's magic number too, and had magic 0 only. So every release since
//! writes that checksum for magic 0, which those releases may read, and checks none when it reads magic 0. Magic 1 and 2
//! have the specification's.

use crate::compress::lz4::{HeaderChecksum, HeaderChecksumCheck};
use crate::compress::{DecodeOptions, Strictness};

/// The checksum that Kafka writes in batches and messages of this magic.
pub fn written_header_checksum(magic: i8) -> HeaderChecksum {
    if magic == 0 { HeaderChecksum::WithMagic } else { HeaderChecksum::FrameDescriptor }
}

/// The checksum that Kafka since 0.10 demands in batches and messages of this magic.
pub fn header_checksum_check(magic: i8) -> HeaderChecksumCheck {
    if magic == 0 { HeaderChecksumCheck::Ignore } else { HeaderChecksumCheck::Require(HeaderChecksum::FrameDescriptor) }
}

/// How the compressed part of a batch or message of this magic is read.
pub fn decode_options(magic: i8, strictness: Strictness) -> DecodeOptions {
    DecodeOptions { strictness, lz4_header_checksum: header_checksum_check(magic) }
}
