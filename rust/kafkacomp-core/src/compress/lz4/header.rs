//! The frame header: magic, FLG, BD, the optional fields and HC.

use super::super::input::Input;
use super::super::{CodecError, CodecFault, CompressionType};
use crate::checksum::xxh32;

/// What a frame begins with.
pub(super) const MAGIC: u32 = 0x184D_2204;
/// What a skippable frame begins with; the low four bits are the user's.
const SKIPPABLE_MAGIC: u32 = 0x184D_2A50;
const SKIPPABLE_MASK: u32 = 0xFFFF_FFF0;

pub(super) const MAGIC_LENGTH: usize = 4;
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

    /// The one of exactly this many bytes.
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

/// Which header checksum a reader demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HeaderChecksum {
    /// The specification's: what magic 1 and 2 demand.
    #[default]
    Standard,
    /// The one over the magic bytes too: what Kafka 0.8.2 and 0.9 demand.
    Broken,
    /// One of the two.
    Either,
    /// Any byte: how Kafka since 0.10 reads magic 0.
    Ignore,
}

impl HeaderChecksum {
    /// What a record set of this magic must have.
    pub fn of_record_set(magic: i8) -> Self {
        if magic == 0 { Self::Ignore } else { Self::Standard }
    }
}

/// Which header checksum a writer puts into a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HeaderChecksumWritten {
    /// The specification's.
    #[default]
    Standard,
    /// The one over the magic bytes too: for Kafka 0.8.2 and 0.9, and every magic 0.
    Broken,
}

/// What the header of a frame that is written says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) block_max_size: BlockMaxSize,
    pub(super) block_checksum: bool,
    pub(super) content_checksum: bool,
    pub(super) content_size: Option<u64>,
    pub(super) header_checksum: HeaderChecksumWritten,
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
            HeaderChecksumWritten::Standard => start + MAGIC_LENGTH,
            HeaderChecksumWritten::Broken => start,
        };
        out.push(second_byte(xxh32(out.get(covered..).unwrap_or_default())));
    }
}

/// Which header checksum a frame has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeaderChecksumRule {
    /// The specification's.
    Standard,
    /// The one over the magic bytes too.
    Broken,
    /// Both: the two happen to be the same byte.
    Both,
    /// Neither.
    Neither,
}

/// What the header of a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameInfo {
    /// Where the frame begins: behind the skippable frames, if there are any.
    pub position: usize,
    /// The length of the header with magic and HC.
    pub header_length: usize,
    /// Version and options.
    pub flg: Flg,
    /// The block size byte.
    pub bd: Bd,
    /// The content's size, where the header has it. Nothing vouches for it.
    pub content_size: Option<u64>,
    /// The dictionary's id, where the header has one.
    pub dictionary_id: Option<u32>,
    /// HC as it is stored.
    pub header_checksum: u8,
    /// What the specification asks for.
    pub standard_header_checksum: u8,
    /// What Kafka 0.8.2 and 0.9 wrote.
    pub broken_header_checksum: u8,
}

impl FrameInfo {
    /// Which rule the stored header checksum obeys.
    pub fn header_checksum_rule(&self) -> HeaderChecksumRule {
        let standard = self.header_checksum == self.standard_header_checksum;
        let broken = self.header_checksum == self.broken_header_checksum;
        match (standard, broken) {
            (true, true) => HeaderChecksumRule::Both,
            (true, false) => HeaderChecksumRule::Standard,
            (false, true) => HeaderChecksumRule::Broken,
            (false, false) => HeaderChecksumRule::Neither,
        }
    }

    /// Whether the stored header checksum is one that `demanded` takes.
    pub(super) fn satisfies(&self, demanded: HeaderChecksum) -> bool {
        let rule = self.header_checksum_rule();
        match demanded {
            HeaderChecksum::Standard => matches!(rule, HeaderChecksumRule::Standard | HeaderChecksumRule::Both),
            HeaderChecksum::Broken => matches!(rule, HeaderChecksumRule::Broken | HeaderChecksumRule::Both),
            HeaderChecksum::Either => rule != HeaderChecksumRule::Neither,
            HeaderChecksum::Ignore => true,
        }
    }
}

/// What the first frame's header says. The header checksum is reported, not demanded.
///
/// # Errors
/// The data end inside the header, are no LZ4 frame, or have a version, bits or block size that nobody
/// defined.
pub fn frame_info(data: &[u8]) -> Result<FrameInfo, CodecError> {
    let mut input = Input::new(CompressionType::Lz4, data);
    skip_skippable(&mut input)?;
    read_header(&mut input)
}

/// Skips skippable frames. `true` if the data end after them.
pub(super) fn skip_skippable(input: &mut Input<'_>) -> Result<bool, CodecError> {
    loop {
        if input.rest().is_empty() {
            return Ok(true);
        }
        let mut ahead = *input;
        match ahead.u32_le() {
            Ok(_) if is_skippable(input.rest()) => {
                let size = ahead.u32_le()?;
                ahead.take(size as usize)?;
                *input = ahead;
            }
            _ => return Ok(false),
        }
    }
}

/// Whether a skippable frame begins with these bytes.
pub(super) fn is_skippable(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|magic| u32::from_le_bytes(*magic) & SKIPPABLE_MASK == SKIPPABLE_MAGIC)
}

/// The length of the header that begins with these bytes, as far as they tell: never more than it has.
pub(super) fn header_length(bytes: &[u8]) -> usize {
    let fixed = MAGIC_LENGTH + 3;
    let magic = bytes.first_chunk().is_none_or(|magic| u32::from_le_bytes(*magic) == MAGIC);
    match bytes.get(MAGIC_LENGTH).copied().map(Flg) {
        _ if !magic => MAGIC_LENGTH,
        None => fixed,
        Some(flg) => fixed + if flg.content_size() { 8 } else { 0 } + if flg.dictionary_id() { 4 } else { 0 },
    }
}

/// Reads a frame's header.
pub(super) fn read_header(input: &mut Input<'_>) -> Result<FrameInfo, CodecError> {
    let position = input.position();
    let whole = input.rest();
    if !MAGIC.to_le_bytes().iter().zip(whole).all(|(a, b)| a == b) {
        return Err(input.error(CodecFault::BadMagic { found: input.next_four() }));
    }
    input.take(MAGIC_LENGTH)?;
    let flg_position = input.position();
    let flg = Flg::parse(input.u8()?).map_err(|fault| input.error_at(flg_position, fault))?;
    let bd_position = input.position();
    let bd = Bd::parse(input.u8()?).map_err(|fault| input.error_at(bd_position, fault))?;
    let content_size = if flg.content_size() { Some(input.u64_le()?) } else { None };
    let dictionary_id = if flg.dictionary_id() { Some(input.u32_le()?) } else { None };
    let covered = whole.get(..input.position() - position).unwrap_or_default();
    let standard_header_checksum = second_byte(xxh32(covered.get(MAGIC_LENGTH..).unwrap_or_default()));
    let broken_header_checksum = second_byte(xxh32(covered));
    let header_checksum = input.u8()?;
    Ok(FrameInfo {
        position,
        header_length: input.position() - position,
        flg,
        bd,
        content_size,
        dictionary_id,
        header_checksum,
        standard_header_checksum,
        broken_header_checksum,
    })
}

fn second_byte(hash: u32) -> u8 {
    (hash >> 8) as u8
}
