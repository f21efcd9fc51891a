//! The length of a raw block, from its elements.
//!
//! ```text
//! block   = length of the content, varint of at most 5 bytes | element*
//! element = literal: tag xxxxxx00 | [length, 1 to 4] | bytes      x + 1 bytes, or the length's value + 1 from x = 60 on
//!         | copy:    tag oooxxx01 | offset, 1                     x + 4 bytes
//!         | copy:    tag xxxxxx10 | offset, 2                     x + 1 bytes
//!         | copy:    tag xxxxxx11 | offset, 4                     x + 1 bytes
//! ```

use super::super::CodecFault;

const MAX_LENGTH_BYTES: usize = 5;
/// From this value of its tag on, the length of a literal follows the tag.
pub(super) const LONG_LITERAL: usize = 60;

/// Finds the length of a raw block.
#[derive(Debug, Default)]
pub(super) struct BlockLength {
    position: usize,
    /// Length of the content of the elements so far.
    produced: u64,
    /// Length of the content of the block.
    claimed: Option<u64>,
}

impl BlockLength {
    /// Reads the elements in `bytes`, the beginning of the block, and returns how many bytes are needed to continue; `None` if
    /// the block ends with `bytes`.
    pub(super) fn advance(&mut self, bytes: &[u8], limit: u64) -> Result<Option<usize>, CodecFault> {
        let claimed = match self.claimed {
            Some(claimed) => claimed,
            None => match content_length(bytes)? {
                None => return Ok(Some(bytes.len() + 1)),
                Some((claimed, _)) if claimed > limit => return Err(CodecFault::OutputLimit { limit }),
                Some((claimed, position)) => {
                    (self.claimed, self.position) = (Some(claimed), position);
                    claimed
                }
            },
        };
        while self.produced < claimed {
            let Some(rest) = bytes.get(self.position..).filter(|rest| !rest.is_empty()) else {
                return Ok(Some(self.position + 1));
            };
            let (head, body, content) = match element(rest) {
                Ok(element) => element,
                Err(needed) => return Ok(Some(self.position + needed)),
            };
            let end = self.position.saturating_add(head).saturating_add(body);
            if content > claimed - self.produced {
                return Err(CodecFault::CorruptBlock);
            }
            if bytes.len() < end {
                return Ok(Some(end));
            }
            self.position = end;
            self.produced += content;
        }
        Ok(None)
    }
}

/// The length of the content, and of the varint that encodes it; `None` if the varint is truncated.
pub(super) fn content_length(bytes: &[u8]) -> Result<Option<(u64, usize)>, CodecFault> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(MAX_LENGTH_BYTES).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * index);
        if byte & 0x80 == 0 {
            return if value > u64::from(u32::MAX) {
                Err(CodecFault::CorruptBlock)
            } else {
                Ok(Some((value, index + 1)))
            };
        }
    }
    if bytes.len() < MAX_LENGTH_BYTES { Ok(None) } else { Err(CodecFault::CorruptBlock) }
}

/// The sizes of the first element of `rest`: its tag and length, the bytes after them, and its content. Otherwise the number of
/// bytes needed to know them.
fn element(rest: &[u8]) -> Result<(usize, usize, u64), usize> {
    let tag = usize::from(*rest.first().ok_or(1_usize)?);
    let value = tag >> 2;
    let (body, content) = match tag & 3 {
        1 => (1, (value & 7) + 4),
        2 => (2, value + 1),
        3 => (4, value + 1),
        _ if value < LONG_LITERAL => (value + 1, value + 1),
        _ => {
            let extra = value - LONG_LITERAL + 1;
            let Some(bytes) = rest.get(1..=extra) else { return Err(1 + extra) };
            let literal = bytes.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte)) + 1;
            return Ok((1 + extra, literal, literal as u64));
        }
    };
    Ok((1, body, content as u64))
}
