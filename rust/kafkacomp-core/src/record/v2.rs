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
use super::block::{EncodedRecord, RecordBlock};
use super::decode_fault::{DecodeFault, Failed};
use super::error::{Error, Result};
use super::fault::RecordFault;
use super::layout::v2::{ATTRIBUTES_BITS, RECORDS_COUNT_OFFSET};
use super::record::{Headers, Record};
use crate::compress::CodecError;
use crate::varint::{VarintError, take_varint, take_varlong, zig_zag};

/// Iterates over the records of a batch of magic 2.
#[derive(Debug, Clone)]
pub struct V2Records<'a> {
    payload: &'a [u8],
    rest: &'a [u8],
    position: u64,
    base_offset: i64,
    base_timestamp: i64,
    log_append_time: Option<i64>,
    timestamp_type: TimestampType,
    base_sequence: i32,
    count: i32,
    read: i32,
    compressed: bool,
    codec_error: Option<CodecError>,
}

impl<'a> V2Records<'a> {
    /// Over `payload`, the decompressed records of `batch`, which declares `count` of them; `codec_error` is the fault that
    /// ended the payload early.
    #[inline]
    pub(super) fn new(
        batch: &RecordBatch<'_>,
        count: i32,
        payload: &'a [u8],
        compressed: bool,
        codec_error: Option<CodecError>,
    ) -> Result<Self> {
        if count < 0 {
            return Err(Error::Invalid { position: batch.position(), fault: RecordFault::NegativeCount { count } });
        }
        Ok(Self::over(batch, payload, count, compressed, codec_error))
    }

    #[inline]
    fn over(
        batch: &RecordBatch<'_>,
        payload: &'a [u8],
        count: i32,
        compressed: bool,
        codec_error: Option<CodecError>,
    ) -> Self {
        let timestamp_type = batch.timestamp_type();
        Self {
            payload,
            rest: payload,
            position: batch.position(),
            base_offset: batch.offset_field(),
            base_timestamp: batch.base_timestamp(),
            log_append_time: (timestamp_type == TimestampType::LogAppendTime).then(|| batch.max_timestamp()),
            timestamp_type,
            base_sequence: batch.base_sequence(),
            count,
            read: 0,
            compressed,
            codec_error,
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
        let Self { position, base_offset, base_timestamp, log_append_time, timestamp_type, .. } = self;
        let Self { base_sequence, count, read, compressed, codec_error, .. } = self;
        V2Records {
            payload,
            rest,
            position,
            base_offset,
            base_timestamp,
            log_append_time,
            timestamp_type,
            base_sequence,
            count,
            read,
            compressed,
            codec_error,
        }
    }

    /// The payload after the last record that was read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The number of records not read yet, according to the header of the batch.
    #[inline]
    pub fn remaining(&self) -> i32 {
        self.count.wrapping_sub(self.read)
    }

    /// Reads the next record into `record`; `Ok(false)` at the end. It does the same as [`Iterator::next`] without moving a
    /// record or a large error through every return.
    ///
    /// # Errors
    /// As Kafka's iterator. No records follow an error.
    #[inline]
    pub fn advance(&mut self, record: &mut Record<'a>) -> Result<bool> {
        if self.read >= self.count {
            return Ok(false);
        }
        if self.read_usual_record(record).is_none()
            && let Err(stop) = self.read_record(record)
        {
            return Err(self.fail(stop));
        }
        self.read = self.read.wrapping_add(1);
        if self.read == self.count && (!self.rest.is_empty() || self.codec_error.is_some()) {
            return Err(self.fail(DecodeFault::NotTheEnd));
        }
        Ok(true)
    }

    /// The record of a batch of one, if it has no headers and short numbers. `None` for any other batch, of which nothing is
    /// read then. [`advance`](Self::advance) does the same in a loop, which costs such batches as much as their record.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "batches of one record; one caller")]
    pub fn take_single(&mut self) -> Option<Record<'a>> {
        if self.count != 1 || self.read != 0 || self.codec_error.is_some() {
            return None;
        }
        let (mut record, before) = (Record::EMPTY, self.rest);
        if self.read_usual_record(&mut record).is_none() || !self.rest.is_empty() {
            self.rest = before;
            return None;
        }
        self.read = 1;
        Some(record)
    }

    /// The decompressed bytes of all records.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The offset that the offset deltas of a [`RecordBlock`] are relative to.
    pub fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// The timestamp that the timestamp deltas of a [`RecordBlock`] are relative to. With LogAppendTime the deltas are ignored.
    pub fn base_timestamp(&self) -> i64 {
        self.base_timestamp
    }

    /// The timestamp type of all records and, with LogAppendTime, their timestamp.
    pub fn timestamp_type(&self) -> (TimestampType, Option<i64>) {
        (self.timestamp_type, self.log_append_time)
    }

    /// The sequence of the record at `offset_delta`.
    #[inline]
    pub fn sequence(&self, offset_delta: i32) -> i32 {
        record_sequence(self.base_sequence, offset_delta)
    }

    /// Reads at most `most` records into `block`. It stops before the first record with headers or long numbers and before the
    /// last record of the batch, which [`advance`](Self::advance) must read: an empty block does not mean the end.
    pub fn fill(&mut self, block: &mut RecordBlock, most: usize) {
        let left = self.remaining().saturating_sub(1).max(0) as usize;
        let mut rest = self.rest;
        // The payload of a batch has fewer than 2^31 bytes.
        let mut start = self.payload.len().wrapping_sub(rest.len()) as u32;
        block.fill(left.min(most), || {
            let usual = usual_record(rest)?;
            let record = EncodedRecord {
                offset_delta: usual.offset_delta,
                timestamp_delta: usual.timestamp_delta,
                key_start: start.wrapping_add(usual.key_at as u32),
                key_length: usual.key_size,
                value_start: start.wrapping_add(usual.value_at as u32),
                value_length: usual.value_size,
            };
            start = start.wrapping_add(usual.size as u32);
            rest = usual.behind;
            Some(record)
        });
        self.rest = rest;
        self.read = self.read.wrapping_add(block.len() as i32);
    }

    /// Reads a record without headers and with short numbers. `None` for any other record and for a corrupt one, with only
    /// `record` changed: [`read_record`](Self::read_record) reads these.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the record stays in registers; two callers")]
    fn read_usual_record(&mut self, record: &mut Record<'a>) -> Option<()> {
        let rest = self.rest;
        let usual = usual_record(rest)?;
        let nullable = |at: usize, folded: u32| {
            if is_negative(folded) { None } else { rest.get(at..)?.get(..(folded / 2) as usize) }
        };
        record.key = nullable(usual.key_at, usual.key_size);
        record.value = nullable(usual.value_at, usual.value_size);
        record.headers = Headers::EMPTY;
        self.rest = usual.behind;
        self.place(record, i64::from(zig_zag(usual.timestamp_delta)), zig_zag(usual.offset_delta));
        Some(())
    }

    /// Sets offset, timestamp and sequence of a record from its deltas.
    #[inline]
    fn place(&self, record: &mut Record<'a>, timestamp_delta: i64, offset_delta: i32) {
        record.offset = self.base_offset.wrapping_add(i64::from(offset_delta));
        record.timestamp = self.log_append_time.unwrap_or_else(|| self.base_timestamp.wrapping_add(timestamp_delta));
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

    /// Ends the iteration with the error of a failure.
    #[cold]
    fn fail(&mut self, reason: DecodeFault) -> Error {
        let Self { position, compressed: is_compressed, count, read: index, .. } = *self;
        let failed = Failed { position, is_compressed, count, index, available: self.rest.len() };
        self.read = self.count;
        reason.into_error(failed, &mut self.codec_error)
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

/// The eight bytes at `at` as a little-endian number.
#[inline]
fn word_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..at.wrapping_add(8))?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// A varint of at most three bytes at the low end of `word`, before zig-zag decoding, and its length in bits.
#[inline]
fn short_varint(word: u64) -> Option<(u32, u32)> {
    let low = (word & 0x7f) as u32;
    if word & 0x80 == 0 {
        return Some((low, 8));
    }
    let low = low | (word >> 1 & 0x3f80) as u32;
    if word & 0x8000 == 0 {
        return Some((low, 16));
    }
    (word & 0x80_0000 == 0).then_some((low | (word >> 2 & 0x1f_c000) as u32, 24))
}

/// A record without headers and with numbers of at most three bytes, as nearly all are. Its numbers are zig-zag encoded; a
/// negative size means null.
pub(super) struct Usual<'a> {
    pub(super) timestamp_delta: u32,
    pub(super) offset_delta: u32,
    pub(super) key_at: usize,
    pub(super) key_size: u32,
    pub(super) value_at: usize,
    pub(super) value_size: u32,
    /// The size of the record with its size field.
    size: usize,
    /// The bytes after the record.
    pub(super) behind: &'a [u8],
}

/// The bytes that contain the first two words of a record: the second one begins after at most seven bytes.
const WINDOW: usize = 15;

/// Reads the record at the front of `rest` by whole words, without a branch for each byte; `None` for any other record and for
/// a corrupt one.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loops; four callers")]
pub(super) fn usual_record(rest: &[u8]) -> Option<Usual<'_>> {
    let window: &[u8; WINDOW] = rest.first_chunk()?;
    let word = word_at(window, 0)?;
    let (size, size_bits) = short_varint(word)?;
    let (timestamp_delta, timestamp_bits) = short_varint(word >> size_bits.wrapping_add(ATTRIBUTES_BITS))?;
    // The mask changes nothing; with it, the compiler leaves out the check of the bounds.
    let mut at = (size_bits.wrapping_add(ATTRIBUTES_BITS).wrapping_add(timestamp_bits) / 8) as usize & 7;
    let word = word_at(window, at)?;
    let (offset_delta, offset_bits) = short_varint(word)?;
    let (key_size, key_bits) = short_varint(word >> offset_bits)?;
    let key_at = at.wrapping_add((offset_bits.wrapping_add(key_bits) / 8) as usize);
    at = key_at.wrapping_add(size_or_zero(key_size));
    let (value_size, value_bits) = short_varint(word_at(rest, at)?)?;
    let value_at = at.wrapping_add((value_bits / 8) as usize);
    at = value_at.wrapping_add(size_or_zero(value_size));
    // The position of the next record depends on the size alone and not on the fields, so the processor can start reading it
    // before this record is finished.
    let end = ((size_bits / 8) as usize).wrapping_add((size / 2) as usize);
    let (record, behind) = rest.split_at_checked(end)?;
    // The last byte is the number of headers.
    if is_negative(size) || at.wrapping_add(1) != end || record.last() != Some(&0) {
        return None;
    }
    Some(Usual { timestamp_delta, offset_delta, key_at, key_size, value_at, value_size, size: end, behind })
}

/// Whether a zig-zag encoded number is negative.
#[inline]
fn is_negative(folded: u32) -> bool {
    folded & 1 != 0
}

/// The number of bytes of a zig-zag encoded size; 0 if it is negative, which means null.
#[inline]
fn size_or_zero(folded: u32) -> usize {
    (folded >> 1 & (folded & 1).wrapping_sub(1)) as usize
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
