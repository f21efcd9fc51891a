//! The messages of a record set as brokers before 0.11 handle them: they parse only the fields that they need.

use std::borrow::Cow;

use super::request::Append;
use super::versions::Broker;
use crate::validator::ValidationFault;
use kafkacomp_records::CompressionType;
use kafkacomp_records::bytes::{WithHeaderMut, field};
use kafkacomp_records::compress::{Compression, compress};
use kafkacomp_records::memory;
use kafkacomp_records::record::TimestampType;
use kafkacomp_records::record::attributes::Attributes;
use kafkacomp_records::record::batch::{LOG_OVERHEAD, OFFSET_LENGTH, OFFSET_OFFSET, SIZE_LENGTH, SIZE_OFFSET};
use kafkacomp_records::record::builder::v0_v1::{Head, put_message};
use kafkacomp_records::record::layout::v0_v1::{
    ATTRIBUTES_LENGTH, ATTRIBUTES_OFFSET, CRC_LENGTH, KEY_SIZE_OFFSET_V0, KEY_SIZE_OFFSET_V1, RECORD_OVERHEAD_V0,
    RECORD_OVERHEAD_V1, TIMESTAMP_LENGTH, TIMESTAMP_OFFSET,
};
use kafkacomp_records::record::lz4_checksum::written_header_checksum;
use kafkacomp_records::record::message::{Message, write_crc};
use kafkacomp_records::record::{Error, RecordFault, Result};

/// The last compression type that these brokers know.
const LAST_CODEC: u8 = CompressionType::Lz4 as u8;
/// The bit of the attributes that means append time.
const TIMESTAMP_TYPE_MASK: u8 = 0x08;

/// The memory of a broker of those versions. From 0.9 on, a message that claims more is not a truncated message but an
/// `OutOfMemoryError`; 0.8.2 allocates no memory for it.
const HEAP: usize = 256 << 20;

/// The bytes of a message without offset and size, of which some are read once and kept.
#[derive(Debug, Clone)]
pub(super) struct MessageBytes<'a> {
    pub(super) data: Cow<'a, [u8]>,
    magic: i8,
    attributes: Attributes,
    /// Timestamp and timestamp type of the wrapper, of format 1.
    pub(super) wrapper: Option<(i64, TimestampType)>,
}

impl<'a> MessageBytes<'a> {
    /// The message that is all of `data`.
    ///
    /// # Errors
    /// `data` are shorter than the smallest message.
    pub(super) fn new(data: impl Into<Cow<'a, [u8]>>, position: u64) -> Result<Self> {
        let data = data.into();
        let message = parse(&data, position)?;
        let (magic, attributes) = (message.magic(), message.attributes());
        Ok(Self { data, magic, attributes, wrapper: None })
    }

    pub(super) fn magic(&self) -> i8 {
        self.magic
    }

    pub(super) fn attributes(&self) -> Attributes {
        self.attributes
    }

    /// The fields, by the magic of the message.
    pub(super) fn fields(&self, position: u64) -> Result<Message<'_>> {
        parse(&self.data, position)
    }

    /// The codec.
    pub(super) fn compression_type(&self, position: u64) -> Result<CompressionType> {
        let id = self.attributes.compression_id();
        let known = if id <= LAST_CODEC { CompressionType::for_id(id) } else { None };
        known.ok_or(Error::UnknownCompressionType { position, id })
    }

    /// The timestamp of the message, or of its wrapper if that has the append time.
    pub(super) fn timestamp(&self, position: u64) -> Result<i64> {
        match self.wrapper {
            Some((timestamp, TimestampType::LogAppendTime)) if self.magic != 0 => Ok(timestamp),
            _ => self.fields(position)?.own_timestamp().map_err(|fault| Error::Invalid { position, fault }),
        }
    }

    pub(super) fn timestamp_type(&self) -> TimestampType {
        if self.magic == 0 {
            return TimestampType::NoTimestampType;
        }
        self.wrapper.map_or_else(|| self.attributes.timestamp_type(), |(_, timestamp_type)| timestamp_type)
    }

    /// Sets timestamp and timestamp type of a message of format 1.
    pub(super) fn stamp(&mut self, timestamp: i64, timestamp_type: TimestampType, position: u64) -> Result<()> {
        self.attributes = with_timestamp_type(self.attributes, timestamp_type);
        if let Cow::Borrowed(data) = self.data {
            self.data = Cow::Owned(memory::copy_of(data).map_err(|error| Error::out_of_memory(error, position))?);
        }
        let data = self.data.to_mut();
        let fault = RecordFault::MessageField { size: TIMESTAMP_LENGTH as i32 };
        let mut message = WithHeaderMut::<KEY_SIZE_OFFSET_V1>::new(data).ok_or(Error::Invalid { position, fault })?;
        message.set::<ATTRIBUTES_OFFSET, ATTRIBUTES_LENGTH>([self.attributes.0]);
        message.set::<TIMESTAMP_OFFSET, TIMESTAMP_LENGTH>(timestamp.to_be_bytes());
        write_crc(&mut message);
        Ok(())
    }

    /// The message in another format. What follows the timestamp is copied, whatever it is.
    pub(super) fn converted(
        &self,
        to_magic: i8,
        timestamp: i64,
        timestamp_type: TimestampType,
        position: u64,
    ) -> Result<Vec<u8>> {
        let (timestamp_type, from) = match to_magic {
            0 => (TimestampType::CreateTime, KEY_SIZE_OFFSET_V1),
            _ => (timestamp_type, KEY_SIZE_OFFSET_V0),
        };
        let rest = self.data.get(from..);
        let rest = rest.ok_or(Error::Invalid { position, fault: RecordFault::MessageField { size: from as i32 } })?;
        let mut data = empty(RECORD_OVERHEAD_V1.saturating_add(rest.len()), position)?;
        data.extend([0; CRC_LENGTH]);
        data.extend([to_magic as u8, with_timestamp_type(self.attributes, timestamp_type).0]);
        if to_magic > 0 {
            data.extend(timestamp.to_be_bytes());
        }
        data.extend(rest);
        if let Some(mut message) = WithHeaderMut::<KEY_SIZE_OFFSET_V0>::new(&mut data) {
            write_crc(&mut message);
        }
        Ok(data)
    }
}

fn parse(data: &[u8], position: u64) -> Result<Message<'_>> {
    let (size, minimum) = (data.len() as i32, RECORD_OVERHEAD_V0 as i32);
    Message::new(data).ok_or(Error::SizeTooSmall { position, size, minimum })
}

/// An empty buffer with this capacity.
fn empty(size: usize, position: u64) -> Result<Vec<u8>> {
    memory::with_capacity(size).map_err(|error| Error::out_of_memory(error, position))
}

/// The same bytes: borrowed ones are borrowed again, owned ones copied.
pub(super) fn copied<'a>(data: &Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>> {
    Ok(match data {
        Cow::Borrowed(data) => Cow::Borrowed(data),
        Cow::Owned(data) => Cow::Owned(memory::copy_of(data).map_err(|error| Error::out_of_memory(error, 0))?),
    })
}

/// The attributes with another timestamp type.
fn with_timestamp_type(attributes: Attributes, timestamp_type: TimestampType) -> Attributes {
    Attributes(match timestamp_type {
        TimestampType::LogAppendTime => attributes.0 | TIMESTAMP_TYPE_MASK,
        _ => attributes.0 & !TIMESTAMP_TYPE_MASK,
    })
}

/// A message from its fields.
pub(super) fn message(head: &Head, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    put_message(&mut data, head, key, value).map_err(|error| Error::out_of_memory(error, 0))?;
    Ok(data)
}

/// One entry: where it begins, its offset, its message.
pub(super) type Entry<'a> = (u64, i64, MessageBytes<'a>);

/// The entries of a set; a truncated one at the end is ignored. The magic is not checked.
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
        memory::push(&mut found, (position, offset, MessageBytes::new(data, position)?))
            .map_err(|error| Error::out_of_memory(error, position))?;
        rest = behind;
    }
    Ok(found)
}

/// The entries inside a wrapper that begins at `position`.
pub(super) fn inner_entries(broker: Broker, content: &[u8], position: u64) -> crate::Result<Vec<(i64, Vec<u8>)>> {
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
pub(super) fn check_heap(broker: Broker, size: usize, position: u64) -> crate::Result<()> {
    if broker > Broker::V0_8_2 && size > HEAP {
        return Err(crate::Error::Refused { position, fault: ValidationFault::JavaMemory });
    }
    Ok(())
}

fn offset_and_size(head: &[u8; LOG_OVERHEAD]) -> (i64, i32) {
    let offset = i64::from_be_bytes(field::<OFFSET_OFFSET, OFFSET_LENGTH, LOG_OVERHEAD>(head));
    (offset, i32::from_be_bytes(field::<SIZE_OFFSET, SIZE_LENGTH, LOG_OVERHEAD>(head)))
}

/// The offset `index` after `first`; it wraps as in Java.
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

/// The checks of the shallow pass; returns the last codec other than none.
pub(super) fn analyze(topic: &Append, entries: &[Entry<'_>]) -> crate::Result<CompressionType> {
    let mut source = CompressionType::None;
    for (position, _, message) in entries {
        let size = (message.data.len() + LOG_OVERHEAD) as u64;
        if size > topic.max_message_size.max(0) as u64 {
            let fault = ValidationFault::BatchTooLarge { size, limit: topic.max_message_size };
            return Err(crate::Error::Refused { position: *position, fault });
        }
        message.fields(*position)?.ensure_valid(*position)?;
        let codec = message.compression_type(*position)?;
        if codec != CompressionType::None {
            source = codec;
        }
    }
    Ok(source)
}

/// Appends a wrapper of `messages` with consecutive offsets from `first` on, or the messages themselves if uncompressed. Without
/// messages nothing is appended.
pub(super) fn put_set(
    out: &mut Vec<u8>,
    codec: CompressionType,
    first: i64,
    wrapper: (i8, i64, TimestampType),
    messages: &[Cow<'_, [u8]>],
) -> crate::Result<()> {
    let (magic, timestamp, timestamp_type) = wrapper;
    let mut numbered = messages.iter().enumerate().map(|(index, bytes)| (bytes, nth(first, index)));
    if codec == CompressionType::None {
        return Ok(numbered.try_for_each(|(bytes, offset)| put(out, offset, bytes))?);
    }
    let Some(last) = messages.len().checked_sub(1) else { return Ok(()) };
    let mut inner = Vec::new();
    for (bytes, offset) in numbered {
        put(&mut inner, if magic > 0 { offset.wrapping_sub(first) } else { offset }, bytes)?;
    }
    let mut payload = Vec::new();
    compress(Compression::of(codec), written_header_checksum(magic), &inner, &mut payload)?;
    let head = Head { magic, compression_type: codec, timestamp_type, timestamp };
    Ok(put(out, nth(first, last), &message(&head, None, Some(&payload))?)?)
}
