//! Reads fields from bytes; every read checks that the bytes are there.

use crate::fault::{Fault, FaultKind};

/// A position in bytes.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    left: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Begins at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes, at: 0 }
    }

    /// The bytes that are left.
    pub fn left(&self) -> &'a [u8] {
        self.left
    }

    /// A fault at the current position.
    pub fn fault(&self, kind: FaultKind) -> Fault {
        Fault { at: self.at, kind }
    }

    /// The next bytes.
    pub fn take(&mut self, field: &str, length: usize) -> Result<&'a [u8], Fault> {
        let Some((taken, left)) = self.left.split_at_checked(length) else {
            let (field, left) = (field.to_owned(), self.left.len());
            return Err(self.fault(FaultKind::Truncated { field, needed: length, left }));
        };
        self.left = left;
        self.at = self.at.saturating_add(length);
        Ok(taken)
    }

    /// The next bytes, as many as the type of a number has.
    pub fn fixed<const N: usize>(&mut self, field: &str) -> Result<[u8; N], Fault> {
        let taken = self.take(field, N)?;
        let left = taken.len();
        taken.try_into().map_err(|_| self.fault(FaultKind::Truncated { field: field.to_owned(), needed: N, left }))
    }

    /// An unsigned varint as Kafka reads it: bits above the 32nd are lost, so that it can be negative in Java.
    pub fn varint(&mut self, field: &str) -> Result<u32, Fault> {
        let begin = self.clone();
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.fixed(field)?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(begin.fault(FaultKind::Varint { field: field.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_have_at_most_five_bytes() {
        let read = |bytes: &[u8]| Reader::new(bytes).varint("n");
        assert_eq!(read(&[0x00]).unwrap(), 0);
        assert_eq!(read(&[0xac, 0x02]).unwrap(), 300);
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]).unwrap(), u32::MAX);
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x7f]).unwrap(), u32::MAX);
        assert!(matches!(read(&[0x80; 9]).unwrap_err(), Fault { at: 0, kind: FaultKind::Varint { .. } }));
        assert!(matches!(read(&[0x80]).unwrap_err(), Fault { at: 1, kind: FaultKind::Truncated { .. } }));
    }
}
