//! Frame and block headers: the length of a frame, and an upper bound of its content.

use super::super::input::Input;
use super::super::skippable::{is_skippable, skip};
use super::super::{CodecError, CodecFault, CompressionType};
use crate::limits::MAX_ZSTD_WINDOW;

pub(super) const MAGIC: u32 = 0xFD2F_B528;
/// The largest content of a block (`ZSTD_BLOCKSIZE_MAX`).
pub(super) const BLOCK_SIZE_MAX: u64 = 128 << 10;
pub(super) const CHECKSUM_LENGTH: usize = 4;
pub(super) const MAGIC_LENGTH: usize = 4;

/// The length and content of a frame according to its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameBounds {
    /// Where the next frame begins.
    pub(super) end: usize,
    /// The size of the content if the frame declares it and its blocks can contain it, otherwise the most that its
    /// blocks can contain. 0 for a skippable frame.
    pub(super) bound: u64,
    /// Whether `bound` is the declared size.
    pub(super) declared: bool,
}

/// What the header of a frame declares, for a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// 0 if the frame declares neither the window nor the size of its content.
    pub(super) window: u64,
    pub(super) content_size: Option<u64>,
    /// 0 where there is none.
    dictionary_id: u32,
    pub(super) checksum: bool,
}

/// What the header of a frame declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameInfo {
    /// The size of the content, if the header declares it.
    pub content_size: Option<u64>,
    /// The id of the dictionary that the frame needs; 0 for none.
    pub dictionary_id: u32,
}

/// Reads the header of the first frame of `data`, a skippable one included, whose content is empty.
///
/// # Errors
/// Bytes that are no frame, or end inside the header.
pub fn frame_info(data: &[u8]) -> Result<FrameInfo, CodecError> {
    let mut input = Input::new(CompressionType::Zstd, data);
    if magic(&mut input)? == Magic::Skippable {
        skip(&mut input)?;
        return Ok(FrameInfo { content_size: Some(0), dictionary_id: 0 });
    }
    let Header { content_size, dictionary_id, .. } = header(&mut input)?;
    Ok(FrameInfo { content_size, dictionary_id })
}

#[derive(PartialEq, Eq)]
enum Magic {
    /// Not read yet, as [`skip`] needs it.
    Skippable,
    /// Of a frame, and read.
    Frame,
}

fn magic(input: &mut Input<'_>) -> Result<Magic, CodecError> {
    let known = |magic: u32| input.rest().iter().zip(magic.to_le_bytes()).all(|(found, byte)| *found == byte);
    if input.rest().len() < 4 && known(MAGIC) {
        return Err(input.error(CodecFault::Truncated));
    }
    let found = input.next_four();
    if is_skippable(input.rest()) {
        return Ok(Magic::Skippable);
    }
    if u32::from_le_bytes(found) != MAGIC {
        return Err(input.error(CodecFault::BadMagic { found }));
    }
    input.take(4)?;
    Ok(Magic::Frame)
}

/// Reads the headers of the frame that `input` is at and of its blocks. Nothing is decoded.
pub(super) fn frame_bounds(mut input: Input<'_>) -> Result<FrameBounds, CodecError> {
    let start = input.position();
    if magic(&mut input)? == Magic::Skippable {
        skip(&mut input)?;
        return Ok(FrameBounds { end: input.position(), bound: 0, declared: true });
    }
    let header = supported_header(&mut input)?;
    let blocks = blocks(&mut input, header.window.min(BLOCK_SIZE_MAX))?;
    if header.checksum {
        input.take(CHECKSUM_LENGTH)?;
    }
    match header.content_size {
        Some(declared) if declared > blocks => {
            Err(input.error_at(start, CodecFault::ContentSize { declared, actual: blocks }))
        }
        declared => {
            Ok(FrameBounds { end: input.position(), bound: declared.unwrap_or(blocks), declared: declared.is_some() })
        }
    }
}

/// The header after the magic, if neither its window nor its dictionary are refused.
pub(super) fn supported_header(input: &mut Input<'_>) -> Result<Header, CodecError> {
    let descriptor = input.position();
    let header = header(input)?;
    if header.dictionary_id != 0 {
        return Err(input.error_at(descriptor, CodecFault::Dictionary { id: header.dictionary_id }));
    }
    if header.window > MAX_ZSTD_WINDOW {
        let fault = CodecFault::WindowSize { window: header.window, max: MAX_ZSTD_WINDOW };
        return Err(input.error_at(descriptor.saturating_sub(MAGIC_LENGTH), fault));
    }
    Ok(header)
}

/// The header after the magic.
fn header(input: &mut Input<'_>) -> Result<Header, CodecError> {
    let start = input.position();
    let descriptor = input.u8()?;
    let single_segment = descriptor & 0x20 != 0;
    if descriptor & 0x08 != 0 {
        return Err(input.error_at(start, CodecFault::ReservedBits { found: descriptor }));
    }
    let declared_window = if single_segment {
        None
    } else {
        let byte = u64::from(input.u8()?);
        let base = 1_u64 << (10 + (byte >> 3));
        Some(base + (base >> 3) * (byte & 7))
    };
    let dictionary_id = match descriptor & 3 {
        0 => 0,
        1 => u32::from(input.u8()?),
        2 => u32::from(input.u16_le()?),
        _ => input.u32_le()?,
    };
    let content_size = match descriptor >> 6 {
        0 if single_segment => Some(u64::from(input.u8()?)),
        0 => None,
        1 => Some(u64::from(input.u16_le()?) + 256),
        2 => Some(u64::from(input.u32_le()?)),
        _ => Some(input.u64_le()?),
    };
    Ok(Header {
        // A single segment has no window of its own: the content is the window, and its size is always given.
        window: declared_window.or(content_size).unwrap_or(0),
        content_size,
        dictionary_id,
        checksum: descriptor & 0x04 != 0,
    })
}

/// The length of the header of which `bytes` are the first ones, with the magic; a lower bound if the descriptor is not among them.
#[cfg(not(feature = "zstd"))]
pub(super) fn header_length(bytes: &[u8]) -> usize {
    let Some(descriptor) = bytes.get(MAGIC_LENGTH) else { return MAGIC_LENGTH + 1 };
    let single_segment = descriptor & 0x20 != 0;
    let dictionary_id = match descriptor & 3 {
        3 => 4,
        length => usize::from(length),
    };
    let content_size = match descriptor >> 6 {
        0 => usize::from(single_segment),
        bits => 1 << bits,
    };
    MAGIC_LENGTH + 1 + usize::from(!single_segment) + dictionary_id + content_size
}

/// The most that the blocks can contain, up to the last one.
fn blocks(input: &mut Input<'_>, block_size_max: u64) -> Result<u64, CodecError> {
    let mut bound = 0_u64;
    loop {
        let position = input.position();
        let word = u32::from(input.u16_le()?) | u32::from(input.u8()?) << 16;
        let size = u64::from(word >> 3);
        let (length, most) = match word >> 1 & 3 {
            0 => (size, size),
            1 => (1, size),
            2 => (size, block_size_max),
            _ => return Err(input.error_at(position, CodecFault::CorruptBlock)),
        };
        if size > block_size_max {
            let (size, max) = (size as i64, block_size_max as i64);
            return Err(input.error_at(position, CodecFault::BlockSize { size, max }));
        }
        input.take(length as usize)?;
        bound = bound.saturating_add(most);
        if word & 1 != 0 {
            return Ok(bound);
        }
    }
}
