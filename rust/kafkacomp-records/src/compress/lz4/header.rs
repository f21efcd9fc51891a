//! The frame header: magic, FLG, BD, the optional fields and HC.

use super::super::input::Input;
use super::super::skippable::{is_skippable, skip};
use super::super::{CodecError, CodecFault, CompressionType};
use crate::checksum::xxh32;

/// The first bytes of a frame.
pub(super) const MAGIC: u32 = 0x184D_2204;
pub(super) const MAGIC_LENGTH: usize = 4;
/// Magic, FLG, BD and HC.
const SHORTEST_HEADER: usize = MAGIC_LENGTH + 3;
const CONTENT_SIZE_LENGTH: usize = 8;
const DICTIONARY_ID_LENGTH: usize = 4;
/// The longest header.
pub(super) const LONGEST_HEADER: usize = SHORTEST_HEADER + CONTENT_SIZE_LENGTH + DICTIONARY_ID_LENGTH;
/// The only version of the frame format.
const VERSION: u8 = 1;

/// The first descriptor byte: version and options.
///
/// ```text
/// bit   7 6      5                   4               3             2                 1         0
///       version  block independence  block checksum  content size  content checksum  reserved  dictionary id
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flg(u8);

impl Flg {
    const BLOCK_INDEPENDENCE: u8 = 0x20;
    const BLOCK_CHECKSUM: u8 = 0x10;
    const CONTENT_SIZE: u8 = 0x08;
    const CONTENT_CHECKSUM: u8 = 0x04;
    const DICTIONARY_ID: u8 = 0x01;

    /// The byte as it is stored.
    pub fn byte(self) -> u8 {
        self.0
    }

    /// The version of the frame format.
    pub fn version(self) -> u8 {
        self.0 >> 6
    }

    /// Whether each block can be decoded without those before it.
    pub fn block_independence(self) -> bool {
        self.0 & Self::BLOCK_INDEPENDENCE != 0
    }

    /// Whether each block has a checksum of its own.
    pub fn block_checksum(self) -> bool {
        self.0 & Self::BLOCK_CHECKSUM != 0
    }

    /// Whether the header has the content's size.
    pub fn content_size(self) -> bool {
        self.0 & Self::CONTENT_SIZE != 0
    }

    /// Whether a checksum of the content follows the `EndMark`.
    pub fn content_checksum(self) -> bool {
        self.0 & Self::CONTENT_CHECKSUM != 0
    }

    /// Whether the header has the id of a dictionary.
    pub fn dictionary_id(self) -> bool {
        self.0 & Self::DICTIONARY_ID != 0
    }

    fn optional_fields_length(self) -> usize {
        let content_size = if self.content_size() { CONTENT_SIZE_LENGTH } else { 0 };
        content_size + if self.dictionary_id() { DICTIONARY_ID_LENGTH } else { 0 }
    }

    fn parse(byte: u8) -> Result<Self, CodecFault> {
        let flg = Self(byte);
        if byte & 0x02 != 0 {
            return Err(CodecFault::ReservedBits { found: byte });
        }
        if flg.version() != VERSION {
            return Err(CodecFault::UnsupportedVersion { version: i64::from(flg.version()) });
        }
        Ok(flg)
    }
}

/// The largest block of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum BlockMaxSize {
    /// 64 KiB, what Kafka writes.
    Max64Kb = 4,
    /// 256 KiB.
    Max256Kb = 5,
    /// 1 MiB.
    Max1Mb = 6,
    /// 4 MiB.
    Max4Mb = 7,
}

impl BlockMaxSize {
    /// The size in bytes: 2^(2 x id + 8).
    pub fn bytes(self) -> usize {
        1 << (2 * (self as u32) + 8)
    }

    /// The block size of exactly this many bytes.
    pub fn of_bytes(bytes: usize) -> Option<Self> {
        [Self::Max64Kb, Self::Max256Kb, Self::Max1Mb, Self::Max4Mb].into_iter().find(|size| size.bytes() == bytes)
    }

    fn for_id(id: u8) -> Result<Self, CodecFault> {
        match id {
            4 => Ok(Self::Max64Kb),
            5 => Ok(Self::Max256Kb),
            6 => Ok(Self::Max1Mb),
            7 => Ok(Self::Max4Mb),
            _ => Err(CodecFault::BlockMaxSize { id }),
        }
    }
}

/// The second descriptor byte: the id of the largest block size in bits 4 to 6, the others zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bd {
    byte: u8,
    block_max_size: BlockMaxSize,
}

impl Bd {
    /// The byte as it is stored.
    pub fn byte(self) -> u8 {
        self.byte
    }

    /// The largest block of the frame.
    pub fn block_max_size(self) -> BlockMaxSize {
        self.block_max_size
    }

    fn parse(byte: u8) -> Result<Self, CodecFault> {
        if byte & 0x8F != 0 {
            return Err(CodecFault::ReservedBits { found: byte });
        }
        Ok(Self { byte, block_max_size: BlockMaxSize::for_id(byte >> 4)? })
    }
}

/// The bytes that a header checksum covers. The checksum is the second byte of their XXH32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HeaderChecksum {
    /// The frame descriptor, from FLG to the dictionary id: the specification's.
    #[default]
    FrameDescriptor,
    /// The magic number of the frame and the frame descriptor: the broken checksum of KIP-57. Kafka 0.8.2 and 0.9 write and
    /// require it; later releases write it in messages that the old releases may read.
    WithMagic,
}

/// Which header checksums a reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeaderChecksumCheck {
    /// Only this one.
    Require(HeaderChecksum),
    /// Both.
    Either,
    /// Any byte: Kafka since 0.10 does not verify the checksum of messages that an older release may have written.
    Ignore,
}

impl Default for HeaderChecksumCheck {
    /// Only the checksum of the specification.
    fn default() -> Self {
        Self::Require(HeaderChecksum::FrameDescriptor)
    }
}

/// The fields of a frame header for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) block_max_size: BlockMaxSize,
    pub(super) block_checksum: bool,
    pub(super) content_checksum: bool,
    pub(super) content_size: Option<u64>,
    pub(super) header_checksum: HeaderChecksum,
}

impl FrameHeader {
    /// Appends the header, magic and HC included.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let start = out.len();
        let flg = VERSION << 6
            | Flg::BLOCK_INDEPENDENCE
            | if self.block_checksum { Flg::BLOCK_CHECKSUM } else { 0 }
            | if self.content_size.is_some() { Flg::CONTENT_SIZE } else { 0 }
            | if self.content_checksum { Flg::CONTENT_CHECKSUM } else { 0 };
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&[flg, (self.block_max_size as u8) << 4]);
        if let Some(size) = self.content_size {
            out.extend_from_slice(&size.to_le_bytes());
        }
        let covered = match self.header_checksum {
            HeaderChecksum::FrameDescriptor => start + MAGIC_LENGTH,
            HeaderChecksum::WithMagic => start,
        };
        let covered = out.split_at(covered.min(out.len())).1;
        out.push(second_byte(xxh32(covered)));
    }
}

/// Which of the two header checksums a frame has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeaderChecksumFound {
    /// The checksum of the frame descriptor.
    FrameDescriptor,
    /// The checksum that includes the magic number.
    WithMagic,
    /// Both: the two happen to be the same byte.
    Both,
    /// Neither.
    Neither,
}

/// The fields of a frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameInfo {
    /// Where the frame begins: after the skippable frames, if there are any.
    pub position: usize,
    /// The length of the header with magic and HC.
    pub header_length: usize,
    /// Version and options.
    pub flg: Flg,
    /// The block size byte.
    pub bd: Bd,
    /// The size of the content if the header contains it. It is not checked.
    pub content_size: Option<u64>,
    /// The id of the dictionary if the header contains one.
    pub dictionary_id: Option<u32>,
    /// The stored HC.
    pub header_checksum: u8,
    /// [`HeaderChecksum::FrameDescriptor`] of this frame.
    pub checksum_of_descriptor: u8,
    /// [`HeaderChecksum::WithMagic`] of this frame.
    pub checksum_with_magic: u8,
}

impl FrameInfo {
    /// Which header checksum the stored one is.
    pub fn header_checksum_found(&self) -> HeaderChecksumFound {
        let of_descriptor = self.header_checksum == self.checksum_of_descriptor;
        let with_magic = self.header_checksum == self.checksum_with_magic;
        match (of_descriptor, with_magic) {
            (true, true) => HeaderChecksumFound::Both,
            (true, false) => HeaderChecksumFound::FrameDescriptor,
            (false, true) => HeaderChecksumFound::WithMagic,
            (false, false) => HeaderChecksumFound::Neither,
        }
    }

    /// Whether the stored header checksum passes this check.
    pub(super) fn passes(&self, check: HeaderChecksumCheck) -> bool {
        let stored = self.header_checksum;
        match check {
            HeaderChecksumCheck::Require(HeaderChecksum::FrameDescriptor) => stored == self.checksum_of_descriptor,
            HeaderChecksumCheck::Require(HeaderChecksum::WithMagic) => stored == self.checksum_with_magic,
            HeaderChecksumCheck::Either => self.header_checksum_found() != HeaderChecksumFound::Neither,
            HeaderChecksumCheck::Ignore => true,
        }
    }
}

/// The header of the first frame. The header checksum is reported, not verified.
///
/// # Errors
/// The data end inside the header, are not an LZ4 frame, or have an undefined version, block size or reserved bit.
pub fn frame_info(data: &[u8]) -> Result<FrameInfo, CodecError> {
    let mut input = Input::new(CompressionType::Lz4, data);
    skip_skippable(&mut input)?;
    read_header(&mut input)
}

/// Skips skippable frames. `true` if the data end after them.
pub(super) fn skip_skippable(input: &mut Input<'_>) -> Result<bool, CodecError> {
    while is_skippable(input.rest()) {
        skip(input)?;
    }
    Ok(input.rest().is_empty())
}

/// The length of the header that begins with these bytes, or a lower bound if they are too few.
pub(super) fn header_length(bytes: &[u8]) -> usize {
    let magic = bytes.first_chunk().is_none_or(|magic| u32::from_le_bytes(*magic) == MAGIC);
    match bytes.get(MAGIC_LENGTH).copied().map(Flg) {
        _ if !magic => MAGIC_LENGTH,
        None => SHORTEST_HEADER,
        Some(flg) => SHORTEST_HEADER + flg.optional_fields_length(),
    }
}

/// Reads a frame's header.
pub(super) fn read_header(input: &mut Input<'_>) -> Result<FrameInfo, CodecError> {
    let start = *input;
    let position = input.position();
    if !MAGIC.to_le_bytes().iter().zip(input.rest()).all(|(a, b)| a == b) {
        return Err(input.error(CodecFault::BadMagic { found: input.next_four() }));
    }
    input.take(MAGIC_LENGTH)?;
    let descriptor = *input;
    let flg = Flg::parse(input.u8()?).map_err(|fault| descriptor.error(fault))?;
    let bd_position = input.position();
    let bd = Bd::parse(input.u8()?).map_err(|fault| input.error_at(bd_position, fault))?;
    let content_size = if flg.content_size() { Some(input.u64_le()?) } else { None };
    let dictionary_id = if flg.dictionary_id() { Some(input.u32_le()?) } else { None };
    let checksum_of_descriptor = second_byte(xxh32(input.since(descriptor)));
    let checksum_with_magic = second_byte(xxh32(input.since(start)));
    let header_checksum = input.u8()?;
    Ok(FrameInfo {
        position,
        header_length: input.position() - position,
        flg,
        bd,
        content_size,
        dictionary_id,
        header_checksum,
        checksum_of_descriptor,
        checksum_with_magic,
    })
}

fn second_byte(hash: u32) -> u8 {
    (hash >> 8) as u8
}
