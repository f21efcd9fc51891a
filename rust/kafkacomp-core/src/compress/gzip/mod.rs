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
//! All integers are little-endian. Where Kafka's reader (the JDK's `GZIPInputStream` over 8 KiB of input)
//! is looser, and [`Strictness::RecordSet`](super::Strictness) with it: reserved flags are not looked at,
//! and what follows a member is ignored unless it begins with a good header.
//!
//! One member that fills the data, nearly everything that exists, goes through libdeflate in one call; the
//! size in its trailer is a hint that is believed only within bounds. A small one has a decoder of its own.
//! All else, errors included, goes through a stream that moves as the JDK's does.

mod decode;
mod encode;
mod small;
mod stream_decode;
mod stream_encode;

pub(super) use decode::{Decoders, decode, open};
pub(super) use encode::Encoders;
pub(super) use stream_decode::Member;
pub(super) use stream_encode::StreamEncoder;

use super::{CodecError, Strictness};
use crate::buffer::OutputBuffer;

const MAGIC: [u8; 2] = [0x1F, 0x8B];
const METHOD_DEFLATE: u8 = 8;
const FLAG_HEADER_CRC: u8 = 0x02;
const FLAG_EXTRA: u8 = 0x04;
const FLAG_NAME: u8 = 0x08;
const FLAG_COMMENT: u8 = 0x10;
const RESERVED_FLAGS: u8 = 0xE0;
/// MTIME, XFL and OS, which nobody checks.
const UNCHECKED_LENGTH: usize = 6;
/// A header without optional fields.
const HEADER_LENGTH: usize = 10;
const TRAILER_LENGTH: usize = 8;
/// The offset of FLG in a header.
const FLAGS_OFFSET: usize = 3;

/// Decodes all members of `data` by the specification and appends their content to `out`.
///
/// # Errors
/// Data that end too early or break the format; `out` then holds what was decoded before.
pub fn decompress(data: &[u8], out: &mut OutputBuffer) -> Result<(), CodecError> {
    super::decompressor::with_kept(|kept| decode(&mut kept.gzip, data, Strictness::Specification, out))
}
