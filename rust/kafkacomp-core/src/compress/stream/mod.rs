//! The one interface of everything that streams: sans-I/O encoders and decoders. Bytes come in, bytes go
//! out, and the caller decides where from and where to; memory is bounded by a block or a window of the codec,
//! whatever the length of the data.

mod blocks;
mod decoder;
mod elements;
mod encoder;
mod frame_decode;
mod multi_frame;
mod pending;
mod plain;

pub(super) use blocks::{BlockEncoder, Blocks};
pub use decoder::{DecoderOptions, decoder};
pub(super) use elements::Elements;
pub use encoder::encoder;
pub(super) use frame_decode::{FrameDecode, Room};
pub use multi_frame::MultiFrameDecoder;
pub(super) use pending::{Pending, copy, gather};

use super::CodecError;

/// What an encoder does once it has taken its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Operation {
    /// Keeps what does not fill a block yet.
    #[default]
    Continue,
    /// Writes everything so far, so that a decoder gets it all; the frame stays open. Costs some size.
    FlushBlock,
    /// Writes everything and ends the frame, an empty one if nothing was given. What follows begins a new
    /// frame.
    FlushFrame,
}

/// What one call did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Bytes taken from the input; the others must be given again.
    pub consumed: usize,
    /// Bytes written to the front of the output.
    pub written: usize,
    /// An encoder has done all that was asked: the input is taken and, for a flush, all is written. A decoder
    /// is at the end of the frame.
    pub done: bool,
}

impl Progress {
    /// What is left of the input and of the output after this progress.
    pub(super) fn rest<'i, 'o>(&self, input: &'i [u8], output: &'o mut [u8]) -> (&'i [u8], &'o mut [u8]) {
        let (consumed, written) = (self.consumed.min(input.len()), self.written.min(output.len()));
        (input.split_at(consumed).1, output.split_at_mut(written).1)
    }
}

/// A compressing stream of frames.
pub trait Encoder: Send {
    /// Takes input and writes output until one of the two is used up or, for a flush, all is written: to be
    /// called again with the same operation and the rest of the input until it is [done](Progress::done).
    ///
    /// # Errors
    /// The codec could get no memory. The stream is of no use then.
    fn encode(&mut self, input: &[u8], output: &mut [u8], operation: Operation) -> Result<Progress, CodecError>;
}

/// A decompressing stream of one frame: an LZ4 or zstd frame (a skippable one, too, with no content), a gzip
/// member, a raw snappy block, or all xerial streams up to the end of the data, since nothing marks theirs.
pub trait Decoder: Send {
    /// Takes input and writes output until one of the two is used up or the frame ends. A call that neither
    /// takes nor writes, though it had room to write to, needs more input.
    ///
    /// # Errors
    /// The data are broken, or hold more than the cap; what was written before counts. The stream is of no use
    /// then.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, CodecError>;

    /// Whether the data may end after all that was decoded.
    ///
    /// # Errors
    /// They end too early.
    fn finish(&self) -> Result<(), CodecError>;

    /// Begins a new frame. The positions that errors name go on.
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
