//! Zstandard, [RFC 8878](https://www.rfc-editor.org/rfc/rfc8878) (KIP-110).
//!
//! ```text
//! frame     = magic 28 B5 2F FD | descriptor | [window] | [dictionary id, 1 to 4] | [content size, 1 to 8]
//!             | block* | [content checksum, 4]
//! block     = header, 3: bit 0 last, bits 1 and 2 type (raw, RLE, compressed), then size | data
//! skippable = 5x 2A 4D 18 | size, 4 | data
//! ```
//!
//! All integers are little-endian. A frame is walked by its block headers first: they bound its content,
//! so that memory follows neither the window nor the content size that it declares, and one call with a
//! kept context decodes it straight into the output, without zstd's own window buffer. A Java producer's
//! frame of level 22 declares 128 MiB for a batch of any size.
//!
//! Where Kafka's reader (zstd-jni's `ZstdInputStream`) is looser, and with it
//! [`Strictness::Tolerant`](super::Strictness) and [`Strictness::Kafka`](super::Strictness): no data at all are no
//! content, and the last of several frames may be truncated if it begins in the same read of its input. What one call
//! refuses is read again by a stream that advances as zstd-jni's does. Kafka never has a dictionary: refused. So is a
//! window above [`MAX_ZSTD_WINDOW`](crate::limits::MAX_ZSTD_WINDOW).

mod decode;
mod encode;
mod fault;
mod frame_bounds;
mod jni_stream;
mod stream_decode;
mod stream_encode;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
pub(super) use stream_decode::StreamDecoder;
pub(super) use stream_encode::StreamEncoder;

use super::Strictness;
use super::after_frame::{AfterFrame, Further};

/// What may follow a frame.
pub(super) fn after_frame(strictness: Strictness) -> AfterFrame {
    match strictness {
        Strictness::Specification => AfterFrame::FRAMES,
        Strictness::Tolerant | Strictness::Kafka => AfterFrame {
            empty_data: true,
            further: Further::LastMayBeTruncated { read_length: jni_stream::INPUT_LENGTH },
            ..AfterFrame::FRAMES
        },
    }
}
