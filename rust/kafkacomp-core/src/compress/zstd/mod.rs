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
//! Where Kafka's reader (zstd-jni's `ZstdInputStream`) is looser, and
//! [`Strictness::RecordSet`](super::Strictness) with it: no data at all are no content, and the last of
//! several frames may be cut short if it begins in the same read of its input. What the walk or the one
//! call refuses, a stream that moves as zstd-jni's does judges. Kafka never has a dictionary: refused.

mod decode;
mod encode;
mod frame;
mod stream;
mod stream_decode;
mod stream_encode;

pub(super) use decode::decode;
pub(super) use encode::Encoder;
pub(super) use stream::JNI_INPUT;
pub(super) use stream_decode::FrameStream;
pub(super) use stream_encode::StreamEncoder;

use super::{CodecError, Strictness};
use crate::buffer::OutputBuffer;

/// Decodes all frames of `data` by the specification and appends their content to `out`.
///
/// # Errors
/// Data that end too early or break the format, need a dictionary or a window above
/// [`MAX_ZSTD_WINDOW`](crate::limits::MAX_ZSTD_WINDOW); `out` then holds the whole frames before.
pub fn decompress(data: &[u8], out: &mut OutputBuffer) -> Result<(), CodecError> {
    super::decompressor::with_kept(|kept| decode(&mut kept.zstd, data, Strictness::Specification, out))
}
