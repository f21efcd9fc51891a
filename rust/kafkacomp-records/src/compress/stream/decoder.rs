//! The decoders of all codecs, with the same output limit and the same order of output and errors.

use super::super::after_frame::AfterFrame;
#[cfg(feature = "_gzip")]
use super::super::gzip;
#[cfg(feature = "_lz4")]
use super::super::lz4;
#[cfg(feature = "snappy")]
use super::super::snappy;
#[cfg(feature = "_zstd")]
use super::super::zstd;
use super::super::{CodecError, CodecFault, CompressionType, DecodeOptions};
use super::frame_decode::{FrameDecode, Room};
#[cfg(not(all(feature = "_gzip", feature = "snappy", feature = "_lz4", feature = "_zstd")))]
use super::not_compiled::NotCompiled;
use super::plain::Plain;
use super::{Decoder, Progress};

/// The options of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderOptions {
    /// Which data are accepted.
    pub decode: DecodeOptions,
    /// The most bytes that the decoder writes, over all frames.
    pub limit: u64,
}

impl Default for DecoderOptions {
    /// The data that the specification allows, without an output limit: the codec's blocks or windows bound the memory.
    fn default() -> Self {
        Self { decode: DecodeOptions::default(), limit: u64::MAX }
    }
}

/// Returns the rules for data after a frame of this type.
pub(super) fn after_frame(compression_type: CompressionType, options: DecodeOptions) -> AfterFrame {
    let strictness = options.strictness;
    match compression_type {
        // Not used: uncompressed data have no end before that of the input.
        CompressionType::None => AfterFrame::FRAMES,
        #[cfg(feature = "_gzip")]
        CompressionType::Gzip => gzip::after_frame(strictness),
        #[cfg(feature = "snappy")]
        CompressionType::Snappy => snappy::after_frame(),
        #[cfg(feature = "_lz4")]
        CompressionType::Lz4 => lz4::after_frame(strictness),
        #[cfg(feature = "_zstd")]
        CompressionType::Zstd => zstd::after_frame(strictness),
        #[cfg(not(all(feature = "_gzip", feature = "snappy", feature = "_lz4", feature = "_zstd")))]
        // Not used: the first frame is an error.
        _ => AfterFrame::FRAMES,
    }
}

/// Creates a decoder of one frame.
pub fn decoder(compression_type: CompressionType, options: DecoderOptions) -> Box<dyn Decoder> {
    Box::new(FrameDecoder::new(compression_type, options))
}

/// A decoder of one frame with an output limit.
pub(super) struct FrameDecoder {
    compression_type: CompressionType,
    frame: Box<dyn FrameDecode>,
    limit: u64,
    left: u64,
    /// An error that follows output: the next call returns it.
    failed: Option<CodecError>,
}

impl FrameDecoder {
    pub(super) fn new(compression_type: CompressionType, options: DecoderOptions) -> Self {
        let DecoderOptions { decode: DecodeOptions { strictness, .. }, limit } = options;
        let frame: Box<dyn FrameDecode> = match compression_type {
            CompressionType::None => Box::new(Plain::default()),
            #[cfg(feature = "_gzip")]
            CompressionType::Gzip => Box::new(gzip::StreamDecoder::new(strictness)),
            #[cfg(feature = "snappy")]
            CompressionType::Snappy => Box::new(snappy::StreamDecoder::new(strictness, limit)),
            #[cfg(feature = "_lz4")]
            CompressionType::Lz4 => Box::new(lz4::StreamDecoder::new(options.decode)),
            #[cfg(feature = "_zstd")]
            CompressionType::Zstd => Box::new(zstd::StreamDecoder::new(strictness)),
            #[cfg(not(all(feature = "_gzip", feature = "snappy", feature = "_lz4", feature = "_zstd")))]
            other => Box::new(NotCompiled(other)),
        };
        Self { compression_type, frame, limit, left: limit, failed: None }
    }

    pub(super) fn frame(&self) -> &dyn FrameDecode {
        self.frame.as_ref()
    }

    fn run(&mut self, input: &mut &[u8], room: &mut Room<'_>) -> Result<bool, CodecError> {
        if self.left > 0 {
            return self.frame.run(input, room);
        }
        // At the limit, the frame may still end without a further byte.
        let mut beyond = [0];
        let mut probe = Room::new(&mut beyond);
        let done = self.frame.run(input, &mut probe)?;
        if probe.written() > 0 {
            let (position, fault) = (self.frame.position(), CodecFault::OutputLimit { limit: self.limit });
            return Err(CodecError { compression_type: self.compression_type, position, fault });
        }
        Ok(done)
    }
}

impl Decoder for FrameDecoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, CodecError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let allowed = output.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let mut room = Room::new(output.split_at_mut(allowed).0);
        let mut rest = input;
        let result = self.run(&mut rest, &mut room);
        let written = room.written();
        self.left -= written as u64;
        let done = match result {
            Ok(done) => done,
            Err(error) => {
                self.failed = Some(error.clone());
                if written == 0 {
                    return Err(error);
                }
                false
            }
        };
        Ok(Progress { consumed: input.len() - rest.len(), written, done })
    }

    fn finish(&self) -> Result<(), CodecError> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => self.frame.finish(),
        }
    }

    fn reset(&mut self) {
        self.failed = None;
        self.frame.reset();
    }
}
