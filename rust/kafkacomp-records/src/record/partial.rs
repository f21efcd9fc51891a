//! The records of a compressed batch of magic 2 without keys, values and headers: what a broker reads of a batch that it stores
//! unchanged (`skipKeyValueIterator`, `PartialDefaultRecord`; KAFKA-8106).
//!
//! Kafka skips the fields by their lengths and ignores the length of the record, so it accepts batches that no consumer can read.
//! Nor does it compare the number of headers with the remaining bytes.

use super::batch::RecordBatch;
use super::common_record::CommonRecord;
use super::decode_fault::DecodeFault;
use super::error::Result;
use super::v2_progress::{V2Progress, check_count};
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
    progress: V2Progress,
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
        check_count(batch, count)?;
        Ok(Self { rest: payload, progress: V2Progress::new(batch, count, true, codec_error) })
    }

    /// Reads the next record into `record`; `Ok(false)` at the end.
    ///
    /// # Errors
    /// As Kafka's iterator. No records follow an error.
    #[inline]
    pub fn advance(&mut self, record: &mut PartialRecord) -> Result<bool> {
        if self.progress.remaining() <= 0 {
            return Ok(false);
        }
        if self.read_common_record(record).is_none()
            && let Err(fault) = self.read_record(record)
        {
            return Err(self.progress.fail(fault, self.rest));
        }
        self.progress.count_record(self.rest).map(|()| true)
    }

    /// Reads a [`CommonRecord`]. `None` for any other record, with only `record` changed.
    #[inline]
    fn read_common_record(&mut self, record: &mut PartialRecord) -> Option<()> {
        let common = CommonRecord::read(self.rest, 0)?;
        record.size_in_bytes = declared_size(self.rest).ok()?;
        (record.key_size, record.value_size) = (zig_zag(common.key_length), zig_zag(common.value_length));
        self.rest = self.rest.get(common.end..)?;
        self.place(record, i64::from(zig_zag(common.timestamp_delta)), zig_zag(common.offset_delta));
        Some(())
    }

    #[inline]
    fn place(&self, record: &mut PartialRecord, timestamp_delta: i64, offset_delta: i32) {
        (record.offset, record.timestamp) = self.progress.place(timestamp_delta, offset_delta);
    }

    #[inline(never)]
    fn read_record(&mut self, record: &mut PartialRecord) -> std::result::Result<(), DecodeFault> {
        record.size_in_bytes = declared_size(self.rest).map_err(DecodeFault::Size)?;
        take_varint(&mut self.rest).map_err(DecodeFault::Size)?;
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
}

/// The declared size of the first record of `payload` with its length field, in the length that Kafka would write.
///
/// # Errors
/// The length is not a varint.
#[inline]
pub fn declared_size(mut payload: &[u8]) -> std::result::Result<i32, VarintError> {
    let length = take_varint(&mut payload)?;
    Ok(length.wrapping_add(size_of_varint(length) as i32))
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
