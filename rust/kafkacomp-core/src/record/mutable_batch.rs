//! Header fields that a broker sets when it appends a batch as it came, and nothing else.
//!
//! The CRC of magic 2 begins at the attributes, so base offset and leader epoch are set without it. Max
//! timestamp and timestamp type lie inside what every format's CRC covers: it is computed anew when one of
//! them changes, and only then; a CRC that was wrong before stays so otherwise.
//! Source: `DefaultRecordBatch`, `AbstractLegacyRecordBatch.ByteBufferLegacyRecordBatch`.

use super::attributes::{Attributes, TimestampType};
use super::batch::{LOG_OVERHEAD, OFFSET_OFFSET, RecordBatch};
use super::error::Result;
use super::layout::v0_v1;
use super::layout::v2::{ATTRIBUTES_OFFSET, CRC_OFFSET, MAX_TIMESTAMP_OFFSET, PARTITION_LEADER_EPOCH_OFFSET};

/// One batch whose header may be changed.
#[derive(Debug)]
pub struct MutableRecordBatch<'a> {
    data: &'a mut [u8],
    position: u64,
}

impl<'a> MutableRecordBatch<'a> {
    /// Over `data`, exactly one batch; `position` is where it begins in its file or buffer.
    ///
    /// # Errors
    /// As [`RecordBatch::new`].
    pub fn new(data: &'a mut [u8], position: u64) -> Result<Self> {
        RecordBatch::new(data, position)?;
        Ok(Self { data, position })
    }

    /// The batch as it is now.
    ///
    /// # Errors
    /// None: it was a batch before, and nothing here changes its size or magic.
    pub fn batch(&self) -> Result<RecordBatch<'_>> {
        RecordBatch::new(self.data, self.position)
    }

    /// Makes `offset` the last one.
    ///
    /// # Errors
    /// As [`batch`](Self::batch).
    pub fn set_last_offset(&mut self, offset: i64) -> Result<()> {
        let base = offset.wrapping_sub(i64::from(self.batch()?.last_offset_delta()));
        self.put(OFFSET_OFFSET, base.to_be_bytes());
        Ok(())
    }

    /// Sets the partition leader epoch; formats 0 and 1 have none and stay as they are.
    ///
    /// # Errors
    /// As [`batch`](Self::batch).
    pub fn set_partition_leader_epoch(&mut self, epoch: i32) -> Result<()> {
        if self.batch()?.magic() >= 2 {
            self.put(PARTITION_LEADER_EPOCH_OFFSET, epoch.to_be_bytes());
        }
        Ok(())
    }

    /// Sets max timestamp (format 1: the message's own) and timestamp type; format 0 has neither and stays as
    /// it is. Where something changes, attribute bits without a meaning are cleared.
    ///
    /// # Errors
    /// [`UnknownCompressionType`](super::Error::UnknownCompressionType) where the attributes would have to be
    /// written anew.
    pub fn set_max_timestamp(&mut self, timestamp_type: TimestampType, max_timestamp: i64) -> Result<()> {
        let batch = self.batch()?;
        if batch.magic() == 0 || (batch.timestamp_type() == timestamp_type && batch.max_timestamp() == max_timestamp) {
            return Ok(());
        }
        let is_v2 = batch.magic() >= 2;
        let (transactional, control) = (batch.is_transactional(), batch.is_control_batch());
        let delete_horizon = batch.delete_horizon_ms().is_some();
        let attributes =
            Attributes::new(batch.compression_type()?, timestamp_type, transactional, control, delete_horizon);
        if is_v2 {
            self.put(ATTRIBUTES_OFFSET, i16::from(attributes.0).to_be_bytes());
            self.put(MAX_TIMESTAMP_OFFSET, max_timestamp.to_be_bytes());
        } else {
            self.put(LOG_OVERHEAD + v0_v1::ATTRIBUTES_OFFSET, [attributes.0]);
            self.put(LOG_OVERHEAD + v0_v1::TIMESTAMP_OFFSET, max_timestamp.to_be_bytes());
        }
        self.update_checksum()
    }

    /// Makes the checksum that of the bytes.
    ///
    /// # Errors
    /// As [`batch`](Self::batch).
    pub fn update_checksum(&mut self) -> Result<()> {
        let batch = self.batch()?;
        let at = if batch.magic() >= 2 { CRC_OFFSET } else { LOG_OVERHEAD + v0_v1::CRC_OFFSET };
        let crc = batch.compute_crc();
        self.put(at, crc.to_be_bytes());
        Ok(())
    }

    fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        if let Some(field) = self.data.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<N>()) {
            *field = bytes;
        }
    }
}
