//! Appends many records at once, a column at a time.

use kafkacomp_records::memory::{self, OutOfMemory};
use kafkacomp_records::record::v2::V2Records;
use kafkacomp_records::record::{Error, Record, RecordBlock, Records, SingleRecords, Spans, TimestampType};

use super::ColumnBuilder;
use crate::columns::batch_runs::Place;

/// Fewer records than this are faster to append one by one.
const LEAST_BLOCK: i32 = 8;

impl ColumnBuilder {
    /// Bytes of column data that records without headers would add.
    fn bytes_of_spans(&self, keys: &Spans, values: &Spans) -> usize {
        let of = |wanted: bool, size: usize| if wanted { size } else { 0 };
        self.row_bytes * keys.len() + of(self.wants.key, keys.bytes()) + of(self.wants.value, values.bytes())
    }

    /// Appends the records of `block`, which `records` has filled and which take `bytes` by
    /// [`bytes_of_spans`](Self::bytes_of_spans).
    fn push_block(&mut self, records: &V2Records<'_>, block: &RecordBlock, bytes: usize) {
        let rows = block.len();
        if let Err(error) = self.reserve(rows) {
            self.out_of_memory = Some(error);
            return;
        }
        if self.wants.offset {
            let base = records.base_offset();
            self.offset.extend(block.offset_deltas().iter().map(|&delta| base.wrapping_add(i64::from(delta))));
        }
        let (timestamp_type, log_append_time) = records.timestamp_type();
        if self.wants.timestamp {
            let base = records.base_timestamp();
            let deltas = block.timestamp_deltas().iter();
            let count = self.timestamp.len() + rows;
            match log_append_time {
                Some(time) => self.timestamp.resize(count, time),
                None => self.timestamp.extend(deltas.map(|&delta| base.wrapping_add(i64::from(delta)))),
            }
        }
        if self.wants.sequence {
            self.sequence.extend(block.offset_deltas().iter().map(|&delta| records.sequence(delta)));
        }
        self.push_others((block.keys(), block.values()), records.payload(), timestamp_type, bytes);
    }

    /// Appends the records of `singles`, whose keys and values are in `payload`, and ends their batches, which are at `place`.
    ///
    /// # Errors
    /// Lack of memory; then no record is appended.
    pub fn push_singles(&mut self, singles: &SingleRecords, payload: &[u8], place: &Place) -> Result<(), OutOfMemory> {
        let (rows, bytes, count) = (self.rows, self.bytes, singles.len());
        self.reserve(count)?;
        if self.wants.offset {
            self.offset.extend_from_slice(singles.offsets());
        }
        if self.wants.timestamp {
            self.timestamp.extend_from_slice(singles.timestamps());
        }
        if self.wants.sequence {
            self.sequence.extend_from_slice(singles.sequences());
        }
        let (keys, values) = (singles.keys(), singles.values());
        self.push_others((keys, values), payload, singles.timestamp_type(), self.bytes_of_spans(keys, values));
        if let Some(error) = self.out_of_memory {
            self.truncate(rows, bytes);
            return Err(error);
        }
        self.pending -= count;
        self.end_rows(count, place);
        Ok(())
    }

    /// Whether batches are the same to all columns except those of the records.
    pub fn takes_singles(&self) -> bool {
        self.batch_columns.is_empty()
    }

    /// The bytes of a row without keys, values and headers.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Appends the columns of the records that are not numbers.
    fn push_others(
        &mut self,
        (keys, values): (&Spans, &Spans),
        payload: &[u8],
        timestamp_type: TimestampType,
        bytes: usize,
    ) {
        let rows = keys.len();
        if self.wants.key {
            self.key.extend(keys, payload, &mut self.buffers, &mut self.out_of_memory);
        }
        if self.wants.value {
            self.value.extend(values, payload, &mut self.buffers, &mut self.out_of_memory);
        }
        if self.wants.timestamp_type {
            self.timestamp_type.push(&Some(i32::from(timestamp_type as i8)), rows);
        }
        if self.wants.headers {
            self.headers.push_none(rows, &mut self.out_of_memory);
        }
        self.bytes += bytes;
        self.rows += rows;
        self.pending += rows;
    }

    /// Reserves room for `rows` rows in the columns of fixed width.
    fn reserve(&mut self, rows: usize) -> Result<(), OutOfMemory> {
        memory::reserve(&mut self.offset, if self.wants.offset { rows } else { 0 })?;
        memory::reserve(&mut self.timestamp, if self.wants.timestamp { rows } else { 0 })?;
        memory::reserve(&mut self.sequence, if self.wants.sequence { rows } else { 0 })
    }

    /// Appends records a block at a time, as long as they are simple and the builder stays within `most_rows` and `most_bytes`.
    /// The caller appends the rest with [`push`](Self::push). `block` is scratch memory.
    #[inline]
    pub fn push_blocks(
        &mut self,
        records: &mut V2Records<'_>,
        block: &mut RecordBlock,
        most_rows: usize,
        most_bytes: usize,
    ) {
        if records.remaining() > LEAST_BLOCK {
            self.push_many(records, block, most_rows, most_bytes);
        }
    }

    fn push_many(&mut self, records: &mut V2Records<'_>, block: &mut RecordBlock, most_rows: usize, most_bytes: usize) {
        while records.remaining() > LEAST_BLOCK {
            let before = records.clone();
            records.fill(block, most_rows.saturating_sub(self.rows));
            let bytes = self.bytes_of_spans(block.keys(), block.values());
            if block.is_empty() || self.bytes.saturating_add(bytes) > most_bytes {
                *records = before;
                return;
            }
            self.push_block(records, block, bytes);
        }
    }

    /// Appends all records of a batch; `false` at the first one with which the columns would take more than `most_bytes`. `block`
    /// is scratch memory.
    ///
    /// # Errors
    /// Those of the records.
    pub fn push_records(
        &mut self,
        records: Records<'_>,
        block: &mut RecordBlock,
        most_bytes: usize,
    ) -> Result<bool, Error> {
        match records {
            Records::V2(mut records) => {
                self.push_blocks(&mut records, block, usize::MAX, most_bytes);
                self.push_each(most_bytes, |record| records.advance(record))
            }
            Records::V0V1(mut records) => self.push_each(most_bytes, |record| records.advance(record)),
        }
    }

    fn push_each<'a>(
        &mut self,
        most_bytes: usize,
        mut advance: impl FnMut(&mut Record<'a>) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let mut record = Record::EMPTY;
        while advance(&mut record)? {
            let size = self.bytes_of(&record);
            if self.bytes.saturating_add(size) > most_bytes {
                return Ok(false);
            }
            self.push(&record, size);
        }
        Ok(true)
    }
}
