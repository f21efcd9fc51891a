//! The stream that decodes data again if the one-shot fails. It reads like zstd-jni's `ZstdInputStreamNoFinalizer` with Kafka's
//! buffers, so that corrupt data end at the same byte as in Kafka.

use super::super::input::Input;
use super::super::{CodecError, CodecFault};
use super::fault::fault;
use super::{INPUT_LENGTH, MAX_HINT};
use crate::buffer::{NoRoom, OutputBuffer};
use crate::limits::KAFKA_STREAM_CHUNK;
use ::zstd::zstd_safe::{DCtx, InBuffer, OutBuffer};

/// The state of zstd-jni's stream between reads.
struct Stream<'a> {
    context: DCtx<'static>,
    /// All compressed bytes.
    input: Input<'a>,
    /// The number of bytes that zstd has consumed.
    position: usize,
    /// The end of the bytes in the input buffer.
    filled: usize,
    need_read: bool,
    frame_finished: bool,
}

/// Decodes the input from its position on. zstd allocates the window, but its pages are mapped only as far as there is content.
pub(super) fn decode(input: Input<'_>, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let context = DCtx::try_create().ok_or_else(|| input.error(CodecFault::OutOfMemory))?;
    let position = input.position();
    let mut stream = Stream { context, input, position, filled: position, need_read: true, frame_finished: true };
    loop {
        let mut beyond = [0];
        let (room, capped) = match out.spare(KAFKA_STREAM_CHUNK) {
            Ok(spare) => {
                let length = spare.len().min(KAFKA_STREAM_CHUNK);
                (spare.split_at_mut(length).0, None)
            }
            Err(NoRoom::OutOfMemory) => return Err(input.error_at(stream.position, CodecFault::OutOfMemory)),
            // The frame may end without another byte of output.
            Err(reached) => (beyond.as_mut_slice(), Some(reached)),
        };
        match (stream.read(room)?, capped) {
            (None, _) => return Ok(()),
            (Some(length), None) => out.advance(length),
            (Some(0), Some(_)) => {}
            (Some(_), Some(reached)) => return Err(input.no_room_at(stream.position, reached)),
        }
    }
}

impl Stream<'_> {
    /// Does one read and returns the number of bytes; `None` at the end of the data.
    fn read(&mut self, room: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let data = self.input.at(0).rest();
        let capacity = room.len();
        let mut target = OutBuffer::around(room);
        loop {
            let before = target.pos();
            if self.need_read && (self.filled < data.len() || before == 0) {
                if self.filled >= data.len() {
                    return if self.frame_finished {
                        Ok(None)
                    } else {
                        Err(self.input.error_at(data.len(), CodecFault::Truncated))
                    };
                }
                self.filled = data.len().min(self.filled + INPUT_LENGTH);
                self.frame_finished = false;
            }
            let mut source = InBuffer::around(self.input.at(self.filled).since(self.input.at(self.position)));
            let hint = self.context.decompress_stream(&mut target, &mut source);
            let consumed = source.pos();
            let left = hint.map_err(|code| self.input.error_at(self.position, fault(code)))?;
            self.position += consumed;
            if left > MAX_HINT as usize {
                return Err(self.input.error_at(data.len(), CodecFault::Truncated));
            }
            if left == 0 {
                self.frame_finished = true;
                self.need_read = self.position == self.filled;
                return Ok(Some(target.pos()));
            }
            self.need_read = target.pos() < capacity;
            if target.pos() == capacity || target.pos() == before {
                return Ok(Some(target.pos()));
            }
        }
    }
}
