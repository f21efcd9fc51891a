//! All frames of a stream, one after another, as a file has them.
//!
//! What may follow a frame depends on the codec and the [`Strictness`]. By the specification: further frames;
//! behind gzip also zero padding. In a record set, what follows a gzip member or an LZ4 frame and has no good
//! header is not looked at. Unlike the one-shot, which has the whole data before it, a stream cannot take back
//! what it has handed out: the whole blocks of a further LZ4 frame that breaks off in a record set are
//! delivered before it ends there.

use super::super::{CodecError, CodecFault, CodecFaultKind, CompressionType, Strictness, zstd};
use super::decoder::FrameDecoder;
use super::{Decoder, DecoderOptions, Progress};

/// The JDK looks for a further gzip member only behind more bytes than this.
const JDK_LEAST_REST: u64 = 18;

/// A decoder whose content is that of all frames. It is [done](Progress::done) only where a record set has
/// something behind its content that does not count. Else the data end where the caller's input does, and
/// [`finish`](Decoder::finish) says whether they may.
pub struct Frames {
    compression_type: CompressionType,
    strictness: Strictness,
    decoder: FrameDecoder,
    state: State,
    /// Whether a frame that holds content was whole.
    content_seen: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the first frame, or before it.
    First,
    /// Behind a frame, and what gzip pads it with.
    Between,
    /// In a further frame, which began at this byte.
    Further { start: u64 },
    /// Nothing counts any more.
    Ignored,
}

impl Frames {
    /// At the start of the data.
    pub fn new(compression_type: CompressionType, options: DecoderOptions) -> Self {
        Self {
            compression_type,
            strictness: options.strictness,
            decoder: FrameDecoder::new(compression_type, options),
            state: State::First,
            content_seen: false,
        }
    }

    /// Whether what follows a frame may be anything.
    fn forgives(&self) -> bool {
        self.content_seen
            && self.strictness != Strictness::Specification
            && matches!(self.compression_type, CompressionType::Gzip | CompressionType::Lz4)
    }

    /// Whether a broker sees one frame only.
    fn one_frame(&self) -> bool {
        self.strictness == Strictness::Broker && self.compression_type == CompressionType::Lz4
    }

    /// What follows a frame.
    fn after_frame(&mut self) -> State {
        if self.one_frame() {
            return State::Ignored;
        }
        self.content_seen |= !self.decoder.frame().is_skippable();
        State::Between
    }

    /// Refuses bytes that belong to no frame.
    fn trailing(&self, position: u64, length: usize) -> Result<(), CodecError> {
        let compression_type = self.compression_type;
        Err(CodecError { compression_type, position, fault: CodecFault::TrailingData { length: length as u64 } })
    }

    /// Whether the frame that began at `start` may be cut: zstd-jni's stream does not miss its end if it has read
    /// its input for the last time before the frame began.
    fn cut_may_be(&self, start: u64) -> bool {
        let reads = |length: u64| length.saturating_sub(1) / zstd::JNI_INPUT as u64;
        self.compression_type == CompressionType::Zstd
            && self.strictness != Strictness::Specification
            && reads(start) == reads(self.decoder.frame().position())
    }

    /// What a failure means where it happened.
    fn judge(&mut self, error: CodecError, behind: usize) -> Result<(), CodecError> {
        let State::Further { start } = self.state else { return Err(error) };
        let header = self.decoder.frame().in_header();
        if self.forgives()
            && error.fault.kind() == CodecFaultKind::Malformed
            && (header || self.compression_type == CompressionType::Lz4)
        {
            self.state = State::Ignored;
            return Ok(());
        }
        match error.fault {
            CodecFault::BadMagic { .. } => self.trailing(start, behind),
            _ => Err(error),
        }
    }
}

impl Decoder for Frames {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, CodecError> {
        let mut total = Progress::default();
        loop {
            let rest = input.get(total.consumed..).unwrap_or_default();
            match self.state {
                State::Ignored => {
                    total.done = true;
                    return Ok(total);
                }
                State::Between => {
                    let padded =
                        self.compression_type == CompressionType::Gzip && self.strictness == Strictness::Specification;
                    let zeros = if padded { rest.iter().take_while(|byte| **byte == 0).count() } else { 0 };
                    total.consumed += zeros;
                    if zeros == rest.len() {
                        return Ok(total);
                    }
                    if self.compression_type == CompressionType::Snappy {
                        // A raw block must fill the data.
                        return self.trailing(self.decoder.frame().position(), rest.len()).map(|()| total);
                    }
                    self.decoder.reset();
                    self.state = State::Further { start: self.decoder.frame().position() };
                }
                State::First | State::Further { .. } => {
                    let room = output.get_mut(total.written..).unwrap_or_default();
                    match self.decoder.decode(rest, room) {
                        Ok(step) => {
                            total.consumed += step.consumed;
                            total.written += step.written;
                            if step.done {
                                self.state = self.after_frame();
                            } else if step.consumed == 0 && step.written == 0 {
                                return Ok(total);
                            }
                        }
                        // It comes again when what was written before it has been taken.
                        Err(_) if total.written > 0 => return Ok(total),
                        Err(error) => self.judge(error, rest.len())?,
                    }
                }
            }
        }
    }

    fn finish(&self) -> Result<(), CodecError> {
        match self.state {
            State::Between | State::Ignored => Ok(()),
            // zstd-jni's stream takes no data at all for no content.
            State::First
                if self.compression_type == CompressionType::Zstd
                    && self.strictness != Strictness::Specification
                    && self.decoder.frame().position() == 0 =>
            {
                Ok(())
            }
            State::First => self.decoder.finish(),
            State::Further { start } => match self.decoder.finish() {
                Err(error) if error.fault == CodecFault::OutOfMemory => Err(error),
                Err(_) if self.forgives() && self.compression_type == CompressionType::Lz4 => Ok(()),
                Err(_) if self.forgives() && self.decoder.frame().in_header() => Ok(()),
                Err(_) if self.forgives() && self.decoder.frame().position() - start <= JDK_LEAST_REST => Ok(()),
                Err(_) if self.cut_may_be(start) => Ok(()),
                result => result,
            },
        }
    }

    fn reset(&mut self) {
        self.decoder.reset();
        self.state = State::First;
        self.content_seen = false;
    }
}
