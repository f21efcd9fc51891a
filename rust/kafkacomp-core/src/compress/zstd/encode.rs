//! From bytes to one frame, as zstd-jni's stream makes it: no content size, no checksum.

use super::super::{CodecError, CodecFault, CompressionType};
use super::fault::is;
use crate::memory;
use ::zstd::zstd_safe::zstd_sys::{ZSTD_EndDirective, ZSTD_ErrorCode};
use ::zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, compress_bound};

/// From this level on zstd is told the size of the content. Below, it chooses the tables and the window of a
/// stream of unknown size, as it does for Kafka: for batches their output was up to 15% smaller than that of the
/// tables it chooses for the size, and they cost nothing if the context is kept. From here on the size makes no
/// difference to the output, but hundreds of megabytes.
const SIZED_LEVEL: i32 = 19;
/// By how much the output grows at least.
const MIN_GROWTH: usize = 1 << 10;
/// By how much it grows at most before it is seen to be needed.
const MAX_GROWTH: usize = 1 << 20;

/// A context that keeps its memory from frame to frame.
#[derive(Default)]
pub(in super::super) struct Encoder {
    kept: Option<(CCtx<'static>, i32)>,
}

impl Encoder {
    /// The bytes that the context has allocated.
    pub(in super::super) fn memory(&self) -> usize {
        self.kept.as_ref().map_or(0, |(context, _)| context.sizeof())
    }

    /// Appends one frame to `out`.
    pub(in super::super) fn encode(&mut self, level: i32, data: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        // A context that failed is not put back.
        let mut context = match self.kept.take() {
            Some((context, of)) if of == level => context,
            Some((mut context, _)) => {
                set_level(&mut context, level)?;
                context
            }
            None => context(level)?,
        };
        let mut source = InBuffer::around(data);
        if level < SIZED_LEVEL {
            run(&mut context, &mut source, data.len(), out, ZSTD_EndDirective::ZSTD_e_continue)?;
        }
        run(&mut context, &mut source, data.len(), out, ZSTD_EndDirective::ZSTD_e_end)?;
        self.kept = Some((context, level));
        Ok(())
    }
}

/// A context of this level that writes neither content size nor checksum.
pub(super) fn context(level: i32) -> Result<CCtx<'static>, CodecError> {
    let mut context = CCtx::try_create().ok_or_else(|| error(CodecFault::OutOfMemory))?;
    context.set_parameter(CParameter::ContentSizeFlag(false)).map_err(encoder_error)?;
    set_level(&mut context, level)?;
    Ok(context)
}

fn set_level(context: &mut CCtx<'static>, level: i32) -> Result<(), CodecError> {
    context.set_parameter(CParameter::CompressionLevel(level)).map(drop).map_err(encoder_error)
}

/// Runs a directive to its end, over all `length` bytes of the source.
fn run(
    context: &mut CCtx<'static>,
    source: &mut InBuffer<'_>,
    length: usize,
    out: &mut Vec<u8>,
    directive: ZSTD_EndDirective,
) -> Result<(), CodecError> {
    loop {
        let rest = length - source.pos();
        memory::reserve(out, compress_bound(rest).clamp(MIN_GROWTH, MAX_GROWTH))
            .map_err(|_| error(CodecFault::OutOfMemory))?;
        let position = out.len();
        let mut target = OutBuffer::around_pos(out, position);
        let left = context.compress_stream2(&mut target, source, directive).map_err(encoder_error)?;
        let ended = directive != ZSTD_EndDirective::ZSTD_e_end || left == 0;
        if ended && source.pos() == length {
            return Ok(());
        }
    }
}

/// What a code of zstd's means while compressing.
pub(super) fn encoder_error(code: usize) -> CodecError {
    let memory = is(code, ZSTD_ErrorCode::ZSTD_error_memory_allocation);
    error(if memory { CodecFault::OutOfMemory } else { CodecFault::Encoder })
}

fn error(fault: CodecFault) -> CodecError {
    CodecError { compression_type: CompressionType::Zstd, position: 0, fault }
}
