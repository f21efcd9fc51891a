//! Snappy as Kafka frames it: xerial's stream of blocks, or one [raw block](https://github.com/google/snappy/blob/main/format_description.txt).
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
//! Where Kafka's reader (snappy-java's `SnappyInputStream`) is looser, and
//! [`Strictness::RecordSet`](super::Strictness) with it: the first header's versions are not looked at, a
//! later one's version must be positive; a later header whose magic is right in its first half only ends one
//! of Kafka's reads, and the content if that read had nothing yet; one to three bytes at the end are ignored.

mod decode;
mod encode;
mod raw_decode;
mod stream_decode;
mod stream_encode;
mod walk;

pub use decode::decompress;
pub(super) use decode::{decode, open, raw_block};
pub(super) use encode::Encoder;
pub(super) use stream_decode::Stream;
pub(super) use stream_encode::encoder;

/// What a xerial stream begins with.
pub const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// Length of the header: magic and the two versions.
pub const HEADER_LENGTH: usize = MAGIC.len() + 4 + 4;
/// The only version of the framing.
const VERSION: i32 = 1;
