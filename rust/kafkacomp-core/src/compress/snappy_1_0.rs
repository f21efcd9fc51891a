//! Snappy as Kafka 0.7 reads it: the `SnappyInputStream` of snappy-java 1.0.4.1.
//!
//! ```text
//! stream = header | (size, 4 | raw block)* | up to 3 bytes that nobody looks at
//! header = 82 53 4E 41 50 50 59 00 | version, 4 | compatible version, 4
//! ```
//!
//! What later releases take and this one does not: a further header is a block of a negative size, the
//! version must be at least 1, whatever `compatible` says. Data that do not begin with the magic, or are too
//! short for a header, are one raw block, as in [`snappy`](super::snappy); so no data at all is an error,
//! and so is a block of size 0, which lacks even the length of its content.

use super::input::Input;
use super::snappy::{HEADER_LENGTH, MAGIC, raw_block};
use super::{CodecError, CodecFault, CompressionType};
use crate::buffer::OutputBuffer;

/// The oldest version of the framing that this one reads.
const MINIMUM_COMPATIBLE_VERSION: i32 = 1;
/// Length of a block's size.
const SIZE_LENGTH: usize = 4;

/// Decodes `data` and appends the content to `out`.
///
/// # Errors
/// What snappy-java 1.0.4.1 refuses, or the cap of `out`; `out` then holds what was decoded before.
pub(super) fn decode(data: &[u8], out: &mut OutputBuffer) -> Result<(), CodecError> {
    let mut input = Input::new(CompressionType::Snappy, data);
    if !data.starts_with(&MAGIC) || data.len() < HEADER_LENGTH {
        return raw_block(&input, 0, data, out);
    }
    input.take(MAGIC.len())?;
    let version_position = input.position();
    let version = input.i32_be()?;
    if version < MINIMUM_COMPATIBLE_VERSION {
        let version = i64::from(version);
        return Err(input.error_at(version_position, CodecFault::UnsupportedVersion { version }));
    }
    let _compatible = input.i32_be()?;
    while input.rest().len() >= SIZE_LENGTH {
        let position = input.position();
        let size = input.i32_be()?;
        let Ok(length) = usize::try_from(size) else {
            let (size, max) = (i64::from(size), i64::from(i32::MAX));
            return Err(input.error_at(position, CodecFault::BlockSize { size, max }));
        };
        let block = input.take(length)?;
        raw_block(&input, position, block, out)?;
    }
    Ok(())
}
