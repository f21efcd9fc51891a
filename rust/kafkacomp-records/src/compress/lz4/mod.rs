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
//! id); Kafka 0.8.2 and 0.9 hash the frame's magic number too: see [`HeaderChecksum`].
//!
//! Where Kafka's reader (`Lz4BlockInputStream`) is looser than the specification, and with it
//! [`Strictness::Tolerant`](super::Strictness) and [`Strictness::Kafka`](super::Strictness): content size and content
//! checksum are not checked, an uncompressed block of no bytes ends the frame, and what follows the first frame is
//! ignored. `Tolerant` also reads what Kafka does not: further frames if they are valid and complete, skippable frames,
//! and linked blocks.

#[cfg(feature = "_lz4")]
mod block;
#[cfg(feature = "_lz4")]
mod decode;
#[cfg(feature = "_lz4")]
mod encode;
mod header;
#[cfg(all(feature = "_lz4", target_arch = "x86_64"))]
mod interleaved;
#[cfg(feature = "_lz4")]
#[cfg_attr(not(feature = "lz4"), path = "without_liblz4.rs")]
mod liblz4;
#[cfg(all(feature = "_lz4", not(target_arch = "x86_64")))]
mod library_only;
#[cfg(feature = "_lz4")]
mod stream_decode;
#[cfg(feature = "_lz4")]
mod stream_encode;

#[cfg(feature = "_lz4")]
pub(super) use decode::{ROOM_FOR_BOTH, SHORTEST_OF_BOTH, decode, decode_both, may_pair, open};
#[cfg(feature = "_lz4")]
pub use encode::{EncodeOptions, compress};
pub use header::{
    Bd, BlockMaxSize, Flg, FrameInfo, HeaderChecksum, HeaderChecksumCheck, HeaderChecksumFound, frame_info,
};
#[cfg(feature = "_lz4")]
pub(super) use stream_decode::StreamDecoder;
#[cfg(feature = "_lz4")]
pub use stream_encode::encoder;

use super::Strictness;
use super::after_frame::{AfterFrame, Further};

/// What may follow a frame.
pub(super) fn after_frame(strictness: Strictness) -> AfterFrame {
    let further = match strictness {
        Strictness::Specification => Further::Frames,
        Strictness::Tolerant => Further::ValidFrames,
        Strictness::Kafka => Further::Ignored,
    };
    AfterFrame { further, ..AfterFrame::FRAMES }
}

/// Whether skippable frames are skipped; otherwise they are invalid.
fn skips_skippable(strictness: Strictness) -> bool {
    strictness != Strictness::Kafka
}
