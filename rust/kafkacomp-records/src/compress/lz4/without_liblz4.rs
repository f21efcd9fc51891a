//! In place of `liblz4` in a build without C: blocks by `lz4_flex`.

use super::super::CodecFault;
use crate::memory;
use lz4_flex::block::{self, DecompressError};

#[inline]
fn decode(block: &[u8], room: &mut [u8], history: &[u8]) -> Result<usize, DecompressError> {
    if history.is_empty() {
        block::decompress_into(block, room)
    } else {
        block::decompress_into_with_dict(block, room, history)
    }
}

/// Decodes a block to the start of `room`, whose matches may refer to `history`; returns the length of its content, or `None` if the
/// block is invalid or its content longer than `room`.
#[inline]
pub(super) fn decompress(block: &[u8], room: &mut [u8], history: &[u8]) -> Option<usize> {
    decode(block, room, history).ok()
}

/// Whether the content of a block that [`decompress`] refuses fills `room`, so that lack of room may be the only reason.
pub(super) fn fills(block: &[u8], room: &mut [u8], history: &[u8]) -> bool {
    matches!(decode(block, room, history), Err(DecompressError::OutputTooSmall { .. }))
}

/// The most bytes of a block with a content of `length` bytes.
pub(super) fn max_compressed_size(length: usize) -> usize {
    block::get_maximum_output_size(length)
}

/// Appends a block to `out`; returns its length. There is one level.
pub(super) fn compress(content: &[u8], _: i32, out: &mut Vec<u8>) -> Result<usize, CodecFault> {
    let start = out.len();
    memory::resize(out, start.saturating_add(max_compressed_size(content.len())))?;
    let length = block::compress_into(content, out.split_at_mut(start).1).map_err(|_| CodecFault::Encoder)?;
    out.truncate(start.saturating_add(length));
    Ok(length)
}
