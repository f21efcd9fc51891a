//! Builds Arrow batches from a chunk, on every worker thread.

mod following;
mod left_out;
mod singles;
mod views;

use std::sync::{Arc, Mutex};

use kafkacomp_log::{ContentError, LogFormat};
use kafkacomp_records::message_set::{Entries, Entry, MessageSetReader};
use kafkacomp_records::record::{Batches, Record, RecordBatch, RecordBlock, RecordReader, SingleRecords};

use crate::columns::batch_fields::{BatchFields, EntryFields};
use crate::columns::binary_type::BinaryType;
use crate::columns::builder::{ColumnBuilder, ColumnError};
use crate::columns::pool::BufferPool;
use crate::columns::view_buffers::{Origin, SharedBytes};
use crate::decode::chunk_offsets::{ChunkOffsets, PausedOffsets};
use crate::decode::record_filter::RecordFilter;
use crate::decode::rows::{BatchError, Rows, Seen, Sink, flush_builder};
use crate::options::{OnError, ScanOptions};
use crate::plan::chunk::Chunk;
use crate::plan::context::Context;
use crate::report::{ScanError, ScanReport, SkippedRange};
use crate::sync::lock;
use following::Following;

/// The size of the Arrow batches of a single worker. A batch that fits into the cache is built, and read by the consumer, faster
/// than one with `arrow_batch_bytes`; that saves a fifth of the time of uncompressed segments. With several workers, a chunk becomes
/// one batch.
const ENOUGH_BYTES: usize = 1 << 20;

/// The most Arrow batches that one Kafka batch may fill for a sink that collects them.
const MOST_COLLECTED: usize = 2;

/// How far a chunk was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// To its end.
    Complete,
    /// Up to a Kafka batch before its end, because the sink has collected a batch.
    Paused,
    /// Up to a Kafka batch that would fill more Arrow batches than a sink should collect.
    NeedsThread,
}

/// Where the decoding of a chunk continues.
#[derive(Debug)]
pub struct Progress {
    /// The position of the next Kafka batch.
    position: u64,
    offsets: PausedOffsets,
}

/// What became of a Kafka batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// Its rows were appended, or it was left out.
    All,
    /// [`Decoded::NeedsThread`]
    NeedsThread,
}

/// One worker's buffers and contexts.
#[derive(Debug)]
pub struct Worker {
    options: Arc<ScanOptions>,
    report: Arc<Mutex<ScanReport>>,
    reader: RecordReader,
    message_sets: MessageSetReader,
    builder: ColumnBuilder,
    block: Box<RecordBlock>,
    singles: Box<SingleRecords>,
    seen: Seen,
    pool: Arc<BufferPool>,
    /// The position in the current chunk from which on this worker verifies the checksums, because the planner has not.
    verified_to: u64,
    /// The size of the last decompressed batch.
    last_payload: usize,
    /// Whether the decompressed bytes got their reference count in the middle of a batch.
    is_shared: bool,
    /// The number of bytes of column data from which on an Arrow batch is returned at the end of a Kafka batch.
    enough: usize,
    /// Whether the sink collects Arrow batches.
    collects: bool,
    /// The position of a batch that was [left](Self::leave): its records that consumers do not see have been counted.
    counted: Option<u64>,
}

impl Worker {
    /// A worker of a scan.
    pub fn new(options: Arc<ScanOptions>, report: Arc<Mutex<ScanReport>>, pool: &Arc<BufferPool>) -> Self {
        let views = options.binary_type == BinaryType::BinaryView;
        let reader = if views { RecordReader::retaining } else { RecordReader::new }(options.max_output_size);
        let mut message_sets = MessageSetReader::new(options.max_output_size);
        message_sets.set_verify_crc(options.verify_crc);
        let builder = ColumnBuilder::new(&options.columns, options.timestamp_unit, options.binary_type, pool);
        let enough = if options.threads <= 1 { ENOUGH_BYTES } else { usize::MAX };
        Self {
            options,
            report,
            reader,
            message_sets,
            builder,
            block: Box::default(),
            singles: Box::default(),
            seen: Seen::default(),
            pool: Arc::clone(pool),
            verified_to: u64::MAX,
            last_payload: 0,
            is_shared: false,
            enough,
            collects: false,
            counted: None,
        }
    }

    /// Builds the columns of the batches of `chunk`, whose bytes are `data`, with a reference count if there are views of them.
    /// Begins where `progress` says, and leaves it there for the next call if the chunk is not complete.
    ///
    /// # Errors
    /// [`ScanError`], and [`ScanError::Closed`] if `sink` ends the scan. Rows of batches before the failing one are in the builder
    /// or have been returned.
    pub fn chunk(
        &mut self,
        chunk: &Chunk,
        (data, shared): (&[u8], Option<&SharedBytes>),
        progress: &mut Option<Progress>,
        sink: Sink<'_>,
    ) -> Result<Decoded, ScanError> {
        self.collects = sink.collected().is_some();
        self.verified_to = chunk.verified_to;
        if let Some(shared) = shared.filter(|_| progress.is_none()) {
            self.builder.set_buffer(Origin::Chunk, shared.clone());
        }
        let decoded = match chunk.context.log_format {
            LogFormat::Records => self.batches(chunk, data, progress, sink),
            LogFormat::MessageSet if self.collects => Ok(Decoded::NeedsThread),
            LogFormat::MessageSet => self.entries(chunk, data, sink).map(|()| Decoded::Complete),
        }?;
        if decoded == Decoded::Complete {
            self.builder.release_values(Origin::Chunk).map_err(ColumnError::from)?;
            for (segment, range) in &chunk.missing {
                lock(&self.report).missing.add(&chunk.context.id, segment, *range);
            }
        }
        Ok(decoded)
    }

    fn batches(
        &mut self,
        chunk: &Chunk,
        data: &[u8],
        progress: &mut Option<Progress>,
        sink: Sink<'_>,
    ) -> Result<Decoded, ScanError> {
        let filter = RecordFilter::new(&self.options, &chunk.context);
        let (position, offsets) = if let Some(Progress { position, offsets }) = progress.take() {
            (position, Some(offsets))
        } else {
            self.counted = None;
            (chunk.position, None)
        };
        let mut chunk_offsets = ChunkOffsets::new(chunk, offsets, Arc::clone(&self.report));
        let takes_singles = self.takes_singles(&filter, &chunk.context);
        let from = usize::try_from(position.saturating_sub(chunk.position)).unwrap_or(usize::MAX);
        let mut following = Following::new(Batches::new(data.get(from..).unwrap_or(&[]), position));
        while let Some(next) = following.batches.next() {
            let batch = next.map_err(|error| failed(&chunk.context, error))?;
            chunk_offsets.begin(&batch);
            match self.batch(&batch, &mut following, &chunk.context, &filter, &mut chunk_offsets, sink) {
                Err(BatchError::Content(error)) => {
                    self.skip(
                        batch.position(),
                        batch.size_in_bytes(),
                        &chunk.context,
                        error,
                        chunk_offsets.offsets_of(&batch),
                    )?;
                }
                Err(BatchError::Misplaced(error)) => {
                    let error = ScanError::record(&chunk.context.place.segment, error);
                    if self.options.on_error == OnError::Raise {
                        return Err(error);
                    }
                    let length = batch.size_in_bytes() as u64;
                    let skipped = SkippedRange::of(&chunk.context.place.segment, batch.position(), length, &error);
                    chunk_offsets.lose(&batch, skipped);
                    continue;
                }
                Err(BatchError::Scan(error)) => return Err(error),
                Ok(Taken::NeedsThread) => {
                    *progress = Some(Progress { position: batch.position(), offsets: chunk_offsets.pause() });
                    return Ok(Decoded::NeedsThread);
                }
                Ok(Taken::All) if self.has_enough() => self.flush(sink)?,
                Ok(Taken::All) => {}
            }
            chunk_offsets.passed(&batch);
            if takes_singles && SingleRecords::may_follow(&batch) {
                self.take_singles(&mut following.batches, data, &chunk.context, &mut chunk_offsets, sink)?;
            }
            if self.collects && pauses(sink) {
                *progress = Some(Progress { position: following.batches.position(), offsets: chunk_offsets.pause() });
                return Ok(Decoded::Paused);
            }
        }
        chunk_offsets.finish();
        Ok(Decoded::Complete)
    }

    /// Returns the rows of the builder.
    ///
    /// # Errors
    /// [`ScanError`], and [`ScanError::Closed`] if `sink` ends the scan.
    pub fn flush(&mut self, sink: Sink<'_>) -> Result<(), ScanError> {
        self.release_decompressed().map_err(ColumnError::from)?;
        flush_builder(&mut self.builder, &mut self.seen, &self.report, sink)
    }

    /// The entries of a chunk of a log of Kafka 0.7.
    fn entries(&mut self, chunk: &Chunk, data: &[u8], sink: Sink<'_>) -> Result<(), ScanError> {
        // Rows of an earlier chunk may be returned in the middle of an entry.
        self.release_decompressed().map_err(ColumnError::from)?;
        // The planner has verified that the entries are complete and their checksums right.
        for entry in Entries::unverified(data) {
            let entry = entry.map_err(|error| failed(&chunk.context, error.in_file(chunk.position)))?;
            match self.entry(&entry, chunk, sink) {
                Err(BatchError::Content(error)) => {
                    let position = chunk.position.saturating_add(entry.position as u64);
                    let length = entry.end.saturating_sub(entry.position);
                    let offsets = chunk.expected.map(|_| {
                        let first = chunk.context.base_offset.saturating_add_unsigned(position);
                        (first, first.saturating_add_unsigned(length as u64))
                    });
                    self.skip(position, length, &chunk.context, error, offsets)?;
                }
                Err(BatchError::Misplaced(error)) => return Err(failed(&chunk.context, error)),
                Err(BatchError::Scan(error)) => return Err(error),
                Ok(()) if self.has_enough() => self.flush(sink)?,
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Appends the messages of an entry: all of them if it begins within the bounds.
    fn entry(&mut self, entry: &Entry<'_>, chunk: &Chunk, sink: Sink<'_>) -> Result<(), BatchError> {
        let context = chunk.context.as_ref();
        let fields = EntryFields::new(entry, chunk.position, context.base_offset);
        let wanted = (context.start_offset..=context.last_offset).contains(&fields.offset_field());
        // Messages of 0.7 have no timestamps, and records without one are not returned if there is a bound.
        if !wanted || self.options.has_time_bound() {
            return Ok(());
        }
        self.seen.batches += 1;
        self.builder.begin_chunk_values();
        let unwrapped = self.message_sets.unwrap(entry);
        let base = context.base_offset.saturating_add_unsigned(chunk.position);
        let mut messages = unwrapped.messages();
        let skip = self.options.on_error == OnError::Skip;
        let filter = RecordFilter::all();
        let mut rows =
            Rows::new(&mut self.builder, &mut self.seen, (&self.options, &self.report), &fields, context, &filter);
        let mut error = unwrapped.error.clone().map(|error| ContentError::from(error.in_file(chunk.position)));
        let taken = rows.take(
            |record| match messages.next() {
                Some((message, next)) => {
                    record.value = Some(message.payload());
                    record.offset = base.saturating_add_unsigned(next as u64);
                    Ok(true)
                }
                // If corruption is skipped, an entry is returned as a whole or not at all.
                None => error.take_if(|_| skip).map_or(Ok(false), Err),
            },
            sink,
        );
        self.builder.end_values();
        taken.and_then(|()| error.map_or(Ok(()), |error| Err(BatchError::Content(error))))
    }

    /// Skips a batch with `offsets`, the last one exclusive, if the scan continues after the error.
    fn skip(
        &self,
        position: u64,
        length: usize,
        context: &Context,
        error: ContentError,
        offsets: Option<(i64, i64)>,
    ) -> Result<(), ScanError> {
        let segment = &context.place.segment;
        let error = ScanError::record(segment, error);
        let Some(reason) = error.skip_reason().filter(|_| self.options.on_error == OnError::Skip) else {
            return Err(error);
        };
        let skipped = SkippedRange::of(segment, position, length as u64, &error);
        let mut report = lock(&self.report);
        report.skipped.push(skipped.between(offsets.map(|(first, _)| first), offsets.map(|(_, end)| end)));
        if let Some((first, end)) = offsets {
            context.missing((first, end), reason, segment, &mut |segment, range| {
                report.missing.add(&context.id, segment, range);
            });
        }
        Ok(())
    }

    fn batch<'c>(
        &mut self,
        batch: &RecordBatch<'c>,
        following: &mut Following<'c>,
        context: &Context,
        filter: &RecordFilter,
        chunk_offsets: &mut ChunkOffsets<'_>,
        sink: Sink<'_>,
    ) -> Result<Taken, BatchError> {
        if batch.position() >= self.verified_to {
            batch.ensure_valid().map_err(BatchError::record)?;
        }
        // Without bounds, as mostly, only control batches are left out.
        let is_bounded = !filter.always || context.transactions.is_some();
        let is_hidden = batch.is_control_batch() && !self.options.include_control;
        if is_hidden || (is_bounded && self.can_skip_batch(batch, context)) {
            return Ok(Taken::All);
        }
        if let Some(visible) = context.visible
            && (batch.last_offset() > visible.1 || chunk_offsets.least(batch).is_none_or(|least| least < visible.0))
            && self.counted.take() != Some(batch.position())
            && !self.count_invisible(batch, filter, visible)?
        {
            return Ok(Taken::All);
        }
        self.seen.batches += 1;
        if filter.always
            && let Some(record) = self.reader.single_record(batch)
            && let Some(taken) = self.single(&record, batch, context, filter)
        {
            return taken.map(|()| Taken::All);
        }
        self.complete_earlier_views(batch)?;
        let Some(mut records) = self.reader.plain_records(batch) else {
            return if self.has_views() {
                self.batch_of_views(batch, following, context, filter, chunk_offsets, sink)
            } else {
                self.other_batch(batch, following, context, filter, chunk_offsets, sink)
            };
        };
        let size = (records.remaining().max(0) as usize, records.payload().len());
        if self.collects && fills_too_many(&self.options, &self.builder, size) {
            return Ok(self.leave(batch));
        }
        if self.has_views() {
            self.builder.begin_chunk_values();
        }
        let mut rows =
            Rows::new(&mut self.builder, &mut self.seen, (&self.options, &self.report), batch, context, filter);
        let taken = rows.take_v2(&mut records, &mut self.block, sink);
        if self.has_views() {
            self.builder.end_values();
        }
        taken.map(|()| Taken::All)
    }

    /// Appends the rows of a batch that is compressed, or of magic 0 or 1.
    fn other_batch<'c>(
        &mut self,
        batch: &RecordBatch<'c>,
        following: &mut Following<'c>,
        context: &Context,
        filter: &RecordFilter,
        chunk_offsets: &mut ChunkOffsets<'_>,
        sink: Sink<'_>,
    ) -> Result<Taken, BatchError> {
        let records = following.records(&mut self.reader, batch).map_err(BatchError::record)?;
        let (count, payload) = records.content();
        if self.collects && fills_too_many(&self.options, &self.builder, (count, payload.len())) {
            return Ok(self.leave(batch));
        }
        let mut rows =
            Rows::new(&mut self.builder, &mut self.seen, (&self.options, &self.report), batch, context, filter);
        rows.take_records(records, batch, chunk_offsets, &mut self.block, sink).map(|()| Taken::All)
    }

    /// Leaves a batch, of which no row was appended, for a worker whose sink waits.
    #[cold]
    fn leave(&mut self, batch: &RecordBatch<'_>) -> Taken {
        self.seen.batches -= 1;
        self.counted = Some(batch.position());
        Taken::NeedsThread
    }

    /// Appends the only record of an uncompressed batch, if it fits.
    #[inline]
    fn single(
        &mut self,
        record: &Record<'_>,
        batch: &RecordBatch<'_>,
        context: &Context,
        filter: &RecordFilter,
    ) -> Option<Result<(), BatchError>> {
        if self.has_views() {
            self.builder.begin_chunk_values();
        }
        let mut rows =
            Rows::new(&mut self.builder, &mut self.seen, (&self.options, &self.report), batch, context, filter);
        let taken = rows.take_single(record);
        if self.has_views() {
            self.builder.end_values();
        }
        taken
    }

    /// Whether values are views and not copied.
    #[inline]
    fn has_views(&self) -> bool {
        self.options.binary_type == BinaryType::BinaryView
    }

    /// Whether the rows are returned at the end of a Kafka batch.
    #[inline]
    fn has_enough(&self) -> bool {
        self.builder.bytes() >= self.enough || self.builder.pinned() >= self.options.arrow_batch_bytes
    }
}

/// Whether the records of a Kafka batch, which are so many in so many bytes, would fill more Arrow batches than a sink should
/// collect.
#[inline]
fn fills_too_many(options: &ScanOptions, builder: &ColumnBuilder, (count, payload): (usize, usize)) -> bool {
    count > options.batch_rows.saturating_mul(MOST_COLLECTED)
        || builder.most_bytes_of(count, payload) > options.arrow_batch_bytes.saturating_mul(MOST_COLLECTED)
}

/// Whether decoding pauses, because the sink has collected a batch.
#[inline]
fn pauses(sink: Sink<'_>) -> bool {
    sink.collected().is_some_and(|batches| batches > 0)
}

fn failed(context: &Context, error: impl Into<ContentError>) -> ScanError {
    ScanError::record(&context.place.segment, error)
}
