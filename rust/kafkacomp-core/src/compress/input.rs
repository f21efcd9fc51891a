//! A cursor over compressed bytes whose failures name the codec and the byte.

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
    /// At the first byte of `data`.
    pub(super) fn new(compression_type: CompressionType, data: &'a [u8]) -> Self {
        Self { compression_type, data, position: 0 }
    }

    /// The same bytes, read on from `position`.
    pub(super) fn at(self, position: usize) -> Self {
        Self { position, ..self }
    }

    /// The byte that is read next.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// What is not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.data.get(self.position..).unwrap_or_default()
    }

    /// An error about the element at `position`.
    pub(super) fn error_at(&self, position: usize, fault: CodecFault) -> CodecError {
        CodecError { compression_type: self.compression_type, position: position as u64, fault }
    }

    /// An error about what is read next.
    pub(super) fn error(&self, fault: CodecFault) -> CodecError {
        self.error_at(self.position, fault)
    }

    /// No room for what the element at `position` makes.
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

    fn take_array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
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

    /// The next two bytes, least first.
    pub(super) fn u16_le(&mut self) -> Result<u16, CodecError> {
        self.take_array().map(u16::from_le_bytes)
    }

    /// The next four bytes, least first.
    pub(super) fn u32_le(&mut self) -> Result<u32, CodecError> {
        self.take_array().map(u32::from_le_bytes)
    }

    /// The next eight bytes, least first.
    pub(super) fn u64_le(&mut self) -> Result<u64, CodecError> {
        self.take_array().map(u64::from_le_bytes)
    }

    /// The next four bytes, greatest first.
    pub(super) fn i32_be(&mut self) -> Result<i32, CodecError> {
        self.take_array().map(i32::from_be_bytes)
    }

    /// The first four of the bytes to come, zeros where there are fewer: for messages only.
    pub(super) fn next_four(&self) -> [u8; 4] {
        let mut found = [0; 4];
        for (to, from) in found.iter_mut().zip(self.rest()) {
            *to = *from;
        }
        found
    }
}
