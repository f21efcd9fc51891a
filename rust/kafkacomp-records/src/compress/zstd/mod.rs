//! Zstandard, [RFC 8878](https://www.rfc-editor.org/rfc/rfc8878) (KIP-110).
//!
//! ```text
//! frame     = magic 28 B5 2F FD | descriptor | [window] | [dictionary id, 1 to 4] | [content size, 1 to 8]
//!             | block* | [content checksum, 4]
//! block     = header, 3: bit 0 last, bits 1 and 2 type (raw, RLE, compressed), then size | data
//! skippable = 5x 2A 4D 18 | size, 4 | data
//! ```
//!
//! All integers are little-endian. The block headers of a frame are read first. They limit its content, so that the allocation does
//! not depend on the declared window and content size, and one call with a kept context decodes the frame directly into the output,
//! without zstd's window buffer. A Java producer's frame of level 22 declares a window of 128 MiB for a batch of any size.
//!
//! Where Kafka's reader (zstd-jni's `ZstdInputStream`) is looser, and with it
//! [`Strictness::Tolerant`](super::Strictness) and [`Strictness::Kafka`](super::Strictness): empty data are
//! empty content, and the last of several frames may be truncated if it begins in the same read of the input, except for a
//! skippable frame that lacks almost 4 GiB. Data that one call refuses are read again by a stream that behaves like zstd-jni's.
//! Dictionaries, which Kafka never uses, are refused, and so is a window above [`MAX_ZSTD_WINDOW`](crate::limits::MAX_ZSTD_WINDOW).

#[cfg(feature = "zstd")]
mod decode;
#[cfg(feature = "zstd")]
mod encode;
#[cfg(feature = "zstd")]
mod fault;
mod frame_bounds;
#[cfg(feature = "zstd")]
mod jni_stream;
#[cfg(feature = "zstd")]
mod stream_decode;
#[cfg(feature = "zstd")]
mod stream_encode;
#[cfg(all(feature = "_zstd", not(feature = "zstd")))]
mod without_libzstd;

#[cfg(feature = "zstd")]
pub(super) use decode::Decoder;
#[cfg(feature = "zstd")]
pub(super) use encode::Encoder;
pub use frame_bounds::{FrameInfo, frame_info};
#[cfg(feature = "zstd")]
pub(super) use stream_decode::StreamDecoder;
#[cfg(feature = "zstd")]
pub(super) use stream_encode::StreamEncoder;
#[cfg(all(feature = "_zstd", not(feature = "zstd")))]
pub(super) use without_libzstd::{Decoder, StreamDecoder};

use super::Strictness;
use super::after_frame::{AfterFrame, Further};
use frame_bounds::BLOCK_SIZE_MAX;

/// zstd-jni's input buffer: `ZSTD_DStreamInSize`, a block and its header.
const INPUT_LENGTH: usize = BLOCK_SIZE_MAX as usize + 3;

/// The most bytes that zstd may ask for. zstd-jni returns this hint as an `int`, in which a greater one is an error code (from
/// -1 to -119, `ZSTD_isError`). Only a skippable frame can lack so many.
const MAX_HINT: u32 = u32::MAX - 119;

/// What may follow a frame.
pub(super) fn after_frame(strictness: Strictness) -> AfterFrame {
    match strictness {
        Strictness::Specification => AfterFrame::FRAMES,
        Strictness::Tolerant | Strictness::Kafka => AfterFrame {
            empty_data: true,
            further: Further::LastMayBeTruncated { read_length: INPUT_LENGTH, max_lack: u64::from(MAX_HINT) },
            ..AfterFrame::FRAMES
        },
    }
}
