//! Message format 2: record batches (KIP-98, Kafka 0.11).
//!
//! ```text
//! RecordBatch =>
//!   BaseOffset:int64 Length:int32 PartitionLeaderEpoch:int32 Magic:int8 CRC:uint32
//!   Attributes:int16 LastOffsetDelta:int32 BaseTimestamp:int64 MaxTimestamp:int64
//!   ProducerId:int64 ProducerEpoch:int16 BaseSequence:int32 RecordsCount:int32 Records
//! Record (compressed as one stream with its fellows) =>
//!   Length:varint Attributes:int8 TimestampDelta:varlong OffsetDelta:varint
//!   KeyLength:varint Key ValueLength:varint Value HeadersCount:varint Headers
//! Header => KeyLength:varint Key ValueLength:varint Value
//! ```
//! A negative length of key, value or header value means null. The attributes of a record are unused.
//! With LogAppendTime every record's time is the batch's max timestamp, whatever its delta says.
//! Source: `DefaultRecordBatch`, `DefaultRecord`.

use super::attributes::TimestampType;
use super::batch::{LOG_OVERHEAD, NO_SEQUENCE, RecordBatch};
use super::record::{Headers, Record};
use super::varint::{VarintError, take_varint, take_varlong};
use crate::compress::CodecError;
use crate::error::{Error, RecordFault, Result};

/// Where the base offset stands.
pub const BASE_OFFSET_OFFSET: usize = 0;
/// Length of the base offset.
pub const BASE_OFFSET_LENGTH: usize = 8;
/// Where the length stands.
pub const LENGTH_OFFSET: usize = BASE_OFFSET_OFFSET + BASE_OFFSET_LENGTH;
/// Length of the length.
pub const LENGTH_LENGTH: usize = 4;
/// Where the partition leader epoch stands.
pub const PARTITION_LEADER_EPOCH_OFFSET: usize = LENGTH_OFFSET + LENGTH_LENGTH;
/// Length of the partition leader epoch.
pub const PARTITION_LEADER_EPOCH_LENGTH: usize = 4;
/// Where the magic stands.
pub const MAGIC_OFFSET: usize = PARTITION_LEADER_EPOCH_OFFSET + PARTITION_LEADER_EPOCH_LENGTH;
/// Length of the magic.
pub const MAGIC_LENGTH: usize = 1;
/// Where the CRC stands.
pub const CRC_OFFSET: usize = MAGIC_OFFSET + MAGIC_LENGTH;
/// Length of the CRC.
pub const CRC_LENGTH: usize = 4;
/// Where the attributes stand, and what the CRC covers begins.
pub const ATTRIBUTES_OFFSET: usize = CRC_OFFSET + CRC_LENGTH;
/// Length of the attributes.
pub const ATTRIBUTES_LENGTH: usize = 2;
/// Where the last offset delta stands.
pub const LAST_OFFSET_DELTA_OFFSET: usize = ATTRIBUTES_OFFSET + ATTRIBUTES_LENGTH;
/// Length of the last offset delta.
pub const LAST_OFFSET_DELTA_LENGTH: usize = 4;
/// Where the base timestamp stands.
pub const BASE_TIMESTAMP_OFFSET: usize = LAST_OFFSET_DELTA_OFFSET + LAST_OFFSET_DELTA_LENGTH;
/// Length of the base timestamp.
pub const BASE_TIMESTAMP_LENGTH: usize = 8;
/// Where the max timestamp stands.
pub const MAX_TIMESTAMP_OFFSET: usize = BASE_TIMESTAMP_OFFSET + BASE_TIMESTAMP_LENGTH;
/// Length of the max timestamp.
pub const MAX_TIMESTAMP_LENGTH: usize = 8;
/// Where the producer id stands.
pub const PRODUCER_ID_OFFSET: usize = MAX_TIMESTAMP_OFFSET + MAX_TIMESTAMP_LENGTH;
/// Length of the producer id.
pub const PRODUCER_ID_LENGTH: usize = 8;
/// Where the producer epoch stands.
pub const PRODUCER_EPOCH_OFFSET: usize = PRODUCER_ID_OFFSET + PRODUCER_ID_LENGTH;
/// Length of the producer epoch.
pub const PRODUCER_EPOCH_LENGTH: usize = 2;
/// Where the base sequence stands.
pub const BASE_SEQUENCE_OFFSET: usize = PRODUCER_EPOCH_OFFSET + PRODUCER_EPOCH_LENGTH;
/// Length of the base sequence.
pub const BASE_SEQUENCE_LENGTH: usize = 4;
/// Where the number of records stands.
pub const RECORDS_COUNT_OFFSET: usize = BASE_SEQUENCE_OFFSET + BASE_SEQUENCE_LENGTH;
/// Length of the number of records.
pub const RECORDS_COUNT_LENGTH: usize = 4;
/// Where the records begin.
pub const RECORDS_OFFSET: usize = RECORDS_COUNT_OFFSET + RECORDS_COUNT_LENGTH;
/// The size of a batch without records.
pub const RECORD_BATCH_OVERHEAD: usize = RECORDS_OFFSET;

const _: () = assert!(RECORD_BATCH_OVERHEAD == 61 && LENGTH_OFFSET + LENGTH_LENGTH == LOG_OVERHEAD);

/// The sequence `increment` after `sequence`; after 2^31 - 1 comes 0.
#[inline]
pub fn increment_sequence(sequence: i32, increment: i32) -> i32 {
    if sequence > i32::MAX.wrapping_sub(increment) {
        increment.wrapping_sub(i32::MAX.wrapping_sub(sequence)).wrapping_sub(1)
    } else {
        sequence.wrapping_add(increment)
    }
}

/// Iterates over the records of a batch of magic 2.
#[derive(Debug)]
pub struct DefaultRecords<'a> {
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

impl<'a> DefaultRecords<'a> {
    /// Over `payload`, the decompressed records of `batch`; `codec_error` is what cut the payload short.
    pub(super) fn new(
        batch: &RecordBatch<'_>,
        payload: &'a [u8],
        compressed: bool,
        codec_error: Option<CodecError>,
    ) -> Result<Self> {
        let count = batch.records_count().unwrap_or_default();
        if count < 0 {
            return Err(Error::Invalid { position: batch.position(), fault: RecordFault::NegativeCount { count } });
        }
        let timestamp_type = batch.timestamp_type();
        Ok(Self {
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
        })
    }

    /// How many records are still to come, by the batch's header.
    pub fn remaining(&self) -> i32 {
        self.count.wrapping_sub(self.read)
    }

    #[cold]
    fn fail(&self, fault: RecordFault) -> Error {
        Error::Invalid { position: self.position, fault }
    }

    /// What to say when the payload ends early: the codec's word if it cut it.
    #[cold]
    fn end_early(&mut self, fault: RecordFault) -> Error {
        match self.codec_error.take() {
            Some(source) => Error::BatchCodec { position: self.position, source },
            None => self.fail(fault),
        }
    }

    #[inline]
    fn read_record(&mut self) -> Result<Record<'a>> {
        let index = self.read;
        let size = match take_varint(&mut self.rest) {
            Ok(size) => size,
            Err(VarintError::TooLong) if !self.compressed => {
                return Err(self.fail(RecordFault::SizeVarintTooLong { index }));
            }
            Err(VarintError::TooLong) => return Err(self.fail(RecordFault::VarintTooLong { index })),
            Err(VarintError::End) => {
                return Err(self.end_early(RecordFault::PrematureEnd { count: self.count, read: index }));
            }
        };
        let Some((body, rest)) = usize::try_from(size).ok().and_then(|size| self.rest.split_at_checked(size)) else {
            let available = self.rest.len();
            let fault = RecordFault::RecordSize { index, size, available };
            return Err(if size < 0 { self.fail(fault) } else { self.end_early(fault) });
        };
        self.rest = rest;
        self.read_body(body, index).map_err(|fault| self.fail(fault))
    }

    #[inline]
    fn read_body(&self, body: &'a [u8], index: i32) -> std::result::Result<Record<'a>, RecordFault> {
        let overrun = |error| match error {
            VarintError::End => RecordFault::FieldOverrun { index },
            VarintError::TooLong => RecordFault::VarintTooLong { index },
        };
        let mut fields = body.get(1..).ok_or(RecordFault::FieldOverrun { index })?;
        let timestamp_delta = take_varlong(&mut fields).map_err(overrun)?;
        let offset_delta = take_varint(&mut fields).map_err(overrun)?;
        let key = take_nullable(&mut fields, index)?;
        let value = take_nullable(&mut fields, index)?;
        let headers_count = take_varint(&mut fields).map_err(overrun)?;
        let headers =
            if headers_count == 0 { Headers::EMPTY } else { take_headers(&mut fields, headers_count, index)? };
        if !fields.is_empty() {
            return Err(RecordFault::RecordLength {
                index,
                size: body.len() as i32,
                used: body.len().saturating_sub(fields.len()),
            });
        }
        Ok(Record {
            offset: self.base_offset.wrapping_add(i64::from(offset_delta)),
            timestamp: self.log_append_time.unwrap_or_else(|| self.base_timestamp.wrapping_add(timestamp_delta)),
            timestamp_type: self.timestamp_type,
            sequence: if self.base_sequence >= 0 {
                increment_sequence(self.base_sequence, offset_delta)
            } else {
                NO_SEQUENCE
            },
            key,
            value,
            headers,
            legacy: None,
        })
    }

    fn check_end(&mut self) -> Result<()> {
        if !self.rest.is_empty() {
            return Err(self.fail(RecordFault::RecordsRemaining { count: self.count }));
        }
        match self.codec_error.take() {
            Some(source) => Err(Error::BatchCodec { position: self.position, source }),
            None => Ok(()),
        }
    }
}

impl<'a> Iterator for DefaultRecords<'a> {
    type Item = Result<Record<'a>>;

    /// The next record. The last one comes only if nothing follows it and the codec's own end is right,
    /// as in Kafka.
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.read >= self.count {
            return None;
        }
        let record = self.read_record();
        self.read = self.read.wrapping_add(1);
        let checked = match record {
            Ok(record) if self.read == self.count => self.check_end().map(|()| record),
            other => other,
        };
        if checked.is_err() {
            self.read = self.count;
        }
        Some(checked)
    }
}

/// Takes a length and as many bytes; a negative length is null.
#[inline]
fn take_nullable<'a>(fields: &mut &'a [u8], index: i32) -> std::result::Result<Option<&'a [u8]>, RecordFault> {
    let length = match take_varint(fields) {
        Ok(length) => length,
        Err(VarintError::TooLong) => return Err(RecordFault::VarintTooLong { index }),
        Err(VarintError::End) => return Err(RecordFault::FieldOverrun { index }),
    };
    let Ok(length) = usize::try_from(length) else { return Ok(None) };
    let (bytes, rest) = fields.split_at_checked(length).ok_or(RecordFault::FieldOverrun { index })?;
    *fields = rest;
    Ok(Some(bytes))
}

/// Checks `count` headers and takes them as one piece.
fn take_headers<'a>(fields: &mut &'a [u8], count: i32, index: i32) -> std::result::Result<Headers<'a>, RecordFault> {
    let bounded = usize::try_from(count).ok().filter(|&count| count <= fields.len());
    let Some(bounded) = bounded else { return Err(RecordFault::HeaderCount { index, count }) };
    let all = *fields;
    for _ in 0..bounded {
        let mut peek = *fields;
        if let Ok(size) = take_varint(&mut peek)
            && size < 0
        {
            return Err(RecordFault::HeaderKeySize { index, size });
        }
        take_nullable(fields, index)?;
        take_nullable(fields, index)?;
    }
    let used = all.len().saturating_sub(fields.len());
    Ok(Headers::new(all.get(..used).unwrap_or_default(), bounded as u32))
}
