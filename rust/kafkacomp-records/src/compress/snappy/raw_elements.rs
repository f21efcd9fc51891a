//! Writing the elements of a raw block.
//!
//! ```text
//! literal of 1 to 60 bytes        length - 1, 6 bits | 00 | content
//! of up to 256, of up to 65,536   60 or 61, 6 bits | 00 | length - 1, 1 or 2 bytes | content
//! copy of 4 to 11 bytes           offset / 256, 3 bits | length - 4, 3 bits | 01 | offset % 256, 1 byte
//! copy of 1 to 64 bytes           length - 1, 6 bits | 10 | offset, 2 bytes
//! ```
//!
//! Numbers are little-endian. The first copy is for offsets below 2,048.

use std::hint::select_unpredictable as select;

use super::raw_length::LONG_LITERAL;

/// The most bytes that one copy repeats.
pub(super) const LONGEST_COPY: usize = 64;
/// From this length on, a copy takes three bytes.
const LONG_COPY: usize = 12;
/// From this offset on, a copy takes three bytes.
const FAR_COPY: usize = 2048;

/// A raw block without its last literal.
#[derive(Clone, Copy)]
pub(super) struct RawBlock<'m> {
    /// The length of the content, and the elements.
    pub(super) elements: &'m [u8],
    /// The position in the content up to which they encode it. The caller appends the rest as a literal.
    pub(super) encoded: usize,
}

/// Writes the length of the content, with which a block begins, and returns how many bytes that took.
pub(super) fn put_length(mut length: usize, out: &mut [u8]) -> Option<usize> {
    let mut written = 0;
    while length >= 0x80 {
        *out.get_mut(written)? = length as u8 | 0x80;
        written += 1;
        length >>= 7;
    }
    *out.get_mut(written)? = length as u8;
    Some(written + 1)
}

/// A copy of 4 to [`LONGEST_COPY`] bytes with an offset below 2^16, and how many of the four bytes it takes: 2 or 3.
#[inline]
pub(super) fn copy(offset: usize, length: usize) -> ([u8; 4], usize) {
    let is_short = length < LONG_COPY && offset < FAR_COPY;
    // What both have in common; the rest is added.
    let base = (length << 2).wrapping_add(offset << 8);
    let short = ((offset >> 8) << 5).wrapping_add(1).wrapping_sub(4 << 2);
    let long = 2_usize.wrapping_sub(1 << 2);
    (((base.wrapping_add(select(is_short, short, long))) as u32).to_le_bytes(), select(is_short, 2, 3))
}

/// Writes copies of [`LONGEST_COPY`] bytes until what is left is a single copy of at least 4 bytes. Returns the bytes written so
/// far and the length that is left.
#[cold]
#[inline(never)]
pub(super) fn long_copy(
    offset: usize,
    mut length: usize,
    out: &mut [u8],
    mut written: usize,
) -> Option<(usize, usize)> {
    while length > LONGEST_COPY {
        let piece = if length < LONGEST_COPY + 4 { LONGEST_COPY - 4 } else { LONGEST_COPY };
        let (element, _) = copy(offset, piece);
        let end = written.checked_add(3)?;
        out.get_mut(written..end)?.copy_from_slice(element.get(..3)?);
        (written, length) = (end, length - piece);
    }
    Some((written, length))
}

/// Writes a literal of at most 65,536 bytes, nothing if there are none. Returns the bytes written so far.
#[cold]
#[inline(never)]
pub(super) fn long_literal(literal: &[u8], out: &mut [u8], written: usize) -> Option<usize> {
    let (tag, tag_size) = literal_tag(literal.len());
    let start = written.checked_add(tag_size)?;
    let end = start.checked_add(literal.len())?;
    out.get_mut(written..start)?.copy_from_slice(tag.get(..tag_size)?);
    out.get_mut(start..end)?.copy_from_slice(literal);
    Some(end)
}

/// The tag of a literal of at most 65,536 bytes, and how many bytes it takes: none without content.
pub(super) fn literal_tag(length: usize) -> ([u8; 3], usize) {
    let Some(value) = length.checked_sub(1) else { return ([0; 3], 0) };
    let [low, high, ..] = value.to_le_bytes();
    match value {
        0..LONG_LITERAL => ([low << 2, 0, 0], 1),
        LONG_LITERAL..256 => ([60 << 2, low, 0], 2),
        _ => ([61 << 2, low, high], 3),
    }
}
