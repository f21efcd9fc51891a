//! Writing formats 0 and 1; the layout is in [`record::v0_v1`](crate::record::v0_v1).

use crate::CompressionType;
use crate::bytes::WithHeaderMut;
use crate::memory::{self, OutOfMemory};
use crate::record::TimestampType;
use crate::record::attributes::Attributes;
use crate::record::batch::{LOG_OVERHEAD, SIZE_LENGTH};
use crate::record::layout::v0_v1::{CRC_LENGTH, RECORD_OVERHEAD_V0, SIZE_OF_LENGTH, record_overhead};
use crate::record::message::write_crc;

/// The fields of a message before its key.
#[derive(Clone, Copy)]
pub struct Head {
    pub magic: i8,
    pub compression_type: CompressionType,
    pub timestamp_type: TimestampType,
    pub timestamp: i64,
}

/// The size of an entry with its offset and size fields.
#[inline]
pub(super) fn entry_size(magic: i8, key: Option<&[u8]>, value: Option<&[u8]>) -> u64 {
    LOG_OVERHEAD as u64 + message_size(magic, key, value)
}

#[inline]
fn message_size(magic: i8, key: Option<&[u8]>, value: Option<&[u8]>) -> u64 {
    record_overhead(magic) as u64 + key.map_or(0, <[u8]>::len) as u64 + value.map_or(0, <[u8]>::len) as u64
}

/// Appends an entry: offset, size and message. The caller has checked that the size fits its field.
///
/// # Errors
/// The vector cannot grow; it is unchanged then.
pub(super) fn put_entry(
    out: &mut Vec<u8>,
    offset: i64,
    head: &Head,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> Result<(), OutOfMemory> {
    let size = message_size(head.magic, key, value) as usize;
    memory::reserve(out, LOG_OVERHEAD.saturating_add(size))?;
    out.extend_from_slice(&offset.to_be_bytes());
    out.extend_from_slice(&(size as i32).to_be_bytes());
    put_message(out, head, key, value)
}

/// Appends a message without offset and size. The caller has checked that key and value fit their size fields.
///
/// # Errors
/// The vector cannot grow; it is unchanged then.
pub fn put_message(
    out: &mut Vec<u8>,
    head: &Head,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> Result<(), OutOfMemory> {
    memory::reserve(out, message_size(head.magic, key, value) as usize)?;
    let start = out.len();
    put_head(out, head);
    for field in [key, value] {
        match field {
            Some(bytes) => {
                out.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
                out.extend_from_slice(bytes);
            }
            None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        }
    }
    if let Some(mut message) = out.get_mut(start..).and_then(WithHeaderMut::<RECORD_OVERHEAD_V0>::new) {
        write_crc(&mut message);
    }
    Ok(())
}

/// Appends a wrapper up to its value. [`finish_wrapper`] sets the sizes and the checksum.
///
/// # Errors
/// The vector cannot grow; it is unchanged then.
pub(super) fn put_wrapper(out: &mut Vec<u8>, offset: i64, head: &Head) -> Result<(), OutOfMemory> {
    memory::reserve(out, LOG_OVERHEAD + record_overhead(head.magic))?;
    out.extend_from_slice(&offset.to_be_bytes());
    out.extend_from_slice(&0_i32.to_be_bytes());
    put_head(out, head);
    out.extend_from_slice(&(-1_i32).to_be_bytes());
    out.extend_from_slice(&0_i32.to_be_bytes());
    Ok(())
}

/// Sets the sizes and the checksum of a wrapper without key; `entry` is the whole wrapper.
pub(super) fn finish_wrapper(entry: &mut [u8], magic: i8) {
    let overhead = record_overhead(magic);
    let Some((head, message)) = entry.split_first_chunk_mut::<LOG_OVERHEAD>() else { return };
    let (size, value_size) = (message.len() as i32, message.len().saturating_sub(overhead) as i32);
    if let Some(field) = head.last_chunk_mut::<SIZE_LENGTH>() {
        *field = size.to_be_bytes();
    }
    if let Some(field) = message.get_mut(..overhead).and_then(|fields| fields.last_chunk_mut::<SIZE_OF_LENGTH>()) {
        *field = value_size.to_be_bytes();
    }
    if let Some(mut message) = WithHeaderMut::<RECORD_OVERHEAD_V0>::new(message) {
        write_crc(&mut message);
    }
}

/// Appends the fields before the key, without a checksum.
fn put_head(out: &mut Vec<u8>, head: &Head) {
    let attributes = match head.magic {
        0 => Attributes::new(head.compression_type, TimestampType::NoTimestampType, false, false, false),
        _ => Attributes::new(head.compression_type, head.timestamp_type, false, false, false),
    };
    out.extend_from_slice(&[0; CRC_LENGTH]);
    out.extend_from_slice(&[head.magic as u8, attributes.0]);
    if head.magic > 0 {
        out.extend_from_slice(&head.timestamp.to_be_bytes());
    }
}
