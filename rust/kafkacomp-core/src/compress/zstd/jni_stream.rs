//! The slow way, taken when the fast one fails: read as zstd-jni's `ZstdInputStreamNoFinalizer` does, in the
//! pieces in which Kafka asks for them, so that a damaged payload ends where Kafka's ends.

use super::super::input::Input;
use super::super::{CodecError, CodecFault};
use super::fault::fault;
use super::frame_bounds::BLOCK_SIZE_MAX;
use crate::buffer::{NoRoom, OutputBuffer};
use crate::limits::KAFKA_STREAM_CHUNK;
use ::zstd::zstd_safe::{DCtx, InBuffer, OutBuffer};

/// zstd-jni's input buffer: `ZSTD_DStreamInSize`, a block and its header.
pub(super) const INPUT_LENGTH: usize = BLOCK_SIZE_MAX as usize + 3;

/// zstd-jni's stream: what it keeps from one read to the next.
struct Stream<'a> {
    context: DCtx<'static>,
    /// All compressed bytes.
    input: Input<'a>,
    /// What zstd has taken of them.
    position: usize,
    /// How far the input buffer has been filled.
    filled: usize,
    need_read: bool,
    frame_finished: bool,
}

/// Decodes from the input's position on. The window is zstd's own allocation, touched only as far as
/// there is content.
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
            // The frame may end without a further byte.
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
    /// One read: how many bytes came, `None` at the end of the data.
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
