//! A cursor over compressed bytes whose errors contain the codec and the position.

use super::{CodecError, CodecFault, CompressionType};
use crate::buffer::NoRoom;

/// Reads fixed fields from the front of `data`; running out of bytes is [`CodecFault::Truncated`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    compression_type: CompressionType,
    data: &'a [u8],
    position: usize,
}

impl<'a> Input<'a> {
    /// A cursor at the first byte of `data`.
    pub(super) fn new(compression_type: CompressionType, data: &'a [u8]) -> Self {
        Self { compression_type, data, position: 0 }
    }

    /// A cursor over the same bytes at `position`.
    pub(super) fn at(self, position: usize) -> Self {
        Self { position, ..self }
    }

    /// The position of the next byte.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// The bytes not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.data.split_at(self.position.min(self.data.len())).1
    }

    /// The bytes read since the cursor was at the position of `start`.
    pub(super) fn since(&self, start: Self) -> &'a [u8] {
        let rest = start.rest();
        rest.split_at(self.position.saturating_sub(start.position).min(rest.len())).0
    }

    /// An error at `position`.
    pub(super) fn error_at(&self, position: usize, fault: CodecFault) -> CodecError {
        CodecError { compression_type: self.compression_type, position: position as u64, fault }
    }

    /// An error at the next byte.
    pub(super) fn error(&self, fault: CodecFault) -> CodecError {
        self.error_at(self.position, fault)
    }

    /// The error for lack of room for the content of the element at `position`.
    pub(super) fn no_room_at(&self, position: usize, reason: NoRoom) -> CodecError {
        self.error_at(position, CodecFault::from(reason))
    }

    /// The next `length` bytes.
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        match self.rest().get(..length) {
            Some(taken) => {
                self.position += length;
                Ok(taken)
            }
            None => Err(self.error(CodecFault::Truncated)),
        }
    }

    /// The next `N` bytes.
    pub(super) fn take_array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        match self.rest().first_chunk::<N>() {
            Some(taken) => {
                self.position += N;
                Ok(*taken)
            }
            None => Err(self.error(CodecFault::Truncated)),
        }
    }

    /// The next byte.
    pub(super) fn u8(&mut self) -> Result<u8, CodecError> {
        self.take_array().map(u8::from_le_bytes)
    }

    /// The next two bytes, little-endian.
    pub(super) fn u16_le(&mut self) -> Result<u16, CodecError> {
        self.take_array().map(u16::from_le_bytes)
    }

    /// The next four bytes, little-endian.
    pub(super) fn u32_le(&mut self) -> Result<u32, CodecError> {
        self.take_array().map(u32::from_le_bytes)
    }

    /// The next eight bytes, little-endian.
    pub(super) fn u64_le(&mut self) -> Result<u64, CodecError> {
        self.take_array().map(u64::from_le_bytes)
    }

    /// The next four bytes, with zeros in place of missing ones; only for error messages.
    pub(super) fn next_four(&self) -> [u8; 4] {
        let mut found = [0; 4];
        for (to, from) in found.iter_mut().zip(self.rest()) {
            *to = *from;
        }
        found
    }
}
