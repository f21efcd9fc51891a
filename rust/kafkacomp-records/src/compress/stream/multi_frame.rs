//! A decoder of all frames of a stream or file, one after another. The codec's `after_frame` determines what may follow
//! a frame, as in the one-shot decoders.
//!
//! Unlike these, which have all data at once, a stream cannot revoke its output: in
//! [`Strictness::Tolerant`](super::super::Strictness), the complete blocks of a further LZ4 frame that is truncated are
//! returned before the content ends there.

use super::super::after_frame::{AfterFrame, Further, trailing_data};
use super::super::{CodecError, CodecFault, CodecFaultKind, CompressionType};
use super::decoder::{FrameDecoder, after_frame};
use super::{Decoder, DecoderOptions, Progress};

/// A decoder that returns the content of all frames. It is [done](Progress::done) only before bytes that are ignored.
/// Otherwise the data end with the caller's input, and [`finish`](Decoder::finish) checks whether they may end there.
pub struct MultiFrameDecoder {
    compression_type: CompressionType,
    rules: AfterFrame,
    decoder: FrameDecoder,
    state: State,
    /// Whether a frame that is not skippable has ended.
    content_seen: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the first frame, or before it.
    First,
    /// After a frame and its padding.
    Between,
    /// In a further frame, which began at this byte.
    Further { start: u64 },
    /// The rest of the data is ignored.
    Ignored,
}

impl MultiFrameDecoder {
    /// Creates a decoder at the start of the data.
    pub fn new(compression_type: CompressionType, options: DecoderOptions) -> Self {
        Self {
            compression_type,
            rules: after_frame(compression_type, options.decode),
            decoder: FrameDecoder::new(compression_type, options),
            state: State::First,
            content_seen: false,
        }
    }

    /// Returns the state after a frame.
    fn after_frame(&mut self) -> State {
        if self.rules.further == Further::Ignored {
            return State::Ignored;
        }
        self.content_seen |= !self.decoder.frame().is_skippable();
        State::Between
    }

    /// Whether a further frame with this fault is ignored. `Truncated` is decided at the end of the data.
    fn ignores(&self, fault: &CodecFault) -> bool {
        self.content_seen && self.rules.ignores(fault, self.decoder.frame().in_header())
    }

    /// Handles the error of a frame of which `length` bytes are available.
    fn refused(&mut self, error: CodecError, length: usize) -> Result<(), CodecError> {
        let State::Further { start } = self.state else { return Err(error) };
        if error.fault.kind() == CodecFaultKind::Malformed && self.ignores(&error.fault) {
            self.state = State::Ignored;
            return Ok(());
        }
        match error.fault {
            CodecFault::BadMagic { .. } => Err(trailing_data(CodecError { position: start, ..error }, length)),
            _ => Err(error),
        }
    }
}

impl Decoder for MultiFrameDecoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, CodecError> {
        let mut total = Progress::default();
        loop {
            let (rest, room) = total.rest(input, output);
            match self.state {
                State::Ignored => {
                    total.done = true;
                    return Ok(total);
                }
                State::Between => {
                    let padding =
                        if self.rules.zero_padding { rest.iter().take_while(|byte| **byte == 0).count() } else { 0 };
                    total.consumed += padding;
                    if padding == rest.len() {
                        return Ok(total);
                    }
                    let position = self.decoder.frame().position();
                    if self.rules.further == Further::Nothing {
                        let (compression_type, length) = (self.compression_type, rest.len() as u64);
                        return Err(CodecError {
                            compression_type,
                            position,
                            fault: CodecFault::TrailingData { length },
                        });
                    }
                    self.decoder.reset();
                    self.state = State::Further { start: position };
                }
                State::First | State::Further { .. } => match self.decoder.decode(rest, room) {
                    Ok(step) => {
                        total.consumed += step.consumed;
                        total.written += step.written;
                        if step.done {
                            self.state = self.after_frame();
                        } else if step.consumed == 0 && step.written == 0 {
                            return Ok(total);
                        }
                    }
                    // The next call returns the error, after the caller has taken this output.
                    Err(_) if total.written > 0 => return Ok(total),
                    Err(error) => self.refused(error, rest.len())?,
                },
            }
        }
    }

    fn finish(&self) -> Result<(), CodecError> {
        let end = self.decoder.frame().position();
        match self.state {
            State::Between | State::Ignored => Ok(()),
            State::First if self.rules.empty_data && end == 0 => Ok(()),
            State::First => self.decoder.finish(),
            State::Further { start } => self.decoder.finish().or_else(|error| {
                let truncated = error.fault.kind() == CodecFaultKind::Truncated;
                let lacking = self.decoder.frame().lacking();
                let ignored =
                    self.ignores(&error.fault) || (truncated && self.rules.may_be_truncated(start, end, lacking));
                if ignored { Ok(()) } else { Err(error) }
            }),
        }
    }

    fn reset(&mut self) {
        self.decoder.reset();
        self.state = State::First;
        self.content_seen = false;
    }
}
