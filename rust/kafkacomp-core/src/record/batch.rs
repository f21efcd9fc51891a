//! A shallow batch of any magic: the fields that can be read without decompressing.
//!
//! All formats begin alike, which is what lets one log hold them all:
//! ```text
//! offset:int64 size:int32 x:int32 magic:int8 ...     x = crc (magic 0, 1) or partition leader epoch (2)
//! ```
//! `size` counts what follows it. In magic 2 `offset` is the batch's first, in magic 0 and 1 its last.
//! Sources: KIP-32, KIP-98; `Records`, `DefaultRecordBatch`, `AbstractLegacyRecordBatch`.

use super::attributes::{Attributes, TimestampType};
use super::error::{Error, Result};
use super::layout::v0_v1;
use super::layout::v2::{
    ATTRIBUTES_OFFSET, BASE_SEQUENCE_OFFSET, BASE_TIMESTAMP_OFFSET, CRC_OFFSET, LAST_OFFSET_DELTA_OFFSET,
    MAX_TIMESTAMP_OFFSET, PARTITION_LEADER_EPOCH_OFFSET, PRODUCER_EPOCH_OFFSET, PRODUCER_ID_OFFSET,
    RECORD_BATCH_OVERHEAD, RECORDS_COUNT_OFFSET,
};
use crate::bytes::{be_i8, be_i16, be_i32, be_i64, be_u32};
use crate::checksum::{crc32, crc32c};
use crate::{CompressionType, limits};

/// Where the offset of a batch stands.
pub const OFFSET_OFFSET: usize = 0;
/// Length of the offset.
pub const OFFSET_LENGTH: usize = 8;
/// Where the size of a batch stands.
pub const SIZE_OFFSET: usize = OFFSET_OFFSET + OFFSET_LENGTH;
/// Length of the size.
pub const SIZE_LENGTH: usize = 4;
/// What `size` does not count.
pub const LOG_OVERHEAD: usize = SIZE_OFFSET + SIZE_LENGTH;
/// Where the magic stands, in every format.
pub const MAGIC_OFFSET: usize = LOG_OVERHEAD + 4;
/// Length of the magic.
pub const MAGIC_LENGTH: usize = 1;
/// Bytes needed to know the size and the magic of a batch.
pub const HEADER_SIZE_UP_TO_MAGIC: usize = MAGIC_OFFSET + MAGIC_LENGTH;

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

/// One batch (magic 2) or message (magic 0, 1, maybe a wrapper), by reference to its bytes.
#[derive(Debug, Clone, Copy)]
pub struct RecordBatch<'a> {
    data: &'a [u8],
    position: u64,
    magic: i8,
}

impl<'a> RecordBatch<'a> {
    /// A view of `data`, which must be exactly one batch; `position` is where it begins in its file or buffer.
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
        Ok(Self { data, position, magic: head.magic })
    }

    /// A view of the header alone, which must be all there: what lies behind it, and the size, cannot be asked for.
    pub(crate) fn of_header(header: &'a [u8], position: u64, magic: i8) -> Self {
        Self { data: header, position, magic }
    }

    /// A view of `data`, which are all bytes of a batch of this magic and as many as it needs at least.
    #[inline]
    pub(super) fn whole(data: &'a [u8], position: u64, magic: i8) -> Self {
        Self { data, position, magic }
    }

    /// A view of `data`, which are the bytes that `head` says.
    ///
    /// # Errors
    /// [`Error::SizeTooSmall`].
    pub(super) fn framed(head: &BatchHead, data: &'a [u8], position: u64) -> Result<Self> {
        head.check_minimum(position)?;
        Ok(Self { data, position, magic: head.magic })
    }

    /// The bytes of the batch.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Where the batch begins in its file or buffer.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The message format: 0, 1 or 2.
    #[inline]
    pub fn magic(&self) -> i8 {
        self.magic
    }

    /// The whole size in bytes, with offset and size fields.
    #[inline]
    pub fn size_in_bytes(&self) -> usize {
        self.data.len()
    }

    #[inline]
    fn is_v2(&self) -> bool {
        self.magic >= 2
    }

    /// The offset field: the first offset in magic 2, the last one in magic 0 and 1.
    #[inline]
    pub fn offset_field(&self) -> i64 {
        be_i64(self.data, OFFSET_OFFSET)
    }

    /// The first offset if the header tells it: always in magic 2; in magic 0 and 1 for a plain message
    /// only, a wrapper's stands in its compressed records.
    #[inline]
    pub fn base_offset(&self) -> Option<i64> {
        (self.is_v2() || self.attributes().compression_id() == 0).then(|| self.offset_field())
    }

    /// The last offset that the header tells (it stays when compaction removes the record).
    #[inline]
    pub fn last_offset(&self) -> i64 {
        if self.is_v2() {
            self.offset_field().wrapping_add(i64::from(self.last_offset_delta()))
        } else {
            self.offset_field()
        }
    }

    /// `lastOffsetDelta` of magic 2, 0 otherwise.
    #[inline]
    pub fn last_offset_delta(&self) -> i32 {
        if self.is_v2() { be_i32(self.data, LAST_OFFSET_DELTA_OFFSET) } else { 0 }
    }

    /// The low byte of the attributes.
    #[inline]
    pub fn attributes(&self) -> Attributes {
        let at = if self.is_v2() { ATTRIBUTES_OFFSET + 1 } else { LOG_OVERHEAD + v0_v1::ATTRIBUTES_OFFSET };
        Attributes(be_i8(self.data, at) as u8)
    }

    /// The whole attributes: 16 bits in magic 2, 8 before.
    #[inline]
    pub fn raw_attributes(&self) -> i16 {
        if self.is_v2() { be_i16(self.data, ATTRIBUTES_OFFSET) } else { i16::from(self.attributes().0) }
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

    /// Where the timestamps come from; a magic 0 message has none.
    #[inline]
    pub fn timestamp_type(&self) -> TimestampType {
        if self.magic == 0 { TimestampType::NoTimestampType } else { self.attributes().timestamp_type() }
    }

    /// The base timestamp (magic 2: with a delete horizon, the horizon), ms; the message's own otherwise.
    #[inline]
    pub fn base_timestamp(&self) -> i64 {
        match self.magic {
            0 => NO_TIMESTAMP,
            1 => be_i64(self.data, LOG_OVERHEAD + v0_v1::TIMESTAMP_OFFSET),
            _ => be_i64(self.data, BASE_TIMESTAMP_OFFSET),
        }
    }

    /// The largest timestamp by the header, ms.
    #[inline]
    pub fn max_timestamp(&self) -> i64 {
        if self.is_v2() { be_i64(self.data, MAX_TIMESTAMP_OFFSET) } else { self.base_timestamp() }
    }

    /// The delete horizon, ms (KIP-534).
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        (self.is_v2() && self.attributes().has_delete_horizon()).then(|| be_i64(self.data, BASE_TIMESTAMP_OFFSET))
    }

    /// The declared number of records; magic 0 and 1 do not declare one.
    #[inline]
    pub fn records_count(&self) -> Option<i32> {
        self.is_v2().then(|| be_i32(self.data, RECORDS_COUNT_OFFSET))
    }

    /// The partition leader epoch, -1 where there is none.
    #[inline]
    pub fn partition_leader_epoch(&self) -> i32 {
        if self.is_v2() { be_i32(self.data, PARTITION_LEADER_EPOCH_OFFSET) } else { NO_PARTITION_LEADER_EPOCH }
    }

    /// The producer id, -1 where there is none.
    #[inline]
    pub fn producer_id(&self) -> i64 {
        if self.is_v2() { be_i64(self.data, PRODUCER_ID_OFFSET) } else { NO_PRODUCER_ID }
    }

    /// The producer epoch, -1 where there is none.
    #[inline]
    pub fn producer_epoch(&self) -> i16 {
        if self.is_v2() { be_i16(self.data, PRODUCER_EPOCH_OFFSET) } else { NO_PRODUCER_EPOCH }
    }

    /// The first record's sequence, -1 where there is none.
    #[inline]
    pub fn base_sequence(&self) -> i32 {
        if self.is_v2() { be_i32(self.data, BASE_SEQUENCE_OFFSET) } else { NO_SEQUENCE }
    }

    /// The last record's sequence, -1 where there is none.
    pub fn last_sequence(&self) -> i32 {
        match self.base_sequence() {
            NO_SEQUENCE => NO_SEQUENCE,
            base => increment_sequence(base, self.last_offset_delta()),
        }
    }

    /// Whether the batch belongs to a transaction.
    #[inline]
    pub fn is_transactional(&self) -> bool {
        self.is_v2() && self.attributes().is_transactional()
    }

    /// Whether the batch holds control records.
    #[inline]
    pub fn is_control_batch(&self) -> bool {
        self.is_v2() && self.attributes().is_control()
    }

    /// The stored checksum: CRC-32C of magic 2, CRC-32 before.
    #[inline]
    pub fn crc(&self) -> u32 {
        be_u32(self.data, if self.is_v2() { CRC_OFFSET } else { LOG_OVERHEAD + v0_v1::CRC_OFFSET })
    }

    /// The checksum of the bytes. In magic 2 it begins at the attributes, so that a broker may set the
    /// base offset and the leader epoch without computing it anew; before, at the magic.
    #[inline]
    pub fn compute_crc(&self) -> u32 {
        if self.is_v2() {
            crc32c(self.data.get(ATTRIBUTES_OFFSET..).unwrap_or_default())
        } else {
            crc32(self.data.get(MAGIC_OFFSET..).unwrap_or_default())
        }
    }

    /// Whether the stored checksum is right.
    pub fn is_valid(&self) -> bool {
        self.crc() == self.compute_crc()
    }

    /// Checks the checksum.
    ///
    /// # Errors
    /// [`Error::CrcMismatch`].
    #[inline]
    pub fn ensure_valid(&self) -> Result<()> {
        let (stored, computed) = (self.crc(), self.compute_crc());
        if stored == computed { Ok(()) } else { Err(Error::CrcMismatch { position: self.position, stored, computed }) }
    }
}

/// The first 17 bytes of a batch: enough to frame it.
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
    /// Reads the head of the batch at the start of `data`; `None` when it is not all there.
    ///
    /// # Errors
    /// [`Error::SizeTooSmall`] for a size no format can have, as soon as it can be seen;
    /// [`Error::UnknownMagic`].
    pub fn read(data: &[u8], position: u64) -> Result<Option<Self>> {
        if data.len() < LOG_OVERHEAD {
            return Ok(None);
        }
        let size = be_i32(data, SIZE_OFFSET);
        if size < v0_v1::RECORD_OVERHEAD_V0 as i32 {
            return Err(Error::SizeTooSmall { position, size, minimum: v0_v1::RECORD_OVERHEAD_V0 as i32 });
        }
        if data.len() < HEADER_SIZE_UP_TO_MAGIC {
            return Ok(None);
        }
        let magic = be_i8(data, MAGIC_OFFSET);
        if !(0..=2).contains(&magic) {
            return Err(Error::UnknownMagic { position, magic });
        }
        Ok(Some(Self { offset: be_i64(data, OFFSET_OFFSET), size, magic }))
    }

    /// The whole size of the batch in bytes.
    pub fn size_in_bytes(&self) -> usize {
        (self.size as usize).saturating_add(LOG_OVERHEAD)
    }

    /// Whether the size is one that Kafka could hold in an `int`.
    pub fn is_representable(&self) -> bool {
        self.size_in_bytes() <= limits::DEFAULT_MAX_OUTPUT_SIZE
    }

    /// Checks the size against what the magic needs at least.
    ///
    /// # Errors
    /// [`Error::SizeTooSmall`].
    pub fn check_minimum(&self, position: u64) -> Result<()> {
        let minimum = match self.magic {
            0 => v0_v1::RECORD_OVERHEAD_V0,
            1 => v0_v1::RECORD_OVERHEAD_V1,
            _ => RECORD_BATCH_OVERHEAD - LOG_OVERHEAD,
        } as i32;
        if self.size < minimum { Err(Error::SizeTooSmall { position, size: self.size, minimum }) } else { Ok(()) }
    }
}
