//! A shallow batch of any magic: the fields that can be read without decompressing.
//!
//! All formats begin with the same fields, so one log can contain all of them:
//! ```text
//! offset:int64 size:int32 x:int32 magic:int8 ...     x = crc (magic 0, 1) or partition leader epoch (2)
//! ```
//! `size` is the number of bytes after it. `offset` is the first offset of the batch in magic 2, the last one in magic 0 and 1.
//! Sources: KIP-32, KIP-98; `Records`, `DefaultRecordBatch`, `AbstractLegacyRecordBatch`.

use super::attributes::{Attributes, TimestampType};
use super::error::{Error, Result};
use super::layout::v0_v1;
use super::layout::v2::{
    ATTRIBUTES_OFFSET, BASE_SEQUENCE_OFFSET, BASE_TIMESTAMP_OFFSET, CRC_OFFSET, LAST_OFFSET_DELTA_OFFSET,
    MAX_TIMESTAMP_OFFSET, PARTITION_LEADER_EPOCH_OFFSET, PRODUCER_EPOCH_OFFSET, PRODUCER_ID_OFFSET,
    RECORD_BATCH_OVERHEAD, RECORDS_COUNT_OFFSET,
};
use crate::bytes::{WithHeader, field};
use crate::checksum::{crc32, crc32c};
use crate::{CompressionType, limits};

/// The position of the offset of a batch.
pub const OFFSET_OFFSET: usize = 0;
/// Length of the offset.
pub const OFFSET_LENGTH: usize = 8;
/// The position of the size of a batch.
pub const SIZE_OFFSET: usize = OFFSET_OFFSET + OFFSET_LENGTH;
/// Length of the size.
pub const SIZE_LENGTH: usize = 4;
/// Length of offset and size, which `size` does not include.
pub const LOG_OVERHEAD: usize = SIZE_OFFSET + SIZE_LENGTH;
/// The position of the magic, in every format.
pub const MAGIC_OFFSET: usize = LOG_OVERHEAD + 4;
/// Length of the magic.
pub const MAGIC_LENGTH: usize = 1;
/// Bytes needed to know the size and the magic of a batch.
pub const HEADER_SIZE_UP_TO_MAGIC: usize = MAGIC_OFFSET + MAGIC_LENGTH;
/// The size of an entry of magic 0 without key and value.
pub(super) const ENTRY_OVERHEAD_V0: usize = LOG_OVERHEAD + v0_v1::RECORD_OVERHEAD_V0;
/// The size of an entry of magic 1 without key and value.
pub(super) const ENTRY_OVERHEAD_V1: usize = LOG_OVERHEAD + v0_v1::RECORD_OVERHEAD_V1;

/// No timestamp.
pub const NO_TIMESTAMP: i64 = -1;
/// No producer id.
pub const NO_PRODUCER_ID: i64 = -1;
/// No producer epoch.
pub const NO_PRODUCER_EPOCH: i16 = -1;
/// No sequence.
pub const NO_SEQUENCE: i32 = -1;
/// No partition leader epoch.
pub const NO_PARTITION_LEADER_EPOCH: i32 = -1;

/// The sequence `increment` after `sequence`; after 2^31 - 1 comes 0.
#[inline]
pub fn increment_sequence(sequence: i32, increment: i32) -> i32 {
    if sequence > i32::MAX.wrapping_sub(increment) {
        increment.wrapping_sub(i32::MAX.wrapping_sub(sequence)).wrapping_sub(1)
    } else {
        sequence.wrapping_add(increment)
    }
}

/// The bytes of a batch by its format; the header is complete.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format<'a> {
    V0(WithHeader<'a, ENTRY_OVERHEAD_V0>),
    V1(WithHeader<'a, ENTRY_OVERHEAD_V1>),
    V2(WithHeader<'a, RECORD_BATCH_OVERHEAD>),
}

impl<'a> Format<'a> {
    /// `None` if `data` are shorter than the header of the format.
    #[inline]
    fn new(data: &'a [u8], magic: i8) -> Option<Self> {
        match magic {
            0 => WithHeader::new(data).map(Self::V0),
            1 => WithHeader::new(data).map(Self::V1),
            _ => WithHeader::new(data).map(Self::V2),
        }
    }
}

/// One batch (magic 2) or message (magic 0, 1, possibly a wrapper), by reference to its bytes.
#[derive(Debug, Clone, Copy)]
pub struct RecordBatch<'a> {
    format: Format<'a>,
    position: u64,
}

impl<'a> RecordBatch<'a> {
    /// A view of the batch at the start of `data`; `position` is where it begins in its file or buffer.
    ///
    /// # Errors
    /// [`Error::UnknownMagic`], [`Error::SizeTooSmall`], [`Error::IncompleteBatch`].
    pub fn new(data: &'a [u8], position: u64) -> Result<Self> {
        let header = BatchHead::read(data, position)?;
        let Some(head) = header else {
            return Err(Error::IncompleteBatch {
                position,
                available: data.len() as u64,
                needed: HEADER_SIZE_UP_TO_MAGIC as u64,
            });
        };
        head.check_minimum(position)?;
        let needed = head.size_in_bytes();
        let Some(data) = data.get(..needed) else {
            return Err(Error::IncompleteBatch { position, available: data.len() as u64, needed: needed as u64 });
        };
        Self::of_head(&head, data, position)
    }

    /// A view of a header of this magic alone, without what follows it: the size and the checksum of the batch are not
    /// available. `None` if the header is incomplete.
    #[inline]
    pub fn of_header(header: &'a [u8], position: u64, magic: i8) -> Option<Self> {
        Format::new(header, magic).map(|format| Self { format, position })
    }

    /// A view of a batch of magic 2, whose bytes are all of `data`. `None` if they are shorter than its header.
    #[inline]
    pub(super) fn v2(data: &'a [u8], position: u64) -> Option<Self> {
        WithHeader::new(data).map(|batch| Self { format: Format::V2(batch), position })
    }

    /// A view of `data`, which have the size in `head`.
    ///
    /// # Errors
    /// [`Error::SizeTooSmall`].
    pub(super) fn of_head(head: &BatchHead, data: &'a [u8], position: u64) -> Result<Self> {
        let format = Format::new(data, head.magic).ok_or_else(|| head.too_small(position))?;
        Ok(Self { format, position })
    }

    /// The bytes by their format.
    #[inline]
    pub(super) fn format(&self) -> Format<'a> {
        self.format
    }

    /// The bytes of the batch.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        match self.format {
            Format::V0(entry) => entry.data(),
            Format::V1(entry) => entry.data(),
            Format::V2(batch) => batch.data(),
        }
    }

    /// Where the batch begins in its file or buffer.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The message format: 0, 1 or 2.
    #[inline]
    pub fn magic(&self) -> i8 {
        match self.format {
            Format::V0(_) => 0,
            Format::V1(_) => 1,
            Format::V2(_) => 2,
        }
    }

    /// The size in bytes, offset and size fields included.
    #[inline]
    pub fn size_in_bytes(&self) -> usize {
        self.data().len()
    }

    /// The offset field: the first offset in magic 2, the last one in magic 0 and 1.
    #[inline]
    pub fn offset_field(&self) -> i64 {
        match self.format {
            Format::V0(entry) => entry.i64::<OFFSET_OFFSET>(),
            Format::V1(entry) => entry.i64::<OFFSET_OFFSET>(),
            Format::V2(batch) => batch.i64::<OFFSET_OFFSET>(),
        }
    }

    /// The first offset if the header contains it: always in magic 2; in magic 0 and 1 only for a plain message, because the
    /// first offset of a wrapper is in its compressed messages.
    #[inline]
    pub fn base_offset(&self) -> Option<i64> {
        let is_wrapper = self.magic() < 2 && self.attributes().compression_id() != 0;
        (!is_wrapper).then(|| self.offset_field())
    }

    /// The last offset according to the header. Compaction keeps it even if it removes the last record.
    #[inline]
    pub fn last_offset(&self) -> i64 {
        self.offset_field().wrapping_add(i64::from(self.last_offset_delta()))
    }

    /// `lastOffsetDelta` of magic 2, 0 otherwise.
    #[inline]
    pub fn last_offset_delta(&self) -> i32 {
        match self.format {
            Format::V0(_) | Format::V1(_) => 0,
            Format::V2(batch) => batch.i32::<LAST_OFFSET_DELTA_OFFSET>(),
        }
    }

    /// The low byte of the attributes.
    #[inline]
    pub fn attributes(&self) -> Attributes {
        Attributes(match self.format {
            Format::V0(entry) => entry.i8::<{ LOG_OVERHEAD + v0_v1::ATTRIBUTES_OFFSET }>(),
            Format::V1(entry) => entry.i8::<{ LOG_OVERHEAD + v0_v1::ATTRIBUTES_OFFSET }>(),
            Format::V2(batch) => batch.i8::<{ ATTRIBUTES_OFFSET + 1 }>(),
        } as u8)
    }

    /// All attributes: 16 bits in magic 2, 8 before.
    #[inline]
    pub fn raw_attributes(&self) -> i16 {
        match self.format {
            Format::V0(_) | Format::V1(_) => i16::from(self.attributes().0),
            Format::V2(batch) => batch.i16::<ATTRIBUTES_OFFSET>(),
        }
    }

    /// The compression type.
    ///
    /// # Errors
    /// [`Error::UnknownCompressionType`].
    #[inline]
    pub fn compression_type(&self) -> Result<CompressionType> {
        let id = self.attributes().compression_id();
        CompressionType::for_id(id).ok_or(Error::UnknownCompressionType { position: self.position, id })
    }

    /// Whether producers or brokers set the timestamps; messages of magic 0 have none.
    #[inline]
    pub fn timestamp_type(&self) -> TimestampType {
        match self.format {
            Format::V0(_) => TimestampType::NoTimestampType,
            Format::V1(_) | Format::V2(_) => self.attributes().timestamp_type(),
        }
    }

    /// The timestamp in ms that the records count from: the delete horizon if the batch has one, and in magic 1 the
    /// timestamp of the message. -1 in magic 0.
    #[inline]
    pub fn base_timestamp(&self) -> i64 {
        match self.format {
            Format::V0(_) => NO_TIMESTAMP,
            Format::V1(entry) => entry.i64::<{ LOG_OVERHEAD + v0_v1::TIMESTAMP_OFFSET }>(),
            Format::V2(batch) => batch.i64::<BASE_TIMESTAMP_OFFSET>(),
        }
    }

    /// The largest timestamp according to the header, ms.
    #[inline]
    pub fn max_timestamp(&self) -> i64 {
        match self.format {
            Format::V0(_) | Format::V1(_) => self.base_timestamp(),
            Format::V2(batch) => batch.i64::<MAX_TIMESTAMP_OFFSET>(),
        }
    }

    /// The delete horizon, ms (KIP-534).
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        match self.format {
            Format::V2(batch) if self.attributes().has_delete_horizon() => Some(batch.i64::<BASE_TIMESTAMP_OFFSET>()),
            _ => None,
        }
    }

    /// The declared number of records; messages of magic 0 and 1 do not declare one.
    #[inline]
    pub fn records_count(&self) -> Option<i32> {
        match self.format {
            Format::V0(_) | Format::V1(_) => None,
            Format::V2(batch) => Some(batch.i32::<RECORDS_COUNT_OFFSET>()),
        }
    }

    /// The partition leader epoch, -1 if the batch has none.
    #[inline]
    pub fn partition_leader_epoch(&self) -> i32 {
        match self.format {
            Format::V0(_) | Format::V1(_) => NO_PARTITION_LEADER_EPOCH,
            Format::V2(batch) => batch.i32::<PARTITION_LEADER_EPOCH_OFFSET>(),
        }
    }

    /// The producer id, -1 if the batch has none.
    #[inline]
    pub fn producer_id(&self) -> i64 {
        match self.format {
            Format::V0(_) | Format::V1(_) => NO_PRODUCER_ID,
            Format::V2(batch) => batch.i64::<PRODUCER_ID_OFFSET>(),
        }
    }

    /// The producer epoch, -1 if the batch has none.
    #[inline]
    pub fn producer_epoch(&self) -> i16 {
        match self.format {
            Format::V0(_) | Format::V1(_) => NO_PRODUCER_EPOCH,
            Format::V2(batch) => batch.i16::<PRODUCER_EPOCH_OFFSET>(),
        }
    }

    /// The sequence of the first record, -1 if the batch has none.
    #[inline]
    pub fn base_sequence(&self) -> i32 {
        match self.format {
            Format::V0(_) | Format::V1(_) => NO_SEQUENCE,
            Format::V2(batch) => batch.i32::<BASE_SEQUENCE_OFFSET>(),
        }
    }

    /// The sequence of the last record, -1 if the batch has none.
    pub fn last_sequence(&self) -> i32 {
        match self.base_sequence() {
            NO_SEQUENCE => NO_SEQUENCE,
            base => increment_sequence(base, self.last_offset_delta()),
        }
    }

    /// Whether the batch belongs to a transaction.
    #[inline]
    pub fn is_transactional(&self) -> bool {
        self.magic() >= 2 && self.attributes().is_transactional()
    }

    /// Whether the batch contains control records.
    #[inline]
    pub fn is_control_batch(&self) -> bool {
        self.magic() >= 2 && self.attributes().is_control()
    }

    /// The stored checksum: CRC-32C in magic 2, CRC-32 before.
    #[inline]
    pub fn crc(&self) -> u32 {
        match self.format {
            Format::V0(entry) => entry.u32::<{ LOG_OVERHEAD + v0_v1::CRC_OFFSET }>(),
            Format::V1(entry) => entry.u32::<{ LOG_OVERHEAD + v0_v1::CRC_OFFSET }>(),
            Format::V2(batch) => batch.u32::<CRC_OFFSET>(),
        }
    }

    /// The checksum of the bytes. In magic 2 it covers the attributes and what follows them, so that a broker can set base
    /// offset and leader epoch without computing it again; in magic 0 and 1 it covers the magic and what follows it.
    #[inline]
    pub fn compute_crc(&self) -> u32 {
        match self.format {
            Format::V0(entry) => crc32(entry.tail::<MAGIC_OFFSET>()),
            Format::V1(entry) => crc32(entry.tail::<MAGIC_OFFSET>()),
            Format::V2(batch) => crc32c(batch.tail::<ATTRIBUTES_OFFSET>()),
        }
    }

    /// Whether the stored checksum is right.
    pub fn is_valid(&self) -> bool {
        self.crc() == self.compute_crc()
    }

    /// Verifies the checksum.
    ///
    /// # Errors
    /// [`Error::CrcMismatch`].
    #[inline]
    pub fn ensure_valid(&self) -> Result<()> {
        let (stored, computed) = (self.crc(), self.compute_crc());
        if stored == computed { Ok(()) } else { Err(Error::CrcMismatch { position: self.position, stored, computed }) }
    }
}

/// The first 17 bytes of a batch: its offset, size and magic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHead {
    /// The offset field.
    pub offset: i64,
    /// The size field.
    pub size: i32,
    /// The magic, 0 to 2.
    pub magic: i8,
}

impl BatchHead {
    /// Reads the first fields of the batch at the start of `data`; `None` if they are incomplete.
    ///
    /// # Errors
    /// [`Error::SizeTooSmall`] for a size below the minimum of every format, even if the magic is missing;
    /// [`Error::UnknownMagic`].
    pub fn read(data: &[u8], position: u64) -> Result<Option<Self>> {
        let Some((head, rest)) = data.split_first_chunk::<LOG_OVERHEAD>() else { return Ok(None) };
        let size = i32::from_be_bytes(field::<SIZE_OFFSET, SIZE_LENGTH, LOG_OVERHEAD>(head));
        if size < v0_v1::RECORD_OVERHEAD_V0 as i32 {
            return Err(Error::SizeTooSmall { position, size, minimum: v0_v1::RECORD_OVERHEAD_V0 as i32 });
        }
        let Some(&magic) = rest.get(MAGIC_OFFSET - LOG_OVERHEAD) else { return Ok(None) };
        let magic = magic as i8;
        if !(0..=2).contains(&magic) {
            return Err(Error::UnknownMagic { position, magic });
        }
        let offset = i64::from_be_bytes(field::<OFFSET_OFFSET, OFFSET_LENGTH, LOG_OVERHEAD>(head));
        Ok(Some(Self { offset, size, magic }))
    }

    /// The size of the batch in bytes, offset and size fields included.
    pub fn size_in_bytes(&self) -> usize {
        (self.size as usize).saturating_add(LOG_OVERHEAD)
    }

    /// Whether the size of the batch fits into Kafka's `int`.
    pub fn is_representable(&self) -> bool {
        self.size_in_bytes() <= limits::DEFAULT_MAX_OUTPUT_SIZE
    }

    /// The least value of the size field in this magic.
    fn minimum(&self) -> i32 {
        let least = match self.magic {
            0 => v0_v1::RECORD_OVERHEAD_V0,
            1 => v0_v1::RECORD_OVERHEAD_V1,
            _ => RECORD_BATCH_OVERHEAD - LOG_OVERHEAD,
        };
        least as i32
    }

    fn too_small(&self, position: u64) -> Error {
        Error::SizeTooSmall { position, size: self.size, minimum: self.minimum() }
    }

    /// Checks the size against the minimum of the magic.
    ///
    /// # Errors
    /// [`Error::SizeTooSmall`].
    pub fn check_minimum(&self, position: u64) -> Result<()> {
        if self.size < self.minimum() { Err(self.too_small(position)) } else { Ok(()) }
    }
}
