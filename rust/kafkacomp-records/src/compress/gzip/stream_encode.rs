//! Incremental compression, with the same header as the one-shot. zlib-rs deflates: libdeflate, which the one-shot uses, has no
//! streams.

use super::super::construct::construct;
use super::super::stream::{Encoder, Operation, Pending, Progress};
use super::super::{CodecError, CodecFault, CompressionType};
use super::encode::{HEADER, ZLIB_DEFAULT};
use flate2::{Compress, Compression, FlushCompress, Status};

/// The level of zlib-rs for each level of zlib from 1 to 9: the lowest whose output was never more than 0.5%
/// larger than zlib's, over seven kinds of data in batches of 16 and 100 KB. Its level 9 is the worse one.
const LEVELS: [u32; 9] = [2, 3, 4, 4, 7, 7, 7, 8, 8];

/// If zlib has less room than this (it requires more than six bytes), it repeats the marker at the end of a flush.
const FLUSH_ROOM: usize = 64;

/// An encoder for members.
pub(in super::super) struct StreamEncoder {
    deflate: Compress,
    crc: crc32fast::Hasher,
    pending: Pending,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No member is open.
    Start,
    /// The header is written.
    Open,
    /// The operation is done, but its output is not returned yet.
    Flushed,
    /// The trailer is not returned yet.
    Trailer,
}

impl StreamEncoder {
    /// An encoder for a level of [`Compression`](super::super::Compression): 1 to 9, or -1.
    ///
    /// # Errors
    /// Memory runs out.
    pub(in super::super) fn new(level: i32) -> Result<Self, CodecError> {
        let level = if level < 0 { ZLIB_DEFAULT } else { level };
        let level = usize::try_from(level).ok().and_then(|level| LEVELS.get(level.checked_sub(1)?).copied());
        let Some(level) = level else {
            let (compression_type, fault) = (CompressionType::Gzip, CodecFault::Encoder);
            return Err(CodecError { compression_type, position: 0, fault });
        };
        let Some(deflate) = construct(|| Compress::new(Compression::new(level), false)) else {
            let (compression_type, fault) = (CompressionType::Gzip, CodecFault::OutOfMemory);
            return Err(CodecError { compression_type, position: 0, fault });
        };
        let (crc, pending) = (crc32fast::Hasher::new(), Pending::default());
        Ok(Self { deflate, crc, pending, state: State::Start })
    }

    fn begin(&mut self) {
        self.deflate.reset();
        self.crc = crc32fast::Hasher::new();
        self.pending.bytes().extend_from_slice(&HEADER);
        self.state = State::Open;
    }

    fn end(&mut self) {
        let (crc, size) = (self.crc.clone().finalize(), self.deflate.total_in() as u32);
        self.pending.bytes().extend_from_slice(&crc.to_le_bytes());
        self.pending.bytes().extend_from_slice(&size.to_le_bytes());
        self.state = State::Trailer;
    }

    /// One step of deflate into `room`: bytes taken, bytes written, and whether the operation has nothing more
    /// to write.
    fn deflate(
        &mut self,
        input: &[u8],
        room: &mut [u8],
        operation: Operation,
    ) -> Result<(usize, usize, bool), CodecError> {
        let flush = match operation {
            Operation::Continue => FlushCompress::None,
            Operation::FlushBlock => FlushCompress::Sync,
            Operation::FlushFrame => FlushCompress::Finish,
        };
        let (total_in, total_out) = (self.deflate.total_in(), self.deflate.total_out());
        let status = self.deflate.compress(input, room, flush).map_err(|_| CodecError {
            compression_type: CompressionType::Gzip,
            position: total_in,
            fault: CodecFault::Encoder,
        })?;
        let consumed = (self.deflate.total_in() - total_in) as usize;
        let written = (self.deflate.total_out() - total_out) as usize;
        self.crc.update(input.split_at(consumed.min(input.len())).0);
        let taken = consumed == input.len();
        let done = match operation {
            Operation::Continue => taken,
            // zlib has more output exactly if it has filled the room.
            Operation::FlushBlock => taken && written < room.len(),
            Operation::FlushFrame => status == Status::StreamEnd,
        };
        Ok((consumed, written, done))
    }

    /// One step of deflate, after what was done so far.
    fn step(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        operation: Operation,
        progress: &mut Progress,
    ) -> Result<bool, CodecError> {
        let (rest, room) = progress.rest(input, output);
        let (consumed, done) = if operation == Operation::FlushBlock && room.len() < FLUSH_ROOM {
            let mut room = [0; FLUSH_ROOM];
            let (consumed, written, done) = self.deflate(rest, &mut room, operation)?;
            self.pending.bytes().extend(room.into_iter().take(written));
            (consumed, done)
        } else {
            let (consumed, written, done) = self.deflate(rest, room, operation)?;
            progress.written += written;
            (consumed, done)
        };
        progress.consumed += consumed;
        Ok(done)
    }
}

impl Encoder for StreamEncoder {
    fn encode(&mut self, input: &[u8], output: &mut [u8], operation: Operation) -> Result<Progress, CodecError> {
        let mut progress = Progress::default();
        // Empty input does not open a member, unless the member is to be ended.
        if self.state == State::Start && (!input.is_empty() || operation == Operation::FlushFrame) {
            self.begin();
        }
        loop {
            progress.written += self.pending.drain(progress.rest(input, output).1);
            if !self.pending.is_empty() {
                return Ok(progress);
            }
            match self.state {
                State::Start | State::Flushed | State::Trailer => {
                    self.state = if self.state == State::Flushed { State::Open } else { State::Start };
                    progress.done = true;
                    return Ok(progress);
                }
                State::Open if progress.written == output.len() => {
                    progress.done = operation == Operation::Continue && progress.consumed == input.len();
                    return Ok(progress);
                }
                State::Open => {
                    let done = self.step(input, output, operation, &mut progress)?;
                    if done && operation == Operation::FlushFrame {
                        self.end();
                    } else if done {
                        self.state = State::Flushed;
                    }
                }
            }
        }
    }
}
