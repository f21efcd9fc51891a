//! Writing format 2; the layout is in [`record::v2`](crate::record::v2).

use super::settings::BatchSettings;
use crate::bytes::WithHeaderMut;
use crate::checksum::crc32c;
use crate::memory::{self, OutOfMemory};
use crate::record::Headers;
use crate::record::attributes::Attributes;
use crate::record::layout::v2::{
    ATTRIBUTES_LENGTH, ATTRIBUTES_OFFSET, BASE_OFFSET_LENGTH, BASE_OFFSET_OFFSET, BASE_SEQUENCE_LENGTH,
    BASE_SEQUENCE_OFFSET, BASE_TIMESTAMP_LENGTH, BASE_TIMESTAMP_OFFSET, CRC_LENGTH, CRC_OFFSET,
    LAST_OFFSET_DELTA_LENGTH, LAST_OFFSET_DELTA_OFFSET, LENGTH_LENGTH, LENGTH_OFFSET, MAGIC_LENGTH, MAGIC_OFFSET,
    MAX_TIMESTAMP_LENGTH, MAX_TIMESTAMP_OFFSET, PARTITION_LEADER_EPOCH_LENGTH, PARTITION_LEADER_EPOCH_OFFSET,
    PRODUCER_EPOCH_LENGTH, PRODUCER_EPOCH_OFFSET, PRODUCER_ID_LENGTH, PRODUCER_ID_OFFSET, RECORD_BATCH_OVERHEAD,
    RECORDS_COUNT_LENGTH, RECORDS_COUNT_OFFSET,
};
use crate::varint::{MAX_VARINT_LENGTH, MAX_VARLONG_LENGTH, put_varint, put_varlong, size_of_varint, size_of_varlong};

/// Length of a record's attributes, of which no bit is used.
const RECORD_ATTRIBUTES_LENGTH: usize = 1;
/// Kafka's bound of the size of a record without key, value and headers.
const MAX_RECORD_OVERHEAD: u64 = 21;

/// Size, attributes, both deltas and the lengths of key and value at their longest, rounded up to whole words.
const MAX_PREFIX: usize =
    (4 * MAX_VARINT_LENGTH + RECORD_ATTRIBUTES_LENGTH + MAX_VARLONG_LENGTH).next_multiple_of(size_of::<u64>());

/// The fields of a record.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) offset_delta: i32,
    pub(super) timestamp_delta: i64,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
    pub(super) headers: Headers<'a>,
}

impl Fields<'_> {
    /// The size after the size field. It is also defined for lengths above 2^31, which the caller refuses.
    #[expect(clippy::inline_always, reason = "per record; without it the fields go through memory")]
    #[inline(always)]
    pub(super) fn body_size(&self) -> u64 {
        RECORD_ATTRIBUTES_LENGTH as u64
            + size_of_varlong(self.timestamp_delta) as u64
            + size_of_varint(self.offset_delta) as u64
            + self.content_size()
    }

    #[inline]
    fn content_size(&self) -> u64 {
        nullable_size(self.key)
            + nullable_size(self.value)
            + size_of_varint(self.headers.len() as i32) as u64
            + self.headers.size_in_bytes() as u64
    }

    /// Kafka's bound of the size of the record for any deltas.
    pub(super) fn size_upper_bound(&self) -> u64 {
        MAX_RECORD_OVERHEAD + self.content_size()
    }
}

/// The size of a record with its size field, from that of its body.
#[inline]
pub(super) fn record_size(body_size: u64) -> u64 {
    size_of_varint(i32::try_from(body_size).unwrap_or(i32::MAX)) as u64 + body_size
}

/// Appends a record whose body has this size, which the caller has checked. The numbers before the key (if the key is null, those
/// before the value) are assembled in an array and copied with a fixed length, then the excess is truncated: a copy of few bytes
/// whose number is not known at compile time takes as long as that of the value.
///
/// # Errors
/// The vector cannot grow; it is unchanged then.
#[inline]
pub(super) fn put_record(out: &mut Vec<u8>, fields: &Fields<'_>, body_size: i32) -> Result<(), OutOfMemory> {
    let mut prefix = [0; MAX_PREFIX];
    let mut at = put_varint(&mut prefix, 0, body_size);
    at += RECORD_ATTRIBUTES_LENGTH;
    at = put_varlong(&mut prefix, at, fields.timestamp_delta);
    at = put_varint(&mut prefix, at, fields.offset_delta);
    at = put_varint(&mut prefix, at, nullable_length(fields.key));
    memory::reserve(out, body_size as usize + 2 * MAX_PREFIX)?;
    if let Some(key) = fields.key {
        put_front(out, &prefix, at);
        out.extend_from_slice(key);
        prefix = [0; MAX_PREFIX];
        at = 0;
    }
    at = put_varint(&mut prefix, at, nullable_length(fields.value));
    put_front(out, &prefix, at);
    if let Some(value) = fields.value {
        out.extend_from_slice(value);
    }
    if fields.headers.is_empty() {
        out.push(0);
    } else {
        put_number(out, fields.headers.len() as i32);
        out.extend_from_slice(fields.headers.raw());
    }
    Ok(())
}

/// Appends the first `length` bytes of `prefix`.
#[inline]
fn put_front(out: &mut Vec<u8>, prefix: &[u8; MAX_PREFIX], length: usize) {
    let end = out.len() + length;
    out.extend_from_slice(prefix);
    out.truncate(end);
}

/// Appends a length and as many bytes, -1 for null.
///
/// # Errors
/// The vector cannot grow; it is unchanged then.
#[inline]
pub(super) fn put_nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) -> Result<(), OutOfMemory> {
    memory::reserve(out, MAX_VARINT_LENGTH.saturating_add(bytes.map_or(0, <[u8]>::len)))?;
    put_number(out, nullable_length(bytes));
    if let Some(bytes) = bytes {
        out.extend_from_slice(bytes);
    }
    Ok(())
}

#[inline]
fn put_number(out: &mut Vec<u8>, number: i32) {
    let mut bytes = [0; MAX_VARINT_LENGTH];
    let length = put_varint(&mut bytes, 0, number);
    out.extend(bytes.into_iter().take(length));
}

#[inline]
fn nullable_length(bytes: Option<&[u8]>) -> i32 {
    bytes.map_or(-1, |bytes| bytes.len() as i32)
}

#[inline]
fn nullable_size(bytes: Option<&[u8]>) -> u64 {
    let length = bytes.map_or(0, <[u8]>::len) as u64;
    size_of_varint(nullable_length(bytes)) as u64 + length
}

/// The header fields that depend on the records.
#[derive(Clone, Copy)]
pub(super) struct HeaderFields {
    pub(super) last_offset_delta: i32,
    pub(super) base_timestamp: i64,
    pub(super) max_timestamp: i64,
    pub(super) records_count: i32,
}

/// Writes the header of `batch`, whose records follow the room for it.
pub(super) fn write_header(batch: &mut [u8], settings: &BatchSettings, fields: &HeaderFields) {
    let attributes = Attributes::new(
        settings.compression.compression_type(),
        settings.timestamp_type,
        settings.is_transactional,
        settings.is_control_batch,
        settings.delete_horizon_ms.is_some(),
    );
    let length = batch.len().saturating_sub(LENGTH_OFFSET + LENGTH_LENGTH) as i32;
    let Some(mut header) = WithHeaderMut::<RECORD_BATCH_OVERHEAD>::new(batch) else { return };
    header.set::<BASE_OFFSET_OFFSET, BASE_OFFSET_LENGTH>(settings.base_offset.to_be_bytes());
    header.set::<LENGTH_OFFSET, LENGTH_LENGTH>(length.to_be_bytes());
    header.set::<PARTITION_LEADER_EPOCH_OFFSET, PARTITION_LEADER_EPOCH_LENGTH>(
        settings.partition_leader_epoch.to_be_bytes(),
    );
    header.set::<MAGIC_OFFSET, MAGIC_LENGTH>(settings.magic.to_be_bytes());
    header.set::<ATTRIBUTES_OFFSET, ATTRIBUTES_LENGTH>(i16::from(attributes.0).to_be_bytes());
    header.set::<LAST_OFFSET_DELTA_OFFSET, LAST_OFFSET_DELTA_LENGTH>(fields.last_offset_delta.to_be_bytes());
    header.set::<BASE_TIMESTAMP_OFFSET, BASE_TIMESTAMP_LENGTH>(fields.base_timestamp.to_be_bytes());
    header.set::<MAX_TIMESTAMP_OFFSET, MAX_TIMESTAMP_LENGTH>(fields.max_timestamp.to_be_bytes());
    header.set::<PRODUCER_ID_OFFSET, PRODUCER_ID_LENGTH>(settings.producer_id.to_be_bytes());
    header.set::<PRODUCER_EPOCH_OFFSET, PRODUCER_EPOCH_LENGTH>(settings.producer_epoch.to_be_bytes());
    header.set::<BASE_SEQUENCE_OFFSET, BASE_SEQUENCE_LENGTH>(settings.base_sequence.to_be_bytes());
    header.set::<RECORDS_COUNT_OFFSET, RECORDS_COUNT_LENGTH>(fields.records_count.to_be_bytes());
    header.set::<CRC_OFFSET, CRC_LENGTH>(crc32c(header.tail::<ATTRIBUTES_OFFSET>()).to_be_bytes());
}
