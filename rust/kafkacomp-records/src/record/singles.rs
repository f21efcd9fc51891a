//! The records of consecutive batches with one record each, field by field, for building columns: as a
//! [`RecordBlock`](super::RecordBlock) is for the records of one batch.

use super::attributes::TimestampType;
use super::batch::{Format, RecordBatch};
use super::batches::Batches;
use super::block::{BLOCK_RECORDS, Spans};
use super::common_record::CommonRecord;
use super::layout::v2::RECORDS_COUNT_OFFSET;
use super::v2::record_sequence;
use crate::varint::zig_zag;

/// Which batches are read.
#[derive(Debug, Clone, Copy)]
pub struct SinglesBounds {
    /// The most records.
    pub most: usize,
    /// The most bytes of all batches.
    pub most_bytes: usize,
    /// Batches from this position on are not read.
    pub until: u64,
    /// Whether checksums are verified: a batch with a wrong one is not read.
    pub verify_crc: bool,
}

/// The records of consecutive uncompressed batches of magic 2 with one record each, with the same timestamp type. Records with
/// headers or long numbers and control batches are left to [`RecordReader`](super::RecordReader).
#[derive(Debug)]
pub struct SingleRecords {
    offsets: [i64; BLOCK_RECORDS],
    timestamps: [i64; BLOCK_RECORDS],
    sequences: [i32; BLOCK_RECORDS],
    keys: Spans,
    values: Spans,
    timestamp_type: TimestampType,
}

impl Default for SingleRecords {
    fn default() -> Self {
        Self {
            offsets: [0; BLOCK_RECORDS],
            timestamps: [0; BLOCK_RECORDS],
            sequences: [0; BLOCK_RECORDS],
            keys: Spans::new(),
            values: Spans::new(),
            timestamp_type: TimestampType::NoTimestampType,
        }
    }
}

impl SingleRecords {
    /// The number of records.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offsets.
    pub fn offsets(&self) -> &[i64] {
        &self.offsets[..self.len()]
    }

    /// The timestamps in ms.
    pub fn timestamps(&self) -> &[i64] {
        &self.timestamps[..self.len()]
    }

    /// The sequences, -1 without a producer id.
    pub fn sequences(&self) -> &[i32] {
        &self.sequences[..self.len()]
    }

    /// The timestamp type of all records.
    pub fn timestamp_type(&self) -> TimestampType {
        self.timestamp_type
    }

    /// The keys, spans of the data of [`fill`](Self::fill).
    pub fn keys(&self) -> &Spans {
        &self.keys
    }

    /// The values, spans of the same data.
    pub fn values(&self) -> &Spans {
        &self.values
    }

    /// Whether it is worthwhile to call [`fill`](Self::fill) after `batch`: uncompressed batches of one record usually follow one
    /// another, and reading the header of another batch in vain takes about 150 instructions.
    #[inline]
    pub fn may_follow(batch: &RecordBatch<'_>) -> bool {
        batch.records_count() == Some(1) && batch.attributes().compression_id() == 0
    }

    /// Replaces the records by those of the next batches of `batches`, which iterates over `data`, and returns the last one of
    /// these batches. Without such a batch, there are no records, and the iteration does not advance.
    pub fn fill<'a>(
        &mut self,
        batches: &mut Batches<'a>,
        data: &'a [u8],
        bounds: SinglesBounds,
    ) -> Option<RecordBatch<'a>> {
        let (mut count, mut last_size, mut left) = (0_usize, 0_usize, bounds.most_bytes);
        // A copy in registers; the batch is not kept either, but made again after the loop.
        let mut ahead = batches.clone();
        let most = if u32::try_from(data.len()).is_ok() { bounds.most.min(BLOCK_RECORDS) } else { 0 };
        while count < most {
            let Some((batch, rest)) = ahead.peek() else { break };
            let Some(less) = left.checked_sub(batch.size_in_bytes()) else { break };
            let (attributes, timestamp_type) = (batch.attributes(), batch.timestamp_type());
            let Format::V2(fields) = batch.format() else { break };
            if fields.i32::<RECORDS_COUNT_OFFSET>() != 1
                || attributes.compression_id() != 0
                || attributes.is_control()
                || batch.position() >= bounds.until
                || (count > 0 && timestamp_type != self.timestamp_type)
                || (bounds.verify_crc && !batch.is_valid())
            {
                break;
            }
            let body = fields.body();
            let Some(record) = CommonRecord::read(body, 0).filter(|record| record.end == body.len()) else { break };
            let start = data.len().wrapping_sub(rest.len()).wrapping_sub(body.len()) as u32;
            let offset_delta = zig_zag(record.offset_delta);
            self.timestamp_type = timestamp_type;
            self.offsets[count] = batch.offset_field().wrapping_add(i64::from(offset_delta));
            self.timestamps[count] = match timestamp_type {
                TimestampType::LogAppendTime => batch.max_timestamp(),
                _ => batch.base_timestamp().wrapping_add(i64::from(zig_zag(record.timestamp_delta))),
            };
            self.sequences[count] = record_sequence(batch.base_sequence(), offset_delta);
            self.keys.set(count, start.wrapping_add(record.key_start as u32), record.key_length);
            self.values.set(count, start.wrapping_add(record.value_start as u32), record.value_length);
            ahead.skip_to(&batch, rest);
            (last_size, left) = (batch.size_in_bytes(), less);
            count = count.wrapping_add(1);
        }
        self.keys.decode(count);
        self.values.decode(count);
        let (end, position) = (data.len().saturating_sub(ahead.rest().len()), ahead.position());
        *batches = ahead;
        let last = data.get(end.saturating_sub(last_size)..end)?;
        RecordBatch::v2(last, position.saturating_sub(last_size as u64))
    }
}
