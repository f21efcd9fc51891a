//! Parses record sets in cells into lists of records, with the columns of a scan.

use std::cell::RefCell;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use kafkacomp_log::ensure_truncated;
use kafkacomp_records::compress::CodecFault;
use kafkacomp_records::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_records::record::{Batches, Error, RecordBatch, RecordBlock, RecordReader, Tail};
use kafkacomp_records::{Category, memory};

use super::codec::{at, binary};
use super::fault::{CellError, OnBadCell};
use crate::columns::batch_runs::Place;
use crate::columns::binary_type::BinaryType;
use crate::columns::builder::ColumnBuilder;
use crate::columns::pool::BufferPool;
use crate::columns::schema::Column;
use crate::columns::validity::Validity;
use crate::decode::rows::MAX_RECORD_BYTES;

thread_local! {
    /// Codec contexts and the buffer of decompressed records, which are reused by the next call.
    static KEPT: RefCell<RecordReader> = RefCell::new(RecordReader::new(DEFAULT_MAX_OUTPUT_SIZE));
}

/// Options for parsing record sets.
#[derive(Debug, Clone)]
pub struct ParseOptions {
    /// The fields of a record, in order. Topic, partition and segment are null.
    pub columns: Vec<Column>,
    /// The unit of the timestamps; `None` for int64 in milliseconds.
    pub timestamp_unit: Option<TimeUnit>,
    /// Whether control records are included.
    pub include_control: bool,
    /// Whether checksums are verified.
    pub verify_crc: bool,
    /// What happens at a bad cell.
    pub on_bad_cell: OnBadCell,
    /// The most bytes that the records of one cell may decompress to, all batches together.
    pub max_output_size: usize,
}

/// Parses the records of each cell into a `list<struct>`.
///
/// A truncated batch at the end of a cell is ignored, because Kafka may truncate a fetch response at any byte. The first batch
/// must be complete, as in every fetch response (KIP-74). If the log continues after it, its size is wrong, and the cell is bad.
///
/// # Errors
/// The cells are not binary; a cell is bad, unless bad cells become nulls; or the result does not fit into one array.
pub fn parse_records(data: &dyn Array, options: &ParseOptions) -> Result<ArrayRef, CellError> {
    let cells = binary(data)?;
    let pool = BufferPool::shared();
    let mut parser = Parser {
        reader: KEPT.replace(RecordReader::new(0)),
        builder: ColumnBuilder::new(&options.columns, options.timestamp_unit, BinaryType::Binary, &pool),
        block: Box::default(),
        place: Place { topic: None, partition: None, segment: Arc::from("") },
        options,
    };
    let mut offsets = memory::with_capacity(data.len().saturating_add(1))?;
    offsets.push(0);
    let (mut validity, mut out_of_memory) = (Validity::default(), None);
    let mut verdict = Ok(());
    for row in 0..data.len() {
        match cells.get(row).map_or(Ok(false), |cell| parser.cell(row, cell)) {
            Ok(sound) => validity.push(sound, &mut out_of_memory),
            Err(error) => {
                verdict = Err(error);
                break;
            }
        }
        offsets.push(parser.builder.rows() as i32);
    }
    let Parser { reader, mut builder, .. } = parser;
    KEPT.set(reader);
    verdict?;
    out_of_memory.map_or(Ok(()), Err)?;
    let records = StructArray::from(builder.finish()?);
    let element = Field::new("element", DataType::Struct(records.fields().clone()), true);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(ListArray::try_new(Arc::new(element), offsets, Arc::new(records), validity.finish())?))
}

/// Why a cell was not parsed.
enum RecordsError {
    /// The cell is bad.
    Content(Error),
    /// Its records do not fit into the array together with those of the cells before.
    Full,
}

impl From<Error> for RecordsError {
    fn from(error: Error) -> Self {
        Self::Content(error)
    }
}

struct Parser<'o> {
    reader: RecordReader,
    builder: ColumnBuilder,
    block: Box<RecordBlock>,
    place: Place,
    options: &'o ParseOptions,
}

impl Parser<'_> {
    /// Appends the records of a cell; `Ok(false)` for a bad one that becomes a null.
    fn cell(&mut self, row: usize, cell: &[u8]) -> Result<bool, CellError> {
        let (rows, bytes) = (self.builder.rows(), self.builder.bytes());
        match self.records(cell) {
            Ok(()) => Ok(true),
            Err(RecordsError::Content(error))
                if self.options.on_bad_cell == OnBadCell::Null && error.category() != Category::Resource =>
            {
                self.builder.truncate(rows, bytes);
                Ok(false)
            }
            Err(RecordsError::Content(error)) => Err(at(row)(self.with_cap(error))),
            Err(RecordsError::Full) => {
                Err(CellError::TooLarge { row, limit: MAX_RECORD_BYTES, advice: "give fewer rows at a time" })
            }
        }
    }

    fn records(&mut self, cell: &[u8]) -> Result<(), RecordsError> {
        let mut left = self.options.max_output_size;
        let mut batches = Batches::new(cell, 0);
        let mut last = None;
        for batch in batches.by_ref() {
            let batch = batch?;
            last = Some(batch);
            if self.options.verify_crc {
                batch.ensure_valid()?;
            }
            if batch.is_control_batch() && !self.options.include_control {
                continue;
            }
            self.reader.set_max_output_size(left);
            self.batch(&batch)?;
            left = left.saturating_sub(self.reader.payload().len());
        }
        match batches.tail() {
            Some(Tail::Partial { position: 0, available, needed }) => {
                Err(RecordsError::Content(Error::IncompleteBatch { position: 0, available, needed }))
            }
            tail => Ok(ensure_truncated(cell, 0, tail, last.as_ref())?),
        }
    }

    fn batch(&mut self, batch: &RecordBatch<'_>) -> Result<(), RecordsError> {
        let builder = &mut self.builder;
        if !builder.push_records(self.reader.records(batch)?, &mut self.block, MAX_RECORD_BYTES)? {
            return Err(RecordsError::Full);
        }
        if let Some(error) = builder.out_of_memory() {
            return Err(RecordsError::Content(Error::out_of_memory(error, batch.position())));
        }
        builder.end_batch(batch, &self.place);
        Ok(())
    }

    /// The error with the limit of the whole cell; a later batch gets only what earlier ones have left of it.
    fn with_cap(&self, mut error: Error) -> Error {
        if let Error::BatchCodec { source, .. } = &mut error
            && let CodecFault::OutputLimit { limit } = &mut source.fault
        {
            *limit = self.options.max_output_size as u64;
        }
        error
    }
}
