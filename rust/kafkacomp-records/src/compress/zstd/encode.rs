//! Compression to one frame like that of zstd-jni's stream: without content size and checksum.

use super::super::{CodecError, CodecFault, CompressionType};
use super::fault::is;
use crate::memory;
use ::zstd::zstd_safe::zstd_sys::{ZSTD_EndDirective, ZSTD_ErrorCode};
use ::zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, compress_bound};

/// From this level on the size of the content is passed to zstd. Below, zstd chooses tables and window for a stream of unknown
/// size, as in Kafka: for batches the output was up to 15% smaller than with the tables for the known size, at no cost if the
/// context is kept. From this level on the output is the same, but the size saves hundreds of megabytes.
const SIZED_LEVEL: i32 = 19;
/// The least growth of the output.
const MIN_GROWTH: usize = 1 << 10;
/// The most growth of the output before it is known to be needed.
const MAX_GROWTH: usize = 1 << 20;

/// A context whose memory is reused for the next frame.
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

/// The fault for an error code of compression.
pub(super) fn encoder_error(code: usize) -> CodecError {
    let memory = is(code, ZSTD_ErrorCode::ZSTD_error_memory_allocation);
    error(if memory { CodecFault::OutOfMemory } else { CodecFault::Encoder })
}

fn error(fault: CodecFault) -> CodecError {
    CodecError { compression_type: CompressionType::Zstd, position: 0, fault }
}
