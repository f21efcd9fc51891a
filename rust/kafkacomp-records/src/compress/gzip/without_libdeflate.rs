//! In place of `libdeflate` in a build without C: zlib-rs deflates, and the stream inflates what is not small.

use super::super::stream::{Encoder, Operation};
use super::super::{CodecError, CodecFault, CompressionType};
use super::stream_encode::StreamEncoder;
pub(super) use crate::checksum::crc32;
use crate::memory;

/// The room for output that is reserved at a time.
const ROOM: usize = 64 << 10;

/// Leaves every member to the stream.
pub(super) struct Inflate;

impl Inflate {
    #[expect(clippy::unnecessary_wraps, reason = "the interface of `libdeflate`")]
    pub(super) fn new() -> Option<Self> {
        Some(Self)
    }

    #[expect(clippy::unused_self, reason = "the interface of `libdeflate`")]
    pub(super) fn member(&mut self, _: &[u8], _: &mut [u8]) -> bool {
        false
    }
}

/// The encoder of the last level.
#[derive(Default)]
pub(in super::super) struct Encoders(Option<(i32, StreamEncoder)>);

impl Encoders {
    /// The bytes that the encoder has allocated, rounded up: zlib's window, its hash chains and the pending output.
    pub(in super::super) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |_| 1 << 19)
    }

    /// Appends one member to `out`.
    pub(in super::super) fn encode(&mut self, level: i32, data: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let out_of_memory =
            CodecError { compression_type: CompressionType::Gzip, position: 0, fault: CodecFault::OutOfMemory };
        // An encoder that failed is not put back.
        let mut encoder = match self.0.take() {
            Some((of, encoder)) if of == level => encoder,
            _ => StreamEncoder::new(level)?,
        };
        let mut rest = data;
        loop {
            let filled = out.len();
            memory::resize(out, filled.saturating_add(ROOM.min(rest.len().saturating_add(1 << 10))))
                .map_err(|_| out_of_memory.clone())?;
            let progress = encoder.encode(rest, out.split_at_mut(filled).1, Operation::FlushFrame)?;
            out.truncate(filled + progress.written);
            rest = rest.split_at(progress.consumed.min(rest.len())).1;
            if progress.done {
                self.0 = Some((level, encoder));
                return Ok(());
            }
        }
    }
}
