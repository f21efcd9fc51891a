//! Snappy in Kafka's framing: xerial's stream of blocks, or one [raw block](https://github.com/google/snappy/blob/main/format_description.txt).
//!
//! ```text
//! stream = header | (size, 4 | raw block)*          streams may follow one another
//! header = 82 53 4E 41 50 50 59 00 | version, 4 | compatible version, 4
//! raw    = length of the content, varint | elements
//! ```
//!
//! Sizes and versions are big-endian; some writers (Redpanda) store the versions little-endian. Data
//! without the eight magic bytes are one raw block.
//!
//! Where Kafka's reader (snappy-java's `SnappyInputStream`) is looser, and with it
//! [`Strictness::Tolerant`](super::Strictness) and [`Strictness::Kafka`](super::Strictness): the first header's versions
//! are not checked, a later one's version must be positive; a later header whose magic is right in its first half only
//! ends one of Kafka's reads, and the content if that read is still empty; one to three bytes at the end are ignored.

mod decode;
#[cfg(feature = "snappy")]
mod encode;
#[cfg(target_arch = "x86_64")]
mod interleaved;
#[cfg(not(target_arch = "x86_64"))]
mod library_only;
mod old_kafka;
mod raw_decode;
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "all blocks are left to the library"))]
mod raw_elements;
mod raw_length;
mod stream_decode;
#[cfg(feature = "snappy")]
mod stream_encode;
mod xerial;

pub(super) use decode::{decode, open};
#[cfg(feature = "snappy")]
pub(super) use encode::Encoder;
pub use old_kafka::{check_framing_as_kafka_0_8_2, decompress_as_kafka_0_7};
pub(super) use stream_decode::StreamDecoder;
#[cfg(feature = "snappy")]
pub(super) use stream_encode::encoder;
pub use xerial::{HEADER_LENGTH, MAGIC};

use super::after_frame::{AfterFrame, Further};

#[cfg(feature = "snappy")]
/// Whether two inputs of this length are encoded in less time together than one after the other.
pub(super) fn is_faster_in_pairs(length: usize) -> bool {
    encode::Pairs::are_faster(length)
}

/// What may follow a raw block. A stream ends with the data: further streams continue its content.
pub(super) fn after_frame() -> AfterFrame {
    AfterFrame { further: Further::Nothing, ..AfterFrame::FRAMES }
}
