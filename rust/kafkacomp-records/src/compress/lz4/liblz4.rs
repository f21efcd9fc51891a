//! Blocks by liblz4.

use super::super::{CodecFault, Compression};
use lzzzz::{lz4, lz4_hc};

/// Decodes a block to the start of `room`, whose matches may refer to `history`; returns the length of its content, or `None` if the
/// block is invalid or its content longer than `room`.
#[inline]
pub(super) fn decompress(block: &[u8], room: &mut [u8], history: &[u8]) -> Option<usize> {
    if history.is_empty() {
        lz4::decompress(block, room).ok()
    } else {
        lz4::decompress_with_dict(block, room, history).ok()
    }
}

/// Whether the content of a block that [`decompress`] refuses fills `room`, so that lack of room may be the only reason.
pub(super) fn fills(block: &[u8], room: &mut [u8], history: &[u8]) -> bool {
    let available = room.len();
    if history.is_empty() {
        lz4::decompress_partial(block, room, available)
    } else {
        lz4::decompress_partial_with_dict(block, room, available, history)
    }
    .is_ok_and(|length| length == available)
}

/// The most bytes of a block with a content of `length` bytes.
pub(super) fn max_compressed_size(length: usize) -> usize {
    lz4::max_compressed_size(length)
}

/// Appends a block to `out`, which has room for the largest one; returns its length.
pub(super) fn compress(content: &[u8], level: i32, out: &mut Vec<u8>) -> Result<usize, CodecFault> {
    if level == Compression::LZ4_FAST {
        lz4::compress_to_vec(content, out, lz4::ACC_LEVEL_DEFAULT)
    } else {
        lz4_hc::compress_to_vec(content, out, level.min(Compression::LZ4_HIGHEST))
    }
    // There is room for the largest block, so what fails is an allocation (the highest levels of HC make a table of their own).
    .map_err(|_| CodecFault::OutOfMemory)
}
