//! In place of libzstd in a build without C: ruzstd decodes the blocks. It has no encoder for Kafka's levels.
//!
//! What differs: content becomes available when it leaves the window or the frame ends, so a corrupt frame has no content before
//! the error; and a truncated frame is always an error, also where Kafka's reader ignores the last of several frames.

mod frame;
mod one_shot;
mod stream_decode;

pub(in super::super) use one_shot::Decoder;
pub(in super::super) use stream_decode::StreamDecoder;
