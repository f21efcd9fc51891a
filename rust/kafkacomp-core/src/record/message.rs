//! A message of formats 0 and 1: its fields, without the offset and size before it.

use super::attributes::{Attributes, TimestampType};
use super::batch::NO_TIMESTAMP;
use super::error::{Error, Result};
use super::fault::RecordFault;
use super::layout::v0_v1::{
    ATTRIBUTES_OFFSET, CRC_OFFSET, KEY_SIZE_OFFSET_V0, KEY_SIZE_OFFSET_V1, MAGIC_OFFSET, SIZE_OF_LENGTH,
    TIMESTAMP_OFFSET,
};
use crate::bytes::{be_i8, be_i64, be_u32};
use crate::checksum::crc32;

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
    pub(super) fn own_timestamp(&self) -> i64 {
        if self.magic() == 0 { NO_TIMESTAMP } else { be_i64(self.data, TIMESTAMP_OFFSET) }
    }

    pub(super) fn own_timestamp_type(&self) -> TimestampType {
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
