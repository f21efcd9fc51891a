//! The common case of a record of magic 2: no headers, and varints of at most three bytes. Nearly all records are such, and are
//! read by whole words. [`V2Records`](super::v2::V2Records) and [`PartialRecords`](super::partial::PartialRecords) read any other
//! record field by field.

use super::layout::v2::ATTRIBUTES_BITS;

/// The bytes that contain the first two words of a record: the second one begins after at most seven bytes.
const WINDOW: usize = 15;

/// The eight bytes at `at` as a little-endian number.
#[inline]
fn word_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..at.wrapping_add(8))?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// A varint of at most three bytes at the low end of `word`, before zig-zag decoding, and its length in bits.
#[inline]
fn short_varint(word: u64) -> Option<(u32, u32)> {
    let low = (word & 0x7f) as u32;
    if word & 0x80 == 0 {
        return Some((low, 8));
    }
    let low = low | (word >> 1 & 0x3f80) as u32;
    if word & 0x8000 == 0 {
        return Some((low, 16));
    }
    (word & 0x80_0000 == 0).then_some((low | (word >> 2 & 0x1f_c000) as u32, 24))
}

/// A record without headers and with varints of at most three bytes. Its numbers are zig-zag encoded; a negative length means
/// null. Positions are those in the bytes that were read.
pub(super) struct CommonRecord {
    pub(super) timestamp_delta: u32,
    pub(super) offset_delta: u32,
    /// Where the key begins.
    pub(super) key_start: usize,
    pub(super) key_length: u32,
    /// Where the value begins.
    pub(super) value_start: usize,
    pub(super) value_length: u32,
    /// Where the record ends, within the bytes.
    pub(super) end: usize,
}

impl CommonRecord {
    /// Reads the record at `start` of `data` by whole words, without a branch for each byte; `None` for any other record and for
    /// a corrupt one.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot loops; four callers")]
    pub(super) fn read(data: &[u8], start: usize) -> Option<Self> {
        let window: &[u8; WINDOW] = data.get(start..start.wrapping_add(WINDOW))?.first_chunk()?;
        let word = word_at(window, 0)?;
        let (size, size_bits) = short_varint(word)?;
        let (timestamp_delta, timestamp_bits) = short_varint(word >> size_bits.wrapping_add(ATTRIBUTES_BITS))?;
        // The mask changes nothing; with it, the compiler leaves out the check of the bounds.
        let fields = (size_bits.wrapping_add(ATTRIBUTES_BITS).wrapping_add(timestamp_bits) / 8) as usize & 7;
        let word = word_at(window, fields)?;
        let (offset_delta, offset_bits) = short_varint(word)?;
        let (key_length, key_bits) = short_varint(word >> offset_bits)?;
        let key_start = start.wrapping_add(fields).wrapping_add((offset_bits.wrapping_add(key_bits) / 8) as usize);
        let key_end = key_start.wrapping_add(size_or_zero(key_length));
        let (value_length, value_bits) = short_varint(word_at(data, key_end)?)?;
        let value_start = key_end.wrapping_add((value_bits / 8) as usize);
        let value_end = value_start.wrapping_add(size_or_zero(value_length));
        // The position of the next record depends on the size alone and not on the fields, so the processor can start reading it
        // before this record is finished.
        let end = start.wrapping_add((size_bits / 8) as usize).wrapping_add((size / 2) as usize);
        // The last byte is the number of headers.
        if is_negative(size) || value_end.wrapping_add(1) != end || data.get(value_end) != Some(&0) {
            return None;
        }
        Some(Self { timestamp_delta, offset_delta, key_start, key_length, value_start, value_length, end })
    }
}

/// Whether a zig-zag encoded number is negative.
#[inline]
pub(super) fn is_negative(folded: u32) -> bool {
    folded & 1 != 0
}

/// The number of bytes of a zig-zag encoded size; 0 if it is negative, which means null.
#[inline]
fn size_or_zero(folded: u32) -> usize {
    (folded >> 1 & (folded & 1).wrapping_sub(1)) as usize
}
