//! Big-endian fields at fixed places.

/// The `N` bytes at `at`, or zeros where the data end earlier. Callers have checked the length before;
/// the default keeps a mistake from becoming a panic.
#[inline]
pub(crate) fn field<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
    data.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
}

#[inline]
pub(crate) fn be_i8(data: &[u8], at: usize) -> i8 {
    i8::from_be_bytes(field(data, at))
}

#[inline]
pub(crate) fn be_i16(data: &[u8], at: usize) -> i16 {
    i16::from_be_bytes(field(data, at))
}

#[inline]
pub(crate) fn be_i32(data: &[u8], at: usize) -> i32 {
    i32::from_be_bytes(field(data, at))
}

#[inline]
pub(crate) fn be_u32(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(field(data, at))
}

#[inline]
pub(crate) fn be_i64(data: &[u8], at: usize) -> i64 {
    i64::from_be_bytes(field(data, at))
}
