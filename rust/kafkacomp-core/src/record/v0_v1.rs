//! Message formats 0 and 1 (Kafka 0.8 to 0.10; KIP-31 and KIP-32 brought 1).
//!
//! ```text
//! entry   => Offset:int64 Size:int32 Message
//! Message => CRC:uint32 Magic:int8(0) Attributes:int8 KeyLength:int32 Key ValueLength:int32 Value
//! Message => CRC:uint32 Magic:int8(1) Attributes:int8 Timestamp:int64 KeyLength:int32 Key ValueLength:int32 Value
//! ```
//! The CRC covers all from the magic on. A compressed message is a wrapper: its value is a compressed set
//! of entries, and its offset that of the last of them. Inner offsets are absolute in format 0 and count
//! from 0 in format 1; there a wrapper whose own offset is 0 (old clients) means that they count from 0
//! for good. A wrapper of type LogAppendTime gives its timestamp to all; the type is the wrapper's always.
//! A negative length means null.
//! Source: `LegacyRecord`, `AbstractLegacyRecordBatch`.

use super::attributes::{Attributes, TimestampType};
use super::batch::{LOG_OVERHEAD, NO_SEQUENCE, NO_TIMESTAMP, RecordBatch, SIZE_OFFSET};
use super::error::{Error, Result};
use super::fault::RecordFault;
use super::record::{Headers, Record};
use crate::CompressionType;
use crate::bytes::{be_i8, be_i32, be_i64, be_u32};
use crate::checksum::crc32;
use crate::compress::CodecError;

/// Where the CRC stands in a message.
pub const CRC_OFFSET: usize = 0;
/// Length of the CRC.
pub const CRC_LENGTH: usize = 4;
/// Where the magic stands in a message, and what the CRC covers begins.
pub const MAGIC_OFFSET: usize = CRC_OFFSET + CRC_LENGTH;
/// Length of the magic.
pub const MAGIC_LENGTH: usize = 1;
/// Where the attributes stand in a message.
pub const ATTRIBUTES_OFFSET: usize = MAGIC_OFFSET + MAGIC_LENGTH;
/// Length of the attributes.
pub const ATTRIBUTES_LENGTH: usize = 1;
/// Where the timestamp stands (format 1).
pub const TIMESTAMP_OFFSET: usize = ATTRIBUTES_OFFSET + ATTRIBUTES_LENGTH;
/// Length of the timestamp.
pub const TIMESTAMP_LENGTH: usize = 8;
/// Where the key's length stands in format 0.
pub const KEY_SIZE_OFFSET_V0: usize = ATTRIBUTES_OFFSET + ATTRIBUTES_LENGTH;
/// Where the key's length stands in format 1.
pub const KEY_SIZE_OFFSET_V1: usize = TIMESTAMP_OFFSET + TIMESTAMP_LENGTH;
/// Length of a key's or value's length.
pub const SIZE_OF_LENGTH: usize = 4;
/// The size of a message of format 0 without key and value.
pub const RECORD_OVERHEAD_V0: usize = KEY_SIZE_OFFSET_V0 + SIZE_OF_LENGTH + SIZE_OF_LENGTH;
/// The size of a message of format 1 without key and value.
pub const RECORD_OVERHEAD_V1: usize = KEY_SIZE_OFFSET_V1 + SIZE_OF_LENGTH + SIZE_OF_LENGTH;

/// The size of a message of this format without key and value.
pub fn record_overhead(magic: i8) -> usize {
    if magic == 0 { RECORD_OVERHEAD_V0 } else { RECORD_OVERHEAD_V1 }
}

/// A message without its offset and size.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    data: &'a [u8],
}

impl<'a> Message<'a> {
    /// Over the bytes behind the size field.
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data }
    }

    /// The magic as it stands there; inside a wrapper nobody checks it.
    pub fn magic(&self) -> i8 {
        be_i8(self.data, MAGIC_OFFSET)
    }

    /// The attributes.
    pub fn attributes(&self) -> Attributes {
        Attributes(be_i8(self.data, ATTRIBUTES_OFFSET) as u8)
    }

    /// The size without offset and size field, in bytes.
    pub fn size_in_bytes(&self) -> usize {
        self.data.len()
    }

    /// The stored CRC.
    pub fn crc(&self) -> u32 {
        be_u32(self.data, CRC_OFFSET)
    }

    /// Whether the stored CRC is right.
    pub fn is_valid(&self) -> bool {
        self.crc() == self.compute_crc()
    }

    /// Checks the CRC; `position` is where the batch begins that the message is in.
    ///
    /// # Errors
    /// [`Error::CrcMismatch`].
    pub fn ensure_valid(&self, position: u64) -> Result<()> {
        let (stored, computed) = (self.crc(), crc32(self.data.get(MAGIC_OFFSET..).unwrap_or_default()));
        if stored == computed { Ok(()) } else { Err(Error::CrcMismatch { position, stored, computed }) }
    }

    fn key_size_offset(&self) -> usize {
        if self.magic() == 0 { KEY_SIZE_OFFSET_V0 } else { KEY_SIZE_OFFSET_V1 }
    }

    /// Whether there is a key, without a look at it.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] when the message ends before it would say so.
    pub fn has_key(&self) -> std::result::Result<bool, RecordFault> {
        let fields = self.data.get(self.key_size_offset()..).unwrap_or_default();
        let length = fields.first_chunk::<SIZE_OF_LENGTH>();
        length.map_or(Err(RecordFault::MessageField { size: SIZE_OF_LENGTH as i32 }), |length| {
            Ok(i32::from_be_bytes(*length) >= 0)
        })
    }

    /// The checksum of the bytes.
    pub fn compute_crc(&self) -> u32 {
        crc32(self.data.get(MAGIC_OFFSET..).unwrap_or_default())
    }

    /// The timestamp of the message itself; -1 in format 0.
    fn own_timestamp(&self) -> i64 {
        if self.magic() == 0 { NO_TIMESTAMP } else { be_i64(self.data, TIMESTAMP_OFFSET) }
    }

    fn own_timestamp_type(&self) -> TimestampType {
        if self.magic() == 0 { TimestampType::NoTimestampType } else { self.attributes().timestamp_type() }
    }

    /// Key and value.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] when one reaches past the message.
    #[expect(clippy::type_complexity, reason = "two nullable slices and nothing else")]
    pub fn key_and_value(&self) -> std::result::Result<(Option<&'a [u8]>, Option<&'a [u8]>), RecordFault> {
        let fields = self.data.get(self.key_size_offset()..).unwrap_or_default();
        let (key, rest) = take_nullable(fields)?;
        let (value, _) = take_nullable(rest)?;
        Ok((key, value))
    }
}

/// A length and as many bytes from the front; what follows them.
fn take_nullable(fields: &[u8]) -> std::result::Result<(Option<&[u8]>, &[u8]), RecordFault> {
    let Some((length, rest)) = fields.split_first_chunk::<SIZE_OF_LENGTH>() else {
        return Err(RecordFault::MessageField { size: SIZE_OF_LENGTH as i32 });
    };
    let size = i32::from_be_bytes(*length);
    let Ok(length) = usize::try_from(size) else { return Ok((None, rest)) };
    let (bytes, rest) = rest.split_at_checked(length).ok_or(RecordFault::MessageField { size })?;
    Ok((Some(bytes), rest))
}

/// The compressed set inside a wrapper.
///
/// # Errors
/// What Kafka's deep iterator answers to a wrapper that cannot be one.
pub(super) fn wrapper_payload<'a>(batch: &RecordBatch<'a>, compression_type: CompressionType) -> Result<&'a [u8]> {
    let fail = |fault| Error::Invalid { position: batch.position(), fault };
    if compression_type == CompressionType::Zstd {
        return Err(fail(RecordFault::ZstdMagic { magic: batch.magic() }));
    }
    let message = Message::new(batch.data().get(LOG_OVERHEAD..).unwrap_or_default());
    let (_, value) = message.key_and_value().map_err(fail)?;
    value.ok_or_else(|| fail(RecordFault::NullWrapper))
}

/// The wrapper up to its value, the value's length included, and the value.
///
/// # Errors
/// As [`wrapper_payload`].
pub(super) fn split_wrapper<'a>(
    batch: &RecordBatch<'a>,
    compression_type: CompressionType,
) -> Result<(&'a [u8], &'a [u8])> {
    let value = wrapper_payload(batch, compression_type)?;
    let message = Message::new(batch.data().get(LOG_OVERHEAD..).unwrap_or_default());
    let fail = |fault| Error::Invalid { position: batch.position(), fault };
    let (key, _) = message.key_and_value().map_err(fail)?;
    let front = LOG_OVERHEAD.saturating_add(record_overhead(batch.magic())).saturating_add(key.map_or(0, <[u8]>::len));
    Ok((batch.data().get(..front).unwrap_or_default(), value))
}

/// Iterates over the one plain message, or the messages inside a wrapper.
#[derive(Debug)]
pub struct LegacyRecords<'a> {
    rest: &'a [u8],
    position: u64,
    /// What is added to the offsets of `rest`.
    base_offset: i64,
    /// The wrapper, `None` for a plain message.
    wrapper: Option<Wrapper>,
    /// How many messages there are.
    count: usize,
    /// The last one's offset.
    last_offset: i64,
}

/// What a wrapper says about the messages inside.
#[derive(Debug, Clone, Copy)]
struct Wrapper {
    timestamp: i64,
    timestamp_type: TimestampType,
}

/// A message of format 0 or 1 with what its wrapper says of it; its key and value not looked at yet.
#[derive(Debug, Clone, Copy)]
pub struct LegacyEntry<'a> {
    /// The absolute offset.
    pub offset: i64,
    /// The timestamp in ms; -1 in format 0.
    pub timestamp: i64,
    /// Where the timestamp comes from.
    pub timestamp_type: TimestampType,
    /// The message itself.
    pub message: Message<'a>,
}

impl<'a> LegacyEntry<'a> {
    /// The size with offset and size field, in bytes.
    pub fn size_in_bytes(&self) -> usize {
        LOG_OVERHEAD + self.message.size_in_bytes()
    }

    /// The whole record.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] when key or value reach past the message.
    #[inline]
    pub fn record(&self) -> std::result::Result<Record<'a>, RecordFault> {
        let (key, value) = self.message.key_and_value()?;
        Ok(Record {
            offset: self.offset,
            timestamp: self.timestamp,
            timestamp_type: self.timestamp_type,
            sequence: NO_SEQUENCE,
            key,
            value,
            headers: Headers::EMPTY,
            legacy: Some(self.message),
        })
    }
}

impl<'a> LegacyRecords<'a> {
    /// The one message that `batch` is.
    pub(super) fn plain(batch: &RecordBatch<'a>) -> Self {
        Self {
            rest: batch.data(),
            position: batch.position(),
            base_offset: 0,
            wrapper: None,
            count: 1,
            last_offset: batch.last_offset(),
        }
    }

    /// The messages of `payload`, the decompressed value of the wrapper `batch`. Kafka looks at all of
    /// them before it hands out the first, because format 1 needs the last offset; so does this.
    pub(super) fn wrapped(batch: &RecordBatch<'_>, payload: &'a [u8], codec_error: Option<CodecError>) -> Result<Self> {
        let position = batch.position();
        let fail = |fault| Error::Invalid { position, fault };
        let mut last_inner = None;
        let mut entries = payload;
        let mut count = 0_usize;
        while let Some((offset, _, rest)) = take_entry(entries).map_err(fail)? {
            last_inner = Some(offset);
            entries = rest;
            count = count.saturating_add(1);
        }
        if let Some(source) = codec_error {
            return Err(Error::BatchCodec { position, source });
        }
        let last_inner = last_inner.ok_or_else(|| fail(RecordFault::EmptyWrapper))?;
        let base_offset = match (batch.magic(), batch.last_offset()) {
            (0, _) | (_, 0) => 0,
            (_, wrapper) if wrapper < last_inner => {
                return Err(fail(RecordFault::WrapperOffset { wrapper, inner: last_inner }));
            }
            (_, wrapper) => wrapper.wrapping_sub(last_inner),
        };
        let wrapper = Wrapper { timestamp: batch.base_timestamp(), timestamp_type: batch.timestamp_type() };
        let last_offset = base_offset.wrapping_add(last_inner);
        Ok(Self { rest: payload, position, base_offset, wrapper: Some(wrapper), count, last_offset })
    }

    /// What is still to be read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The same iteration over other bytes, which are still to be read.
    pub(super) fn over_bytes(self, rest: &[u8]) -> LegacyRecords<'_> {
        let Self { position, base_offset, wrapper, count, last_offset, .. } = self;
        LegacyRecords { rest, position, base_offset, wrapper, count, last_offset }
    }

    /// The first message's offset, without a look at its key and value; `None` if there is no further message.
    ///
    /// # Errors
    /// As [`next_entry`](Self::next_entry).
    pub fn first_offset(&self) -> Option<Result<i64>> {
        let (offset, message, _) = take_entry(self.rest).ok().flatten()?;
        Some(self.check_plain(message).map(|()| self.base_offset.wrapping_add(offset)))
    }

    /// The offset of the last message, as the messages state it.
    pub fn last_offset(&self) -> i64 {
        self.last_offset
    }

    /// How many messages there are, those that were taken already included.
    pub fn messages(&self) -> usize {
        self.count
    }

    /// What the message and its wrapper say together. Only an inner message of format 1 takes anything from
    /// its wrapper.
    fn place(&self, offset: i64, message: Message<'a>) -> LegacyEntry<'a> {
        let wrapper = self.wrapper.filter(|_| message.magic() == 1);
        let timestamp = match wrapper {
            Some(Wrapper { timestamp, timestamp_type: TimestampType::LogAppendTime }) => timestamp,
            _ => message.own_timestamp(),
        };
        LegacyEntry {
            offset: self.base_offset.wrapping_add(offset),
            timestamp,
            timestamp_type: wrapper.map_or_else(|| message.own_timestamp_type(), |w| w.timestamp_type),
            message,
        }
    }

    /// The next message, its key and value not looked at.
    ///
    /// # Errors
    /// As [`advance`](Self::advance), but for what is wrong with a key or value.
    #[inline]
    pub fn next_entry(&mut self) -> Option<Result<LegacyEntry<'a>>> {
        let (offset, message, rest) = take_entry(self.rest).ok().flatten()?;
        self.rest = rest;
        let entry = self.check_plain(message).map(|()| self.place(offset, message));
        if entry.is_err() {
            self.rest = &[];
        }
        Some(entry)
    }

    fn check_plain(&self, message: Message<'_>) -> Result<()> {
        match message.attributes().compression_id() {
            0 => Ok(()),
            id if CompressionType::for_id(id).is_none() => {
                Err(Error::UnknownCompressionType { position: self.position, id })
            }
            _ => Err(Error::Invalid { position: self.position, fault: RecordFault::NestedCompression }),
        }
    }
}

impl<'a> LegacyRecords<'a> {
    /// Puts the next message into `record`; `Ok(false)` at the end.
    ///
    /// # Errors
    /// What Kafka's iterator throws; there are no more messages then.
    #[inline]
    pub fn advance(&mut self, record: &mut Record<'a>) -> Result<bool> {
        match self.next() {
            Some(Ok(next)) => {
                *record = next;
                Ok(true)
            }
            Some(Err(error)) => Err(error),
            None => Ok(false),
        }
    }
}

impl<'a> Iterator for LegacyRecords<'a> {
    type Item = Result<Record<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let record = self
            .next_entry()?
            .and_then(|entry| entry.record().map_err(|fault| Error::Invalid { position: self.position, fault }));
        if record.is_err() {
            self.rest = &[];
        }
        Some(record)
    }
}

/// Offset, message, what follows.
type Entry<'a> = (i64, Message<'a>, &'a [u8]);

/// The first entry. A cut one ends the set without an error, as in Kafka.
#[inline]
fn take_entry(data: &[u8]) -> std::result::Result<Option<Entry<'_>>, RecordFault> {
    let Some(body) = data.get(LOG_OVERHEAD..) else { return Ok(None) };
    let size = be_i32(data, SIZE_OFFSET);
    if size < RECORD_OVERHEAD_V0 as i32 {
        return Err(RecordFault::InnerSize { size });
    }
    let Some((message, rest)) = body.split_at_checked(size as usize) else { return Ok(None) };
    Ok(Some((be_i64(data, 0), Message::new(message), rest)))
}
