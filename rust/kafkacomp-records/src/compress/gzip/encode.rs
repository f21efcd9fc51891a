//! What the one-shot and the streams write: members with the header of the JDK's `GZIPOutputStream`, without optional fields and time,
//! operating system unknown.

use super::header::{FIXED_LENGTH, MAGIC, METHOD_DEFLATE};

/// The last byte of the header: unknown operating system.
const OS_UNKNOWN: u8 = 0xFF;
/// The header of every member.
pub(super) const HEADER: [u8; FIXED_LENGTH] = [MAGIC[0], MAGIC[1], METHOD_DEFLATE, 0, 0, 0, 0, 0, 0, OS_UNKNOWN];
/// zlib's level for -1.
pub(super) const ZLIB_DEFAULT: i32 = 6;
