//! Xerial's framing: a header, then blocks with their sizes. All readers use this parser; what they accept differs in
//! [`Rules`].

use super::super::{CodecFault, Strictness};

/// The first bytes of a xerial stream.
pub const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// Length of the header: magic and the two versions.
pub const HEADER_LENGTH: usize = MAGIC.len() + 4 + 4;
/// Length of a block's size.
pub(super) const SIZE_LENGTH: usize = 4;
/// The only version of the framing.
pub(super) const VERSION: i32 = 1;
/// The content of a block that we write, the default of `SnappyOutputStream`.
pub(super) const BLOCK_SIZE: usize = 32 << 10;
/// The offset of the version in a header.
const VERSION_OFFSET: usize = MAGIC.len();
/// The first half of the magic as a block's size: how a reader recognises a further header.
const MAGIC_AS_SIZE: i32 = i32::from_be_bytes([0x82, b'S', b'N', b'A']);

/// The header of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    magic: [u8; 8],
    version: i32,
    compatible: i32,
}

impl Header {
    /// Reads the fields without checking them.
    pub(super) fn parse(bytes: [u8; HEADER_LENGTH]) -> Self {
        let [m0, m1, m2, m3, m4, m5, m6, m7, v0, v1, v2, v3, c0, c1, c2, c3] = bytes;
        Self {
            magic: [m0, m1, m2, m3, m4, m5, m6, m7],
            version: i32::from_be_bytes([v0, v1, v2, v3]),
            compatible: i32::from_be_bytes([c0, c1, c2, c3]),
        }
    }

    /// Whether all of its magic is right, not only the first half, by which readers recognise a header.
    pub(super) fn has_magic(&self) -> bool {
        self.magic == MAGIC
    }
}

/// What follows the header or a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// The header of a further stream, which begins with these four bytes.
    Header,
    /// A block, with its size.
    Block { length: usize },
}

/// What a reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    first: HeaderCheck,
    /// `None` if further streams are not recognised.
    further: Option<HeaderCheck>,
    max_block_size: i32,
    /// Whether one to three bytes at the end are ignored.
    pub(super) ignores_short_size: bool,
    /// Whether data that begin with the magic but are shorter than a header are a raw block.
    pub(super) short_header_is_raw: bool,
}

/// What a reader checks of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderCheck {
    Nothing,
    /// The version is at least 1, or the magic is incomplete.
    Version,
    /// The magic is complete and the compatible version is 1, in either byte order.
    MagicAndCompatible,
}

/// The fault of a header, and the byte of the header at which it is.
pub(super) type HeaderFault = (usize, CodecFault);

impl Rules {
    const SPECIFICATION: Self = Self {
        first: HeaderCheck::MagicAndCompatible,
        further: Some(HeaderCheck::MagicAndCompatible),
        max_block_size: 512 << 20,
        ignores_short_size: false,
        short_header_is_raw: false,
    };
    /// snappy-java 1.1 with Kafka's clients.
    const KAFKA: Self = Self {
        first: HeaderCheck::Nothing,
        further: Some(HeaderCheck::Version),
        max_block_size: 512 << 20,
        ignores_short_size: true,
        short_header_is_raw: true,
    };
    /// snappy-java 1.0.4.1 with Kafka 0.7, and the 1.1 releases before further streams were read.
    pub(super) const ONE_STREAM: Self = Self {
        first: HeaderCheck::Version,
        further: None,
        max_block_size: i32::MAX,
        ignores_short_size: true,
        short_header_is_raw: true,
    };

    /// The rules of this strictness.
    pub(super) fn of(strictness: Strictness) -> Self {
        match strictness {
            Strictness::Specification => Self::SPECIFICATION,
            Strictness::Tolerant | Strictness::Kafka => Self::KAFKA,
        }
    }

    /// Checks the header that the data begin with.
    pub(super) fn check_first(self, header: Header) -> Result<(), HeaderFault> {
        self.first.check(header)
    }

    /// Checks the header of a further stream.
    pub(super) fn check_further(self, header: Header) -> Result<(), HeaderFault> {
        self.further.map_or(Ok(()), |further| further.check(header))
    }

    /// What begins with these four bytes.
    pub(super) fn element(self, bytes: [u8; SIZE_LENGTH]) -> Result<Element, CodecFault> {
        let size = i32::from_be_bytes(bytes);
        if size == MAGIC_AS_SIZE && self.further.is_some() {
            return Ok(Element::Header);
        }
        match usize::try_from(size) {
            Ok(length) if size <= self.max_block_size => Ok(Element::Block { length }),
            _ => Err(CodecFault::BlockSize { size: i64::from(size), max: i64::from(self.max_block_size) }),
        }
    }
}

impl HeaderCheck {
    fn check(self, header: Header) -> Result<(), HeaderFault> {
        let supported = match self {
            Self::Nothing => true,
            Self::Version => !header.has_magic() || header.version >= VERSION,
            Self::MagicAndCompatible if !header.has_magic() => {
                let [m0, m1, m2, m3, ..] = header.magic;
                return Err((0, CodecFault::BadMagic { found: [m0, m1, m2, m3] }));
            }
            Self::MagicAndCompatible => header.compatible == VERSION || header.compatible.swap_bytes() == VERSION,
        };
        let version = i64::from(header.version);
        if supported { Ok(()) } else { Err((VERSION_OFFSET, CodecFault::UnsupportedVersion { version })) }
    }
}
