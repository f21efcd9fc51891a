//! Builds columns from records. Only the requested columns are built, and no memory is allocated per record.

mod blocks;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch as ArrowRecordBatch, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{ArrowError, SchemaRef, TimeUnit};
use kafkacomp_records::memory::{self, OutOfMemory};
use kafkacomp_records::record::Record;
use kafkacomp_records::record::batch::NO_TIMESTAMP;

use crate::columns::batch_fields::BatchFields;
use crate::columns::batch_runs::{BatchRuns, Place, is_of_batch};
use crate::columns::binary_column::BinaryColumn;
use crate::columns::binary_type::BinaryType;
use crate::columns::headers_column::HeadersColumn;
use crate::columns::pool::BufferPool;
use crate::columns::pooled_vec::PooledVec;
use crate::columns::runs::RunColumn;
use crate::columns::schema::{Column, schema};
use crate::columns::view_buffers::{COLUMNS, Origin, SharedBytes, ViewBuffers};

/// Why columns could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum ColumnError {
    /// Memory ran out.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// Arrow refused arrays that were built here. That should not happen.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

/// Builds Arrow record batches from records.
#[derive(Debug)]
pub struct ColumnBuilder {
    columns: Vec<Column>,
    schema: SchemaRef,
    unit: Option<TimeUnit>,
    /// The number of timestamps that are out of range in the unit.
    clamped: u64,
    wants: Wants,
    /// The bytes of a row in the columns of fixed width.
    row_bytes: usize,
    rows: usize,
    /// Bytes of column data so far.
    bytes: usize,
    /// The failed allocation of a column; see [`out_of_memory`](Self::out_of_memory).
    out_of_memory: Option<OutOfMemory>,
    /// Rows of the current Kafka batch that are not in the run columns yet.
    pending: usize,
    /// The columns from the batch header.
    batch_columns: Vec<Column>,
    /// The place of the last batches, and their rows, which are not in the columns of the place yet. All batches of a segment have
    /// the same place, and there may be many, each with one record.
    place: Option<Place>,
    place_rows: usize,
    key: BinaryColumn,
    value: BinaryColumn,
    /// The buffers of the views of keys, values and header values.
    buffers: ViewBuffers,
    headers: HeadersColumn,
    offset: PooledVec<i64>,
    timestamp: PooledVec<i64>,
    timestamp_type: RunColumn<Option<i32>>,
    sequence: PooledVec<i32>,
    runs: BatchRuns,
}

/// The requested columns among those that are built row by row.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "a set of columns")]
struct Wants {
    key: bool,
    value: bool,
    headers: bool,
    offset: bool,
    timestamp: bool,
    timestamp_type: bool,
    sequence: bool,
}

impl ColumnBuilder {
    /// A builder of these columns, with timestamps in `unit` and bytes in buffers of the pool.
    pub fn new(columns: &[Column], unit: Option<TimeUnit>, binary_type: BinaryType, pool: &Arc<BufferPool>) -> Self {
        let has = |column| columns.contains(&column);
        let wants = Wants {
            key: has(Column::Key),
            value: has(Column::Value),
            headers: has(Column::Headers),
            offset: has(Column::Offset),
            timestamp: has(Column::Timestamp),
            timestamp_type: has(Column::TimestampType),
            sequence: has(Column::Sequence),
        };
        Self {
            columns: columns.to_vec(),
            schema: schema(columns, unit, binary_type),
            unit,
            clamped: 0,
            wants,
            row_bytes: columns.iter().map(|column| row_bytes(*column, binary_type)).sum(),
            rows: 0,
            bytes: 0,
            out_of_memory: None,
            pending: 0,
            batch_columns: columns.iter().copied().filter(|column| is_of_batch(*column)).collect(),
            place: None,
            place_rows: 0,
            key: BinaryColumn::new(binary_type, pool),
            value: if wants.value {
                BinaryColumn::of_values(binary_type, pool)
            } else {
                BinaryColumn::new(binary_type, pool)
            },
            buffers: ViewBuffers::new(pool),
            headers: HeadersColumn::new(binary_type, pool),
            offset: PooledVec::new(pool),
            timestamp: PooledVec::new(pool),
            timestamp_type: RunColumn::new(),
            sequence: PooledVec::new(pool),
            runs: BatchRuns::new(),
        }
    }

    /// The schema of the batches of [`finish`](Self::finish).
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of timestamps since the last call that were out of range in the unit; [`finish`](Self::finish) counts them.
    pub fn take_clamped(&mut self) -> u64 {
        std::mem::take(&mut self.clamped)
    }

    /// The number of rows so far.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of column data so far.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of column data that `record` would add.
    #[inline]
    pub fn bytes_of(&self, record: &Record<'_>) -> usize {
        let of = |wanted: bool, size: usize| if wanted { size } else { 0 };
        self.row_bytes
            + of(self.wants.key, record.key.map_or(0, <[u8]>::len))
            + of(self.wants.value, record.value.map_or(0, <[u8]>::len))
            + of(self.wants.headers, record.headers.size_in_bytes())
    }

    /// Appends a record that takes `bytes` by [`bytes_of`](Self::bytes_of).
    #[inline]
    pub fn push(&mut self, record: &Record<'_>, bytes: usize) {
        self.bytes += bytes;
        if self.wants.key {
            self.key.push(record.key, &mut self.buffers, &mut self.out_of_memory);
        }
        if self.wants.value {
            self.value.push(record.value, &mut self.buffers, &mut self.out_of_memory);
        }
        if self.wants.offset {
            push(&mut self.offset, record.offset, &mut self.out_of_memory);
        }
        if self.wants.timestamp {
            let timestamp = if record.has_timestamp() { record.timestamp } else { NO_TIMESTAMP };
            push(&mut self.timestamp, timestamp, &mut self.out_of_memory);
        }
        if self.wants.timestamp_type {
            self.timestamp_type.push_one(Some(i32::from(record.timestamp_type as i8)));
        }
        if self.wants.headers {
            self.headers.push(record.headers, &mut self.buffers, &mut self.out_of_memory);
        }
        if self.wants.sequence {
            push(&mut self.sequence, record.sequence, &mut self.out_of_memory);
        }
        self.rows += 1;
        self.pending += 1;
    }

    /// The failed allocation for rows that were pushed. Such rows are incomplete and must be [dropped](Self::truncate). It is
    /// checked once per batch, not per record.
    #[inline]
    pub fn out_of_memory(&self) -> Option<OutOfMemory> {
        self.out_of_memory
    }

    /// Appends the columns of `batch` and of its place for the rows since the last call.
    #[inline]
    pub fn end_batch(&mut self, batch: &impl BatchFields, place: &Place) {
        let rows = std::mem::take(&mut self.pending);
        if rows == 0 {
            return;
        }
        self.end_rows(rows, place);
        for column in &self.batch_columns {
            self.runs.push(*column, batch, rows);
        }
    }

    /// Appends `rows` rows to the columns of the place.
    #[inline]
    fn end_rows(&mut self, rows: usize, place: &Place) {
        if !self.place.as_ref().is_some_and(|last| last.is(place)) {
            self.move_to(place);
        }
        self.place_rows += rows;
    }

    #[cold]
    fn move_to(&mut self, place: &Place) {
        self.settle_place();
        self.place = Some(place.clone());
    }

    /// Appends the missing rows to the columns of the place.
    fn settle_place(&mut self) {
        let rows = std::mem::take(&mut self.place_rows);
        if let Some(place) = self.place.as_ref().filter(|_| rows > 0) {
            for column in &self.columns {
                self.runs.push_place(*column, place, rows);
            }
        }
    }

    /// The most bytes of column data for the rows of a Kafka batch whose records have `payload` bytes.
    #[inline]
    pub fn most_bytes_of(&self, records: usize, payload: usize) -> usize {
        self.row_bytes.saturating_mul(records).saturating_add(payload)
    }

    /// The memory that the current Arrow batch retains in addition to its columns.
    pub fn pinned(&self) -> usize {
        self.buffers.pinned()
    }

    /// Sets the buffer that contains the values of `origin`.
    pub fn set_buffer(&mut self, origin: Origin, buffer: SharedBytes) {
        self.buffers.set_buffer(origin, buffer);
    }

    /// Whether rows refer to decompressed bytes whose buffer is not known yet.
    pub fn awaits_decompressed(&self) -> bool {
        self.buffers.awaits_decompressed()
    }

    /// Sets that the values of the following rows are in `bytes`, which begin at `offset` of the buffer of `origin`.
    pub fn begin_values(&mut self, origin: Origin, bytes: &[u8], offset: usize) {
        self.buffers.begin(origin, bytes, offset, self.views_counts(), self.bytes);
    }

    /// Sets that the values of the following rows are in the chunk.
    #[inline]
    pub fn begin_chunk_values(&mut self) {
        let lengths = self.views_counts();
        self.buffers.begin_chunk(lengths, self.bytes);
    }

    fn views_counts(&self) -> [usize; COLUMNS] {
        [self.key.views_count(), self.value.views_count(), self.headers.values().views_count()]
    }

    /// The decompressed bytes, once their buffer is set; empty before.
    pub fn decompressed(&self) -> Buffer {
        self.buffers.buffer(Origin::Decompressed).map(|shared| shared.bytes).unwrap_or_default()
    }

    /// Ends the Kafka batch, after its rows have been appended or dropped.
    #[inline]
    pub fn end_values(&mut self) {
        self.buffers.end(self.bytes);
    }

    /// Releases the buffer of `origin`, to which no further rows refer.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn release_values(&mut self, origin: Origin) -> Result<(), OutOfMemory> {
        let settled = self.settle(origin);
        self.buffers.release(origin);
        settled
    }

    fn settle(&mut self, origin: Origin) -> Result<(), OutOfMemory> {
        let columns: [&mut [u128]; COLUMNS] = [self.key.views(), self.value.views(), self.headers.values_mut().views()];
        self.buffers.settle(origin, columns)
    }

    /// Drops the rows from `rows` on; `bytes` is what [`bytes`](Self::bytes) was before them.
    pub fn truncate(&mut self, rows: usize, bytes: usize) {
        self.bytes = bytes;
        self.out_of_memory = None;
        let dropped = self.rows.saturating_sub(rows);
        self.rows -= dropped;
        // Rows of earlier Kafka batches are already in the run columns.
        self.runs.truncate(dropped.saturating_sub(self.pending));
        self.pending = self.pending.saturating_sub(dropped);
        self.key.truncate(rows);
        self.value.truncate(rows);
        self.headers.truncate(rows);
        self.offset.truncate(rows);
        self.timestamp.truncate(rows);
        self.timestamp_type.truncate(dropped);
        self.sequence.truncate(rows);
    }

    /// Returns the rows as an Arrow batch and leaves the builder empty. [`end_batch`](Self::end_batch) must have been called for
    /// all of them.
    ///
    /// # Errors
    /// Lack of memory, also for rows pushed before. A caller cannot cause others, although Arrow checks the lengths of the
    /// columns.
    pub fn finish(&mut self) -> Result<ArrowRecordBatch, ColumnError> {
        if let Some(error) = self.out_of_memory() {
            return Err(error.into());
        }
        self.settle_place();
        let unfinished = self.buffers.unfinished();
        self.buffers.end(self.bytes);
        self.settle(Origin::Chunk)?;
        self.settle(Origin::Decompressed)?;
        let buffers = self.buffers.finish();
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let columns = self.columns.clone();
        let arrays =
            columns.iter().map(|column| self.finish_column(*column, &buffers)).collect::<Result<Vec<_>, _>>()?;
        self.buffers.resume(unfinished);
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(ArrowRecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }

    fn finish_column(&mut self, column: Column, buffers: &[Buffer]) -> Result<ArrayRef, ColumnError> {
        Ok(match column {
            Column::Key => self.key.finish(buffers)?,
            Column::Value => self.value.finish(buffers)?,
            Column::Headers => Arc::new(self.headers.finish(buffers)?),
            Column::Offset => Arc::new(Int64Array::new(self.offset.finish(), None)),
            Column::Timestamp => self.finish_timestamp(),
            Column::TimestampType => self.timestamp_type.finish()?,
            Column::Sequence => Arc::new(Int32Array::new(self.sequence.finish(), None)),
            other => self.runs.finish(other)?,
        })
    }

    /// -1, a record without a timestamp, becomes null.
    fn finish_timestamp(&mut self) -> ArrayRef {
        let nulls = nulls_of(&self.timestamp);
        let Some(unit) = self.unit else {
            return Arc::new(Int64Array::new(self.timestamp.finish(), nulls));
        };
        let (factor, divisor) = match unit {
            TimeUnit::Second => (1, 1000),
            TimeUnit::Millisecond => (1, 1),
            TimeUnit::Microsecond => (1000, 1),
            TimeUnit::Nanosecond => (1_000_000, 1),
        };
        if factor != 1 {
            // A timestamp that is out of range in the unit becomes the nearest one in range.
            let range = i64::MIN / factor..=i64::MAX / factor;
            self.clamped += self.timestamp.iter().filter(|value| !range.contains(value)).count() as u64;
            for value in self.timestamp.iter_mut() {
                *value = value.saturating_mul(factor);
            }
        } else if divisor != 1 {
            for value in self.timestamp.iter_mut() {
                *value = value.div_euclid(divisor);
            }
        }
        let values = self.timestamp.finish();
        match unit {
            TimeUnit::Second => Arc::new(TimestampSecondArray::new(values, nulls).with_timezone("UTC")),
            TimeUnit::Millisecond => Arc::new(TimestampMillisecondArray::new(values, nulls).with_timezone("UTC")),
            TimeUnit::Microsecond => Arc::new(TimestampMicrosecondArray::new(values, nulls).with_timezone("UTC")),
            TimeUnit::Nanosecond => Arc::new(TimestampNanosecondArray::new(values, nulls).with_timezone("UTC")),
        }
    }
}

/// Appends a value, or records the failed allocation.
#[inline]
fn push<T>(values: &mut Vec<T>, value: T, out_of_memory: &mut Option<OutOfMemory>) {
    if let Err(error) = memory::push(values, value) {
        *out_of_memory = Some(error);
    }
}

/// The nulls of a column of timestamps, in which -1 stands for them; `None` if there are none.
fn nulls_of(timestamps: &[i64]) -> Option<NullBuffer> {
    // Times before 1970 are rare. Whether there is a negative one at all costs one instruction for several rows.
    let is_negative = timestamps.iter().fold(0, |all, &time| all | time) < 0;
    (is_negative && timestamps.contains(&NO_TIMESTAMP)).then(|| {
        NullBuffer::new(BooleanBuffer::collect_bool(timestamps.len(), |row| timestamps.get(row) != Some(&NO_TIMESTAMP)))
    })
}

fn row_bytes(column: Column, binary_type: BinaryType) -> usize {
    match column {
        Column::Key | Column::Value => binary_type.row_bytes(),
        Column::Offset | Column::Timestamp | Column::BaseOffset | Column::Position | Column::ProducerId => 8,
        Column::IsTransactional | Column::IsControl | Column::Magic => 1,
        Column::ProducerEpoch => 2,
        // Only the offset of a string: its bytes are shared by all rows of the run.
        _ => 4,
    }
}
