//! The decoders of all codecs: the cap, and the order of output and errors, are the same for all.

use super::super::lz4::HeaderChecksum;
use super::super::{CodecError, CodecFault, CompressionType, Strictness, gzip, lz4, snappy, zstd};
use super::frame::{Frame, Room};
use super::plain::Plain;
use super::{Decoder, Progress};

/// How a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderOptions {
    /// How much of the specification counts.
    pub strictness: Strictness,
    /// The header checksum that LZ4 frames must have.
    pub header_checksum: HeaderChecksum,
    /// The most bytes that the decoder gives, over all frames.
    pub limit: u64,
}

impl Default for DecoderOptions {
    /// By the specification, without a cap: memory is bounded by the codec's blocks or windows.
    fn default() -> Self {
        let (strictness, header_checksum) = (Strictness::Specification, HeaderChecksum::Standard);
        Self { strictness, header_checksum, limit: u64::MAX }
    }
}

impl DecoderOptions {
    /// As Kafka reads a record set of this magic.
    pub fn record_set(magic: i8) -> Self {
        Self {
            strictness: Strictness::RecordSet,
            header_checksum: HeaderChecksum::of_record_set(magic),
            ..Self::default()
        }
    }
}

/// A decoder of one frame.
pub fn decoder(compression_type: CompressionType, options: DecoderOptions) -> Box<dyn Decoder> {
    Box::new(FrameDecoder::new(compression_type, options))
}

/// A frame under a cap.
pub(super) struct FrameDecoder {
    compression_type: CompressionType,
    frame: Box<dyn Frame>,
    limit: u64,
    left: u64,
    /// What went wrong behind output that was handed out first.
    failed: Option<CodecError>,
}

impl FrameDecoder {
    pub(super) fn new(compression_type: CompressionType, options: DecoderOptions) -> Self {
        let DecoderOptions { strictness, header_checksum, limit } = options;
        let frame: Box<dyn Frame> = match compression_type {
            CompressionType::None => Box::new(Plain::default()),
            CompressionType::Gzip => Box::new(gzip::Member::new(strictness)),
            CompressionType::Snappy => Box::new(snappy::Stream::new(strictness, limit)),
            CompressionType::Lz4 => Box::new(lz4::FrameStream::new(lz4::DecodeOptions { header_checksum, strictness })),
            CompressionType::Zstd => Box::new(zstd::FrameStream::new(strictness)),
        };
        Self { compression_type, frame, limit, left: limit, failed: None }
    }

    pub(super) fn frame(&self) -> &dyn Frame {
        self.frame.as_ref()
    }

    fn run(&mut self, input: &mut &[u8], room: &mut Room<'_>) -> Result<bool, CodecError> {
        if self.left > 0 {
            return self.frame.run(input, room);
        }
        // The frame may end without a further byte.
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
        let mut room = Room::new(output.get_mut(..allowed).unwrap_or_default());
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
