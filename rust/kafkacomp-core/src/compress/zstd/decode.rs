//! Frames in one call each, into as much memory as their headers make likely.

use super::super::input::Input;
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::frame::{Frame, walk};
use super::stream::stream;
use crate::buffer::{NoRoom, OutputBuffer};
use ::zstd::zstd_safe::{DCtx, zstd_sys::ZSTD_ErrorCode};

/// Memory for this much content, or for [`TRUSTED_RATIO`] times the frame, is taken at once; what a frame
/// might hold beyond that only after it has been seen to hold more.
const TRUSTED_SIZE: usize = 16 << 20;
const TRUSTED_RATIO: usize = 32;
/// By how much the memory grows if it was not enough.
const GROWTH: usize = 4;

/// Decodes all frames of `data`; `context` is made when first needed.
pub(in super::super) fn decode(
    context: &mut Option<DCtx<'static>>,
    data: &[u8],
    strictness: Strictness,
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    let input = Input::new(CompressionType::Zstd, data);
    if context.is_none() {
        *context = Some(DCtx::try_create().ok_or_else(|| input.error(CodecFault::OutOfMemory))?);
    }
    let Some(context) = context else { return Err(input.error(CodecFault::OutOfMemory)) };
    let start = out.len();
    match frames(context, input, out) {
        Err(error)
            if strictness != Strictness::Specification
                && !matches!(error.fault, CodecFault::OutputLimit { .. } | CodecFault::OutOfMemory) =>
        {
            out.truncate(start);
            // The stream's verdict counts, but the walk's reason says more.
            stream(input, out).map_err(|streamed| match streamed.fault {
                CodecFault::OutputLimit { .. } | CodecFault::OutOfMemory => streamed,
                _ => error,
            })
        }
        result => result,
    }
}

/// Frame after frame, to the end of the data.
fn frames(context: &mut DCtx<'static>, mut input: Input<'_>, out: &mut OutputBuffer) -> Result<(), CodecError> {
    if input.rest().is_empty() {
        return Err(input.error(CodecFault::Truncated));
    }
    let mut first = true;
    while !input.rest().is_empty() {
        let frame = walk(input).map_err(|error| match error.fault {
            CodecFault::BadMagic { .. } if !first => {
                CodecError { fault: CodecFault::TrailingData { length: input.rest().len() as u64 }, ..error }
            }
            _ => error,
        })?;
        decode_frame(context, input, frame, out)?;
        input = input.at(frame.end);
        first = false;
    }
    Ok(())
}

/// One frame, in one call unless it holds far more than its length makes likely.
fn decode_frame(
    context: &mut DCtx<'static>,
    input: Input<'_>,
    frame: Frame,
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    let position = input.position();
    let length = frame.end - position;
    let source = input.rest().get(..length).unwrap_or_default();
    let bound = usize::try_from(frame.bound).unwrap_or(usize::MAX);
    let limit = CodecFault::OutputLimit { limit: out.limit() as u64 };
    let left = out.limit().saturating_sub(out.len());
    if frame.declared && bound > left {
        return Err(input.error_at(position, limit));
    }
    let most = bound.min(left);
    let mut want = most.min(TRUSTED_SIZE.max(length.saturating_mul(TRUSTED_RATIO)));
    loop {
        // Nothing is left where the frame may well be empty: zstd is asked with no room at all.
        let room = match out.spare(want) {
            Err(NoRoom::OutOfMemory) => return Err(input.error_at(position, CodecFault::OutOfMemory)),
            room => room.unwrap_or_default(),
        };
        let room = room.get_mut(..want).unwrap_or_default();
        match context.decompress(room, source) {
            Ok(decoded) => {
                out.advance(decoded);
                return Ok(());
            }
            Err(code) if is(code, ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall) && want < most => {
                want = most.min(want.saturating_mul(GROWTH));
            }
            Err(code) if is(code, ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall) && want < bound => {
                return Err(input.error_at(position, limit));
            }
            Err(code) => return Err(input.error_at(position, fault(code))),
        }
    }
}

/// What a code of zstd's means here.
pub(super) fn fault(code: usize) -> CodecFault {
    if is(code, ZSTD_ErrorCode::ZSTD_error_checksum_wrong) {
        CodecFault::ContentHash
    } else if is(code, ZSTD_ErrorCode::ZSTD_error_memory_allocation) {
        CodecFault::OutOfMemory
    } else {
        CodecFault::CorruptBlock
    }
}

/// zstd returns its error codes negated in a `size_t`.
pub(super) fn is(code: usize, error: ZSTD_ErrorCode) -> bool {
    code == 0_usize.wrapping_sub(error as usize)
}
