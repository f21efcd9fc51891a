//! Builds record batches from Arrow columns, which have the same names as those of a scan.
//!
//! | column | types | null means |
//! |---|---|---|
//! | `value` | any binary or string, or a dictionary of them | a null value (a tombstone) |
//! | `key` | the same | a null key |
//! | `timestamp` | timestamp of any unit, or int64 in ms | -1, no timestamp |
//! | `headers` | list or map of (string, binary or string) | no headers |
//! | `offset` | int64 | the offset after that of the row before; missing offsets end a batch |
//!
//! Only `value` is required; columns with other names are ignored. [`RecordColumns`] appends rows to a builder of the caller.
//! [`Batcher`] builds batches from a stream of rows. [`PartitionedBatcher`] does so for many partitions, which it chooses by the
//! columns `topic` and `partition` or by the keys. [`write_log`] writes rows as the folder of one partition, [`StagedBatches`] as
//! files of batches for many.

mod appender;
mod batcher;
pub(crate) mod bytes;
mod error;
mod headers;
mod log_folder;
mod partitioned;
mod route;
mod staged;
mod write_error;

pub use appender::RowAppender;
pub use batcher::Batcher;
pub use log_folder::{LogWritten, write_log};
pub use partitioned::{PartitionedBatcher, Target};
pub use route::Routing;
pub use staged::{StagedBatches, StagedFile};
pub use write_error::WriteError;

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, RecordBatch as ArrowRecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use kafkacomp_records::record::batch::NO_TIMESTAMP;
use kafkacomp_records::record::{HeadersBuffer, RecordBatchBuilder};

use crate::Column;
use bytes::Bytes;
pub use error::BuildError;
use headers::HeaderColumn;

/// The numbers of a column of type int64 or timestamp.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    values: &'a [i64],
    nulls: Option<&'a NullBuffer>,
    unit: TimeUnit,
}

impl<'a> Numbers<'a> {
    fn of(array: &'a dyn Array) -> Option<Self> {
        let (values, unit): (&[i64], _) = match array.data_type() {
            DataType::Int64 => (array.as_primitive::<Int64Type>().values(), TimeUnit::Millisecond),
            DataType::Timestamp(unit, _) => (
                match unit {
                    TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
                    TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
                    TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
                    TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
                },
                *unit,
            ),
            _ => return None,
        };
        Some(Self { values, nulls: array.nulls(), unit })
    }

    #[inline]
    fn get(&self, row: usize) -> Option<i64> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) { None } else { self.values.get(row).copied() }
    }

    /// The timestamp in milliseconds, rounded down; `Err` if it is out of range.
    #[inline]
    fn milliseconds(&self, row: usize) -> Result<Option<i64>, BuildError> {
        let Some(value) = self.get(row) else { return Ok(None) };
        match self.unit {
            TimeUnit::Millisecond => Some(value),
            TimeUnit::Second => value.checked_mul(1000),
            TimeUnit::Microsecond => Some(value.div_euclid(1000)),
            TimeUnit::Nanosecond => Some(value.div_euclid(1_000_000)),
        }
        .map(Some)
        .ok_or(BuildError::TimestampRange { row })
    }
}

/// The column of this name, if there is one.
fn find(rows: &ArrowRecordBatch, column: Column) -> Result<Option<&dyn Array>, BuildError> {
    let schema = rows.schema_ref();
    let mut named = rows.columns().iter().zip(schema.fields()).filter(|(_, field)| field.name() == column.name());
    let found = named.next().map(|(array, _)| array.as_ref());
    if named.next().is_some() { Err(BuildError::DuplicateColumn { column }) } else { Ok(found) }
}

/// What becomes of missing offsets between two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gaps {
    /// They end the batch: in a batch, they would look like records that compaction removed.
    EndBatch,
    /// They are in the batch, which the caller has begun.
    InBatch,
}

/// The columns of rows, whose types are checked once.
#[derive(Clone, Copy)]
pub struct RecordColumns<'a> {
    len: usize,
    key: Bytes<'a>,
    value: Bytes<'a>,
    timestamp: Option<Numbers<'a>>,
    headers: Option<HeaderColumn<'a>>,
    offset: Option<Numbers<'a>>,
}

impl<'a> RecordColumns<'a> {
    /// Finds the columns of `rows` by their names.
    ///
    /// # Errors
    /// There is no `value`, a column has a type that is not supported, or a name occurs twice.
    pub fn new(rows: &'a ArrowRecordBatch) -> Result<Self, BuildError> {
        let find = |column| find(rows, column);
        let fail = |column, array: &dyn Array| BuildError::ColumnType { column, data_type: array.data_type().clone() };
        let bytes = |column, array: &'a dyn Array| Bytes::of(array).ok_or_else(|| fail(column, array));
        let value = find(Column::Value)?.ok_or(BuildError::MissingColumn { column: Column::Value })?;
        Ok(Self {
            len: rows.num_rows(),
            key: find(Column::Key)?.map_or(Ok(Bytes::NULL), |array| bytes(Column::Key, array))?,
            value: bytes(Column::Value, value)?,
            timestamp: find(Column::Timestamp)?
                .map(|array| Numbers::of(array).ok_or_else(|| fail(Column::Timestamp, array)))
                .transpose()?,
            headers: find(Column::Headers)?
                .filter(|array| *array.data_type() != DataType::Null)
                .map(|array| HeaderColumn::of(array).ok_or_else(|| fail(Column::Headers, array)))
                .transpose()?,
            offset: find(Column::Offset)?
                .map(|array| {
                    let numbers = Numbers::of(array).filter(|_| *array.data_type() == DataType::Int64);
                    numbers.ok_or_else(|| fail(Column::Offset, array))
                })
                .transpose()?,
        })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The offset of the row, if it has one.
    #[inline]
    pub fn offset(&self, row: usize) -> Option<i64> {
        self.offset.and_then(|offsets| offsets.get(row))
    }

    /// The timestamp of the row in ms; -1 if it has none.
    ///
    /// # Errors
    /// The timestamp is out of range.
    #[inline]
    pub fn timestamp(&self, row: usize) -> Result<i64, BuildError> {
        match &self.timestamp {
            Some(timestamps) => Ok(timestamps.milliseconds(row)?.unwrap_or(NO_TIMESTAMP)),
            None => Ok(NO_TIMESTAMP),
        }
    }

    /// The row's key.
    #[inline]
    pub fn key(&self, row: usize) -> Option<&'a [u8]> {
        self.key.get(row)
    }

    /// The row's value.
    #[inline]
    pub fn value(&self, row: usize) -> Option<&'a [u8]> {
        self.value.get(row)
    }

    /// Appends rows in order until one does not fit into the batch, because of the write limit, because its offset is too far
    /// from the first one, or, unless the batch may have gaps, because offsets before it are missing. Returns how many were
    /// appended. The first record of a batch always fits. `headers` is scratch memory.
    ///
    /// # Errors
    /// The error of the builder, with the row. The rows before it are appended.
    pub fn append(
        &self,
        rows: Range<usize>,
        builder: &mut RecordBatchBuilder,
        gaps: Gaps,
        headers: &mut HeadersBuffer,
    ) -> Result<usize, BuildError> {
        let mut appended = 0;
        for row in rows.start..rows.end.min(self.len) {
            headers.clear();
            if let Some(column) = &self.headers {
                column.get(row, headers).map_err(|fault| fault.at(row))?;
            }
            let (timestamp, key, value) = (self.timestamp(row)?, self.key(row), self.value(row));
            let offset = match self.offset(row) {
                Some(offset)
                    if gaps == Gaps::EndBatch && builder.records_count() > 0 && offset > builder.next_offset() =>
                {
                    break;
                }
                Some(offset) => offset,
                None => builder.next_offset(),
            };
            let taken = builder.append_if_room(offset, timestamp, key, value, headers.as_headers());
            if !taken.map_err(|fault| BuildError::Record { row, fault })? {
                break;
            }
            appended += 1;
        }
        Ok(appended)
    }
}
