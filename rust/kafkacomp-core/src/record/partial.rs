//! The records of a compressed batch of magic 2 without keys, values and headers: what a broker reads of a batch that it stores
//! unchanged (`skipKeyValueIterator`, `PartialDefaultRecord`; KAFKA-8106).
//!
//! Kafka skips the fields by their lengths and ignores the length of the record, so it accepts batches that no consumer can read.
//! Nor does it compare the number of headers with the remaining bytes.

use super::attributes::TimestampType;
use super::batch::RecordBatch;
use super::decode_fault::{DecodeFault, Failed};
use super::error::{Error, Result};
use super::fault::RecordFault;
use super::v2::usual_record;
use crate::compress::CodecError;
use crate::varint::{VarintError, size_of_varint, take_varint, take_varlong, zig_zag};

/// The fields of a record whose key and value are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialRecord {
    /// The absolute offset.
    pub offset: i64,
    /// The timestamp in ms.
    pub timestamp: i64,
    /// The declared size of the record with its length field, in bytes. It is not checked.
    pub size_in_bytes: i32,
    /// The key's length; negative for null.
    pub key_size: i32,
    /// The value's length; negative for null.
    pub value_size: i32,
}

impl PartialRecord {
    /// A record before the first one is read.
    pub const EMPTY: Self = Self { offset: 0, timestamp: 0, size_in_bytes: 0, key_size: 0, value_size: 0 };
}

/// Iterates over the records of a batch without their keys and values.
#[derive(Debug)]
pub struct PartialRecords<'a> {
    rest: &'a [u8],
    position: u64,
    base_offset: i64,
    base_timestamp: i64,
    log_append_time: Option<i64>,
    count: i32,
    read: i32,
    codec_error: Option<CodecError>,
}

impl<'a> PartialRecords<'a> {
    /// Over `payload`, the decompressed records of `batch`, which declares `count` of them; `codec_error` is the fault that
    /// ended the payload early.
    pub(super) fn new(
        batch: &RecordBatch<'_>,
        count: i32,
        payload: &'a [u8],
        codec_error: Option<CodecError>,
    ) -> Result<Self> {
        if count < 0 {
            return Err(Error::Invalid { position: batch.position(), fault: RecordFault::NegativeCount { count } });
        }
        let append_time = batch.timestamp_type() == TimestampType::LogAppendTime;
        Ok(Self {
            rest: payload,
            position: batch.position(),
            base_offset: batch.offset_field(),
            base_timestamp: batch.base_timestamp(),
            log_append_time: append_time.then(|| batch.max_timestamp()),
            count,
            read: 0,
            codec_error,
        })
    }

    /// Reads the next record into `record`; `Ok(false)` at the end.
    ///
    /// # Errors
    /// As Kafka's iterator. No records follow an error.
    #[inline]
    pub fn advance(&mut self, record: &mut PartialRecord) -> Result<bool> {
        if self.read >= self.count {
            return Ok(false);
        }
        if self.usual_record(record).is_none()
            && let Err(stop) = self.any_record(record)
        {
            return Err(self.fail(stop));
        }
        self.read = self.read.wrapping_add(1);
        if self.read == self.count && (!self.rest.is_empty() || self.codec_error.is_some()) {
            return Err(self.fail(DecodeFault::NotTheEnd));
        }
        Ok(true)
    }

    /// Reads a record without headers and with short numbers whose fields fill its size, as [`usual_record`] does. `None` for any
    /// other record, with only `record` changed.
    #[inline]
    fn usual_record(&mut self, record: &mut PartialRecord) -> Option<()> {
        let mut rest = self.rest;
        let usual = usual_record(rest)?;
        record.size_in_bytes = size_in_bytes(take_varint(&mut rest).ok()?);
        (record.key_size, record.value_size) = (zig_zag(usual.key_size), zig_zag(usual.value_size));
        self.rest = usual.behind;
        self.place(record, i64::from(zig_zag(usual.timestamp_delta)), zig_zag(usual.offset_delta));
        Some(())
    }

    #[inline]
    fn place(&self, record: &mut PartialRecord, timestamp_delta: i64, offset_delta: i32) {
        record.offset = self.base_offset.wrapping_add(i64::from(offset_delta));
        record.timestamp = self.log_append_time.unwrap_or_else(|| self.base_timestamp.wrapping_add(timestamp_delta));
    }

    #[inline(never)]
    fn any_record(&mut self, record: &mut PartialRecord) -> std::result::Result<(), DecodeFault> {
        record.size_in_bytes = size_in_bytes(take_varint(&mut self.rest).map_err(DecodeFault::Size)?);
        let (_, fields) = self.rest.split_first().ok_or(DecodeFault::Size(VarintError::End))?;
        self.rest = fields;
        let timestamp_delta = take_varlong(&mut self.rest).map_err(DecodeFault::Size)?;
        let offset_delta = take_varint(&mut self.rest).map_err(DecodeFault::Size)?;
        record.key_size = self.skip_nullable()?;
        record.value_size = self.skip_nullable()?;
        let headers = take_varint(&mut self.rest).map_err(DecodeFault::Size)?;
        if headers < 0 {
            return Err(DecodeFault::HeaderCount(headers));
        }
        for _ in 0..headers {
            let size = self.skip_nullable()?;
            if size < 0 {
                return Err(DecodeFault::HeaderKeySize(size));
            }
            self.skip_nullable()?;
        }
        self.place(record, timestamp_delta, offset_delta);
        Ok(())
    }

    /// Skips a length and as many bytes; returns the length.
    fn skip_nullable(&mut self) -> std::result::Result<i32, DecodeFault> {
        let size = take_varint(&mut self.rest).map_err(DecodeFault::Size)?;
        if let Ok(length) = usize::try_from(size) {
            let Some(rest) = self.rest.get(length..) else {
                self.rest = &[];
                return Err(DecodeFault::Size(VarintError::End));
            };
            self.rest = rest;
        }
        Ok(size)
    }

    /// Ends the iteration with the error of a failure.
    #[cold]
    fn fail(&mut self, reason: DecodeFault) -> Error {
        let Self { position, count, read: index, .. } = *self;
        let failed = Failed { position, is_compressed: true, count, index, available: self.rest.len() };
        self.read = self.count;
        reason.into_error(failed, &mut self.codec_error)
    }
}

/// The size of a record with its size field, in the length that Kafka would write.
#[inline]
fn size_in_bytes(size: i32) -> i32 {
    size.wrapping_add(size_of_varint(size) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::{Compression, CompressionType};
    use crate::record::{BatchSettings, Batches, HeadersBuffer, RecordBatchBuilder, RecordReader};
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    fn size(field: Option<&[u8]>) -> i32 {
        field.map_or(-1, |field| field.len() as i32)
    }

    proptest! {
        #[test]
        fn the_fields_of_whole_records(
            records in vec((option::of(vec(any::<u8>(), 0..200)), option::of(vec(any::<u8>(), 0..200)), 0..3_usize, 0..1_i64 << 40), 1..20),
        ) {
            let settings = BatchSettings { compression: Compression::of(CompressionType::Lz4), ..BatchSettings::default() };
            let mut builder = RecordBatchBuilder::new(settings).unwrap();
            for (offset, (key, value, headers, timestamp)) in (0..).zip(&records) {
                let mut buffer = HeadersBuffer::new();
                (0..*headers).for_each(|_| buffer.push("k", None).unwrap());
                builder.append(offset * 3, *timestamp, key.as_deref(), value.as_deref(), buffer.as_headers()).unwrap();
            }
            let built = builder.build_bytes().unwrap();
            let batch = Batches::new(&built, 0).next().unwrap().unwrap();
            let mut reader = RecordReader::new(1 << 20);
            let mut partial = reader.partial_records(&batch).unwrap().unwrap();
            let mut whole = RecordReader::new(1 << 20);
            let mut record = PartialRecord::EMPTY;
            for expected in whole.records(&batch).unwrap() {
                let expected = expected.unwrap();
                prop_assert!(partial.advance(&mut record).unwrap());
                prop_assert_eq!((record.offset, record.timestamp), (expected.offset, expected.timestamp));
                prop_assert_eq!((record.key_size, record.value_size), (size(expected.key), size(expected.value)));
            }
            prop_assert!(!partial.advance(&mut record).unwrap());
        }
    }
}
