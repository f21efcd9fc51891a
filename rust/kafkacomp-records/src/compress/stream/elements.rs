//! The buffers of a decoder that handles its input element by element: headers, sizes, blocks.

use super::super::{CodecError, CodecFault, CompressionType};
use super::{Room, gather};
use crate::buffer::OutputBuffer;

/// The current element until it is complete, and the content that is not returned yet.
#[derive(Debug)]
pub(in super::super) struct Elements {
    compression_type: CompressionType,
    /// The bytes of the current element.
    pub(in super::super) bytes: Vec<u8>,
    /// The content of blocks: first `drained` bytes that were returned, then the others.
    pub(in super::super) content: OutputBuffer,
    pub(in super::super) drained: usize,
    /// The number of bytes before the current element, of all frames.
    start: u64,
}

impl Elements {
    pub(in super::super) fn new(compression_type: CompressionType) -> Self {
        Self { compression_type, bytes: Vec::new(), content: OutputBuffer::default(), drained: 0, start: 0 }
    }

    /// Writes content to `output`; `true` as soon as all of it is written.
    pub(in super::super) fn drain(&mut self, output: &mut Room<'_>) -> bool {
        self.drained += output.put(self.content.as_slice().split_at(self.drained.min(self.content.len())).1);
        self.is_drained()
    }

    /// Whether all content was written.
    pub(in super::super) fn is_drained(&self) -> bool {
        self.drained >= self.content.len()
    }

    /// Takes bytes of the current element; `true` as soon as it has `want` of them.
    pub(in super::super) fn gather(&mut self, want: usize, input: &mut &[u8]) -> Result<bool, CodecError> {
        gather(&mut self.bytes, want, input).map_err(|error| self.error(self.bytes.len(), CodecFault::from(error)))
    }

    /// The current element, which has this length.
    pub(in super::super) fn array<const N: usize>(&self) -> Result<[u8; N], CodecError> {
        self.bytes.as_slice().try_into().map_err(|_| self.error(0, CodecFault::Truncated))
    }

    /// Begins the next element.
    pub(in super::super) fn advance(&mut self) {
        self.start += self.bytes.len() as u64;
        self.bytes.clear();
    }

    /// Passes over bytes that are not kept.
    pub(in super::super) fn skip(&mut self, length: usize) {
        self.start += length as u64;
    }

    /// The number of bytes taken from the input.
    pub(in super::super) fn position(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// An error at a byte of the current element.
    pub(in super::super) fn error(&self, offset: usize, fault: CodecFault) -> CodecError {
        CodecError { compression_type: self.compression_type, position: self.start + offset as u64, fault }
    }

    /// The error for input that ends too early.
    pub(in super::super) fn truncated(&self) -> CodecError {
        self.error(self.bytes.len(), CodecFault::Truncated)
    }

    /// Converts an error whose position counts from the current element to one of the whole input.
    pub(in super::super) fn absolute(&self, error: CodecError) -> CodecError {
        CodecError { position: error.position + self.start, ..error }
    }

    /// Begins a new frame. Positions continue.
    pub(in super::super) fn reset(&mut self) {
        self.advance();
        self.content.reset(0);
        self.drained = 0;
    }
}
