//! Message format 2: record batches (KIP-98, Kafka 0.11).
//!
//! ```text
//! RecordBatch =>
//!   BaseOffset:int64 Length:int32 PartitionLeaderEpoch:int32 Magic:int8 CRC:uint32
//!   Attributes:int16 LastOffsetDelta:int32 BaseTimestamp:int64 MaxTimestamp:int64
//!   ProducerId:int64 ProducerEpoch:int16 BaseSequence:int32 RecordsCount:int32 Records
//! Record (all records of a batch are compressed as one stream) =>
//!   Length:varint Attributes:int8 TimestampDelta:varlong OffsetDelta:varint
//!   KeyLength:varint Key ValueLength:varint Value HeadersCount:varint Headers
//! Header => KeyLength:varint Key ValueLength:varint Value
//! ```
//! A negative length of key, value or header value means null. The attributes of a record are unused.
//! With LogAppendTime the timestamp of every record is the max timestamp of the batch, whatever its delta is.
//! Source: `DefaultRecordBatch`, `DefaultRecord`.

use super::attributes::TimestampType;
use super::batch::{Format, NO_SEQUENCE, RecordBatch, increment_sequence};
use super::block::RecordBlock;
use super::common_record::{CommonRecord, is_negative};
use super::decode_fault::DecodeFault;
use super::error::Result;
use super::layout::v2::RECORDS_COUNT_OFFSET;
use super::record::{Headers, Record};
use super::v2_progress::{V2Progress, check_count};
use crate::compress::CodecError;
use crate::varint::{VarintError, take_varint, take_varlong, zig_zag};

/// Iterates over the records of a batch of magic 2.
#[derive(Debug, Clone)]
pub struct V2Records<'a> {
    payload: &'a [u8],
    rest: &'a [u8],
    progress: V2Progress,
    timestamp_type: TimestampType,
    base_sequence: i32,
}

impl<'a> V2Records<'a> {
    /// Over `payload`, the decompressed records of `batch`, which declares `count` of them; `codec_error` is the fault that
    /// ended the payload early.
    #[inline]
    pub(super) fn new(
        batch: &RecordBatch<'_>,
        count: i32,
        payload: &'a [u8],
        is_compressed: bool,
        codec_error: Option<CodecError>,
    ) -> Result<Self> {
        check_count(batch, count)?;
        Ok(Self::over(batch, payload, count, is_compressed, codec_error))
    }

    #[inline]
    fn over(
        batch: &RecordBatch<'_>,
        payload: &'a [u8],
        count: i32,
        is_compressed: bool,
        codec_error: Option<CodecError>,
    ) -> Self {
        Self {
            payload,
            rest: payload,
            progress: V2Progress::new(batch, count, is_compressed, codec_error),
            timestamp_type: batch.timestamp_type(),
            base_sequence: batch.base_sequence(),
        }
    }

    /// Over the records of an uncompressed `batch`; `None` if their number is negative.
    #[inline]
    pub(super) fn plain(batch: &RecordBatch<'a>) -> Option<Self> {
        let Format::V2(fields) = batch.format() else { return None };
        let count = fields.i32::<RECORDS_COUNT_OFFSET>();
        (count >= 0).then(|| Self::over(batch, fields.body(), count, false, None))
    }

    /// The same iteration over other bytes, of which `rest` are not read yet.
    pub(super) fn over_bytes<'b>(self, payload: &'b [u8], rest: &'b [u8]) -> V2Records<'b> {
        let Self { progress, timestamp_type, base_sequence, .. } = self;
        V2Records { payload, rest, progress, timestamp_type, base_sequence }
    }

    /// The payload after the last record that was read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The number of records not read yet, according to the header of the batch.
    #[inline]
    pub fn remaining(&self) -> i32 {
        self.progress.remaining()
    }

    /// Reads the next record into `record`; `Ok(false)` at the end. It does the same as [`Iterator::next`] without moving a
    /// record or a large error through every return.
    ///
    /// # Errors
    /// As Kafka's iterator. No records follow an error.
    #[inline]
    pub fn advance(&mut self, record: &mut Record<'a>) -> Result<bool> {
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

    /// The record of a batch of one, if it has no headers and short lengths. `None` for any other batch, from which nothing is
    /// read then.
    /// [`advance`](Self::advance) does the same in a loop, which costs such batches as much as their record.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "batches of one record; one caller")]
    pub fn take_single(&mut self) -> Option<Record<'a>> {
        if !self.progress.is_before_single() {
            return None;
        }
        let (mut record, before) = (Record::EMPTY, self.rest);
        if self.read_common_record(&mut record).is_none() || !self.rest.is_empty() {
            self.rest = before;
            return None;
        }
        self.progress.skip(1);
        Some(record)
    }

    /// The decompressed bytes of all records.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The offset that the offset deltas of a [`RecordBlock`] are relative to.
    pub fn base_offset(&self) -> i64 {
        self.progress.base_offset()
    }

    /// The timestamp that the timestamp deltas of a [`RecordBlock`] are relative to. With LogAppendTime the deltas are ignored.
    pub fn base_timestamp(&self) -> i64 {
        self.progress.base_timestamp()
    }

    /// The timestamp type of all records and, with LogAppendTime, their timestamp.
    pub fn timestamp_type(&self) -> (TimestampType, Option<i64>) {
        (self.timestamp_type, self.progress.log_append_time())
    }

    /// The sequence of the record at `offset_delta`.
    #[inline]
    pub fn sequence(&self, offset_delta: i32) -> i32 {
        record_sequence(self.base_sequence, offset_delta)
    }

    /// Reads at most `most` records into `block`. It stops before the first record that has headers or a long key or value, and
    /// before the last record of the batch, which [`advance`](Self::advance) must read: an empty block does not mean the end.
    pub fn fill(&mut self, block: &mut RecordBlock, most: usize) {
        let left = self.remaining().saturating_sub(1).max(0) as usize;
        let start = self.payload.len().wrapping_sub(self.rest.len());
        let end = block.fill(left.min(most), self.payload, start);
        self.rest = self.payload.get(end..).unwrap_or_default();
        self.progress.skip(block.len() as i32);
    }

    /// Reads a [`CommonRecord`]. `None` for any other record and for a corrupt one, with only `record` changed:
    /// [`read_record`](Self::read_record) reads these.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the record stays in registers; two callers")]
    fn read_common_record(&mut self, record: &mut Record<'a>) -> Option<()> {
        let data = self.rest;
        let common = CommonRecord::read(data, 0)?;
        let nullable =
            |start: usize, length: u32| (!is_negative(length)).then(|| &data[start..][..(length / 2) as usize]);
        record.key = nullable(common.key_start, common.key_length);
        record.value = nullable(common.value_start, common.value_length);
        record.headers = Headers::EMPTY;
        self.rest = data.get(common.end..)?;
        self.place(record, i64::from(zig_zag(common.timestamp_delta)), zig_zag(common.offset_delta));
        Some(())
    }

    /// Sets offset, timestamp and sequence of a record from its deltas.
    #[inline]
    fn place(&self, record: &mut Record<'a>, timestamp_delta: i64, offset_delta: i32) {
        (record.offset, record.timestamp) = self.progress.place(timestamp_delta, offset_delta);
        record.timestamp_type = self.timestamp_type;
        record.sequence = self.sequence(offset_delta);
        record.message = None;
    }

    fn read_record(&mut self, record: &mut Record<'a>) -> std::result::Result<(), DecodeFault> {
        let size = take_varint(&mut self.rest).map_err(DecodeFault::Size)?;
        let Some((body, rest)) = usize::try_from(size).ok().and_then(|size| self.rest.split_at_checked(size)) else {
            return Err(DecodeFault::Body(size));
        };
        self.rest = rest;
        let mut fields = body.get(1..).ok_or(DecodeFault::Field(VarintError::End))?;
        let timestamp_delta = take_varlong(&mut fields).map_err(DecodeFault::Field)?;
        let offset_delta = take_varint(&mut fields).map_err(DecodeFault::Field)?;
        record.key = take_nullable(&mut fields).map_err(DecodeFault::Field)?;
        record.value = take_nullable(&mut fields).map_err(DecodeFault::Field)?;
        let headers_count = take_varint(&mut fields).map_err(DecodeFault::Field)?;
        record.headers = if headers_count == 0 { Headers::EMPTY } else { take_headers(&mut fields, headers_count)? };
        if !fields.is_empty() {
            return Err(DecodeFault::Length(body.len(), fields.len()));
        }
        self.place(record, timestamp_delta, offset_delta);
        Ok(())
    }
}

impl<'a> Iterator for V2Records<'a> {
    type Item = Result<Record<'a>>;

    /// The next record. As in Kafka, the last record is an error if bytes follow it or if the codec fails at its end.
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let mut record = Record::EMPTY;
        match self.advance(&mut record) {
            Ok(true) => Some(Ok(record)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// The sequence of the record at `offset_delta`; -1 if the batch has none.
#[inline]
pub(super) fn record_sequence(base_sequence: i32, offset_delta: i32) -> i32 {
    if base_sequence >= 0 { increment_sequence(base_sequence, offset_delta) } else { NO_SEQUENCE }
}

/// Takes a length and as many bytes; a negative length is null.
#[inline]
fn take_nullable<'a>(fields: &mut &'a [u8]) -> std::result::Result<Option<&'a [u8]>, VarintError> {
    let Ok(length) = usize::try_from(take_varint(fields)?) else { return Ok(None) };
    let (bytes, rest) = fields.split_at_checked(length).ok_or(VarintError::End)?;
    *fields = rest;
    Ok(Some(bytes))
}

/// Checks `count` headers and takes their bytes.
#[inline(never)]
fn take_headers<'a>(fields: &mut &'a [u8], count: i32) -> std::result::Result<Headers<'a>, DecodeFault> {
    let bounded = usize::try_from(count).ok().filter(|&count| count <= fields.len());
    let bounded = bounded.ok_or(DecodeFault::HeaderCount(count))?;
    let all = *fields;
    for _ in 0..bounded {
        let size = take_varint(&mut { *fields }).map_err(DecodeFault::Field)?;
        if size < 0 {
            return Err(DecodeFault::HeaderKeySize(size));
        }
        take_nullable(fields).map_err(DecodeFault::Field)?;
        take_nullable(fields).map_err(DecodeFault::Field)?;
    }
    let used = all.len().saturating_sub(fields.len());
    let raw = all.get(..used).ok_or(DecodeFault::HeaderCount(count))?;
    Ok(Headers::new(raw, bounded as u32))
}
