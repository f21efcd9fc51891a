//! Streaming encoders and decoders of all codecs, without I/O: the caller provides the input and takes the output.
//! Memory is bounded by a block or a window of the codec, whatever the length of the data.

mod blocks;
mod decoder;
mod elements;
mod encoder;
mod frame_decode;
mod incremental;
mod multi_frame;
#[cfg(not(all(feature = "_gzip", feature = "snappy", feature = "_lz4", feature = "_zstd")))]
mod not_compiled;
mod pending;
mod plain;

pub(super) use blocks::{BlockEncoder, Blocks};
pub use decoder::{DecoderOptions, decoder};
pub(super) use elements::Elements;
pub use encoder::encoder;
pub(super) use frame_decode::{FrameDecode, Room};
pub use incremental::{IncrementalCompressor, IncrementalDecompressor};
pub use multi_frame::MultiFrameDecoder;
pub(super) use pending::{Pending, copy, gather};

use super::CodecError;

/// What an encoder does after it has taken all input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Operation {
    /// Buffers input that does not fill a block yet.
    #[default]
    Continue,
    /// Writes all content so far, so that a decoder can return it; the frame stays open. Increases the size a little.
    FlushBlock,
    /// Writes all content and ends the frame, which is empty if there was no input. Further input begins a new
    /// frame.
    FlushFrame,
}

/// The result of one call of an encoder or decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Bytes taken from the input; the caller must pass the others again.
    pub consumed: usize,
    /// Bytes written, from the beginning of the output.
    pub written: usize,
    /// Of an encoder: whether all input was taken and, for a flush, all output was written. Of a decoder: whether the
    /// frame has ended.
    pub done: bool,
}

impl Progress {
    /// Returns the rest of the input and of the output after this progress.
    pub(super) fn rest<'i, 'o>(&self, input: &'i [u8], output: &'o mut [u8]) -> (&'i [u8], &'o mut [u8]) {
        let (consumed, written) = (self.consumed.min(input.len()), self.written.min(output.len()));
        (input.split_at(consumed).1, output.split_at_mut(written).1)
    }
}

/// An encoder of a stream of frames.
pub trait Encoder: Send {
    /// Takes input and writes output until the input is consumed, the output is full or, for a flush, all is written.
    /// Call it again with the same operation and the rest of the input until it is [done](Progress::done).
    ///
    /// # Errors
    /// The codec cannot allocate memory. The stream cannot be continued then.
    fn encode(&mut self, input: &[u8], output: &mut [u8], operation: Operation) -> Result<Progress, CodecError>;
}

/// A decoder of one frame: an LZ4 or zstd frame (or a skippable frame, which has no content), a gzip member, a raw
/// snappy block, or all xerial streams up to the end of the data, because xerial streams have no end marker.
pub trait Decoder: Send {
    /// Takes input and writes output until the input is consumed, the output is full or the frame ends. A call that
    /// neither takes nor writes a byte, although the output is not empty, needs more input.
    ///
    /// # Errors
    /// The data are corrupt, or decompress to more than the limit; output that was written before is valid. The stream
    /// cannot be continued then.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, CodecError>;

    /// Checks that the data may end after the decoded input.
    ///
    /// # Errors
    /// The data are truncated, or an earlier call failed.
    fn finish(&self) -> Result<(), CodecError>;

    /// Begins a new frame. The positions in errors continue.
    fn reset(&mut self);
}

impl<E: Encoder + ?Sized> Encoder for Box<E> {
    fn encode(&mut self, input: &[u8], output: &mut [u8], operation: Operation) -> Result<Progress, CodecError> {
        (**self).encode(input, output, operation)
    }
}

impl<D: Decoder + ?Sized> Decoder for Box<D> {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, CodecError> {
        (**self).decode(input, output)
    }

    fn finish(&self) -> Result<(), CodecError> {
        (**self).finish()
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}
