//! Message formats 0 and 1 (Kafka 0.8 to 0.10; KIP-31 and KIP-32 brought 1).
//!
//! ```text
//! entry   => Offset:int64 Size:int32 Message
//! Message => CRC:uint32 Magic:int8(0) Attributes:int8 KeyLength:int32 Key ValueLength:int32 Value
//! Message => CRC:uint32 Magic:int8(1) Attributes:int8 Timestamp:int64 KeyLength:int32 Key ValueLength:int32 Value
//! ```
//! The CRC covers the magic and everything after it. A compressed message is a wrapper: its value is a compressed set of entries,
//! and its offset is that of the last entry. Inner offsets are absolute in format 0 and relative, from 0, in format 1; if the offset
//! of a wrapper of format 1 is 0 (old clients), its inner offsets are taken as absolute. Inner messages of format 1 have the
//! timestamp type of the wrapper and, with LogAppendTime, its timestamp. A negative length means null.
//! Source: `LegacyRecord`, `AbstractLegacyRecordBatch`.

use super::attributes::TimestampType;
use super::batch::{
    Format, LOG_OVERHEAD, NO_SEQUENCE, OFFSET_LENGTH, OFFSET_OFFSET, RecordBatch, SIZE_LENGTH, SIZE_OFFSET,
};
use super::error::{Error, Result};
use super::fault::RecordFault;
use super::layout::v0_v1::{RECORD_OVERHEAD_V0, record_overhead};
use super::message::Message;
use super::record::{Headers, Record};
use crate::CompressionType;
use crate::bytes::field;
use crate::compress::CodecError;

/// The compressed set inside a wrapper.
///
/// # Errors
/// As Kafka's deep iterator for an invalid wrapper.
pub(super) fn wrapper_payload<'a>(batch: &RecordBatch<'a>, compression_type: CompressionType) -> Result<&'a [u8]> {
    let fail = |fault| Error::Invalid { position: batch.position(), fault };
    if compression_type == CompressionType::Zstd {
        return Err(fail(RecordFault::ZstdMagic { magic: batch.magic() }));
    }
    let message = message_of(batch).ok_or_else(|| fail(RecordFault::NullWrapper))?;
    let (_, value) = message.key_and_value().map_err(fail)?;
    value.ok_or_else(|| fail(RecordFault::NullWrapper))
}

/// The message that a batch of magic 0 or 1 is; `None` in magic 2.
fn message_of<'a>(batch: &RecordBatch<'a>) -> Option<Message<'a>> {
    match batch.format() {
        Format::V0(entry) => Message::new(entry.tail::<LOG_OVERHEAD>()),
        Format::V1(entry) => Message::new(entry.tail::<LOG_OVERHEAD>()),
        Format::V2(_) => None,
    }
}

/// The wrapper up to its value (the length of the value included), and the value.
///
/// # Errors
/// As [`wrapper_payload`].
pub(super) fn split_wrapper<'a>(
    batch: &RecordBatch<'a>,
    compression_type: CompressionType,
) -> Result<(&'a [u8], &'a [u8])> {
    let value = wrapper_payload(batch, compression_type)?;
    let fail = |fault| Error::Invalid { position: batch.position(), fault };
    let message = message_of(batch).ok_or_else(|| fail(RecordFault::NullWrapper))?;
    let (key, _) = message.key_and_value().map_err(fail)?;
    let front = LOG_OVERHEAD.saturating_add(record_overhead(batch.magic())).saturating_add(key.map_or(0, <[u8]>::len));
    let front = batch.data().get(..front).ok_or_else(|| fail(RecordFault::NullWrapper))?;
    Ok((front, value))
}

/// Iterates over the one plain message, or the messages inside a wrapper.
#[derive(Debug)]
pub struct V0V1Records<'a> {
    rest: &'a [u8],
    position: u64,
    /// Added to the offsets of `rest`.
    base_offset: i64,
    /// The wrapper, `None` for a plain message.
    wrapper: Option<Wrapper>,
    /// The number of messages.
    count: usize,
    /// The last one's offset.
    last_offset: i64,
}

/// The fields of a wrapper that apply to the messages inside.
#[derive(Debug, Clone, Copy)]
struct Wrapper {
    timestamp: i64,
    timestamp_type: TimestampType,
}

/// A message of format 0 or 1 with the fields that its wrapper determines. Key and value are not read yet.
#[derive(Debug, Clone, Copy)]
pub struct V0V1Entry<'a> {
    /// The absolute offset.
    pub offset: i64,
    /// The timestamp in ms, -1 in format 0; `None` if the message ends before it.
    timestamp: Option<i64>,
    /// Where the timestamp comes from.
    pub timestamp_type: TimestampType,
    /// The message itself.
    pub message: Message<'a>,
}

impl<'a> V0V1Entry<'a> {
    /// The size with offset and size fields, in bytes.
    pub fn size_in_bytes(&self) -> usize {
        LOG_OVERHEAD + self.message.size_in_bytes()
    }

    /// The timestamp in ms; -1 in format 0.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] if the message ends before its timestamp.
    #[inline]
    pub fn timestamp(&self) -> std::result::Result<i64, RecordFault> {
        self.timestamp.map_or_else(|| self.message.own_timestamp(), Ok)
    }

    /// The record with key and value.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] if a field reaches past the message.
    #[inline]
    pub fn record(&self) -> std::result::Result<Record<'a>, RecordFault> {
        let (key, value) = self.message.key_and_value()?;
        Ok(Record {
            offset: self.offset,
            timestamp: self.timestamp()?,
            timestamp_type: self.timestamp_type,
            sequence: NO_SEQUENCE,
            key,
            value,
            headers: Headers::EMPTY,
            message: Some(self.message),
        })
    }
}

impl<'a> V0V1Records<'a> {
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

    /// The messages of `payload`, the decompressed value of the wrapper `batch`. All entries are read before the first is
    /// returned, as in Kafka, because format 1 needs the last offset.
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

    /// The bytes not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The same iteration over other bytes, which are not read yet.
    pub(super) fn over_bytes(self, rest: &[u8]) -> V0V1Records<'_> {
        let Self { position, base_offset, wrapper, count, last_offset, .. } = self;
        V0V1Records { rest, position, base_offset, wrapper, count, last_offset }
    }

    /// The offset of the next message, without reading its key and value; `None` at the end.
    ///
    /// # Errors
    /// As [`next_entry`](Self::next_entry).
    pub fn first_offset(&self) -> Option<Result<i64>> {
        let (offset, message, _) = take_entry(self.rest).ok().flatten()?;
        Some(self.check_plain(message).map(|()| self.base_offset.wrapping_add(offset)))
    }

    /// The offset of the last message.
    pub fn last_offset(&self) -> i64 {
        self.last_offset
    }

    /// The number of messages, including those already returned.
    pub fn messages(&self) -> usize {
        self.count
    }

    /// The entry of a message. Only inner messages of format 1 take fields from their wrapper.
    fn place(&self, offset: i64, message: Message<'a>) -> V0V1Entry<'a> {
        let wrapper = self.wrapper.filter(|_| message.magic() == 1);
        let timestamp = match wrapper {
            Some(Wrapper { timestamp, timestamp_type: TimestampType::LogAppendTime }) => Some(timestamp),
            _ => message.own_timestamp().ok(),
        };
        V0V1Entry {
            offset: self.base_offset.wrapping_add(offset),
            timestamp,
            timestamp_type: wrapper.map_or_else(|| message.own_timestamp_type(), |w| w.timestamp_type),
            message,
        }
    }

    /// The next message, without reading its key and value.
    ///
    /// # Errors
    /// As [`advance`](Self::advance), except for an invalid key or value.
    #[inline]
    pub fn next_entry(&mut self) -> Option<Result<V0V1Entry<'a>>> {
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

impl<'a> V0V1Records<'a> {
    /// Reads the next message into `record`; `Ok(false)` at the end.
    ///
    /// # Errors
    /// As Kafka's iterator. No messages follow an error.
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

impl<'a> Iterator for V0V1Records<'a> {
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

/// Offset, message, and the bytes after it.
type Entry<'a> = (i64, Message<'a>, &'a [u8]);

/// The first entry. A truncated one ends the set without an error, as in Kafka.
#[inline]
fn take_entry(data: &[u8]) -> std::result::Result<Option<Entry<'_>>, RecordFault> {
    let Some((head, body)) = data.split_first_chunk::<LOG_OVERHEAD>() else { return Ok(None) };
    let size = i32::from_be_bytes(field::<SIZE_OFFSET, SIZE_LENGTH, LOG_OVERHEAD>(head));
    if size < RECORD_OVERHEAD_V0 as i32 {
        return Err(RecordFault::InnerSize { size });
    }
    let Some((message, rest)) = body.split_at_checked(size as usize) else { return Ok(None) };
    let message = Message::new(message).ok_or(RecordFault::InnerSize { size })?;
    let offset = i64::from_be_bytes(field::<OFFSET_OFFSET, OFFSET_LENGTH, LOG_OVERHEAD>(head));
    Ok(Some((offset, message, rest)))
}
