//! From bytes to one frame, as zstd-jni's stream makes it: no content size, no checksum.
//!
//! The whole content is there at once, so zstd is told its size: it then chooses tables and a window that
//! fit. Kafka's stream does not know the size and declares (and pays for) those of the level.

use super::super::{CodecError, CodecFault, CompressionType};
use ::zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use ::zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, compress_bound};

/// A context that keeps its memory from frame to frame.
#[derive(Default)]
pub(in super::super) struct Encoder {
    context: Option<CCtx<'static>>,
    level: i32,
}

impl Encoder {
    /// Appends one frame to `out`.
    pub(in super::super) fn encode(&mut self, level: i32, data: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let failed = |fault| CodecError { compression_type: CompressionType::Zstd, position: 0, fault };
        let context = self.context_for(level).ok_or_else(|| failed(CodecFault::OutOfMemory))?;
        out.reserve(compress_bound(data.len()));
        let position = out.len();
        let mut target = OutBuffer::around_pos(out, position);
        let mut source = InBuffer::around(data);
        // With all input and room for the worst case one call ends the frame.
        if context.compress_stream2(&mut target, &mut source, ZSTD_EndDirective::ZSTD_e_end) == Ok(0) {
            return Ok(());
        }
        self.context = None;
        Err(failed(CodecFault::OutOfMemory))
    }

    /// The context, set to this level.
    fn context_for(&mut self, level: i32) -> Option<&mut CCtx<'static>> {
        if self.context.is_none() {
            let mut context = CCtx::try_create()?;
            context.set_parameter(CParameter::ContentSizeFlag(false)).ok()?;
            context.set_parameter(CParameter::CompressionLevel(level)).ok()?;
            self.context = Some(context);
        } else if self.level != level {
            self.context.as_mut()?.set_parameter(CParameter::CompressionLevel(level)).ok()?;
        }
        self.level = level;
        self.context.as_mut()
    }
}
