//! A message of Kafka 0.7: its fields, without the size before it.

use super::codec::MessageSetCodec;
use super::error::MessageSetFault;
use crate::bytes::WithHeader;
use crate::checksum::crc32;
use crate::compress::CompressionType;

/// Length of an entry's size.
pub const SIZE_LENGTH: usize = 4;
/// The position of the magic in a message.
pub const MAGIC_OFFSET: usize = 0;
/// Length of the magic.
pub const MAGIC_LENGTH: usize = 1;
/// The position of the attributes (magic 1).
pub const ATTRIBUTES_OFFSET: usize = MAGIC_OFFSET + MAGIC_LENGTH;
/// Length of the attributes.
pub const ATTRIBUTES_LENGTH: usize = 1;
/// Length of the CRC.
pub const CRC_LENGTH: usize = 4;
/// The position of the CRC in magic 0.
pub const CRC_OFFSET_V0: usize = MAGIC_OFFSET + MAGIC_LENGTH;
/// The position of the CRC in magic 1.
pub const CRC_OFFSET_V1: usize = ATTRIBUTES_OFFSET + ATTRIBUTES_LENGTH;
/// Length of a message of magic 0 without its payload.
pub const HEADER_LENGTH_V0: usize = CRC_OFFSET_V0 + CRC_LENGTH;
/// Length of a message of magic 1 without its payload.
pub const HEADER_LENGTH_V1: usize = CRC_OFFSET_V1 + CRC_LENGTH;

const COMPRESSION_CODEC_MASK: u8 = 0x03;

/// The bytes of a message by its magic.
#[derive(Debug, Clone, Copy)]
enum Format<'a> {
    V0(WithHeader<'a, HEADER_LENGTH_V0>),
    V1(WithHeader<'a, HEADER_LENGTH_V1>),
}

/// A message without its size, whose magic is known and whose header is complete.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    format: Format<'a>,
}

impl<'a> Message<'a> {
    /// A view of the bytes after the size field.
    ///
    /// # Errors
    /// [`MessageSetFault::EntryTooSmall`], [`MessageSetFault::UnknownMagic`].
    pub fn new(data: &'a [u8]) -> std::result::Result<Self, MessageSetFault> {
        let too_small = |minimum| MessageSetFault::EntryTooSmall { size: data.len(), minimum };
        let format = match data.first() {
            None => return Err(too_small(HEADER_LENGTH_V0)),
            Some(0) => Format::V0(WithHeader::new(data).ok_or_else(|| too_small(HEADER_LENGTH_V0))?),
            Some(1) => Format::V1(WithHeader::new(data).ok_or_else(|| too_small(HEADER_LENGTH_V1))?),
            Some(&magic) => return Err(MessageSetFault::UnknownMagic { magic: magic as i8 }),
        };
        Ok(Self { format })
    }

    /// The bytes after the size field.
    pub fn data(&self) -> &'a [u8] {
        match self.format {
            Format::V0(message) => message.data(),
            Format::V1(message) => message.data(),
        }
    }

    /// The magic: 0 or 1.
    pub fn magic(&self) -> i8 {
        match self.format {
            Format::V0(_) => 0,
            Format::V1(_) => 1,
        }
    }

    /// The attributes as stored; `None` in magic 0, which has none.
    pub fn attributes(&self) -> Option<u8> {
        match self.format {
            Format::V0(_) => None,
            Format::V1(message) => Some(message.i8::<ATTRIBUTES_OFFSET>() as u8),
        }
    }

    /// The stored CRC.
    pub fn crc(&self) -> u32 {
        match self.format {
            Format::V0(message) => message.u32::<CRC_OFFSET_V0>(),
            Format::V1(message) => message.u32::<CRC_OFFSET_V1>(),
        }
    }

    /// The payload; in a wrapper, the compressed set.
    pub fn payload(&self) -> &'a [u8] {
        match self.format {
            Format::V0(message) => message.body(),
            Format::V1(message) => message.body(),
        }
    }

    /// Whether the stored CRC is right.
    pub fn is_valid(&self) -> bool {
        self.crc() == crc32(self.payload())
    }

    /// The codec of a wrapper, `None` for a plain message.
    ///
    /// # Errors
    /// [`MessageSetFault::UnknownCodec`].
    pub fn codec(&self) -> std::result::Result<Option<MessageSetCodec>, MessageSetFault> {
        match self.attributes().map(|attributes| attributes & COMPRESSION_CODEC_MASK) {
            None | Some(0) => Ok(None),
            Some(1) => Ok(Some(MessageSetCodec::Gzip)),
            Some(2) => Ok(Some(MessageSetCodec::Snappy)),
            Some(id) => Err(MessageSetFault::UnknownCodec { id }),
        }
    }

    /// The codec as a compression type.
    ///
    /// # Errors
    /// As [`codec`](Self::codec).
    pub fn compression_type(&self) -> std::result::Result<CompressionType, MessageSetFault> {
        Ok(self.codec()?.map_or(CompressionType::None, MessageSetCodec::compression_type))
    }

    /// What Kafka checks of every message before it opens a wrapper. If both the CRC and the codec are wrong, the codec is the
    /// error, because Kafka's message about a wrong CRC contains the name of the codec.
    pub(super) fn ensure_valid(&self) -> std::result::Result<(), MessageSetFault> {
        let (stored, computed) = (self.crc(), crc32(self.payload()));
        if stored == computed {
            return Ok(());
        }
        self.codec()?;
        Err(MessageSetFault::Crc { stored, computed })
    }
}
