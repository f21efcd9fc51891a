//! Incremental compression by zstd's own stream.

use super::super::CodecError;
use super::super::stream::{Encoder, Operation, Progress};
use super::encode::{context, encoder_error};
use ::zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use ::zstd::zstd_safe::{CCtx, InBuffer, OutBuffer};

/// An encoder for frames.
pub(in super::super) struct StreamEncoder {
    context: CCtx<'static>,
    /// The open frame has content.
    open: bool,
}

impl StreamEncoder {
    /// For this level.
    pub(in super::super) fn new(level: i32) -> Result<Self, CodecError> {
        Ok(Self { context: context(level)?, open: false })
    }
}

impl Encoder for StreamEncoder {
    fn encode(&mut self, input: &[u8], output: &mut [u8], operation: Operation) -> Result<Progress, CodecError> {
        // Empty input does not open a frame, unless the frame is to be ended.
        if !self.open && input.is_empty() && operation != Operation::FlushFrame {
            return Ok(Progress { done: true, ..Progress::default() });
        }
        let directive = match operation {
            Operation::Continue => ZSTD_EndDirective::ZSTD_e_continue,
            Operation::FlushBlock => ZSTD_EndDirective::ZSTD_e_flush,
            Operation::FlushFrame => ZSTD_EndDirective::ZSTD_e_end,
        };
        let mut source = InBuffer::around(input);
        let mut target = OutBuffer::around(output);
        if !self.open {
            // Otherwise zstd would know the size of a frame that ends with its first input and would not choose
            // the parameters of a stream.
            self.context
                .compress_stream2(&mut target, &mut source, ZSTD_EndDirective::ZSTD_e_continue)
                .map_err(encoder_error)?;
            self.open = true;
        }
        let left = self.context.compress_stream2(&mut target, &mut source, directive).map_err(encoder_error)?;
        let taken = source.pos() == input.len();
        let done = taken && (operation == Operation::Continue || left == 0);
        self.open = !(done && operation == Operation::FlushFrame);
        Ok(Progress { consumed: source.pos(), written: target.pos(), done })
    }
}
