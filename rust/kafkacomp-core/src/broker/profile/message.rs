//! Messages as brokers before 0.11 handled them: bytes, of which they looked at as little as they could.

use std::borrow::Cow;

use super::request::Append;
use super::versions::Broker;
use crate::CompressionType;
use crate::broker;
use crate::broker::validator::ValidationFault;
use crate::checksum::crc32;
use crate::compress::{Compression, compress};
use crate::memory;
use crate::record::TimestampType;
use crate::record::attributes::Attributes;
use crate::record::batch::{LOG_OVERHEAD, NO_TIMESTAMP};
use crate::record::layout::v0_v1::{
    ATTRIBUTES_OFFSET, CRC_LENGTH, CRC_OFFSET, KEY_SIZE_OFFSET_V0, KEY_SIZE_OFFSET_V1, MAGIC_OFFSET,
    RECORD_OVERHEAD_V0, TIMESTAMP_OFFSET,
};
use crate::record::lz4_checksum::written_header_checksum;
use crate::record::{Error, RecordFault, Result};

/// The last compression type that these brokers know.
const LAST_CODEC: u8 = CompressionType::Lz4 as u8;
/// The bit of the attributes that says: append time.
const TIMESTAMP_TYPE_MASK: u8 = 0x08;
/// The bytes of a timestamp.
const TIMESTAMP_LENGTH: usize = 8;

/// What a broker of those days had for memory. A message that claims more is no cut message but an
/// `OutOfMemoryError`, from 0.9 on; 0.8.2 takes no memory for it.
const HEAP: usize = 256 << 20;

/// A message without offset and size, and what its wrapper says of it.
#[derive(Debug, Clone)]
pub(super) struct Message<'a> {
    pub(super) data: Cow<'a, [u8]>,
    /// Timestamp and timestamp type of the wrapper, of format 1.
    pub(super) wrapper: Option<(i64, TimestampType)>,
}

impl<'a> Message<'a> {
    pub(super) fn new(data: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { data: data.into(), wrapper: None }
    }

    fn field<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.data.get(at..)?.first_chunk().copied()
    }

    fn byte(&self, at: usize) -> u8 {
        self.data.get(at).copied().unwrap_or_default()
    }

    pub(super) fn magic(&self) -> i8 {
        self.byte(MAGIC_OFFSET) as i8
    }

    pub(super) fn attributes(&self) -> Attributes {
        Attributes(self.byte(ATTRIBUTES_OFFSET))
    }

    /// The codec.
    pub(super) fn compression_type(&self, position: u64) -> Result<CompressionType> {
        let id = self.attributes().compression_id();
        let known = if id <= LAST_CODEC { CompressionType::for_id(id) } else { None };
        known.ok_or(Error::UnknownCompressionType { position, id })
    }

    fn key_size_offset(&self, by_magic: bool) -> usize {
        if by_magic && self.magic() != 0 { KEY_SIZE_OFFSET_V1 } else { KEY_SIZE_OFFSET_V0 }
    }

    /// The key's size; `by_magic` is false for brokers that know format 0 only.
    pub(super) fn key_size(&self, by_magic: bool) -> Option<i32> {
        self.field(self.key_size_offset(by_magic)).map(i32::from_be_bytes)
    }

    pub(super) fn has_key(&self, by_magic: bool, position: u64) -> Result<bool> {
        let fault = RecordFault::MessageField { size: 4 };
        self.key_size(by_magic).map(|size| size >= 0).ok_or(Error::Invalid { position, fault })
    }

    /// The nullable field at `at`, and where it ends.
    fn slice(&self, at: usize, position: u64) -> Result<(Option<&[u8]>, usize)> {
        let fail = |size| Error::Invalid { position, fault: RecordFault::MessageField { size } };
        let size = self.field(at).map(i32::from_be_bytes).ok_or_else(|| fail(4))?;
        let start = at.saturating_add(4);
        let Ok(length) = usize::try_from(size) else { return Ok((None, start)) };
        let end = start.saturating_add(length);
        self.data.get(start..end).map(|bytes| (Some(bytes), end)).ok_or_else(|| fail(size))
    }

    pub(super) fn key(&self, by_magic: bool, position: u64) -> Result<Option<&[u8]>> {
        self.slice(self.key_size_offset(by_magic), position).map(|(key, _)| key)
    }

    /// The value, whose place the key's size tells without a look at the key.
    pub(super) fn value(&self, by_magic: bool, position: u64) -> Result<Option<&[u8]>> {
        let fault = RecordFault::MessageField { size: 4 };
        let key = self.key_size(by_magic).ok_or(Error::Invalid { position, fault })?;
        let at = self.key_size_offset(by_magic) + 4 + usize::try_from(key).unwrap_or_default();
        self.slice(at, position).map(|(value, _)| value)
    }

    pub(super) fn own_timestamp(&self) -> i64 {
        if self.magic() == 0 { NO_TIMESTAMP } else { self.field(TIMESTAMP_OFFSET).map_or(0, i64::from_be_bytes) }
    }

    pub(super) fn timestamp(&self) -> i64 {
        match self.wrapper {
            Some((timestamp, TimestampType::LogAppendTime)) if self.magic() != 0 => timestamp,
            _ => self.own_timestamp(),
        }
    }

    pub(super) fn timestamp_type(&self) -> TimestampType {
        if self.magic() == 0 {
            return TimestampType::NoTimestampType;
        }
        self.wrapper.map_or_else(|| self.attributes().timestamp_type(), |(_, timestamp_type)| timestamp_type)
    }

    /// Checks the checksum.
    pub(super) fn ensure_valid(&self, position: u64) -> Result<()> {
        let stored = self.field(CRC_OFFSET).map_or(0, u32::from_be_bytes);
        let computed = crc32(self.data.get(MAGIC_OFFSET..).unwrap_or_default());
        if stored == computed { Ok(()) } else { Err(Error::CrcMismatch { position, stored, computed }) }
    }

    /// Sets timestamp and timestamp type.
    pub(super) fn stamp(&mut self, timestamp: i64, timestamp_type: TimestampType) -> Result<()> {
        let attributes = update_attributes(self.byte(ATTRIBUTES_OFFSET), timestamp_type);
        if let Cow::Borrowed(data) = self.data {
            self.data = Cow::Owned(memory::copy_of(data).map_err(|error| Error::out_of_memory(error, 0))?);
        }
        let data = self.data.to_mut();
        if let Some(place) = data.get_mut(ATTRIBUTES_OFFSET) {
            *place = attributes;
        }
        if let Some(place) = data.get_mut(TIMESTAMP_OFFSET..).and_then(|rest| rest.first_chunk_mut()) {
            *place = timestamp.to_be_bytes();
        }
        seal(data);
        Ok(())
    }

    /// Another format: what follows the header is copied, whatever it is.
    pub(super) fn converted(&self, to_magic: i8, timestamp: i64, timestamp_type: TimestampType) -> Result<Vec<u8>> {
        let attributes = self.byte(ATTRIBUTES_OFFSET);
        // A timestamp is the most that comes to it.
        let mut data = room(self.data.len().saturating_add(TIMESTAMP_LENGTH))?;
        data.extend([0; CRC_LENGTH]);
        data.push(to_magic as u8);
        let from = if to_magic == 0 {
            data.push(update_attributes(attributes, TimestampType::CreateTime));
            KEY_SIZE_OFFSET_V1
        } else {
            data.push(update_attributes(attributes, timestamp_type));
            data.extend(timestamp.to_be_bytes());
            KEY_SIZE_OFFSET_V0
        };
        data.extend(self.data.get(from..).unwrap_or_default());
        seal(&mut data);
        Ok(data)
    }
}

/// An empty buffer with room for a message.
fn room(size: usize) -> Result<Vec<u8>> {
    memory::with_capacity(size).map_err(|error| Error::out_of_memory(error, 0))
}

/// The message's bytes once more: borrowed ones as they are, others copied.
pub(super) fn copied<'a>(data: &Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>> {
    Ok(match data {
        Cow::Borrowed(data) => Cow::Borrowed(data),
        Cow::Owned(data) => Cow::Owned(memory::copy_of(data).map_err(|error| Error::out_of_memory(error, 0))?),
    })
}

/// The attributes with another timestamp type.
fn update_attributes(attributes: u8, timestamp_type: TimestampType) -> u8 {
    match timestamp_type {
        TimestampType::LogAppendTime => attributes | TIMESTAMP_TYPE_MASK,
        _ => attributes & !TIMESTAMP_TYPE_MASK,
    }
}

/// Fills in the checksum.
fn seal(data: &mut [u8]) {
    let crc = crc32(data.get(MAGIC_OFFSET..).unwrap_or_default());
    if let Some(place) = data.first_chunk_mut::<CRC_LENGTH>() {
        *place = crc.to_be_bytes();
    }
}

/// A message of this format from its fields.
pub(super) fn message(
    magic: i8,
    attributes: u8,
    timestamp: i64,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> Result<Vec<u8>> {
    let fields = [key, value].into_iter().flatten().fold(0_usize, |size, field| size.saturating_add(field.len()));
    let mut data = room(RECORD_OVERHEAD_V0.saturating_add(TIMESTAMP_LENGTH).saturating_add(fields))?;
    data.extend([0; CRC_LENGTH]);
    data.extend([magic as u8, attributes]);
    if magic > 0 {
        data.extend(timestamp.to_be_bytes());
    }
    for field in [key, value] {
        data.extend(field.map_or(-1, |bytes| bytes.len() as i32).to_be_bytes());
        data.extend(field.unwrap_or_default());
    }
    seal(&mut data);
    Ok(data)
}

/// One entry: where it begins, its offset, its message.
pub(super) type Entry<'a> = (u64, i64, Message<'a>);

/// The entries of a set, a cut one at the end left out. No magic is looked at.
pub(super) fn entries(records: &[u8]) -> Result<Vec<Entry<'_>>> {
    let mut found = Vec::new();
    let mut rest = records;
    while let Some((head, body)) = rest.split_first_chunk::<LOG_OVERHEAD>() {
        let position = records.len().saturating_sub(rest.len()) as u64;
        let (offset, size) = offset_and_size(head);
        if size < RECORD_OVERHEAD_V0 as i32 {
            return Err(Error::SizeTooSmall { position, size, minimum: RECORD_OVERHEAD_V0 as i32 });
        }
        let Some((data, behind)) = body.split_at_checked(size as usize) else { break };
        memory::push(&mut found, (position, offset, Message::new(data)))
            .map_err(|error| Error::out_of_memory(error, position))?;
        rest = behind;
    }
    Ok(found)
}

/// The entries inside a wrapper that begins at `position`.
pub(super) fn inner_entries(broker: Broker, content: &[u8], position: u64) -> broker::Result<Vec<(i64, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut rest = content;
    while let Some((head, body)) = rest.split_first_chunk::<LOG_OVERHEAD>() {
        let (offset, size) = offset_and_size(head);
        if size < RECORD_OVERHEAD_V0 as i32 {
            return Err(Error::Invalid { position, fault: RecordFault::InnerSize { size } }.into());
        }
        let Some((data, behind)) = body.split_at_checked(size as usize) else {
            check_heap(broker, size as usize, position)?;
            break;
        };
        let copied = memory::copy_of(data).and_then(|data| memory::push(&mut found, (offset, data)));
        copied.map_err(|error| Error::out_of_memory(error, position))?;
        rest = behind;
    }
    Ok(found)
}

/// Whether the broker has the memory for a message of this size.
pub(super) fn check_heap(broker: Broker, size: usize, position: u64) -> broker::Result<()> {
    if broker > Broker::V0_8_2 && size > HEAP {
        return Err(broker::Error::Refused { position, fault: ValidationFault::JavaMemory });
    }
    Ok(())
}

fn offset_and_size(head: &[u8; LOG_OVERHEAD]) -> (i64, i32) {
    let [o0, o1, o2, o3, o4, o5, o6, o7, s0, s1, s2, s3] = *head;
    (i64::from_be_bytes([o0, o1, o2, o3, o4, o5, o6, o7]), i32::from_be_bytes([s0, s1, s2, s3]))
}

/// The offset `index` after `first`, which wraps as Java's does.
pub(super) fn nth(first: i64, index: usize) -> i64 {
    first.wrapping_add(index as i64)
}

/// Appends an entry to `out`.
pub(super) fn put(out: &mut Vec<u8>, offset: i64, message: &[u8]) -> Result<()> {
    memory::reserve(out, message.len().saturating_add(LOG_OVERHEAD)).map_err(|error| Error::out_of_memory(error, 0))?;
    out.extend(offset.to_be_bytes());
    out.extend((message.len() as i32).to_be_bytes());
    out.extend_from_slice(message);
    Ok(())
}

/// The checks of the shallow pass, and the last codec that is not none.
pub(super) fn analyze(topic: &Append, entries: &[Entry<'_>]) -> broker::Result<CompressionType> {
    let mut source = CompressionType::None;
    for (position, _, message) in entries {
        let size = (message.data.len() + LOG_OVERHEAD) as u64;
        if size > u64::try_from(topic.max_message_size).unwrap_or_default() {
            let fault = ValidationFault::BatchTooLarge { size, limit: topic.max_message_size };
            return Err(broker::Error::Refused { position: *position, fault });
        }
        message.ensure_valid(*position)?;
        let codec = message.compression_type(*position)?;
        if codec != CompressionType::None {
            source = codec;
        }
    }
    Ok(source)
}

/// A wrapper of `messages` at consecutive offsets from `first` on, or the messages themselves; of none, nothing.
pub(super) fn put_set(
    out: &mut Vec<u8>,
    codec: CompressionType,
    first: i64,
    wrapper: (i8, i64, TimestampType),
    messages: &[Cow<'_, [u8]>],
) -> broker::Result<()> {
    let (magic, timestamp, timestamp_type) = wrapper;
    let mut numbered = messages.iter().enumerate().map(|(index, message)| (message, nth(first, index)));
    if codec == CompressionType::None {
        return Ok(numbered.try_for_each(|(message, offset)| put(out, offset, message))?);
    }
    let Some(last) = messages.len().checked_sub(1) else { return Ok(()) };
    let mut inner = Vec::new();
    for (message, offset) in numbered {
        put(&mut inner, if magic > 0 { offset.wrapping_sub(first) } else { offset }, message)?;
    }
    let mut payload = Vec::new();
    compress(Compression::of(codec), written_header_checksum(magic), &inner, &mut payload)?;
    let attributes = update_attributes(codec.id(), if magic > 0 { timestamp_type } else { TimestampType::CreateTime });
    Ok(put(out, nth(first, last), &self::message(magic, attributes, timestamp, None, Some(&payload))?)?)
}
