//! The decoding of one frame, which each codec implements. A [`Decoder`](super::Decoder) adds the output limit, returns
//! errors only after the output that precedes them, and handles the frames that follow.

use super::super::CodecError;
use super::pending;

/// An output buffer that is filled from the front.
pub(in super::super) struct Room<'a> {
    bytes: &'a mut [u8],
    written: usize,
}

impl<'a> Room<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, written: 0 }
    }

    /// Bytes written so far.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// The part that is not written yet.
    pub(in super::super) fn rest(&mut self) -> &mut [u8] {
        self.bytes.split_at_mut(self.written).1
    }

    /// Counts `length` bytes of the rest as written, and returns them.
    pub(in super::super) fn advance(&mut self, length: usize) -> &[u8] {
        let start = self.written;
        self.written = start.saturating_add(length).min(self.bytes.len());
        self.bytes.split_at(self.written).0.split_at(start).1
    }

    /// Copies as many bytes as fit, and returns their number.
    pub(in super::super) fn put(&mut self, bytes: &[u8]) -> usize {
        let length = pending::copy(bytes, self.rest());
        self.advance(length);
        length
    }
}

/// A decoder of one frame of a codec.
pub(in super::super) trait FrameDecode: Send {
    /// Decodes until the input is consumed, the output is full or the frame ends; returns whether the frame has ended.
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError>;

    /// Checks that the data may end here.
    fn finish(&self) -> Result<(), CodecError>;

    /// Whether only the header of this frame, or a part of it, was read.
    fn in_header(&self) -> bool;

    /// Whether the frame is of a kind without content, which Kafka's reader does not accept.
    fn is_skippable(&self) -> bool {
        false
    }

    /// The number of bytes that a skippable frame lacks after its header; 0 for other frames.
    fn lacking(&self) -> u64 {
        0
    }

    /// The number of bytes read so far, over all frames.
    fn position(&self) -> u64;

    /// Begins a new frame.
    fn reset(&mut self);
}
