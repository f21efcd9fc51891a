//! 0.8.2 and 0.9: format 0 only, and the magic is not checked. Sets that are or must be compressed are decompressed and
//! recompressed; plain messages get their offsets in place.
//! Source: `ByteBufferMessageSet.assignOffsets` (0.8.2), `validateMessagesAndAssignOffsets` (0.9).

use std::borrow::Cow;

use super::codec::Unpacker;
use super::message::{Entry, MessageBytes, analyze, copied, entries, inner_entries, nth, put, put_set};
use super::request::Append;
use super::versions::Broker;
use crate::validator::ValidationFault;
use kafkacomp_records::CompressionType;
use kafkacomp_records::limits::MAX_MESSAGE_SET_NESTING;
use kafkacomp_records::memory;
use kafkacomp_records::record::TimestampType;
use kafkacomp_records::record::batch::{LOG_OVERHEAD, NO_TIMESTAMP};
use kafkacomp_records::record::layout::v0_v1::{KEY_SIZE_OFFSET_V0, RECORD_OVERHEAD_V0, SIZE_OF_LENGTH};
use kafkacomp_records::record::message::Message;
use kafkacomp_records::record::{Error, RecordFault};

pub(super) fn append(broker: Broker, topic: &Append, records: &[u8]) -> crate::Result<Vec<u8>> {
    let entries = entries(records)?;
    let source = analyze(topic, &entries)?;
    let target = if broker == Broker::V0_8_2 { source } else { topic.compression_type.target_compression_type(source) };
    let compacted = topic.compacted && broker > Broker::V0_8_2;
    let mut out = Vec::new();
    if source == CompressionType::None && target == CompressionType::None {
        let size =
            entries.last().map_or(0, |(position, _, message)| *position as usize + LOG_OVERHEAD + message.data.len());
        for (index, (position, _, message)) in entries.iter().enumerate() {
            // An empty key counts as no key here, and the last message of a set may be too short for a key.
            let after_key_size = *position as usize + LOG_OVERHEAD + KEY_SIZE_OFFSET_V0 + SIZE_OF_LENGTH;
            let key_size = format_0(&message.data, *position)?.key_size();
            if compacted && after_key_size < size && key_size.is_ok_and(|size| size <= 0) {
                return missing_key(*position);
            }
            put(&mut out, nth(topic.offset, index), &message.data)?;
        }
        return Ok(out);
    }
    let mut messages: Vec<Cow<'_, [u8]>> = Vec::new();
    let mut unpacker = Unpacker::new(broker, topic.max_output_size);
    for entry in &entries {
        unpack(broker, &mut unpacker, entry, 0, &mut messages)?;
    }
    if compacted {
        for message in &messages {
            if !format_0(message, 0)?.has_key().map_err(|fault| Error::Invalid { position: 0, fault })? {
                return missing_key(0);
            }
        }
    }
    put_set(&mut out, target, topic.offset, (0, NO_TIMESTAMP, TimestampType::CreateTime), &messages)?;
    Ok(out)
}

/// The fields of a message, whatever its magic is: these brokers know format 0 only.
fn format_0(data: &[u8], position: u64) -> Result<Message<'_>, Error> {
    let (size, minimum) = (data.len() as i32, RECORD_OVERHEAD_V0 as i32);
    Message::of_format_0(data).ok_or(Error::SizeTooSmall { position, size, minimum })
}

pub(super) fn missing_key<T>(position: u64) -> crate::Result<T> {
    Err(crate::Error::Refused { position, fault: ValidationFault::MissingKey })
}

/// The messages of an entry; 0.8.2 also decompresses wrappers inside wrappers.
fn unpack<'a>(
    broker: Broker,
    unpacker: &mut Unpacker,
    (position, _, message): &Entry<'a>,
    depth: usize,
    messages: &mut Vec<Cow<'a, [u8]>>,
) -> crate::Result<()> {
    let position = *position;
    let compression_type = message.compression_type(position)?;
    if compression_type == CompressionType::None || (depth > 0 && broker != Broker::V0_8_2) {
        let data = copied(&message.data)?;
        memory::push(messages, data).map_err(|error| Error::out_of_memory(error, position))?;
        return Ok(());
    }
    if depth > MAX_MESSAGE_SET_NESTING {
        return Err(crate::Error::Refused { position, fault: ValidationFault::JavaMemory });
    }
    let fail = |fault| Error::Invalid { position, fault };
    let value = format_0(&message.data, position)?.value().map_err(fail)?;
    let payload = value.ok_or_else(|| fail(RecordFault::NullWrapper))?;
    let (content, decoded) = unpacker.unpack(compression_type, message.magic(), payload);
    let inner = inner_entries(broker, &content, position);
    if broker > Broker::V0_8_2 {
        inner.as_ref().map_err(Clone::clone)?;
    }
    decoded.map_err(|source| Error::BatchCodec { position, source })?;
    for (offset, data) in inner? {
        let inner = MessageBytes::new(data, position)?;
        unpack(broker, unpacker, &(position, offset, inner), depth.saturating_add(1), messages)?;
    }
    Ok(())
}
