//! Where an iteration over the records of a batch of magic 2 is, and what their deltas are relative to; for the iterators over
//! [whole records](super::v2::V2Records) and over [records without keys and values](super::partial::PartialRecords).

use super::attributes::TimestampType;
use super::batch::RecordBatch;
use super::decode_fault::{DecodeFault, Failed};
use super::error::{Error, Result};
use super::fault::RecordFault;
use crate::compress::CodecError;

/// Checks the number of records that `batch` declares.
///
/// # Errors
/// [`RecordFault::NegativeCount`].
#[inline]
pub(super) fn check_count(batch: &RecordBatch<'_>, count: i32) -> Result<()> {
    if count < 0 {
        return Err(Error::Invalid { position: batch.position(), fault: RecordFault::NegativeCount { count } });
    }
    Ok(())
}

/// The number of records read so far, and the fields of the batch from which offsets, timestamps and errors follow.
#[derive(Debug, Clone)]
pub(super) struct V2Progress {
    position: u64,
    base_offset: i64,
    base_timestamp: i64,
    log_append_time: Option<i64>,
    count: i32,
    read: i32,
    is_compressed: bool,
    codec_error: Option<CodecError>,
}

impl V2Progress {
    /// Before the first record of `batch`, which declares `count` of them, checked by [`check_count`]; `codec_error` is the fault
    /// that ended the payload early.
    #[inline]
    pub(super) fn new(
        batch: &RecordBatch<'_>,
        count: i32,
        is_compressed: bool,
        codec_error: Option<CodecError>,
    ) -> Self {
        let append_time = batch.timestamp_type() == TimestampType::LogAppendTime;
        Self {
            position: batch.position(),
            base_offset: batch.offset_field(),
            base_timestamp: batch.base_timestamp(),
            log_append_time: append_time.then(|| batch.max_timestamp()),
            count,
            read: 0,
            is_compressed,
            codec_error,
        }
    }

    /// The number of records not read yet.
    #[inline]
    pub(super) fn remaining(&self) -> i32 {
        self.count.wrapping_sub(self.read)
    }

    /// Whether the batch has one record, which is not read yet, and its payload is complete.
    #[inline]
    pub(super) fn is_before_single(&self) -> bool {
        self.count == 1 && self.read == 0 && self.codec_error.is_none()
    }

    pub(super) fn base_offset(&self) -> i64 {
        self.base_offset
    }

    pub(super) fn base_timestamp(&self) -> i64 {
        self.base_timestamp
    }

    pub(super) fn log_append_time(&self) -> Option<i64> {
        self.log_append_time
    }

    /// The offset and the timestamp of a record from its deltas.
    #[inline]
    pub(super) fn place(&self, timestamp_delta: i64, offset_delta: i32) -> (i64, i64) {
        let offset = self.base_offset.wrapping_add(i64::from(offset_delta));
        (offset, self.log_append_time.unwrap_or_else(|| self.base_timestamp.wrapping_add(timestamp_delta)))
    }

    /// Counts a record, after which `rest` is left of the payload.
    ///
    /// # Errors
    /// It was the last record, and bytes or the codec's fault follow it.
    #[inline]
    pub(super) fn count_record(&mut self, rest: &[u8]) -> Result<()> {
        self.skip(1);
        if self.read == self.count && (!rest.is_empty() || self.codec_error.is_some()) {
            return Err(self.fail(DecodeFault::NotTheEnd, rest));
        }
        Ok(())
    }

    /// Counts records before the last one, or the single record of a complete payload.
    #[inline]
    pub(super) fn skip(&mut self, records: i32) {
        self.read = self.read.wrapping_add(records);
    }

    /// Ends the iteration with the error for a fault; `rest` is what is left of the payload.
    #[cold]
    pub(super) fn fail(&mut self, fault: DecodeFault, rest: &[u8]) -> Error {
        let Self { position, is_compressed, count, read: index, .. } = *self;
        let failed = Failed { position, is_compressed, count, index, available: rest.len() };
        self.read = self.count;
        fault.into_error(failed, &mut self.codec_error)
    }
}
