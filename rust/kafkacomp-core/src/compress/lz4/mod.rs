//! LZ4 frames, [version 1.6.4](https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md), with the two
//! header checksums of [KIP-57](https://cwiki.apache.org/confluence/display/KAFKA/KIP-57+-+Interoperable+LZ4+Framing).
//!
//! ```text
//! frame       = magic 04 22 4D 18 | FLG | BD | [content size, 8] | [dictionary id, 4] | HC
//!               | block* | EndMark 00 00 00 00 | [content checksum, 4]
//! block       = size, 4 (top bit: stored) | data | [block checksum, 4]
//! skippable   = 5x 2A 4D 18 | size, 4 | data
//! ```
//!
//! All integers are little-endian. `HC` is the second byte of XXH32 over the descriptor (FLG to dictionary
//! id); Kafka 0.8.2, 0.9 and every writer of magic 0 since hash the four magic bytes too.
//!
//! Where Kafka's reader (`Lz4BlockInputStream`) differs from the specification, and
//! [`Strictness::RecordSet`](super::Strictness) with it: content size and content checksum are not looked
//! at, a stored block of no bytes ends the frame, and what follows the first frame does not count. Unlike
//! Kafka, further frames are read if they are whole, skippable frames are skipped, and linked blocks are
//! read.

mod decode;
mod encode;
mod header;
mod stream_decode;
mod stream_encode;

pub(super) use decode::open;
pub use decode::{DecodeOptions, decompress};
pub use encode::{EncodeOptions, compress};
pub use header::{
    Bd, BlockMaxSize, Flg, FrameInfo, HeaderChecksum, HeaderChecksumRule, HeaderChecksumWritten, frame_info,
};
pub(super) use stream_decode::FrameStream;
pub use stream_encode::encoder;
