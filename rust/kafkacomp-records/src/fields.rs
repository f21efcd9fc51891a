//! A cursor over the big-endian fields of Kafka's serialized messages and index files. It returns `None` at the end of the bytes, so
//! that each caller can return an error of its own.

use crate::varint::take_unsigned_varint;

/// Reads fields one after another.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    data: &'a [u8],
    position: usize,
}

impl<'a> Fields<'a> {
    /// A cursor at `position` of `data`.
    pub fn at(data: &'a [u8], position: usize) -> Self {
        Self { data, position }
    }

    /// The number of bytes read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The number of bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.data.len().saturating_sub(self.position)
    }

    /// The next `length` bytes.
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.position.checked_add(length)?;
        let bytes = self.data.get(self.position..end)?;
        self.position = end;
        Some(bytes)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub fn i16(&mut self) -> Option<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// An unsigned varint (KIP-482). `None` also if it is longer than five bytes.
    pub fn unsigned_varint(&mut self) -> Option<u32> {
        let mut rest = self.data.get(self.position..)?;
        let value = take_unsigned_varint(&mut rest).ok()?;
        self.position = self.data.len().saturating_sub(rest.len());
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn varints() {
        for (bytes, value) in [
            (&[0u8][..], Some(0)),
            (&[0x7f], Some(127)),
            (&[0x80, 0x01], Some(128)),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], Some(u32::MAX)),
            (&[0xff, 0xff, 0xff, 0xff, 0x7f], Some(u32::MAX)),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00], None),
            (&[0x80], None),
            (&[], None),
        ] {
            assert_eq!(Fields::at(bytes, 0).unsigned_varint(), value, "{bytes:?}");
        }
    }

    #[test]
    fn nothing_is_read_past_the_end() {
        let mut fields = Fields::at(&[1, 2, 3], 1);
        assert_eq!(fields.i32(), None);
        assert_eq!(fields.position(), 1);
        assert_eq!(fields.u16(), Some(0x0203));
        assert_eq!(fields.remaining(), 0);
        assert_eq!(Fields::at(&[1], 9).bytes(usize::MAX), None);
        assert_eq!(Fields::at(&[1], 9).remaining(), 0);
    }
}
