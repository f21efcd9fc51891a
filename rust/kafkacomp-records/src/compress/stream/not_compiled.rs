//! A codec that the crate was compiled without.

use super::super::{CodecError, CompressionType};
use super::frame_decode::{FrameDecode, Room};

/// A decoder that refuses its first frame.
#[derive(Debug)]
pub(super) struct NotCompiled(pub(super) CompressionType);

impl FrameDecode for NotCompiled {
    fn run(&mut self, _: &mut &[u8], _: &mut Room<'_>) -> Result<bool, CodecError> {
        Err(CodecError::not_compiled(self.0))
    }

    fn finish(&self) -> Result<(), CodecError> {
        Err(CodecError::not_compiled(self.0))
    }

    fn in_header(&self) -> bool {
        false
    }

    fn position(&self) -> u64 {
        0
    }

    fn reset(&mut self) {}
}
