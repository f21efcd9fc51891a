//! Gzip, [RFC 1952](https://www.rfc-editor.org/rfc/rfc1952).
//!
//! ```text
//! file    = member* (zero padding)
//! member  = 1F 8B 08 | FLG | MTIME, 4 | XFL | OS
//!           | [XLEN, 2 | extra] | [name, 0] | [comment, 0] | [CRC16 of the header, 2]
//!           | deflate stream | CRC32, 4 | ISIZE, 4
//! FLG     = bit 0 text, 1 header CRC, 2 extra, 3 name, 4 comment, 5 to 7 reserved
//! ```
//!
//! All integers are little-endian. Where Kafka's reader (the JDK's `GZIPInputStream` over 8 KiB of input) is looser, and
//! with it [`Strictness::Tolerant`](super::Strictness) and [`Strictness::Kafka`](super::Strictness): reserved flags are
//! not checked, and what follows a member is ignored unless it begins with a valid header.
//!
//! Nearly all data are a single member, which libdeflate decodes in one call; the size in its trailer is a hint that is used only
//! within limits. Small members have a decoder of their own. A stream that behaves like the JDK's decodes everything else and
//! reports the errors.

mod decode;
mod encode;
mod header;
#[cfg_attr(not(feature = "gzip"), path = "without_libdeflate.rs")]
mod libdeflate;
mod small;
mod stream_decode;
mod stream_encode;

#[cfg(feature = "fuzzing")]
pub use small::SmallInflate;

pub(super) use decode::{DECODERS_MEMORY, Decoders, decode, open};
pub(super) use libdeflate::Encoders;
pub(super) use stream_decode::StreamDecoder;
pub(super) use stream_encode::StreamEncoder;

use super::Strictness;
use super::after_frame::{AfterFrame, Further};

const TRAILER_LENGTH: usize = 8;
/// The JDK looks for a further member only if more than this many bytes follow the trailer in its input buffer, or any bytes follow
/// the buffer.
const JDK_IGNORED_LENGTH: usize = 18;

/// What may follow a member.
pub(super) fn after_frame(strictness: Strictness) -> AfterFrame {
    match strictness {
        Strictness::Specification => AfterFrame { zero_padding: true, ..AfterFrame::FRAMES },
        Strictness::Tolerant | Strictness::Kafka => AfterFrame {
            further: Further::FramesWithValidHeaders { ignored_length: JDK_IGNORED_LENGTH },
            ..AfterFrame::FRAMES
        },
    }
}
