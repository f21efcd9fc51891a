//! Incremental compression and decompression with the interface of PEP 784: a call takes all of its input and returns the output
//! that is available; the object keeps the rest.
//!
//! An error ends the stream. After a lack of memory, input or output is lost, so every further call fails.

use super::{Decoder, Encoder, Operation};
use crate::buffer::{NoRoom, OutputBuffer};
use crate::compress::{CodecError, CodecFault, CompressionType};
use crate::memory::{self, OutOfMemory};

/// The number of bytes of output that are reserved at a time.
const ROOM: usize = 64 << 10;

/// Drives an [`Encoder`] until it has taken all of its input.
pub struct IncrementalCompressor {
    compression_type: CompressionType,
    encoder: Box<dyn Encoder>,
    is_lost: bool,
}

impl IncrementalCompressor {
    /// A compressor that uses `encoder`, which is of this type.
    pub fn new(compression_type: CompressionType, encoder: Box<dyn Encoder>) -> Self {
        Self { compression_type, encoder, is_lost: false }
    }

    /// Compresses all of `data` and appends the output to `out`.
    ///
    /// # Errors
    /// Lack of memory. How much of `data` was compressed is unknown then, so every further call fails, too.
    pub fn compress(&mut self, data: &[u8], operation: Operation, out: &mut OutputBuffer) -> Result<(), CodecError> {
        if self.is_lost {
            return Err(no_room(self.compression_type, NoRoom::OutOfMemory));
        }
        self.is_lost = true;
        self.encode(data, operation, out)?;
        self.is_lost = false;
        Ok(())
    }

    fn encode(&mut self, mut data: &[u8], operation: Operation, out: &mut OutputBuffer) -> Result<(), CodecError> {
        loop {
            let room = out.spare(ROOM).map_err(|reason| no_room(self.compression_type, reason))?;
            let progress = self.encoder.encode(data, room, operation)?;
            out.advance(progress.written);
            data = &data[progress.consumed..];
            if progress.done {
                return Ok(());
            }
        }
    }

    /// Ends the stream, because output did not reach the caller: every further call fails with a lack of memory.
    pub fn lose(&mut self) {
        self.is_lost = true;
    }
}

/// Input that is not decoded yet.
#[derive(Default)]
enum Pending<B> {
    #[default]
    Nothing,
    /// The input of one call.
    Given(B),
    /// The joined input of several calls.
    Joined(Vec<u8>),
}

impl<B: AsRef<[u8]>> Pending<B> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Nothing => &[],
            Self::Given(bytes) => bytes.as_ref(),
            Self::Joined(bytes) => bytes,
        }
    }
}

/// Drives a [`Decoder`], and keeps input that it has not taken; `B` is the input of a call.
pub struct IncrementalDecompressor<B> {
    compression_type: CompressionType,
    decoder: Box<dyn Decoder>,
    pending: Pending<B>,
    /// The number of pending bytes that are decoded.
    taken: usize,
    is_ended: bool,
    needs_input: bool,
    is_lost: bool,
}

impl<B: AsRef<[u8]>> IncrementalDecompressor<B> {
    /// A decompressor that uses `decoder`, which is of this type.
    pub fn new(compression_type: CompressionType, decoder: Box<dyn Decoder>) -> Self {
        Self {
            compression_type,
            decoder,
            pending: Pending::Nothing,
            taken: 0,
            is_ended: false,
            needs_input: true,
            is_lost: false,
        }
    }

    /// Takes `data` and decodes until the input is used up or the frame ends; with `max_length` at most until the room of `out`,
    /// which has this size, is used up. Without `max_length` a full `out` is an error.
    ///
    /// # Errors
    /// Corrupt data, if no output precedes the error or `max_length` is not given; lack of memory, after which every further
    /// call fails, too.
    pub fn decompress(&mut self, data: B, max_length: Option<usize>, out: &mut OutputBuffer) -> Result<(), CodecError> {
        if self.is_lost {
            return Err(no_room(self.compression_type, NoRoom::OutOfMemory));
        }
        let given = self.give(data).map_err(|error| no_room(self.compression_type, error.into()));
        let result = given.and_then(|()| self.decode(max_length, out));
        self.is_lost = result.as_ref().is_err_and(|error| error.fault == CodecFault::OutOfMemory);
        result
    }

    /// Appends new input to the pending one.
    fn give(&mut self, data: B) -> Result<(), OutOfMemory> {
        let rest = self.rest();
        if rest.is_empty() {
            (self.pending, self.taken) = (Pending::Given(data), 0);
        } else if !data.as_ref().is_empty() {
            let mut joined = memory::with_capacity(rest.len().saturating_add(data.as_ref().len()))?;
            joined.extend_from_slice(rest);
            joined.extend_from_slice(data.as_ref());
            (self.pending, self.taken) = (Pending::Joined(joined), 0);
        }
        Ok(())
    }

    fn decode(&mut self, max_length: Option<usize>, out: &mut OutputBuffer) -> Result<(), CodecError> {
        let is_full = loop {
            let has_some = max_length.is_some() && !out.is_empty();
            let room = match out.spare(ROOM) {
                Err(NoRoom::OutOfMemory) if has_some => break true,
                Err(reason @ NoRoom::OutOfMemory) => return Err(no_room(self.compression_type, reason)),
                // The frame may end without another byte, even if there is no room for one.
                Err(NoRoom::LimitReached { .. }) => &mut [],
                Ok(room) => room,
            };
            let is_full = room.is_empty();
            let rest = &self.pending.bytes()[self.taken..];
            let progress = match self.decoder.decode(rest, room) {
                Ok(progress) => progress,
                // With `max_length`, the output before the error is returned first.
                Err(_) if has_some => break true,
                Err(error) => return Err(error),
            };
            out.advance(progress.written);
            self.taken += progress.consumed;
            self.is_ended = progress.done;
            if progress.done || is_full || (progress.consumed == 0 && progress.written == 0) {
                break is_full;
            }
        };
        self.needs_input = !self.is_ended && !is_full && self.rest().is_empty();
        if is_full && max_length.is_none() && !self.is_ended {
            let (position, fault) = (0, CodecFault::OutputLimit { limit: out.limit() as u64 });
            return Err(CodecError { compression_type: self.compression_type, position, fault });
        }
        Ok(())
    }

    /// Checks that the data may end here.
    ///
    /// # Errors
    /// The data are truncated, or an earlier call failed.
    pub fn finish(&self) -> Result<(), CodecError> {
        if self.is_ended { Ok(()) } else { self.decoder.finish() }
    }

    /// Whether the frame has ended.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Whether there is no more output without more input.
    pub fn needs_input(&self) -> bool {
        self.needs_input
    }

    /// The input that is not decoded: after the end of the frame, what follows it.
    pub fn rest(&self) -> &[u8] {
        &self.pending.bytes()[self.taken..]
    }

    /// Ends the stream, because output did not reach the caller: every further call fails with a lack of memory.
    pub fn lose(&mut self) {
        self.is_lost = true;
    }
}

fn no_room(compression_type: CompressionType, reason: NoRoom) -> CodecError {
    CodecError { compression_type, position: 0, fault: CodecFault::from(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::stream::{DecoderOptions, decoder, encoder};
    use crate::compress::{Compression, lz4};

    fn compressed(pieces: &[&[u8]]) -> Vec<u8> {
        let checksum = lz4::HeaderChecksum::FrameDescriptor;
        let encoder = encoder(Compression::of(CompressionType::Lz4), checksum).unwrap();
        let mut compressor = IncrementalCompressor::new(CompressionType::Lz4, encoder);
        let mut out = OutputBuffer::new(1 << 20);
        for piece in pieces {
            compressor.compress(piece, Operation::Continue, &mut out).unwrap();
        }
        compressor.compress(&[], Operation::FlushFrame, &mut out).unwrap();
        compressor.lose();
        let error = compressor.compress(b"c", Operation::Continue, &mut out).unwrap_err();
        assert_eq!(error.fault, CodecFault::OutOfMemory);
        out.as_slice().to_vec()
    }

    fn decompressor() -> IncrementalDecompressor<Vec<u8>> {
        IncrementalDecompressor::new(CompressionType::Lz4, decoder(CompressionType::Lz4, DecoderOptions::default()))
    }

    #[test]
    fn input_and_output_may_come_byte_by_byte() {
        let mut data = compressed(&[b"some", b" content"]);
        data.extend_from_slice(b"after");
        let (mut decompressor, mut content) = (decompressor(), Vec::new());
        for byte in data {
            let mut input = vec![byte];
            loop {
                let mut out = OutputBuffer::new(1);
                decompressor.decompress(std::mem::take(&mut input), Some(1), &mut out).unwrap();
                content.extend_from_slice(out.as_slice());
                if decompressor.needs_input() || decompressor.is_ended() {
                    break;
                }
            }
        }
        assert_eq!(content, b"some content");
        assert!(decompressor.is_ended() && decompressor.finish().is_ok());
    }

    #[test]
    fn without_a_maximum_a_full_buffer_is_an_error() {
        let data = compressed(&[b"some content"]);
        let mut out = OutputBuffer::new(4);
        let error = decompressor().decompress(data, None, &mut out).unwrap_err();
        assert_eq!(error.fault, CodecFault::OutputLimit { limit: 4 });
    }

    #[test]
    fn what_was_lost_is_not_skipped() {
        let mut decompressor = decompressor();
        assert!(decompressor.needs_input() && decompressor.finish().is_err());
        decompressor.lose();
        let error = decompressor.decompress(compressed(&[b"a"]), None, &mut OutputBuffer::new(9)).unwrap_err();
        assert_eq!(error.fault, CodecFault::OutOfMemory);
    }
}
