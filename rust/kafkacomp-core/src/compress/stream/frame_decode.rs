//! What a codec implements to be a [`Decoder`](super::Decoder): one frame. Caps, errors after output that was handed
//! out, and the frames that follow are the decoders' concern.

use super::super::CodecError;
use super::pending;

/// Where output goes.
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

    /// What can still be written to.
    pub(in super::super) fn rest(&mut self) -> &mut [u8] {
        self.bytes.split_at_mut(self.written).1
    }

    /// Counts `length` bytes of the rest as written, and gives them back.
    pub(in super::super) fn advance(&mut self, length: usize) -> &[u8] {
        let start = self.written;
        self.written = start.saturating_add(length).min(self.bytes.len());
        self.bytes.split_at(self.written).0.split_at(start).1
    }

    /// Copies as much as fits and says how much that was.
    pub(in super::super) fn put(&mut self, bytes: &[u8]) -> usize {
        let length = pending::copy(bytes, self.rest());
        self.advance(length);
        length
    }
}

/// A decoder of one frame of a codec.
pub(in super::super) trait FrameDecode: Send {
    /// Goes on until the input or the room is used up, or the frame ends: then `true`.
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError>;

    /// Whether the data may end here.
    fn finish(&self) -> Result<(), CodecError>;

    /// Whether nothing but a header, or a part of one, was read of this frame.
    fn in_header(&self) -> bool;

    /// Whether the frame that was read has no content by its kind, and Kafka's reader would not take it.
    fn is_skippable(&self) -> bool {
        false
    }

    /// Bytes of all frames so far.
    fn position(&self) -> u64;

    /// Begins a new frame.
    fn reset(&mut self);
}
