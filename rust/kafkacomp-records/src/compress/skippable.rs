//! Skippable frames, which LZ4 and zstd share: `5x 2A 4D 18 | size, 4 | data`, little-endian.

use super::CodecError;
use super::input::Input;

const MAGIC: u32 = 0x184D_2A50;
/// The low four bits of the magic are the writer's choice.
const MAGIC_MASK: u32 = 0xFFFF_FFF0;
/// Magic and size.
pub(super) const HEADER_LENGTH: usize = 8;

/// Whether a skippable frame begins with these bytes.
pub(super) fn is_skippable(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|magic| u32::from_le_bytes(*magic) & MAGIC_MASK == MAGIC)
}

/// The size of the data that follow this header of a skippable frame.
pub(super) fn data_size(header: [u8; HEADER_LENGTH]) -> u32 {
    let [_, _, _, _, s0, s1, s2, s3] = header;
    u32::from_le_bytes([s0, s1, s2, s3])
}

/// Skips the skippable frame that `input` is at.
pub(super) fn skip(input: &mut Input<'_>) -> Result<(), CodecError> {
    let mut ahead = *input;
    ahead.u32_le()?;
    let size = ahead.u32_le()?;
    ahead.take(size as usize)?;
    *input = ahead;
    Ok(())
}
