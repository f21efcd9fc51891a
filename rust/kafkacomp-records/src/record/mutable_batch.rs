//! The header fields that a broker sets when it appends a batch without rebuilding it.
//!
//! The CRC of magic 2 begins at the attributes, so setting base offset and leader epoch leaves it as it is. The CRC of every
//! format covers max timestamp and timestamp type: it is computed again if one of them changes, and only then; otherwise a
//! CRC that was wrong stays wrong.
//! Source: `DefaultRecordBatch`, `AbstractLegacyRecordBatch.ByteBufferLegacyRecordBatch`.

use super::attributes::{Attributes, TimestampType};
use super::batch::{ENTRY_OVERHEAD_V0, ENTRY_OVERHEAD_V1, LOG_OVERHEAD, OFFSET_LENGTH, OFFSET_OFFSET, RecordBatch};
use super::error::{Error, Result};
use super::layout::v0_v1;
use super::layout::v2::{
    ATTRIBUTES_LENGTH, ATTRIBUTES_OFFSET, CRC_LENGTH, CRC_OFFSET, MAX_TIMESTAMP_LENGTH, MAX_TIMESTAMP_OFFSET,
    PARTITION_LEADER_EPOCH_LENGTH, PARTITION_LEADER_EPOCH_OFFSET, RECORD_BATCH_OVERHEAD,
};
use crate::CompressionType;
use crate::bytes::WithHeaderMut;
use crate::checksum::{crc32, crc32c};

/// The bytes of a batch by its format.
#[derive(Debug)]
enum Format<'a> {
    V0(WithHeaderMut<'a, ENTRY_OVERHEAD_V0>),
    V1(WithHeaderMut<'a, ENTRY_OVERHEAD_V1>),
    V2(WithHeaderMut<'a, RECORD_BATCH_OVERHEAD>),
}

/// One batch whose header may be changed.
#[derive(Debug)]
pub struct MutableRecordBatch<'a> {
    format: Format<'a>,
    last_offset_delta: i32,
    compression_type: Result<CompressionType>,
    attributes: Attributes,
    timestamp_type: TimestampType,
    max_timestamp: i64,
}

impl<'a> MutableRecordBatch<'a> {
    /// A view of `data`, which are exactly one batch; `position` is where it begins in its file or buffer.
    ///
    /// # Errors
    /// As [`RecordBatch::new`].
    pub fn new(data: &'a mut [u8], position: u64) -> Result<Self> {
        let batch = RecordBatch::new(data, position)?;
        let (magic, available) = (batch.magic(), batch.size_in_bytes() as u64);
        let (last_offset_delta, compression_type) = (batch.last_offset_delta(), batch.compression_type());
        let (attributes, timestamp_type) = (batch.attributes(), batch.timestamp_type());
        let max_timestamp = batch.max_timestamp();
        let format = match magic {
            0 => WithHeaderMut::new(data).map(Format::V0),
            1 => WithHeaderMut::new(data).map(Format::V1),
            _ => WithHeaderMut::new(data).map(Format::V2),
        };
        let needed = RECORD_BATCH_OVERHEAD as u64;
        let format = format.ok_or(Error::IncompleteBatch { position, available, needed })?;
        Ok(Self { format, last_offset_delta, compression_type, attributes, timestamp_type, max_timestamp })
    }

    /// `lastOffsetDelta` of magic 2, 0 otherwise.
    pub fn last_offset_delta(&self) -> i32 {
        self.last_offset_delta
    }

    /// Makes `offset` the last offset.
    pub fn set_last_offset(&mut self, offset: i64) {
        let base = offset.wrapping_sub(i64::from(self.last_offset_delta)).to_be_bytes();
        match &mut self.format {
            Format::V0(entry) => entry.set::<OFFSET_OFFSET, OFFSET_LENGTH>(base),
            Format::V1(entry) => entry.set::<OFFSET_OFFSET, OFFSET_LENGTH>(base),
            Format::V2(batch) => batch.set::<OFFSET_OFFSET, OFFSET_LENGTH>(base),
        }
    }

    /// Sets the partition leader epoch; messages of magic 0 and 1 have none and stay as they are.
    pub fn set_partition_leader_epoch(&mut self, epoch: i32) {
        if let Format::V2(batch) = &mut self.format {
            batch.set::<PARTITION_LEADER_EPOCH_OFFSET, PARTITION_LEADER_EPOCH_LENGTH>(epoch.to_be_bytes());
        }
    }

    /// Sets max timestamp (magic 1: the timestamp of the message) and timestamp type. Messages of magic 0 have neither and
    /// stay as they are. If one of the two changes, attribute bits without a meaning are cleared.
    ///
    /// # Errors
    /// [`UnknownCompressionType`](super::Error::UnknownCompressionType) if the attributes have to be written.
    pub fn set_max_timestamp(&mut self, timestamp_type: TimestampType, max_timestamp: i64) -> Result<()> {
        if self.timestamp_type == timestamp_type && self.max_timestamp == max_timestamp {
            return Ok(());
        }
        let bytes = max_timestamp.to_be_bytes();
        match &mut self.format {
            Format::V0(_) => return Ok(()),
            Format::V1(entry) => {
                let attributes = Attributes::new(self.compression_type.clone()?, timestamp_type, false, false, false);
                entry.set::<{ LOG_OVERHEAD + v0_v1::ATTRIBUTES_OFFSET }, { v0_v1::ATTRIBUTES_LENGTH }>([attributes.0]);
                entry.set::<{ LOG_OVERHEAD + v0_v1::TIMESTAMP_OFFSET }, { v0_v1::TIMESTAMP_LENGTH }>(bytes);
                self.attributes = attributes;
            }
            Format::V2(batch) => {
                let attributes = Attributes::new(
                    self.compression_type.clone()?,
                    timestamp_type,
                    self.attributes.is_transactional(),
                    self.attributes.is_control(),
                    self.attributes.has_delete_horizon(),
                );
                batch.set::<ATTRIBUTES_OFFSET, ATTRIBUTES_LENGTH>(i16::from(attributes.0).to_be_bytes());
                batch.set::<MAX_TIMESTAMP_OFFSET, MAX_TIMESTAMP_LENGTH>(bytes);
                self.attributes = attributes;
            }
        }
        (self.timestamp_type, self.max_timestamp) = (timestamp_type, max_timestamp);
        self.update_checksum();
        Ok(())
    }

    /// Computes the checksum and stores it.
    pub fn update_checksum(&mut self) {
        const MESSAGE_CRC_OFFSET: usize = LOG_OVERHEAD + v0_v1::CRC_OFFSET;
        const COVERED: usize = LOG_OVERHEAD + v0_v1::MAGIC_OFFSET;
        match &mut self.format {
            Format::V0(entry) => {
                entry.set::<MESSAGE_CRC_OFFSET, CRC_LENGTH>(crc32(entry.tail::<COVERED>()).to_be_bytes());
            }
            Format::V1(entry) => {
                entry.set::<MESSAGE_CRC_OFFSET, CRC_LENGTH>(crc32(entry.tail::<COVERED>()).to_be_bytes());
            }
            Format::V2(batch) => {
                batch.set::<CRC_OFFSET, CRC_LENGTH>(crc32c(batch.tail::<ATTRIBUTES_OFFSET>()).to_be_bytes());
            }
        }
    }
}
