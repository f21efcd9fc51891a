//! Builds Arrow batches row by row.

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Float64Builder, Int16Builder, Int32Builder, Int64Builder, ListBuilder,
    StringBuilder, TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use kafkacomp_arrow::ScanError;
use std::borrow::Cow;
use std::sync::Arc;

/// The most rows of a batch, and the bytes from which on it is complete.
const MAX_ROWS: usize = 65_536;
const MAX_BYTES: usize = 64 << 20;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int16,
    Int32,
    Int64,
    Float,
    Time,
    Bool,
    Bytes,
    Texts,
    Ints,
    Longs,
}

/// A column: its name and type. All are nullable.
pub(crate) type ColumnOf = (&'static str, Kind);

/// The value of a cell.
#[derive(Debug, Clone)]
pub(crate) enum Cell<'a> {
    Null,
    Text(Cow<'a, str>),
    /// An integer or a time, of the width of its column.
    Int(i64),
    Float(f64),
    Bool(bool),
    Bytes(&'a [u8]),
    Texts(Vec<String>),
    Ints(Vec<i64>),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<i32> for Cell<'_> {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<i16> for Cell<'_> {
    fn from(number: i16) -> Self {
        Self::Int(number.into())
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Integers as a list.
pub(crate) fn ints(numbers: &[i32]) -> Cell<'static> {
    Cell::Ints(numbers.iter().map(|number| i64::from(*number)).collect())
}

/// A time in milliseconds; negative is none.
pub(crate) fn time(milliseconds: i64) -> Cell<'static> {
    if milliseconds < 0 { Cell::Null } else { Cell::Int(milliseconds) }
}

/// Arrow refuses a batch that does not follow its schema: a bug in this library.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn failed(error: ArrowError) -> ScanError {
    ScanError::Thread(error.to_string())
}

/// The schema of some columns.
pub(crate) fn schema(columns: &[ColumnOf]) -> SchemaRef {
    let field = |(name, kind): &ColumnOf| Field::new(*name, kind.data_type(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

impl Kind {
    fn data_type(self) -> DataType {
        let list = |element| DataType::List(Arc::new(Field::new_list_field(element, true)));
        match self {
            Self::Text => DataType::Utf8,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            Self::Bool => DataType::Boolean,
            Self::Bytes => DataType::Binary,
            Self::Texts => list(DataType::Utf8),
            Self::Ints => list(DataType::Int32),
            Self::Longs => list(DataType::Int64),
        }
    }

    fn builder(self) -> Column {
        match self {
            Self::Text => Column::Text(StringBuilder::new()),
            Self::Int16 => Column::Int16(Int16Builder::new()),
            Self::Int32 => Column::Int32(Int32Builder::new()),
            Self::Int64 => Column::Int64(Int64Builder::new()),
            Self::Float => Column::Float(Float64Builder::new()),
            Self::Time => Column::Time(TimestampMillisecondBuilder::new().with_timezone("UTC")),
            Self::Bool => Column::Bool(BooleanBuilder::new()),
            Self::Bytes => Column::Bytes(BinaryBuilder::new()),
            Self::Texts => Column::Texts(ListBuilder::new(StringBuilder::new())),
            Self::Ints => Column::Ints(ListBuilder::new(Int32Builder::new())),
            Self::Longs => Column::Longs(ListBuilder::new(Int64Builder::new())),
        }
    }
}

#[derive(Debug)]
enum Column {
    Text(StringBuilder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float(Float64Builder),
    Time(TimestampMillisecondBuilder),
    Bool(BooleanBuilder),
    Bytes(BinaryBuilder),
    Texts(ListBuilder<StringBuilder>),
    Ints(ListBuilder<Int32Builder>),
    Longs(ListBuilder<Int64Builder>),
}

impl Column {
    /// Appends a cell, null if it is of another type, and returns its bytes.
    fn push(&mut self, cell: &Cell<'_>) -> usize {
        match (self, cell) {
            (Self::Text(column), Cell::Text(text)) => {
                column.append_value(text);
                return text.len();
            }
            (Self::Text(column), _) => column.append_null(),
            (Self::Int16(column), Cell::Int(number)) => column.append_value(*number as i16),
            (Self::Int16(column), _) => column.append_null(),
            (Self::Int32(column), Cell::Int(number)) => column.append_value(*number as i32),
            (Self::Int32(column), _) => column.append_null(),
            (Self::Int64(column), Cell::Int(number)) => column.append_value(*number),
            (Self::Int64(column), _) => column.append_null(),
            (Self::Float(column), Cell::Float(number)) => column.append_value(*number),
            (Self::Float(column), _) => column.append_null(),
            (Self::Time(column), Cell::Int(number)) => column.append_value(*number),
            (Self::Time(column), _) => column.append_null(),
            (Self::Bool(column), Cell::Bool(value)) => column.append_value(*value),
            (Self::Bool(column), _) => column.append_null(),
            (Self::Bytes(column), Cell::Bytes(bytes)) => {
                column.append_value(bytes);
                return bytes.len();
            }
            (Self::Bytes(column), _) => column.append_null(),
            (Self::Texts(column), Cell::Texts(texts)) => {
                for text in texts {
                    column.values().append_value(text);
                }
                column.append(true);
                return texts.iter().map(String::len).sum();
            }
            (Self::Texts(column), _) => column.append(false),
            (Self::Ints(column), Cell::Ints(numbers)) => {
                for number in numbers {
                    column.values().append_value(*number as i32);
                }
                column.append(true);
            }
            (Self::Ints(column), _) => column.append(false),
            (Self::Longs(column), Cell::Ints(numbers)) => {
                for number in numbers {
                    column.values().append_value(*number);
                }
                column.append(true);
            }
            (Self::Longs(column), _) => column.append(false),
        }
        0
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(column) => Arc::new(column.finish()),
            Self::Int16(column) => Arc::new(column.finish()),
            Self::Int32(column) => Arc::new(column.finish()),
            Self::Int64(column) => Arc::new(column.finish()),
            Self::Float(column) => Arc::new(column.finish()),
            Self::Time(column) => Arc::new(column.finish()),
            Self::Bool(column) => Arc::new(column.finish()),
            Self::Bytes(column) => Arc::new(column.finish()),
            Self::Texts(column) => Arc::new(column.finish()),
            Self::Ints(column) => Arc::new(column.finish()),
            Self::Longs(column) => Arc::new(column.finish()),
        }
    }
}

/// Collects rows as batches.
#[derive(Debug)]
pub(crate) struct Rows {
    schema: SchemaRef,
    columns: Vec<Column>,
    count: usize,
    bytes: usize,
    complete: Vec<RecordBatch>,
}

impl Rows {
    pub(crate) fn new(columns: &[ColumnOf]) -> Self {
        let builders = columns.iter().map(|(_, kind)| kind.builder()).collect();
        Self { schema: schema(columns), columns: builders, count: 0, bytes: 0, complete: Vec::new() }
    }

    /// Appends a row, which has a cell for each column.
    pub(crate) fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ArrowError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.bytes = self.bytes.saturating_add(column.push(cell));
        }
        self.count = self.count.saturating_add(1);
        if self.count >= MAX_ROWS || self.bytes >= MAX_BYTES { self.complete() } else { Ok(()) }
    }

    fn complete(&mut self) -> Result<(), ArrowError> {
        if self.count > 0 {
            let columns = self.columns.iter_mut().map(Column::finish).collect();
            self.complete.push(RecordBatch::try_new(Arc::clone(&self.schema), columns)?);
            (self.count, self.bytes) = (0, 0);
        }
        Ok(())
    }

    /// The rows so far.
    pub(crate) fn take(&mut self) -> Result<Vec<RecordBatch>, ArrowError> {
        self.complete()?;
        Ok(std::mem::take(&mut self.complete))
    }
}
