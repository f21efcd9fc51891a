//! From frames to bytes. The blocks are decoded by liblz4.

use super::super::input::Input;
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::header::{FrameInfo, HeaderChecksum, read_header, skip_skippable};
use crate::buffer::OutputBuffer;
use crate::checksum::xxh32;

/// The bit of a block's size that says: stored, not compressed.
pub(super) const STORED: u32 = 0x8000_0000;
/// How far a match of a linked block reaches back.
pub(super) const HISTORY: usize = 64 << 10;
/// One byte of an LZ4 block makes at most this many: a length byte of 255 stands for 255.
const MAX_EXPANSION: usize = 255;

/// How frames are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// The header checksum that every frame must have.
    pub header_checksum: HeaderChecksum,
    /// How much of the specification counts.
    pub strictness: Strictness,
}

/// Decodes all frames of `data` and appends what they hold to `out`.
///
/// # Errors
/// What [`DecodeOptions`] does not let pass; `out` then holds the whole blocks before it.
pub fn decompress(data: &[u8], options: DecodeOptions, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let mut input = Input::new(CompressionType::Lz4, data);
    if data.is_empty() {
        return Err(input.error(CodecFault::Truncated));
    }
    if options.strictness == Strictness::Broker {
        return frame(&mut input, options, out);
    }
    if skip_skippable(&mut input)? {
        return Ok(());
    }
    frame(&mut input, options, out)?;
    while !input.rest().is_empty() {
        let mark = out.len();
        match further_frame(&mut input, options, out) {
            Ok(()) => {}
            Err(error) if options.strictness == Strictness::Specification => return Err(error),
            Err(error @ CodecError { fault: CodecFault::OutputLimit { .. } | CodecFault::OutOfMemory, .. }) => {
                return Err(error);
            }
            Err(_) => {
                out.truncate(mark);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What follows a frame: skippable frames, a frame, or rubbish.
fn further_frame(input: &mut Input<'_>, options: DecodeOptions, out: &mut OutputBuffer) -> Result<(), CodecError> {
    if skip_skippable(input)? {
        return Ok(());
    }
    let length = input.rest().len() as u64;
    frame(input, options, out).map_err(|error| match error.fault {
        CodecFault::BadMagic { .. } => CodecError { fault: CodecFault::TrailingData { length }, ..error },
        _ => error,
    })
}

/// What Kafka's stream looks at when it is opened: the header of the first frame.
pub(in super::super) fn open(data: &[u8], options: DecodeOptions) -> Result<(), CodecError> {
    let mut input = Input::new(CompressionType::Lz4, data);
    if data.is_empty() {
        return Err(input.error(CodecFault::Truncated));
    }
    if options.strictness != Strictness::Broker && skip_skippable(&mut input)? {
        return Ok(());
    }
    let info = read_header(&mut input)?;
    accept(&input, info, options).map(drop)
}

/// One frame.
fn frame(input: &mut Input<'_>, options: DecodeOptions, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let info = read_header(input)?;
    let info = accept(input, info, options)?;
    let start = out.len();
    loop {
        match block(input, &info, start, options.strictness, out)? {
            Block::EndMark => return end_of_frame(input, &info, start, options.strictness, out),
            Block::Empty if options.strictness != Strictness::Specification => return Ok(()),
            Block::Content | Block::Empty => {}
        }
    }
}

/// The header itself, if it is one that `options` take.
pub(super) fn accept(input: &Input<'_>, info: FrameInfo, options: DecodeOptions) -> Result<FrameInfo, CodecError> {
    if let Some(id) = info.dictionary_id {
        return Err(input.error_at(info.position, CodecFault::Dictionary { id }));
    }
    if options.strictness == Strictness::Broker && !info.flg.block_independence() {
        return Err(input.error_at(info.position, CodecFault::LinkedBlocks));
    }
    if !info.satisfies(options.header_checksum) {
        return Err(input.error_at(
            info.position + info.header_length - 1,
            CodecFault::HeaderChecksum {
                stored: info.header_checksum,
                standard: info.standard_header_checksum,
                broken: info.broken_header_checksum,
            },
        ));
    }
    Ok(info)
}

/// What a block was.
pub(super) enum Block {
    /// Some bytes.
    Content,
    /// Compressed, of no bytes. Kafka's stream takes a read of no bytes for the end.
    Empty,
    /// None, but the end of the frame.
    EndMark,
}

/// One block. `start` is where the frame's content begins in `out`.
pub(super) fn block(
    input: &mut Input<'_>,
    info: &FrameInfo,
    start: usize,
    strictness: Strictness,
    out: &mut OutputBuffer,
) -> Result<Block, CodecError> {
    let position = input.position();
    let word = input.u32_le()?;
    let size = (word & !STORED) as usize;
    if word == 0 || (size == 0 && strictness != Strictness::Specification) {
        return Ok(Block::EndMark);
    }
    let max = info.bd.block_max_size().bytes();
    if size > max {
        let fault = if word & STORED == 0 {
            CodecFault::BlockSize { size: size as i64, max: max as i64 }
        } else {
            CodecFault::UncompressedBlockSize { size: size as u64, max: max as u64 }
        };
        return Err(input.error_at(position, fault));
    }
    let data = input.take(size)?;
    if info.flg.block_checksum() {
        let (stored, computed) = (input.u32_le()?, xxh32(data));
        if stored != computed {
            return Err(input.error_at(position, CodecFault::BlockChecksum { stored, computed }));
        }
    }
    if word & STORED != 0 {
        out.extend(data).map_err(|reached| input.no_room_at(position, reached))?;
        return Ok(Block::Content);
    }
    let history = if info.flg.block_independence() { out.len() } else { start.max(out.len().saturating_sub(HISTORY)) };
    let want = max.min(size.saturating_mul(MAX_EXPANSION));
    let (history, spare) =
        out.spare_with_history(history, want).map_err(|reached| input.no_room_at(position, reached))?;
    let available = spare.len().min(want);
    let room = spare.get_mut(..available).unwrap_or_default();
    let decoded = if history.is_empty() {
        lzzzz::lz4::decompress(data, room)
    } else {
        lzzzz::lz4::decompress_with_dict(data, room, history)
    };
    if let Ok(length) = decoded {
        out.advance(length);
        return Ok(if length == 0 { Block::Empty } else { Block::Content });
    }
    // Where the cap left less than a whole block, it may be all that the block lacks.
    let full = available < want
        && if history.is_empty() {
            lzzzz::lz4::decompress_partial(data, room, available)
        } else {
            lzzzz::lz4::decompress_partial_with_dict(data, room, available, history)
        }
        .is_ok_and(|length| length == available);
    let limit = out.limit() as u64;
    Err(input.error_at(position, if full { CodecFault::OutputLimit { limit } } else { CodecFault::CorruptBlock }))
}

/// What follows the `EndMark`, and what the header promised.
fn end_of_frame(
    input: &mut Input<'_>,
    info: &FrameInfo,
    start: usize,
    strictness: Strictness,
    out: &OutputBuffer,
) -> Result<(), CodecError> {
    let position = input.position();
    let stored = if info.flg.content_checksum() { Some(input.u32_le()?) } else { None };
    if strictness != Strictness::Specification {
        return Ok(());
    }
    let content = out.as_slice().get(start..).unwrap_or_default();
    verify_content(&input.at(position), info, content.len() as u64, stored, || xxh32(content))
}

/// What the header and the checksum behind the `EndMark`, which `input` is at, promise of the content.
pub(super) fn verify_content(
    input: &Input<'_>,
    info: &FrameInfo,
    actual: u64,
    stored: Option<u32>,
    computed: impl FnOnce() -> u32,
) -> Result<(), CodecError> {
    match info.content_size {
        Some(declared) if declared != actual => {
            return Err(input.error_at(info.position, CodecFault::ContentSize { declared, actual }));
        }
        _ => {}
    }
    match stored.map(|stored| (stored, computed())) {
        Some((stored, computed)) if stored != computed => {
            Err(input.error(CodecFault::ContentChecksum { stored, computed }))
        }
        _ => Ok(()),
    }
}
