//! A message of formats 0 and 1: its fields, without the offset and size before it.

use super::attributes::{Attributes, TimestampType};
use super::batch::NO_TIMESTAMP;
use super::error::{Error, Result};
use super::fault::RecordFault;
use super::layout::v0_v1::{
    ATTRIBUTES_OFFSET, CRC_LENGTH, CRC_OFFSET, KEY_SIZE_OFFSET_V0, KEY_SIZE_OFFSET_V1, MAGIC_OFFSET,
    RECORD_OVERHEAD_V0, SIZE_OF_LENGTH, TIMESTAMP_OFFSET,
};
use crate::bytes::{WithHeader, WithHeaderMut, be_i32};
use crate::checksum::crc32;

/// A nullable field, and what follows it.
type Field<'a> = (Option<&'a [u8]>, &'a [u8]);

/// A message without its offset and size.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    message: WithHeader<'a, RECORD_OVERHEAD_V0>,
    magic: i8,
}

impl<'a> Message<'a> {
    /// A view of the bytes after the size field; `None` if they are shorter than the smallest message.
    #[inline]
    pub fn new(data: &'a [u8]) -> Option<Self> {
        let message = WithHeader::new(data)?;
        Some(Self { message, magic: message.i8::<MAGIC_OFFSET>() })
    }

    /// As [`new`](Self::new), read as a message of format 0 whatever the magic is: brokers before 0.10 know no other format.
    pub fn of_format_0(data: &'a [u8]) -> Option<Self> {
        Some(Self { message: WithHeader::new(data)?, magic: 0 })
    }

    /// The magic. Readers do not check it inside a wrapper.
    pub fn magic(&self) -> i8 {
        self.magic
    }

    /// The attributes.
    pub fn attributes(&self) -> Attributes {
        Attributes(self.message.i8::<ATTRIBUTES_OFFSET>() as u8)
    }

    /// The size without the offset and size fields, in bytes.
    pub fn size_in_bytes(&self) -> usize {
        self.message.data().len()
    }

    /// The stored CRC.
    pub fn crc(&self) -> u32 {
        self.message.u32::<CRC_OFFSET>()
    }

    /// The CRC of the bytes.
    pub fn compute_crc(&self) -> u32 {
        crc32(self.message.tail::<MAGIC_OFFSET>())
    }

    /// Whether the stored CRC is right.
    pub fn is_valid(&self) -> bool {
        self.crc() == self.compute_crc()
    }

    /// Verifies the CRC; `position` is where the batch begins that contains the message.
    ///
    /// # Errors
    /// [`Error::CrcMismatch`].
    pub fn ensure_valid(&self, position: u64) -> Result<()> {
        let (stored, computed) = (self.crc(), self.compute_crc());
        if stored == computed { Ok(()) } else { Err(Error::CrcMismatch { position, stored, computed }) }
    }

    fn key_size_offset(&self) -> usize {
        if self.magic == 0 { KEY_SIZE_OFFSET_V0 } else { KEY_SIZE_OFFSET_V1 }
    }

    /// The size of the key, negative for null.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] if the message ends before it.
    pub fn key_size(&self) -> std::result::Result<i32, RecordFault> {
        be_i32(self.message.data(), self.key_size_offset())
            .ok_or(RecordFault::MessageField { size: SIZE_OF_LENGTH as i32 })
    }

    /// Whether the message has a key, by its size alone.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] if the message ends before the size of the key.
    pub fn has_key(&self) -> std::result::Result<bool, RecordFault> {
        self.key_size().map(|size| size >= 0)
    }

    /// The timestamp in the message; -1 in format 0.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] if the message ends before it. Inside a wrapper no reader compares the size with the
    /// magic.
    pub fn own_timestamp(&self) -> std::result::Result<i64, RecordFault> {
        if self.magic == 0 {
            return Ok(NO_TIMESTAMP);
        }
        let field = self.message.data().get(TIMESTAMP_OFFSET..).and_then(|rest| rest.first_chunk());
        let timestamp = field.map(|bytes| i64::from_be_bytes(*bytes));
        timestamp.ok_or(RecordFault::MessageField { size: size_of::<i64>() as i32 })
    }

    /// The timestamp type in the message.
    pub fn own_timestamp_type(&self) -> TimestampType {
        if self.magic == 0 { TimestampType::NoTimestampType } else { self.attributes().timestamp_type() }
    }

    /// Key and value.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] if one reaches past the message.
    #[expect(clippy::type_complexity, reason = "two nullable slices and nothing else")]
    pub fn key_and_value(&self) -> std::result::Result<(Option<&'a [u8]>, Option<&'a [u8]>), RecordFault> {
        let (key, rest) = self.nullable_at(self.key_size_offset())?;
        let (value, _) = take_nullable(rest)?;
        Ok((key, value))
    }

    /// The value, at the place that follows from the size of the key: the bytes of the key are not read.
    ///
    /// # Errors
    /// [`RecordFault::MessageField`] if the value reaches past the message.
    pub fn value(&self) -> std::result::Result<Option<&'a [u8]>, RecordFault> {
        // A negative size is that of null, which takes no bytes.
        let key_size = usize::try_from(self.key_size()?).unwrap_or(0);
        let at = self.key_size_offset().saturating_add(SIZE_OF_LENGTH).saturating_add(key_size);
        self.nullable_at(at).map(|(value, _)| value)
    }

    fn nullable_at(&self, at: usize) -> std::result::Result<Field<'a>, RecordFault> {
        let rest = self.message.data().get(at..);
        take_nullable(rest.ok_or(RecordFault::MessageField { size: SIZE_OF_LENGTH as i32 })?)
    }
}

/// A length and as many bytes from the front; a negative length is null.
fn take_nullable(fields: &[u8]) -> std::result::Result<Field<'_>, RecordFault> {
    let Some((length, rest)) = fields.split_first_chunk::<SIZE_OF_LENGTH>() else {
        return Err(RecordFault::MessageField { size: SIZE_OF_LENGTH as i32 });
    };
    let size = i32::from_be_bytes(*length);
    let Ok(length) = usize::try_from(size) else { return Ok((None, rest)) };
    let (bytes, rest) = rest.split_at_checked(length).ok_or(RecordFault::MessageField { size })?;
    Ok((Some(bytes), rest))
}

/// Writes the CRC of a message that is otherwise complete.
pub fn write_crc<const N: usize>(message: &mut WithHeaderMut<'_, N>) {
    let crc = crc32(message.tail::<MAGIC_OFFSET>());
    message.set::<CRC_OFFSET, CRC_LENGTH>(crc.to_be_bytes());
}
