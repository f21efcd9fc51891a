//! How large a batch becomes, and what still fits into it, by the estimates of Kafka's `MemoryRecordsBuilder`.

use super::{RecordBatchBuilder, State, v0_v1, v2};
use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::record::batch::LOG_OVERHEAD;
use crate::record::build_fault::BuildFault;
use crate::record::builder::BatchSettings;
use crate::record::layout::v2::RECORD_BATCH_OVERHEAD;
use crate::record::record::Headers;

/// Kafka's factor for the estimated size of a compressed batch.
const COMPRESSION_RATE_ESTIMATION_FACTOR: f32 = 1.05;

/// The most bytes of a batch: an `int` in Kafka.
const MAX_BATCH_SIZE: u64 = DEFAULT_MAX_OUTPUT_SIZE as u64;

impl RecordBatchBuilder {
    /// Bytes of the buffer before the records.
    #[inline]
    pub(super) fn header_room(&self) -> usize {
        if self.settings.magic >= 2 { RECORD_BATCH_OVERHEAD } else { 0 }
    }

    /// Bytes of the records so far.
    #[inline]
    pub(super) fn records_size(&self) -> usize {
        self.buffer.len().saturating_sub(self.header_room())
    }

    /// The number of bytes that another record may have. The limit applies to the uncompressed size.
    #[inline]
    fn room(&self) -> u64 {
        MAX_BATCH_SIZE.saturating_sub(self.uncompressed_bytes_written() as u64)
    }

    #[inline]
    pub(super) fn check_size(&self, size: u64) -> Result<(), BuildFault> {
        if size <= self.room() { Ok(()) } else { Err(self.too_large(size)) }
    }

    #[cold]
    fn too_large(&self, size: u64) -> BuildFault {
        if self.records_count == 0 {
            return BuildFault::RecordTooLarge { size, limit: self.room() };
        }
        let size = size.saturating_add(self.uncompressed_bytes_written() as u64);
        BuildFault::BatchTooLarge { size, limit: MAX_BATCH_SIZE }
    }

    /// Whether the batch stays within its write limit with a record of this size. The first record always fits.
    #[inline]
    pub(super) fn fits(&self, size: u64) -> bool {
        self.records_count == 0 || self.write_limit() >= (self.estimated_bytes_written() as u64).saturating_add(size)
    }

    /// The size of header and records before compression, in bytes.
    #[inline]
    pub fn uncompressed_bytes_written(&self) -> usize {
        self.settings.batch_header_size_in_bytes().saturating_add(self.records_size())
    }

    /// Sets the compression ratio for estimates, which a producer learns from earlier batches. Initially 1.
    ///
    /// # Errors
    /// [`BuildFault::CompressionRatio`] if it is negative or not finite.
    pub fn set_estimated_compression_ratio(&mut self, ratio: f32) -> Result<(), BuildFault> {
        if !ratio.is_finite() || ratio < 0.0 {
            return Err(BuildFault::CompressionRatio { ratio_bits: ratio.to_bits() });
        }
        self.estimated_compression_ratio = ratio;
        Ok(())
    }

    /// The size of the batch: exact if it is built or uncompressed, otherwise estimated by the ratio plus 5%.
    pub fn estimated_size_in_bytes(&self) -> usize {
        match self.state {
            State::Built(size) | State::Finished(size) => size,
            State::Open | State::Aborted => self.estimated_bytes_written(),
        }
    }

    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "Kafka estimates in floats")]
    fn estimated_bytes_written(&self) -> usize {
        if !self.settings.is_compressed() {
            return self.uncompressed_bytes_written();
        }
        let records =
            self.records_size() as f32 * self.estimated_compression_ratio * COMPRESSION_RATE_ESTIMATION_FACTOR;
        self.settings.batch_header_size_in_bytes().saturating_add(records as usize)
    }

    #[inline]
    fn write_limit(&self) -> u64 {
        self.settings.write_limit.max(0) as u64
    }

    /// Whether the write limit is reached or the batch is built.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.state != State::Open
            || self.records_count > 0 && self.write_limit() <= self.estimated_bytes_written() as u64
    }

    /// Whether the batch stays within its write limit with this record at the next offset. The first record always fits. The
    /// uncompressed size of the record counts.
    #[inline]
    pub fn has_room_for(&self, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: Headers<'_>) -> bool {
        if self.is_full() {
            return false;
        }
        let size = if self.settings.magic < 2 {
            v0_v1::entry_size(self.settings.magic, key, value)
        } else {
            let fields = self.fields(self.next_offset(), timestamp, key, value, headers);
            v2::record_size(fields.body_size())
        };
        self.fits(size)
    }

    /// Whether the batch stays within its write limit with `size` more bytes.
    #[inline]
    pub fn has_room_for_bytes(&self, size: u64) -> bool {
        !self.is_full() && self.write_limit() >= (self.estimated_bytes_written() as u64).saturating_add(size)
    }

    /// The bytes that records may take within the write limit.
    pub fn max_allowed_bytes(&self) -> u64 {
        self.write_limit().saturating_sub(self.settings.batch_header_size_in_bytes() as u64)
    }
}

pub(super) fn check_batch_size(size: usize) -> Result<(), BuildFault> {
    let size = size as u64;
    if size <= MAX_BATCH_SIZE { Ok(()) } else { Err(BuildFault::BatchTooLarge { size, limit: MAX_BATCH_SIZE }) }
}

/// Kafka's upper bound of the size of a batch with one record, without the overhead of a codec.
pub fn estimate_size_upper_bound(
    settings: &BatchSettings,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: Headers<'_>,
) -> u64 {
    let record = if settings.magic >= 2 {
        v2::Fields { offset_delta: 0, timestamp_delta: 0, key, value, headers }.size_upper_bound()
    } else if settings.is_compressed() {
        // Kafka counts one offset and size here, not both the wrapper's and the inner message's.
        v0_v1::entry_size(settings.magic, key, value).saturating_sub(LOG_OVERHEAD as u64)
    } else {
        v0_v1::entry_size(settings.magic, key, value)
    };
    (settings.batch_header_size_in_bytes() as u64).saturating_add(record)
}
