//! Decompression of whole data.

use super::super::super::after_frame::trailing_data;
use super::super::super::input::Input;
use super::super::super::skippable::is_skippable;
use super::super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::super::frame_bounds::{FrameBounds, MAGIC_LENGTH, frame_bounds, supported_header};
use super::frame::Frame;
use crate::buffer::OutputBuffer;

/// Decodes data; nothing is kept between two calls.
#[derive(Default)]
pub(in super::super::super) struct Decoder;

impl Decoder {
    /// Decodes all frames of `data` and appends their content to `out`.
    #[expect(clippy::unused_self, reason = "the interface of libzstd's decoder")]
    pub(in super::super::super) fn decode(
        &mut self,
        data: &[u8],
        strictness: Strictness,
        out: &mut OutputBuffer,
    ) -> Result<(), CodecError> {
        let mut input = Input::new(CompressionType::Zstd, data);
        if data.is_empty() {
            return if strictness == Strictness::Specification {
                Err(input.error(CodecFault::Truncated))
            } else {
                Ok(())
            };
        }
        while !input.rest().is_empty() {
            let bounds = frame_bounds(input).map_err(|error| match input.position() {
                0 => error,
                _ => trailing_data(error, input.rest().len()),
            })?;
            if !is_skippable(input.rest()) {
                frame(input, bounds, out)?;
            }
            input = input.at(bounds.end);
        }
        Ok(())
    }
}

/// Decodes one frame.
fn frame(input: Input<'_>, bounds: FrameBounds, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let start = input.position();
    let refused = |fault| input.error_at(start, fault);
    let left = out.limit().saturating_sub(out.len()) as u64;
    if bounds.declared && bounds.bound > left {
        return Err(refused(CodecFault::OutputLimit { limit: out.limit() as u64 }));
    }
    let mut after = input.at(start.saturating_add(MAGIC_LENGTH));
    let header = supported_header(&mut after)?;
    let mut source = input.at(bounds.end).since(after);
    let mut frame = Frame::begin(&header, left.min(bounds.bound)).map_err(refused)?;
    loop {
        let is_last = frame.block(&mut source).map_err(refused)?;
        while frame.available() > 0 {
            let room = out.spare(frame.available()).map_err(|reason| input.no_room_at(start, reason))?;
            let length = frame.read(room).map_err(refused)?;
            out.advance(length);
        }
        if is_last {
            break;
        }
    }
    if header.content_size.is_some_and(|size| size != frame.produced()) {
        return Err(refused(CodecFault::CorruptBlock));
    }
    frame.verify_checksum().map_err(refused)
}
