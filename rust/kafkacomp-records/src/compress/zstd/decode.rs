//! Decompression of frames, each in one call. The headers of a frame determine how much memory is allocated.

use super::super::after_frame::trailing_data;
use super::super::input::Input;
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::fault::{fault, is};
use super::frame_bounds::{FrameBounds, frame_bounds};
use super::jni_stream;
use crate::buffer::{NoRoom, OutputBuffer};
use crate::limits::trusted_size;
use ::zstd::zstd_safe::{DCtx, zstd_sys::ZSTD_ErrorCode};

/// The factor by which the memory grows if it is not enough.
const GROWTH: usize = 4;

/// A context, made when first needed.
#[derive(Default)]
pub(in super::super) struct Decoder {
    context: Option<DCtx<'static>>,
}

impl Decoder {
    /// The bytes that the context has allocated.
    pub(in super::super) fn memory(&self) -> usize {
        self.context.as_ref().map_or(0, DCtx::sizeof)
    }

    /// Decodes all frames of `data` and appends their content to `out`.
    pub(in super::super) fn decode(
        &mut self,
        data: &[u8],
        strictness: Strictness,
        out: &mut OutputBuffer,
    ) -> Result<(), CodecError> {
        let input = Input::new(CompressionType::Zstd, data);
        if self.context.is_none() {
            self.context = DCtx::try_create();
        }
        let Some(context) = &mut self.context else { return Err(input.error(CodecFault::OutOfMemory)) };
        let start = out.len();
        match frames(context, input, out) {
            Err(error)
                if strictness != Strictness::Specification
                    && !matches!(error.fault, CodecFault::OutputLimit { .. } | CodecFault::OutOfMemory) =>
            {
                out.truncate(start);
                // The stream decides, but this error is more specific than the stream's.
                jni_stream::decode(input, out).map_err(|streamed| match streamed.fault {
                    CodecFault::OutputLimit { .. } | CodecFault::OutOfMemory => streamed,
                    _ => error,
                })
            }
            result => result,
        }
    }
}

/// Decodes all frames up to the end of the data.
fn frames(context: &mut DCtx<'static>, mut input: Input<'_>, out: &mut OutputBuffer) -> Result<(), CodecError> {
    if input.rest().is_empty() {
        return Err(input.error(CodecFault::Truncated));
    }
    let mut first = true;
    while !input.rest().is_empty() {
        let frame = frame_bounds(input)
            .map_err(|error| if first { error } else { trailing_data(error, input.rest().len()) })?;
        decode_frame(context, input, frame, out)?;
        input = input.at(frame.end);
        first = false;
    }
    Ok(())
}

/// Decodes one frame, in one call unless it contains far more than its length makes likely.
fn decode_frame(
    context: &mut DCtx<'static>,
    input: Input<'_>,
    frame: FrameBounds,
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    let position = input.position();
    let source = input.at(frame.end).since(input);
    let bound = usize::try_from(frame.bound).unwrap_or(usize::MAX);
    let limit = CodecFault::OutputLimit { limit: out.limit() as u64 };
    let left = out.limit().saturating_sub(out.len());
    if frame.declared && bound > left {
        return Err(input.error_at(position, limit));
    }
    let most = bound.min(left);
    let mut want = most.min(trusted_size(source.len()));
    loop {
        // No room is left, but the frame may be empty: zstd is called without room.
        let room = match out.spare(want) {
            Err(NoRoom::OutOfMemory) => return Err(input.error_at(position, CodecFault::OutOfMemory)),
            Err(NoRoom::LimitReached { .. }) => &mut [],
            Ok(room) => room,
        };
        let length = want.min(room.len());
        let room = room.split_at_mut(length).0;
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
