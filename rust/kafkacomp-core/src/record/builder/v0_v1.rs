//! Writing formats 0 and 1; the layout is in [`record::v0_v1`](crate::record::v0_v1).

use crate::CompressionType;
use crate::checksum::crc32;
use crate::memory::{self, OutOfMemory};
use crate::record::TimestampType;
use crate::record::attributes::Attributes;
use crate::record::batch::LOG_OVERHEAD;
use crate::record::layout::v0_v1::{CRC_LENGTH, CRC_OFFSET, MAGIC_OFFSET, record_overhead};

/// The fields in front of a message's key.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) offset: i64,
    pub(super) magic: i8,
    pub(super) compression_type: CompressionType,
    pub(super) timestamp_type: TimestampType,
    pub(super) timestamp: i64,
}

/// The size of an entry with its offset and size fields.
#[inline]
pub(super) fn entry_size(magic: i8, key: Option<&[u8]>, value: Option<&[u8]>) -> u64 {
    (LOG_OVERHEAD + record_overhead(magic)) as u64
        + key.map_or(0, <[u8]>::len) as u64
        + value.map_or(0, <[u8]>::len) as u64
}

/// Appends a message; the caller found its size to be in range.
///
/// # Errors
/// The vector cannot grow; it is as it was then.
pub(super) fn put_message(
    out: &mut Vec<u8>,
    head: &Head,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> Result<(), OutOfMemory> {
    let start = out.len();
    let size = entry_size(head.magic, key, value) as usize;
    memory::reserve(out, size)?;
    put_head(out, head, size.saturating_sub(LOG_OVERHEAD) as i32);
    for field in [key, value] {
        out.extend_from_slice(&field.map_or(-1, |bytes| bytes.len() as i32).to_be_bytes());
        out.extend_from_slice(field.unwrap_or_default());
    }
    seal(out.get_mut(start..).unwrap_or_default());
    Ok(())
}

/// The front of a wrapper: everything but the compressed value, whose length and checksum [`finish_wrapper`]
/// fills in.
///
/// # Errors
/// The vector cannot grow; it is as it was then.
pub(super) fn put_wrapper(out: &mut Vec<u8>, head: &Head) -> Result<(), OutOfMemory> {
    memory::reserve(out, LOG_OVERHEAD + record_overhead(head.magic))?;
    put_head(out, head, 0);
    out.extend_from_slice(&(-1_i32).to_be_bytes());
    out.extend_from_slice(&0_i32.to_be_bytes());
    Ok(())
}

/// Fills in the sizes and the checksum of the wrapper that is all of `entry`.
pub(super) fn finish_wrapper(entry: &mut [u8], magic: i8) {
    let size = entry.len().saturating_sub(LOG_OVERHEAD);
    let value_size = size.saturating_sub(record_overhead(magic));
    let value = LOG_OVERHEAD + record_overhead(magic);
    for (end, number) in [(LOG_OVERHEAD, size), (value, value_size)] {
        if let Some(place) = entry.get_mut(end - size_of::<i32>()..end) {
            place.copy_from_slice(&(number as i32).to_be_bytes());
        }
    }
    seal(entry);
}

fn put_head(out: &mut Vec<u8>, head: &Head, size: i32) {
    let attributes = match head.magic {
        0 => Attributes::new(head.compression_type, TimestampType::NoTimestampType, false, false, false),
        _ => Attributes::new(head.compression_type, head.timestamp_type, false, false, false),
    };
    out.extend_from_slice(&head.offset.to_be_bytes());
    out.extend_from_slice(&size.to_be_bytes());
    out.extend_from_slice(&[0; CRC_LENGTH]);
    out.extend_from_slice(&[head.magic as u8, attributes.0]);
    if head.magic > 0 {
        out.extend_from_slice(&head.timestamp.to_be_bytes());
    }
}

/// Fills in the checksum of an entry.
fn seal(entry: &mut [u8]) {
    let crc = crc32(entry.get(LOG_OVERHEAD + MAGIC_OFFSET..).unwrap_or_default());
    if let Some(place) = entry.get_mut(LOG_OVERHEAD + CRC_OFFSET..LOG_OVERHEAD + CRC_OFFSET + CRC_LENGTH) {
        place.copy_from_slice(&crc.to_be_bytes());
    }
}
