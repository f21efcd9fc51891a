//! Uncompressed data.

use super::super::CodecError;
use super::frame_decode::{FrameDecode, Room};
use super::{Encoder, Operation, Progress, pending};

/// An encoder and decoder that copy their input.
#[derive(Debug, Default)]
pub(super) struct Plain {
    position: u64,
}

impl Encoder for Plain {
    fn encode(&mut self, input: &[u8], output: &mut [u8], _: Operation) -> Result<Progress, CodecError> {
        let length = pending::copy(input, output);
        Ok(Progress { consumed: length, written: length, done: length == input.len() })
    }
}

impl FrameDecode for Plain {
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError> {
        let length = output.put(input);
        *input = input.split_at(length).1;
        self.position += length as u64;
        Ok(false)
    }

    fn finish(&self) -> Result<(), CodecError> {
        Ok(())
    }

    fn in_header(&self) -> bool {
        false
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn reset(&mut self) {}
}
