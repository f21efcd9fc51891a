//! Appends the rows of one Kafka batch to the columns, and returns Arrow batches when they are full.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch as ArrowRecordBatch;
use kafkacomp_log::ContentError;
use kafkacomp_records::record::v2::V2Records;
use kafkacomp_records::record::{self, Record, RecordBatch, RecordBlock, Records};

use crate::columns::batch_fields::BatchFields;
use crate::columns::builder::ColumnBuilder;
use crate::decode::chunk_offsets::ChunkOffsets;
use crate::decode::record_filter::RecordFilter;
use crate::options::ScanOptions;
use crate::plan::context::Context;
use crate::report::{ScanError, ScanReport};
use crate::sync::lock;

/// The most bytes that a record may add to a column with 32-bit offsets. A header key that is not UTF-8 grows to up to three
/// times its size.
pub(crate) const MAX_RECORD_BYTES: usize = i32::MAX as usize / 3;

/// Receives finished Arrow batches.
pub type Sink<'s> = &'s mut dyn BatchSink;

/// Where finished Arrow batches go.
pub trait BatchSink {
    /// Takes a batch; `false` ends the scan.
    fn take(&mut self, batch: ArrowRecordBatch) -> bool;

    /// The number of batches that the consumer has not taken; `None` if [`take`](Self::take) waits for the consumer.
    fn collected(&self) -> Option<usize>;
}

/// Counts that are added to the report with each Arrow batch.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) batches: u64,
}

/// Appends the rows of one Kafka batch to the columns.
pub(crate) struct Rows<'w, B> {
    builder: &'w mut ColumnBuilder,
    seen: &'w mut Seen,
    options: &'w ScanOptions,
    report: &'w Mutex<ScanReport>,
    batch: &'w B,
    context: &'w Context,
    filter: &'w RecordFilter,
    /// Rows and bytes of the builder before this batch; zeros once some of its rows have been handed out.
    start: (usize, usize),
}

impl<'w, B: BatchFields> Rows<'w, B> {
    pub(crate) fn new(
        builder: &'w mut ColumnBuilder,
        seen: &'w mut Seen,
        (options, report): (&'w ScanOptions, &'w Mutex<ScanReport>),
        batch: &'w B,
        context: &'w Context,
        filter: &'w RecordFilter,
    ) -> Self {
        let start = (builder.rows(), builder.bytes());
        Self { builder, seen, options, report, batch, context, filter, start }
    }

    /// Appends all records of a batch.
    #[inline]
    pub(crate) fn take_records(
        &mut self,
        mut records: Records<'_>,
        batch: &RecordBatch<'_>,
        chunk_offsets: &mut ChunkOffsets<'_>,
        block: &mut RecordBlock,
        sink: Sink<'_>,
    ) -> Result<(), BatchError> {
        let records = match &mut records {
            Records::V2(records) => return self.take_v2(records, block, sink),
            Records::V0V1(records) => records,
        };
        if batch.base_offset().is_none() {
            chunk_offsets.unwrapped(batch, records).map_err(|wrong| BatchError::Misplaced(wrong.0))?;
        }
        self.take(|record| Ok(records.advance(record)?), sink)
    }

    /// Appends records a block at a time, as long as all are wanted, are simple and fit; the rest is appended one by one.
    pub(crate) fn take_blocks(&mut self, records: &mut V2Records<'_>, block: &mut RecordBlock) {
        if self.filter.always {
            let (rows, bytes) = (self.options.batch_rows, self.options.arrow_batch_bytes);
            self.builder.push_blocks(records, block, rows, bytes);
        }
    }

    /// Appends the only record of the batch, if it fits. It must be within the bounds.
    #[inline]
    pub(crate) fn take_single(&mut self, record: &Record<'_>) -> Option<Result<(), BatchError>> {
        let size = self.builder.bytes_of(record);
        let bytes = self.builder.bytes().saturating_add(size);
        if self.builder.rows() >= self.options.batch_rows || bytes > self.options.arrow_batch_bytes {
            return None;
        }
        self.builder.push(record, size);
        Some(self.end())
    }

    /// The record of a batch of one, if it is wanted and fits.
    #[inline]
    fn single<'a>(&self, records: &mut V2Records<'a>) -> Option<Record<'a>> {
        let bytes = self.builder.bytes().saturating_add(self.builder.most_bytes_of(1, records.payload().len()));
        let fits = self.builder.rows() < self.options.batch_rows && bytes <= self.options.arrow_batch_bytes;
        if self.filter.always && fits { records.take_single() } else { None }
    }

    /// Appends records a block at a time, then one by one.
    #[inline]
    pub(crate) fn take_v2(
        &mut self,
        records: &mut V2Records<'_>,
        block: &mut RecordBlock,
        sink: Sink<'_>,
    ) -> Result<(), BatchError> {
        if records.remaining() == 1
            && let Some(record) = self.single(records)
        {
            let size = self.builder.bytes_of(&record);
            self.builder.push(&record, size);
            return self.end();
        }
        self.take_blocks(records, block);
        self.take(|record| Ok(records.advance(record)?), sink)
    }

    /// One copy of this loop per kind of record, so that the formats' code does not share registers.
    /// `advance` puts the next record into its argument.
    pub(crate) fn take<'a>(
        &mut self,
        mut advance: impl FnMut(&mut Record<'a>) -> Result<bool, ContentError>,
        sink: Sink<'_>,
    ) -> Result<(), BatchError> {
        let mut record = Record::EMPTY;
        let mut latest = i64::MIN;
        loop {
            match advance(&mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(self.give_up(error)),
            }
            if !self.filter.always {
                latest = latest.max(record.timestamp);
                if !self.filter.takes(&record) {
                    continue;
                }
            }
            let size = self.builder.bytes_of(&record);
            let rows = self.builder.rows();
            if rows >= self.options.batch_rows
                || self.builder.bytes().saturating_add(size) > self.options.arrow_batch_bytes
            {
                self.make_room(size, sink)?;
            }
            self.builder.push(&record, size);
        }
        if self.filter.timestamps && latest > self.batch.max_timestamp() {
            self.note_understated(latest);
        }
        self.end()
    }

    /// Notes that the header shows an earlier time than a record: segments can no longer be skipped by their headers.
    #[cold]
    fn note_understated(&self, latest: i64) {
        let (header, position) = (self.batch.max_timestamp(), self.batch.position());
        // A negative timestamp in a header is none, by which nothing is skipped.
        if header < 0 || self.context.understated.swap(true, Ordering::Relaxed) {
            return;
        }
        let segment = &self.context.place.segment;
        lock(self.report).warnings.push(format!(
            "{segment}: the batch at byte {position} has a record of {latest} ms, and its header says that {header} ms is the \
             greatest timestamp: from here on, no segment of the partition is skipped because of the time bound"
        ));
    }

    /// Ends the batch, whose rows are all in the columns.
    #[inline]
    fn end(&mut self) -> Result<(), BatchError> {
        if let Some(error) = self.builder.out_of_memory() {
            return Err(self.give_up(record::Error::out_of_memory(error, self.batch.position()).into()));
        }
        self.builder.end_batch(self.batch, &self.context.place);
        Ok(())
    }

    /// Drops the rows of the batch, except those that have been handed out.
    #[cold]
    fn give_up(&mut self, error: ContentError) -> BatchError {
        let (rows, bytes) = self.start;
        self.builder.truncate(rows, bytes);
        BatchError::Content(error)
    }

    #[cold]
    fn make_room(&mut self, size: usize, sink: Sink<'_>) -> Result<(), BatchError> {
        if size > MAX_RECORD_BYTES {
            let (position, limit) = (self.batch.position(), MAX_RECORD_BYTES as u64);
            return Err(self.give_up(record::Error::RecordTooLarge { position, size: size as u64, limit }.into()));
        }
        if self.builder.rows() > 0 {
            self.builder.end_batch(self.batch, &self.context.place);
            flush_builder(self.builder, self.seen, self.report, sink).map_err(BatchError::Scan)?;
            self.start = (0, 0);
        }
        Ok(())
    }
}

/// Passes the rows of the builder to `sink`. It is not a method of the worker, because a record iterator borrows its reader.
pub(crate) fn flush_builder(
    builder: &mut ColumnBuilder,
    seen: &mut Seen,
    report: &Mutex<ScanReport>,
    sink: Sink<'_>,
) -> Result<(), ScanError> {
    if builder.rows() == 0 {
        return Ok(());
    }
    let bytes = builder.bytes();
    let finished = builder.finish().map_err(ScanError::from)?;
    let clamped = builder.take_clamped();
    let seen = std::mem::take(seen);
    {
        let mut report = lock(report);
        report.batches += seen.batches;
        report.records += finished.num_rows() as u64;
        report.bytes_out += bytes as u64;
        report.clamped_timestamps += clamped;
    }
    if sink.take(finished) { Ok(()) } else { Err(ScanError::Closed) }
}

/// Why a batch was not finished.
pub(crate) enum BatchError {
    /// Its content is corrupt.
    Content(ContentError),
    /// Its offset field is wrong; its content is intact.
    Misplaced(ContentError),
    /// The scan ends.
    Scan(ScanError),
}

impl BatchError {
    pub(crate) fn record(error: record::Error) -> Self {
        Self::Content(error.into())
    }
}
