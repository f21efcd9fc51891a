//! Message sets of Kafka 0.7, before there were offsets of messages.
//!
//! ```text
//! set     = entry*                                                       no count, no end mark
//! entry   => Size:int32 Message                                          Size counts the message only
//! Message => Magic:int8(0) CRC:uint32 Payload                            the format before compression
//! Message => Magic:int8(1) Attributes:int8 CRC:uint32 Payload
//! Attributes: | ignored (2-7) | codec (0-1): 0 none, 1 gzip, 2 snappy |
//! ```
//! The CRC (zlib's) covers the payload alone. The payload of a compressed message, a wrapper, is a compressed
//! set; sets nest to any depth. Magic 0 is never compressed. All integers are big-endian.
//!
//! An offset is a byte position, and the one that goes with a message is not where it stands but where to
//! fetch next: behind it. What comes out of a wrapper carries the position of the outermost wrapper's first
//! byte, only the last message of all that are in it the position behind it: who stops inside fetches the
//! whole wrapper again.
//!
//! Kafka's iterator parses the next message of a wrapper before it hands out one, so an error swallows the
//! good message before it, one for each level. Here good messages come first, then the error: the only
//! difference. Source: release 0.7.2, `kafka.message` (`ByteBufferMessageSet`, `Message`,
//! `CompressionUtils`).

use super::codec::MessageSetCodec;
use super::error::{Error, MessageSetFault, Result};
use crate::buffer::OutputBuffer;
use crate::bytes::{be_i8, be_i32, be_u32};
use crate::checksum::crc32;
use crate::compress::{CodecError, CodecFault, CompressionType};
use crate::limits::MAX_MESSAGE_SET_NESTING;
use crate::memory;

/// Length of an entry's size.
pub const SIZE_LENGTH: usize = 4;
/// Where the magic stands in a message.
pub const MAGIC_OFFSET: usize = 0;
/// Length of the magic.
pub const MAGIC_LENGTH: usize = 1;
/// Where the attributes stand (magic 1).
pub const ATTRIBUTES_OFFSET: usize = MAGIC_OFFSET + MAGIC_LENGTH;
/// Length of the attributes.
pub const ATTRIBUTES_LENGTH: usize = 1;
/// Length of the CRC.
pub const CRC_LENGTH: usize = 4;
/// Where the CRC stands in magic 0.
pub const CRC_OFFSET_V0: usize = MAGIC_OFFSET + MAGIC_LENGTH;
/// Where the CRC stands in magic 1.
pub const CRC_OFFSET_V1: usize = ATTRIBUTES_OFFSET + ATTRIBUTES_LENGTH;
/// Length of a message of magic 0 without its payload.
pub const HEADER_LENGTH_V0: usize = CRC_OFFSET_V0 + CRC_LENGTH;
/// Length of a message of magic 1 without its payload.
pub const HEADER_LENGTH_V1: usize = CRC_OFFSET_V1 + CRC_LENGTH;

const COMPRESSION_CODEC_MASK: u8 = 0x03;

/// A message without its size, whose magic is known and whose header is whole.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    data: &'a [u8],
    crc_offset: usize,
}

impl<'a> Message<'a> {
    /// Over the bytes behind the size field.
    ///
    /// # Errors
    /// [`MessageSetFault::EntryTooSmall`], [`MessageSetFault::UnknownMagic`].
    pub fn new(data: &'a [u8]) -> std::result::Result<Self, MessageSetFault> {
        let size = data.len();
        let crc_offset = match data.first() {
            None => return Err(MessageSetFault::EntryTooSmall { size, minimum: HEADER_LENGTH_V0 }),
            Some(0) => CRC_OFFSET_V0,
            Some(1) => CRC_OFFSET_V1,
            Some(&magic) => return Err(MessageSetFault::UnknownMagic { magic: magic as i8 }),
        };
        let minimum = crc_offset + CRC_LENGTH;
        if size < minimum {
            return Err(MessageSetFault::EntryTooSmall { size, minimum });
        }
        Ok(Self { data, crc_offset })
    }

    /// The bytes behind the size field.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The magic: 0 or 1.
    pub fn magic(&self) -> i8 {
        be_i8(self.data, MAGIC_OFFSET)
    }

    /// The attributes as stored; `None` in magic 0, which has none.
    pub fn attributes(&self) -> Option<u8> {
        if self.crc_offset == CRC_OFFSET_V0 { None } else { self.data.get(ATTRIBUTES_OFFSET).copied() }
    }

    /// The stored CRC.
    pub fn crc(&self) -> u32 {
        be_u32(self.data, self.crc_offset)
    }

    /// The payload: of a wrapper, the compressed set.
    pub fn payload(&self) -> &'a [u8] {
        self.data.get(self.crc_offset + CRC_LENGTH..).unwrap_or_default()
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
        match self.attributes().unwrap_or_default() & COMPRESSION_CODEC_MASK {
            0 => Ok(None),
            1 => Ok(Some(MessageSetCodec::Gzip)),
            2 => Ok(Some(MessageSetCodec::Snappy)),
            id => Err(MessageSetFault::UnknownCodec { id }),
        }
    }

    /// The codec as one of all compression types.
    ///
    /// # Errors
    /// As [`codec`](Self::codec).
    pub fn compression_type(&self) -> std::result::Result<CompressionType, MessageSetFault> {
        Ok(self.codec()?.map_or(CompressionType::None, MessageSetCodec::compression_type))
    }

    /// What Kafka checks of every message before it looks inside. A codec that is unknown is found first,
    /// because Kafka's text about a wrong CRC names the codec.
    fn ensure_valid(&self) -> std::result::Result<(), MessageSetFault> {
        let (stored, computed) = (self.crc(), crc32(self.payload()));
        if stored == computed {
            return Ok(());
        }
        self.codec()?;
        Err(MessageSetFault::Crc { stored, computed })
    }
}

/// The message that begins at byte `at` of `set`, checked, and where the next one begins. `None` is the end:
/// nothing more, fewer bytes than a size takes, or an entry that is cut. A cut one is an error where no entry
/// is before it.
#[inline]
fn take_entry(
    set: &[u8],
    at: usize,
    verify_crc: bool,
) -> std::result::Result<Option<(Message<'_>, usize)>, MessageSetFault> {
    let rest = set.get(at..).unwrap_or_default();
    let Some(body) = rest.get(SIZE_LENGTH..) else { return Ok(None) };
    let size = be_i32(rest, 0);
    let invalid = || MessageSetFault::InvalidMessageSize { size, available: body.len() };
    let length = usize::try_from(size).map_err(|_| invalid())?;
    let Some(data) = body.get(..length) else {
        return if at == 0 { Err(invalid()) } else { Ok(None) };
    };
    let message = Message::new(data)?;
    if verify_crc {
        message.ensure_valid()?;
    }
    Ok(Some((message, at + SIZE_LENGTH + length)))
}

/// A top-level entry.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The byte of the set at which the entry begins.
    pub position: usize,
    /// The byte behind it.
    pub end: usize,
    /// The message.
    pub message: Message<'a>,
}

/// Iterates over the top-level entries of a set, Kafka's shallow iterator. After an error it is finished.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    set: &'a [u8],
    position: usize,
    verify_crc: bool,
    finished: bool,
}

impl<'a> Entries<'a> {
    /// The entries of `set`.
    pub fn new(set: &'a [u8]) -> Self {
        Self::at(set, 0)
    }

    /// The entries from byte `position` on, which is 0 or the end of an entry.
    pub fn at(set: &'a [u8], position: usize) -> Self {
        Self { set, position, verify_crc: true, finished: false }
    }

    /// The entries of `set`, whatever their checksums are.
    pub fn unverified(set: &'a [u8]) -> Self {
        Self { verify_crc: false, ..Self::new(set) }
    }

    /// Where the next entry begins: after the iteration, how many bytes are whole entries.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let position = self.position;
        match take_entry(self.set, position, self.verify_crc) {
            Ok(Some((message, end))) => {
                self.position = end;
                Some(Ok(Entry { position, end, message }))
            }
            Ok(None) => {
                self.finished = true;
                None
            }
            Err(fault) => {
                self.finished = true;
                Some(Err(Error::of_entry(position as u64, fault)))
            }
        }
    }
}

/// How many bytes at the front of `set` are whole entries: Kafka's `validBytes`. It does not look into
/// wrappers.
///
/// # Errors
/// What the shallow iterator says.
pub fn valid_bytes(set: &[u8]) -> Result<usize> {
    let mut entries = Entries::new(set);
    for entry in &mut entries {
        entry?;
    }
    Ok(entries.position())
}

/// A message inside a wrapper, by its place in what the wrapper decompressed to.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    start: u32,
    end: u32,
}

/// A set that is being read.
#[derive(Debug, Clone, Copy)]
struct Level {
    start: usize,
    end: usize,
    /// The next entry, counted from `start`.
    next: usize,
}

/// Opens wrappers one after another with kept buffers.
#[derive(Debug)]
pub struct MessageSetReader {
    /// What the wrapper decompressed to, and behind it all that the wrappers inside it did.
    arena: OutputBuffer,
    /// One inner wrapper's content on its way into the arena, which its compressed bytes stand in.
    inner: OutputBuffer,
    leaves: Vec<Leaf>,
    levels: Vec<Level>,
    max_output_size: usize,
    verify_crc: bool,
}

impl MessageSetReader {
    /// A reader that refuses a top-level message that decompresses to more than `max_output_size` bytes (of
    /// 2^32 - 1 at most), all levels together.
    pub fn new(max_output_size: usize) -> Self {
        let mut reader = Self {
            arena: OutputBuffer::default(),
            inner: OutputBuffer::default(),
            leaves: Vec::new(),
            levels: Vec::new(),
            max_output_size: 0,
            verify_crc: true,
        };
        reader.set_max_output_size(max_output_size);
        reader
    }

    /// Another cap for the messages to come.
    pub fn set_max_output_size(&mut self, max_output_size: usize) {
        self.max_output_size = max_output_size.min(u32::MAX as usize);
    }

    /// Whether the checksums of messages inside wrappers are verified.
    pub fn set_verify_crc(&mut self, verify_crc: bool) {
        self.verify_crc = verify_crc;
    }

    /// The messages inside `entry`, at whatever depth; the message itself if it is a plain one. What is wrong
    /// inside comes with the good messages before it.
    pub fn unwrap<'r>(&'r mut self, entry: &Entry<'r>) -> Unwrapped<'r> {
        self.leaves.clear();
        self.levels.clear();
        self.arena.reset(self.max_output_size);
        let (plain, result) = match entry.message.codec() {
            Ok(None) => (Some(entry.message), Ok(())),
            Ok(Some(codec)) => (None, self.open(codec, &entry.message)),
            Err(fault) => (None, Err(fault)),
        };
        let (position, depth) = (entry.position as u64, self.levels.len());
        let error = result.err().map(|fault| Error { position, depth, fault });
        Unwrapped {
            position: entry.position,
            end: entry.end,
            plain,
            content: self.arena.as_slice(),
            leaves: &self.leaves,
            error,
        }
    }

    /// Walks through the wrapper's content depth first, without recursion: `levels` is the way down.
    fn open(&mut self, codec: MessageSetCodec, wrapper: &Message<'_>) -> std::result::Result<(), MessageSetFault> {
        let limit = self.max_output_size as u64;
        codec.decompress(wrapper.payload(), &mut self.arena).map_err(|source| codec_fault(source, limit))?;
        self.levels.push(Level { start: 0, end: self.arena.len(), next: 0 });
        while let Some(level) = self.levels.last_mut() {
            let set = self.arena.as_slice().get(level.start..level.end).unwrap_or_default();
            let Some((message, next)) = take_entry(set, level.next, self.verify_crc)? else {
                self.levels.pop();
                continue;
            };
            let Some(codec) = message.codec()? else {
                let end = level.start + next;
                let leaf = Leaf { start: (end - message.data().len()) as u32, end: end as u32 };
                memory::push(&mut self.leaves, leaf)?;
                level.next = next;
                continue;
            };
            level.next = next;
            if self.levels.len() >= MAX_MESSAGE_SET_NESTING {
                return Err(MessageSetFault::Nesting { limit: MAX_MESSAGE_SET_NESTING });
            }
            self.inner.reset(self.max_output_size.saturating_sub(self.arena.len()));
            codec.decompress(message.payload(), &mut self.inner).map_err(|source| codec_fault(source, limit))?;
            let start = self.arena.len();
            // What the cap left was the limit of the inner buffer, so this always has room.
            self.arena.extend(self.inner.as_slice()).map_err(|reason| {
                let (compression_type, fault) = (codec.compression_type(), CodecFault::from(reason));
                codec_fault(CodecError { compression_type, position: 0, fault }, limit)
            })?;
            self.levels.push(Level { start, end: self.arena.len(), next: 0 });
        }
        Ok(())
    }
}

/// The codec's error, with the caller's cap in place of what was left of it.
fn codec_fault(mut source: CodecError, cap: u64) -> MessageSetFault {
    if let CodecFault::OutputLimit { limit } = &mut source.fault {
        *limit = cap;
    }
    MessageSetFault::Codec { source }
}

/// What one top-level entry holds.
#[derive(Debug)]
pub struct Unwrapped<'r> {
    position: usize,
    end: usize,
    plain: Option<Message<'r>>,
    content: &'r [u8],
    leaves: &'r [Leaf],
    /// What is wrong behind the messages.
    pub error: Option<Error>,
}

impl<'r> Unwrapped<'r> {
    /// What the messages of a wrapper refer to; empty for a plain message.
    pub fn content(&self) -> &'r [u8] {
        self.content
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        if self.plain.is_some() { 1 } else { self.leaves.len() }
    }

    /// Whether there are none: an empty wrapper, or one that does not decompress.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The messages in order, each with the position, from the start of the top-level set, to fetch from
    /// next. A message with an error behind it is not the last of its wrapper.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = (Message<'r>, usize)> + use<'r> {
        let (position, end, content, leaves, plain) = (self.position, self.end, self.content, self.leaves, self.plain);
        let last = if self.error.is_none() { self.len() } else { 0 };
        (0..self.len()).map(move |index| {
            let message = plain.unwrap_or_else(|| inner_message(content, leaves, index));
            (message, if index + 1 == last { end } else { position })
        })
    }
}

/// The message at a place that was checked when it was found.
fn inner_message<'r>(content: &'r [u8], leaves: &[Leaf], index: usize) -> Message<'r> {
    let data =
        leaves.get(index).and_then(|leaf| content.get(leaf.start as usize..leaf.end as usize)).unwrap_or_default();
    Message { data, crc_offset: if data.first() == Some(&0) { CRC_OFFSET_V0 } else { CRC_OFFSET_V1 } }
}
