//! 0.10.0 and 0.10.2: formats 0 and 1, in place if possible. To convert messages, 0.10.0 copies bytes without parsing them; 0.10.2
//! reads keys and values.
//! Source: `ByteBufferMessageSet` (0.10.0), `LogValidator`, `RecordsIterator`, `MemoryRecordsBuilder` (0.10.2).

use std::borrow::Cow;

use super::before_0_10::missing_key;
use super::codec::Unpacker;
use super::message::{self, Entry, MessageBytes, analyze, copied, entries, inner_entries, nth, put, put_set};
use super::request::Append;
use super::versions::Broker;
use crate::validator::ValidationFault;
use kafkacomp_records::CompressionType;
use kafkacomp_records::memory;
use kafkacomp_records::record::TimestampType;
use kafkacomp_records::record::batch::NO_TIMESTAMP;
use kafkacomp_records::record::builder::v0_v1::Head;
use kafkacomp_records::record::{Error, RecordFault};

pub(super) fn append(broker: Broker, topic: &Append, records: &[u8]) -> crate::Result<Vec<u8>> {
    let entries = entries(records)?;
    let source = analyze(topic, &entries)?;
    let target = topic.compression_type.target_compression_type(source);
    let to_magic = broker.to_magic(topic.message_format);
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    if (source, target) != (CompressionType::None, CompressionType::None) {
        return compressed(broker, topic, &entries, source, target);
    }
    if entries.iter().all(|(_, _, message)| message.magic() == to_magic) {
        in_place(topic, entries)
    } else {
        convert(broker, topic, &entries, to_magic)
    }
}

fn check_key(topic: &Append, message: &MessageBytes<'_>, position: u64) -> crate::Result<()> {
    if !topic.compacted {
        return Ok(());
    }
    let has_key = message.fields(position)?.has_key().map_err(|fault| Error::Invalid { position, fault })?;
    if has_key { Ok(()) } else { missing_key(position) }
}

/// Checks the timestamp; -1 is not exempt in these versions.
fn check_timestamp(topic: &Append, message: &MessageBytes<'_>, position: u64) -> crate::Result<()> {
    let timestamp = message.timestamp(position)?;
    let apart = timestamp.wrapping_sub(topic.now).wrapping_abs();
    let too_far = topic.timestamp_type == TimestampType::CreateTime && apart > topic.timestamp_before_max_ms;
    if too_far || message.timestamp_type() == TimestampType::LogAppendTime {
        return Err(crate::Error::Refused { position, fault: ValidationFault::Timestamp { timestamp } });
    }
    Ok(())
}

fn in_place(topic: &Append, entries: Vec<Entry<'_>>) -> crate::Result<Vec<u8>> {
    let mut out = Vec::new();
    for (index, (position, _, mut message)) in entries.into_iter().enumerate() {
        let offset = nth(topic.offset, index);
        check_key(topic, &message, position)?;
        if message.magic() > 0 {
            check_timestamp(topic, &message, position)?;
            if topic.timestamp_type == TimestampType::LogAppendTime {
                message.stamp(topic.now, TimestampType::LogAppendTime, position)?;
            }
        }
        put(&mut out, offset, &message.data)?;
    }
    Ok(out)
}

fn convert(broker: Broker, topic: &Append, entries: &[Entry<'_>], to_magic: i8) -> crate::Result<Vec<u8>> {
    let append_time = topic.timestamp_type == TimestampType::LogAppendTime;
    if broker == Broker::V0_10_2 {
        // 0.10.2 reads all values to compute the size.
        for (position, _, message) in entries {
            message.fields(*position)?.value().map_err(|fault| Error::Invalid { position: *position, fault })?;
        }
    }
    let mut out = Vec::new();
    for (index, (position, _, message)) in entries.iter().enumerate() {
        let offset = nth(topic.offset, index);
        check_key(topic, message, *position)?;
        check_timestamp(topic, message, *position)?;
        let same = message.magic() == to_magic;
        let timestamp = if append_time { topic.now } else { NO_TIMESTAMP };
        if broker == Broker::V0_10_2 && same {
            put(&mut out, offset, &message.data)?;
        } else if broker == Broker::V0_10_2 {
            put(&mut out, offset, &rewritten(message, to_magic, timestamp, topic.timestamp_type, *position)?)?;
        } else if same && to_magic > 0 {
            // 0.10.0 allocates no room for a second timestamp.
            return Err(crate::Error::Refused { position: *position, fault: ValidationFault::JavaMemory });
        } else {
            put(&mut out, offset, &message.converted(to_magic, timestamp, topic.timestamp_type, *position)?)?;
        }
    }
    Ok(out)
}

/// Makes a message of another format from key and value.
fn rewritten(
    message: &MessageBytes<'_>,
    to_magic: i8,
    timestamp: i64,
    timestamp_type: TimestampType,
    position: u64,
) -> crate::Result<Vec<u8>> {
    let key_and_value = message.fields(position)?.key_and_value();
    let (key, value) = key_and_value.map_err(|fault| Error::Invalid { position, fault })?;
    let head = Head { magic: to_magic, compression_type: CompressionType::None, timestamp_type, timestamp };
    Ok(message::message(&head, key, value)?)
}

fn compressed(
    broker: Broker,
    topic: &Append,
    entries: &[Entry<'_>],
    source: CompressionType,
    target: CompressionType,
) -> crate::Result<Vec<u8>> {
    let to_magic = broker.to_magic(topic.message_format);
    let mut stays = source == target && to_magic > 0;
    let mut max_timestamp = NO_TIMESTAMP;
    let mut expected = 0_i64;
    let mut deep: Vec<MessageBytes<'_>> = Vec::new();
    let mut messages: Vec<Cow<'_, [u8]>> = Vec::new();
    let mut unpacker = Unpacker::new(broker, topic.max_output_size);
    for entry in entries {
        for (offset, message) in unpack(broker, &mut unpacker, entry)? {
            let position = entry.0;
            check_key(topic, &message, position)?;
            if message.magic() > 0 && to_magic > 0 {
                check_timestamp(topic, &message, position)?;
                stays &= offset == expected;
                expected = expected.wrapping_add(1);
                max_timestamp = max_timestamp.max(message.timestamp(position)?);
            }
            if source != CompressionType::None && message.compression_type(position)? != CompressionType::None {
                return Err(Error::Invalid { position, fault: RecordFault::NestedCompression }.into());
            }
            stays &= message.magic() == to_magic;
            let data = if message.magic() == to_magic {
                copied(&message.data)?
            } else if broker == Broker::V0_10_0 {
                Cow::Owned(message.converted(to_magic, NO_TIMESTAMP, timestamp_type_of(&message), position)?)
            } else {
                Cow::Owned(rewritten(
                    &message,
                    to_magic,
                    message.timestamp(position)?,
                    timestamp_type_of(&message),
                    position,
                )?)
            };
            let kept = memory::push(&mut messages, data).and_then(|()| memory::push(&mut deep, message));
            kept.map_err(|error| Error::out_of_memory(error, position))?;
        }
    }
    if stays {
        return keep(broker, topic, entries, &deep, max_timestamp);
    }
    let append_time = topic.timestamp_type == TimestampType::LogAppendTime;
    let timestamp = match (to_magic, append_time) {
        (0, _) => NO_TIMESTAMP,
        (_, true) => topic.now,
        _ => max_timestamp,
    };
    let mut out = Vec::new();
    put_set(&mut out, target, topic.offset, (to_magic, timestamp, topic.timestamp_type), &messages)?;
    Ok(out)
}

/// The timestamp type of a message that is converted: that of its wrapper, otherwise that of its attributes.
fn timestamp_type_of(message: &MessageBytes<'_>) -> TimestampType {
    message.wrapper.map_or_else(|| message.attributes().timestamp_type(), |(_, timestamp_type)| timestamp_type)
}

/// The first entry with a new offset and timestamp; further entries unchanged.
fn keep(
    broker: Broker,
    topic: &Append,
    entries: &[Entry<'_>],
    deep: &[MessageBytes<'_>],
    max_timestamp: i64,
) -> crate::Result<Vec<u8>> {
    for message in deep {
        message.fields(0)?.ensure_valid(0)?;
    }
    let append_time = topic.timestamp_type == TimestampType::LogAppendTime;
    let mut out = Vec::new();
    let mut offset = topic.offset.wrapping_add(deep.len() as i64).wrapping_sub(1);
    for (index, &(position, own, ref message)) in entries.iter().enumerate() {
        let mut message = message.clone();
        if index == 0 && append_time {
            message.stamp(topic.now, TimestampType::LogAppendTime, position)?;
        } else if index == 0 && broker == Broker::V0_10_2 && message.timestamp(position)? != max_timestamp {
            // 0.10.0 computes the checksum again but does not set the timestamp.
            message.stamp(max_timestamp, TimestampType::CreateTime, position)?;
        }
        if index > 0 {
            offset = own;
        }
        put(&mut out, offset, &message.data)?;
    }
    Ok(out)
}

/// The messages of an entry with their absolute offsets.
fn unpack<'a>(
    broker: Broker,
    unpacker: &mut Unpacker,
    (position, offset, message): &Entry<'a>,
) -> crate::Result<Vec<(i64, MessageBytes<'a>)>> {
    let (position, offset) = (*position, *offset);
    let fail = |fault| crate::Error::from(Error::Invalid { position, fault });
    let compression_type = message.compression_type(position)?;
    if compression_type == CompressionType::None {
        return Ok(vec![(offset, message.clone())]);
    }
    let magic = message.magic();
    let value = message.fields(position)?.value().map_err(fail)?;
    let payload = value.ok_or_else(|| fail(RecordFault::NullWrapper))?;
    let (content, decoded) = unpacker.unpack(compression_type, magic, payload);
    let inner = inner_entries(broker, &content, position)?;
    let mut messages = memory::with_capacity(inner.len()).map_err(|error| Error::out_of_memory(error, position))?;
    for (own, data) in inner {
        let message = MessageBytes::new(data, position)?;
        if message.magic() != magic {
            return Err(fail(RecordFault::InnerMagic { wrapper: magic, inner: message.magic() }));
        }
        messages.push((own, message));
    }
    decoded.map_err(|source| Error::BatchCodec { position, source })?;
    let Some(&(last, _)) = messages.last() else {
        return if broker == Broker::V0_10_0 { Ok(Vec::new()) } else { Err(fail(RecordFault::EmptyWrapper)) };
    };
    let base = match (magic, offset.wrapping_sub(last)) {
        (0, _) => 0,
        // 0.10.2 takes a wrapper offset below the last inner one for that of an old client, whose offsets count from 0.
        (_, ..0) if broker == Broker::V0_10_2 => 0,
        (_, base) => base,
    };
    let wrapper = match magic {
        1.. => Some((message.fields(position)?.own_timestamp().map_err(fail)?, message.attributes().timestamp_type())),
        _ => None,
    };
    for (offset, message) in &mut messages {
        *offset = base.wrapping_add(*offset);
        message.wrapper = wrapper;
    }
    let nested = |(_, message): &(i64, MessageBytes<'_>)| message.attributes().compression_id() != 0;
    if broker == Broker::V0_10_2 && messages.iter().any(nested) {
        return Err(fail(RecordFault::NestedCompression));
    }
    Ok(messages)
}
