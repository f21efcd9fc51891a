//! Decompression of frames. liblz4 decompresses the blocks, or all but the ends of two at once are decoded here.

use super::super::after_frame::{Further, trailing_data};
use super::super::input::Input;
use super::super::{CodecError, CodecFault, CompressionType, DecodeOptions, Strictness};
use super::block::BlockHeader;
use super::header::{FrameInfo, read_header, skip_skippable};
#[cfg(target_arch = "x86_64")]
use super::interleaved::{CONTENT, Pairs, SHORTEST};
#[cfg(not(target_arch = "x86_64"))]
use super::library_only::{CONTENT, Pairs, SHORTEST};
use super::{after_frame, liblz4, skips_skippable};
use crate::buffer::OutputBuffer;
use crate::checksum::xxh32;

/// The room that [`decode_both`] needs.
pub(in super::super) const ROOM_FOR_BOTH: usize = 2 * CONTENT;
/// The length of the shortest frame that [`decode_both`] may be faster for.
pub(in super::super) const SHORTEST_OF_BOTH: usize = SHORTEST;
/// The longest distance of a match in a linked block.
pub(super) const HISTORY: usize = 64 << 10;
/// The most bytes of content for one byte of a block: a length byte of 255 means 255 bytes.
const MAX_EXPANSION: usize = 255;

/// Decodes all frames of `data` and appends their content to `out`.
///
/// # Errors
/// Data that `options` do not accept; `out` then contains the complete blocks before the error.
pub(in super::super) fn decode(data: &[u8], options: DecodeOptions, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let mut input = Input::new(CompressionType::Lz4, data);
    if first_frame(&mut input, options)? {
        return Ok(());
    }
    frame(&mut input, options, out)?;
    let rules = after_frame(options.strictness);
    while rules.further != Further::Ignored && !input.rest().is_empty() {
        let mark = out.len();
        match further_frame(&mut input, options, out) {
            Ok(()) => {}
            Err(error) if rules.ignores(&error.fault, false) => {
                out.truncate(mark);
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Advances to the first frame with content; `true` if there is none.
fn first_frame(input: &mut Input<'_>, options: DecodeOptions) -> Result<bool, CodecError> {
    if input.rest().is_empty() {
        return Err(input.error(CodecFault::Truncated));
    }
    Ok(skips_skippable(options.strictness) && skip_skippable(input)?)
}

/// What follows a frame: skippable frames, then a frame or the end of the data.
fn further_frame(input: &mut Input<'_>, options: DecodeOptions, out: &mut OutputBuffer) -> Result<(), CodecError> {
    if skip_skippable(input)? {
        return Ok(());
    }
    let length = input.rest().len();
    frame(input, options, out).map_err(|error| trailing_data(error, length))
}

/// Checks what Kafka's stream checks when it is opened: the header of the first frame.
pub(in super::super) fn open(data: &[u8], options: DecodeOptions) -> Result<(), CodecError> {
    let mut input = Input::new(CompressionType::Lz4, data);
    if first_frame(&mut input, options)? {
        return Ok(());
    }
    let info = read_header(&mut input)?;
    accept(&input, info, options).map(drop)
}

/// Decodes one frame.
fn frame(input: &mut Input<'_>, options: DecodeOptions, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let info = read_header(input)?;
    let info = accept(input, info, options)?;
    let start = out.len();
    loop {
        // A batch of one record is shorter than two such blocks.
        if input.rest().len() >= 2 * SHORTEST && block_pair(input, &info, options.strictness, out).is_some() {
            continue;
        }
        match block(input, &info, start, options.strictness, out)? {
            Block::EndMark => return end_of_frame(input, &info, start, options.strictness, out),
            Block::Empty if options.strictness != Strictness::Specification => return Ok(()),
            Block::Content | Block::Empty => {}
        }
    }
}

/// Reads the header if `options` accept it.
pub(super) fn accept(input: &Input<'_>, info: FrameInfo, options: DecodeOptions) -> Result<FrameInfo, CodecError> {
    if let Some(id) = info.dictionary_id {
        return Err(input.error_at(info.position, CodecFault::Dictionary { id }));
    }
    if options.strictness == Strictness::Kafka && !info.flg.block_independence() {
        return Err(input.error_at(info.position, CodecFault::LinkedBlocks));
    }
    if !info.passes(options.lz4_header_checksum) {
        return Err(input.error_at(
            info.position + info.header_length - 1,
            CodecFault::HeaderChecksum {
                stored: info.header_checksum,
                standard: info.checksum_of_descriptor,
                broken: info.checksum_with_magic,
            },
        ));
    }
    Ok(info)
}

/// What a block contains.
pub(super) enum Block {
    /// Content.
    Content,
    /// Compressed empty content. Kafka's stream takes a read of no bytes for the end.
    Empty,
    /// Not a block, but the end of the frame.
    EndMark,
}

/// Decodes one block. `start` is where the content of the frame begins in `out`.
pub(super) fn block(
    input: &mut Input<'_>,
    info: &FrameInfo,
    start: usize,
    strictness: Strictness,
    out: &mut OutputBuffer,
) -> Result<Block, CodecError> {
    let position = input.position();
    let max = info.bd.block_max_size().bytes();
    let header = BlockHeader::parse(input.take_array()?, max, strictness);
    let header = header.map_err(|fault| input.error_at(position, fault))?;
    if header == BlockHeader::EndMark {
        return Ok(Block::EndMark);
    }
    let data = input.take(header.size())?;
    if info.flg.block_checksum() {
        let (stored, computed) = (input.u32_le()?, xxh32(data));
        if stored != computed {
            return Err(input.error_at(position, CodecFault::BlockChecksum { stored, computed }));
        }
    }
    if matches!(header, BlockHeader::Uncompressed { .. }) {
        out.extend(data).map_err(|reason| input.no_room_at(position, reason))?;
        return Ok(Block::Content);
    }
    let history = if info.flg.block_independence() { out.len() } else { start.max(out.len().saturating_sub(HISTORY)) };
    let want = max.min(data.len().saturating_mul(MAX_EXPANSION));
    let (history, spare) =
        out.spare_with_history(history, want).map_err(|reason| input.no_room_at(position, reason))?;
    let available = spare.len().min(want);
    let room = spare.split_at_mut(available).0;
    if let Some(length) = liblz4::decompress(data, room, history) {
        out.advance(length);
        return Ok(if length == 0 { Block::Empty } else { Block::Content });
    }
    // If the limit leaves less room than the largest block needs, the lack of room may be the only reason.
    let full = available < want && liblz4::fills(data, room, history);
    let limit = out.limit() as u64;
    Err(input.error_at(position, if full { CodecFault::OutputLimit { limit } } else { CodecFault::CorruptBlock }))
}

/// Whether blocks of a frame can be decoded at once.
fn has_pairs(info: &FrameInfo) -> bool {
    info.bd.block_max_size().bytes() == CONTENT && info.flg.block_independence() && !info.flg.block_checksum()
}

/// The next block, if it can be decoded together with another one.
fn compressed_block<'a>(input: &mut Input<'a>, strictness: Strictness) -> Option<&'a [u8]> {
    match BlockHeader::parse(input.take_array().ok()?, CONTENT, strictness).ok()? {
        BlockHeader::Compressed { size } if size >= SHORTEST => input.take(size).ok(),
        _ => None,
    }
}

/// Writes the contents of both blocks one after the other, and returns their lengths.
fn two_blocks(blocks: [&[u8]; 2], out: &mut OutputBuffer) -> Option<[usize; 2]> {
    let pairs = Pairs::available()?;
    let room = out.spare_exact(ROOM_FOR_BOTH).ok()?;
    let (first, second) = room.split_first_chunk_mut()?;
    let [length, second_length] = pairs.decode(blocks, [first, second.first_chunk_mut()?])?;
    if length < CONTENT {
        room.copy_within(CONTENT..CONTENT + second_length, length);
    }
    Some([length, second_length])
}

/// Decodes the next two blocks of a frame at once, where that is faster. `None` leaves them to [`block`], also if one of them is
/// invalid.
#[inline(never)]
fn block_pair(input: &mut Input<'_>, info: &FrameInfo, strictness: Strictness, out: &mut OutputBuffer) -> Option<()> {
    if !has_pairs(info) {
        return None;
    }
    let mut after = *input;
    let blocks = [compressed_block(&mut after, strictness)?, compressed_block(&mut after, strictness)?];
    let [first, second] = two_blocks(blocks, out)?;
    out.advance(first + second);
    *input = after;
    Some(())
}

/// Whether [`decode_both`] may be faster for a frame of this length.
pub(in super::super) fn may_pair(length: usize) -> bool {
    (SHORTEST..=CONTENT).contains(&length) && Pairs::available().is_some()
}

/// Decodes two frames of one block each at once, where that is faster: appends the content of the first one to `out`, and keeps that
/// of the second one after it. `None` leaves them to [`decode`], also if one of them is invalid.
pub(in super::super) fn decode_both(frames: [&[u8]; 2], options: DecodeOptions, out: &mut OutputBuffer) -> Option<()> {
    let [first, second] = frames.map(|frame| only_block(frame, options));
    let [first, second] = two_blocks([first?, second?], out)?;
    out.advance(first);
    out.keep_ahead(second);
    Some(())
}

/// The block of a frame that has no other one, if it can be decoded together with another one.
fn only_block(frame: &[u8], options: DecodeOptions) -> Option<&[u8]> {
    let mut input = Input::new(CompressionType::Lz4, frame);
    let info = read_header(&mut input).ok()?;
    let info = accept(&input, info, options).ok()?;
    if !has_pairs(&info) || info.flg.content_checksum() || info.content_size.is_some() {
        return None;
    }
    let block = compressed_block(&mut input, options.strictness)?;
    let end = BlockHeader::parse(input.take_array().ok()?, CONTENT, options.strictness).ok()?;
    (end == BlockHeader::EndMark && input.rest().is_empty()).then_some(block)
}

/// Checks what follows the `EndMark`, and what the header declared.
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
    let content = out.as_slice().split_at(start.min(out.len())).1;
    verify_content(&input.at(position), info, content.len() as u64, stored, || xxh32(content))
}

/// Checks the content against what the header and the checksum after the `EndMark`, which `input` is at, declare.
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
