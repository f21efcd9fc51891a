//! Varints and varlongs as Kafka reads them: Protocol Buffers' base 128, least significant group first,
//! zig-zag for signed values.
//!
//! Kafka deviates from the specification in two points, which occur in old logs: padding (a group of zeros at the end) is legal, and
//! excess bits of the 5th (10th) byte are ignored. If the high bit of the 5th (10th) byte is set, the number is invalid.
//! Source: `org.apache.kafka.common.utils.ByteUtils`.

/// The longest varint in bytes.
pub const MAX_VARINT_LENGTH: usize = 5;
/// The longest varlong in bytes.
pub const MAX_VARLONG_LENGTH: usize = 10;

/// The size of `value` as a zig-zag varint, in bytes.
#[inline]
pub fn size_of_varint(value: i32) -> usize {
    size_of_varlong(i64::from(value))
}

/// The size of `value` as a zig-zag varlong, in bytes.
#[inline]
pub fn size_of_varlong(value: i64) -> usize {
    // Seven bits a byte: (bits + 6) / 7 for 1 to 64 bits, without a division.
    let bits = u64::BITS - (fold(value) | 1).leading_zeros();
    ((bits * 9 + 64) / 64) as usize
}

/// Writes `value` as a zig-zag varint to `out` at `at` and returns where it ends. `out` must have room for it.
#[inline]
pub fn put_varint(out: &mut [u8], at: usize, value: i32) -> usize {
    put_varlong(out, at, i64::from(value))
}

/// Writes `value` as a zig-zag varlong to `out` at `at` and returns where it ends. `out` must have room for it.
#[inline]
pub fn put_varlong(out: &mut [u8], at: usize, value: i64) -> usize {
    let mut rest = fold(value);
    let mut at = at;
    while rest >= 0x80 {
        put(out, at, rest as u8 | 0x80);
        at = at.saturating_add(1);
        rest >>= 7;
    }
    put(out, at, rest as u8);
    at.saturating_add(1)
}

#[inline]
fn put(out: &mut [u8], at: usize, byte: u8) {
    out[at] = byte;
}

/// Zig-zag: small numbers of either sign become small numbers.
#[inline]
fn fold(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Why a number cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VarintError {
    /// The data end inside the number.
    End,
    /// More than 5 (varint) or 10 (varlong) bytes.
    TooLong,
}

/// Takes an unsigned varint from the front of `data`.
#[inline]
pub fn take_unsigned_varint(data: &mut &[u8]) -> Result<u32, VarintError> {
    // Nearly every number of a record has one or two bytes; the loop reads longer ones.
    match **data {
        [a @ 0..0x80, ref rest @ ..] => {
            *data = rest;
            Ok(u32::from(a))
        }
        [a, b @ 0..0x80, ref rest @ ..] => {
            *data = rest;
            Ok(u32::from(a & 0x7f) | u32::from(b) << 7)
        }
        _ => take_long_form(data, 5, 28).map(|value| value as u32),
    }
}

/// Takes a zig-zag varint from the front of `data`.
#[inline]
pub fn take_varint(data: &mut &[u8]) -> Result<i32, VarintError> {
    take_unsigned_varint(data).map(zig_zag)
}

/// The number that is zig-zag encoded as `raw`.
#[inline]
pub(crate) fn zig_zag(raw: u32) -> i32 {
    ((raw >> 1) as i32) ^ -((raw & 1) as i32)
}

/// Takes a zig-zag varlong from the front of `data`.
#[inline]
pub fn take_varlong(data: &mut &[u8]) -> Result<i64, VarintError> {
    let raw = match **data {
        [a @ 0..0x80, ref rest @ ..] => {
            *data = rest;
            u64::from(a)
        }
        [a, b @ 0..0x80, ref rest @ ..] => {
            *data = rest;
            u64::from(a & 0x7f) | u64::from(b) << 7
        }
        [a, b, c @ 0..0x80, ref rest @ ..] => {
            *data = rest;
            u64::from(a & 0x7f) | u64::from(b & 0x7f) << 7 | u64::from(c) << 14
        }
        _ => take_long_form(data, 10, 63)?,
    };
    Ok(((raw >> 1) as i64) ^ -((raw & 1) as i64))
}

/// The general loop: at most `most` bytes, the last of which is shifted by `last_shift`.
#[inline(never)]
fn take_long_form(data: &mut &[u8], most: usize, last_shift: u32) -> Result<u64, VarintError> {
    let mut value = 0_u64;
    let mut shift = 0_u32;
    let mut rest = *data;
    for _ in 0..most {
        let Some((&byte, behind)) = rest.split_first() else { break };
        rest = behind;
        value |= u64::from(byte & 0x7f).wrapping_shl(shift);
        if byte < 0x80 {
            *data = rest;
            return Ok(value);
        }
        shift = shift.saturating_add(7);
    }
    if shift > last_shift { Err(VarintError::TooLong) } else { Err(VarintError::End) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(bytes: &[u8]) -> Result<(i32, usize), VarintError> {
        let mut rest = bytes;
        take_varint(&mut rest).map(|value| (value, bytes.len() - rest.len()))
    }

    fn varlong(bytes: &[u8]) -> Result<(i64, usize), VarintError> {
        let mut rest = bytes;
        take_varlong(&mut rest).map(|value| (value, bytes.len() - rest.len()))
    }

    #[test]
    fn reads_zig_zag_numbers() {
        assert_eq!(varint(&[0]), Ok((0, 1)));
        assert_eq!(varint(&[1]), Ok((-1, 1)));
        assert_eq!(varint(&[0x80, 0x01, 9]), Ok((64, 2)));
        assert_eq!(varint(&[0xfe, 0xff, 0xff, 0xff, 0x0f]), Ok((i32::MAX, 5)));
        assert_eq!(varint(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok((i32::MIN, 5)));
        assert_eq!(varlong(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), Ok((i64::MIN, 10)));
    }

    #[test]
    fn writes_what_it_reads() {
        for value in (0..63).flat_map(|bit| [1_i64 << bit, (1 << bit) - 1, -(1 << bit), -(1 << bit) - 1]) {
            let mut out = [0; MAX_VARLONG_LENGTH];
            let end = put_varlong(&mut out, 0, value);
            assert_eq!(varlong(&out[..end]), Ok((value, end)));
            assert_eq!(size_of_varlong(value), end);
            if let Ok(value) = i32::try_from(value) {
                let end = put_varint(&mut out, 0, value);
                assert_eq!(varint(&out[..end]), Ok((value, end)));
                assert_eq!(size_of_varint(value), end);
                assert!(end <= MAX_VARINT_LENGTH);
            }
        }
        for value in [i64::MIN, i64::MAX] {
            let mut out = [0; MAX_VARLONG_LENGTH];
            let end = put_varlong(&mut out, 0, value);
            assert_eq!((varlong(&out[..end]), size_of_varlong(value)), (Ok((value, 10)), 10));
        }
    }

    #[test]
    fn takes_padding_and_drops_bits_that_do_not_fit() {
        assert_eq!(varint(&[0x82, 0x80, 0x80, 0x00]), Ok((1, 4)));
        assert_eq!(varint(&[0x80, 0x80, 0x80, 0x80, 0x70]), Ok((0, 5)));
        assert_eq!(varlong(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7e]), Ok((0, 10)));
    }

    #[test]
    fn refuses_long_and_cut_numbers() {
        assert_eq!(varint(&[0x80; 5]), Err(VarintError::TooLong));
        assert_eq!(varint(&[0x80; 4]), Err(VarintError::End));
        assert_eq!(varint(&[]), Err(VarintError::End));
        assert_eq!(varlong(&[0xff; 10]), Err(VarintError::TooLong));
        assert_eq!(varlong(&[0xff; 9]), Err(VarintError::End));
    }
}
