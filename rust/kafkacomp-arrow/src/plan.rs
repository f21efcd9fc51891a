//! What is read next: segments in order, their bounds by the indexes, chunks of whole batches.
//!
//! One planner serves all workers under a lock. It alone reads the segments, so that the order is its
//! order; the workers check, decompress and build columns side by side.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::{thread, time};

use kafkacomp_core::Error;
use kafkacomp_core::log::{
    ChunkEnd, ChunkError, ChunkReader, EntryChunkReader, Family, ReadAt, TransactionFilter, chunk_bytes,
};
use kafkacomp_core::record::RecordBatch;

use crate::bounds::start_position;
use crate::columns::Place;
use crate::committed::transaction_filter;
use crate::family::family_of;
use crate::options::{IsolationLevel, OnError, Partition, ScanOptions, Segment};
use crate::report::{ScanError, ScanReport, SkippedRange};
use crate::seams;

/// How long an incomplete batch at the end of an active segment is given to become whole.
const PATIENCE: time::Duration = time::Duration::from_millis(50);

/// What a chunk is to make where several workers share the scan: columns that stay in the cache, in time that
/// makes the hand-over small.
const SHARED_BATCH_BYTES: usize = 2 << 20;

/// The least that is worth a hand-over between threads.
pub const MIN_CHUNK_BYTES: usize = 256 << 10;

/// Whole batches of one segment.
#[derive(Debug)]
pub struct Chunk {
    /// Where the bytes begin in the segment.
    pub position: u64,
    /// How many there are.
    length: usize,
    /// The segment; `None` in front of the first one.
    source: Option<SharedSource>,
    /// What all records of it have in common.
    pub context: Arc<Context>,
    /// What the chunk's records are followed by, if it is an error.
    pub error: Option<ScanError>,
}

impl Chunk {
    /// The bytes: in the buffer that the planner was given, or where the segment lies in memory.
    pub fn bytes<'c>(&'c self, buffer: &'c [u8]) -> &'c [u8] {
        let source = self.source.as_ref();
        source.map_or(&[], |source| chunk_bytes(source.0.as_ref(), buffer, self.position, self.length))
    }
}

/// What holds for all batches of a segment.
#[derive(Debug, Clone)]
pub struct Context {
    /// The columns by place.
    pub place: Place,
    /// First offset, inclusive.
    pub start_offset: i64,
    /// Last offset, inclusive: so that 2^63 - 1 is one, and no bound.
    pub last_offset: i64,
    /// What a committed reader sees, when only that is asked for.
    pub transactions: Option<Arc<TransactionFilter>>,
    /// The family of the segment's format.
    pub family: Family,
    /// The number in the segment's name, 0 without one. In Kafka 0.7 it is the position of its first byte in
    /// the partition.
    pub base_offset: i64,
}

/// Cuts a segment of either family into chunks.
#[derive(Debug)]
enum Reader {
    Records(ChunkReader),
    MessageSet(EntryChunkReader),
}

impl Reader {
    fn position(&self) -> u64 {
        match self {
            Self::Records(reader) => reader.position(),
            Self::MessageSet(reader) => reader.position(),
        }
    }

    fn end(&self) -> u64 {
        match self {
            Self::Records(reader) => reader.end(),
            Self::MessageSet(reader) => reader.end(),
        }
    }

    /// Goes on at the first intact batch or entry after the corrupt one; where that is.
    fn resync(&mut self, source: &dyn ReadAt) -> Result<u64, ChunkError> {
        match self {
            Self::Records(reader) => reader.resync(source),
            Self::MessageSet(reader) => reader.resync(source),
        }
    }
}

/// The segment that is being read.
#[derive(Debug)]
struct Open {
    source: SharedSource,
    reader: Reader,
    context: Arc<Context>,
    /// Whether offsets rise through the file, so that the end offset ends it.
    ordered: bool,
    active: bool,
    may_be_cut: bool,
    /// Batches that begin here or later belong to another piece.
    stop: u64,
}

/// A source with a name for `Debug`.
#[derive(Clone)]
struct SharedSource(Arc<dyn ReadAt>);

impl std::fmt::Debug for SharedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReadAt")
    }
}

/// A chunk's length, and whether its segment is done or why it cannot go on.
type ReadOutcome = (usize, Result<bool, ScanError>);

/// Hands out chunks in order.
#[derive(Debug)]
pub struct Planner {
    partitions: std::vec::IntoIter<Partition>,
    current: Option<(Partition, usize, Option<Arc<TransactionFilter>>)>,
    open: Option<Open>,
    options: Arc<ScanOptions>,
    report: Arc<Mutex<ScanReport>>,
    chunk_bytes: usize,
    failed: bool,
    /// The segment that was opened last.
    segment: Arc<str>,
}

impl Planner {
    /// A planner of these partitions with chunks of about `chunk_bytes`.
    pub fn new(
        partitions: Vec<Partition>,
        options: Arc<ScanOptions>,
        report: Arc<Mutex<ScanReport>>,
        chunk_bytes: usize,
    ) -> Self {
        let partitions = partitions.into_iter();
        let segment = Arc::from("");
        Self { partitions, current: None, open: None, options, report, chunk_bytes, failed: false, segment }
    }

    /// The name of the segment that is being read.
    pub fn segment(&self) -> Arc<str> {
        Arc::clone(&self.segment)
    }

    /// What is handed out where [`next`](Self::next) panicked: an error that names the segment, and nothing after it.
    pub fn panicked(&mut self, panic: &(dyn Any + Send)) -> Chunk {
        self.failed = true;
        let mut context = context_of(&Partition::default(), None, None);
        context.place.segment = self.segment();
        let error = Some(ScanError::panicked(&context.place.segment, panic));
        Chunk { position: 0, length: 0, source: None, context: Arc::new(context), error }
    }

    /// Reads the next chunk into `buffer`; `None` at the end. After an error there is no more.
    pub fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Chunk> {
        while !self.failed {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => match self.open_next() {
                    Ok(Some(open)) => open,
                    Ok(None) => return None,
                    Err((context, error)) => {
                        self.failed = true;
                        return Some(Chunk { position: 0, length: 0, source: None, context, error: Some(error) });
                    }
                },
            };
            let position = open.reader.position();
            let context = Arc::clone(&open.context);
            let outcome = self.read_chunk(&mut open, buffer);
            let (length, done, error) = match outcome {
                Ok((length, Ok(done))) => (length, done, None),
                Ok((length, Err(error))) => (length, true, self.absorb(&open, error)),
                Err(error) => (0, true, self.absorb(&open, error)),
            };
            self.failed |= error.is_some();
            let source = Some(open.source.clone());
            if !done {
                self.open = Some(open);
            }
            if length > 0 || error.is_some() {
                self.with_report(|report| report.bytes_in += length as u64);
                return Some(Chunk { position, length, source, context, error });
            }
        }
        None
    }

    fn with_report<T>(&self, change: impl FnOnce(&mut ScanReport) -> T) -> T {
        change(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How much to read at once. Where several workers share the scan, so much that it makes about one Arrow
    /// batch: a worker whose chunk makes more must wait for its turn to deliver them.
    fn target(&self) -> usize {
        if self.options.threads <= 1 {
            return self.chunk_bytes;
        }
        let growth = self.with_report(|report| report.bytes_out.div_ceil(report.bytes_in.max(1)).max(1));
        let one_batch =
            self.options.batch_bytes.min(SHARED_BATCH_BYTES) / usize::try_from(growth).unwrap_or(usize::MAX);
        one_batch.clamp(MIN_CHUNK_BYTES, self.chunk_bytes.max(MIN_CHUNK_BYTES))
    }

    /// With `on_error="skip"` the failure of a whole segment is an entry in the report.
    fn absorb(&self, open: &Open, error: ScanError) -> Option<ScanError> {
        if self.options.on_error == OnError::Raise {
            return Some(error);
        }
        let position = open.reader.position();
        self.with_report(|report| {
            let length = open.reader.end().saturating_sub(position);
            report.skipped.push(SkippedRange::of(&open.context.place.segment, position, length, &error));
        });
        None
    }

    /// Reads a chunk: its length, and whether the segment is done or why it cannot go on.
    fn read_chunk(&self, open: &mut Open, buffer: &mut Vec<u8>) -> Result<ReadOutcome, ScanError> {
        let (stop, ordered, last_offset) = (open.stop, open.ordered, open.context.last_offset);
        let verify = self.options.planner_verifies();
        let mut past_end = false;
        let check = |batch: &RecordBatch<'_>| -> Result<(), Error> {
            if past_end || batch.position() >= stop {
                // Not an error: it ends the chunk, and what it says is not looked at.
                past_end = true;
                return Err(Error::IncompleteBatch { position: batch.position(), available: 0, needed: 0 });
            }
            // A damaged batch is damage, also where it would be the last one that is wanted.
            if verify {
                batch.ensure_valid()?;
            }
            past_end = ordered && batch.last_offset() >= last_offset;
            Ok(())
        };
        let (source, target) = (open.source.0.as_ref(), self.target());
        let read = match &mut open.reader {
            Reader::Records(reader) => reader.read(source, buffer, target, check),
            Reader::MessageSet(reader) => {
                let last = open.context.last_offset.saturating_sub(open.context.base_offset);
                let stop = u64::try_from(last.saturating_add(1)).unwrap_or_default().min(open.stop);
                reader.read(source, buffer, target, |position| position < stop)
            }
        };
        let (length, ended) = read.map_err(|error| ScanError::chunk(&open.context.place.segment, error))?;
        let done = if past_end { Ok(true) } else { self.after_chunk(open, ended) };
        Ok((length, done))
    }

    /// What follows the chunk that was just read: whether the segment is done.
    fn after_chunk(&self, open: &mut Open, ended: ChunkEnd) -> Result<bool, ScanError> {
        let name = &open.context.place.segment;
        match ended {
            ChunkEnd::More => Ok(false),
            ChunkEnd::End => Ok(true),
            ChunkEnd::Cut(_) if open.active && grows(open) => Ok(true),
            ChunkEnd::Cut(error) if open.may_be_cut => {
                self.with_report(|report| report.warnings.push(format!("{name}: {error}: left out")));
                Ok(true)
            }
            ChunkEnd::Cut(error) | ChunkEnd::Bad(error) if self.options.on_error == OnError::Skip => {
                let position = open.reader.position();
                let source = open.source.0.as_ref();
                let next = open.reader.resync(source).map_err(|error| ScanError::chunk(name, error))?;
                let error = ScanError::record(name, error);
                let skipped = SkippedRange::of(name, position, next.saturating_sub(position), &error);
                self.with_report(|report| report.skipped.push(skipped));
                Ok(next >= open.reader.end() || next >= open.stop)
            }
            ChunkEnd::Cut(error) | ChunkEnd::Bad(error) => Err(ScanError::record(name, error)),
        }
    }

    fn open_next(&mut self) -> Result<Option<Open>, (Arc<Context>, ScanError)> {
        loop {
            let Some((partition, index, transactions)) = self.current.take() else {
                let Some(partition) = self.partitions.next() else { return Ok(None) };
                self.segment =
                    partition.segments.first().map_or_else(|| Arc::from(""), |first| Arc::clone(&first.name));
                let transactions = match self.options.isolation_level {
                    IsolationLevel::ReadUncommitted => None,
                    IsolationLevel::ReadCommitted if partition.transactions.is_some() => partition.transactions.clone(),
                    IsolationLevel::ReadCommitted => {
                        let (filter, warnings) = transaction_filter(&partition, &self.options)
                            .map_err(|error| (Arc::new(context_of(&partition, None, None)), error))?;
                        self.with_report(|report| report.warnings.extend(warnings));
                        Some(Arc::new(filter))
                    }
                };
                self.current = Some((partition, 0, transactions));
                continue;
            };
            let Some(segment) = partition.segments.get(index) else { continue };
            self.segment = Arc::clone(&segment.name);
            let mut context = context_of(&partition, Some(segment), transactions.clone());
            let following = partition.segments.get(index.saturating_add(1)).and_then(|next| next.base_offset);
            let opened =
                if within(segment, following, &context) { self.open_segment(segment, &mut context) } else { Ok(None) };
            self.current = Some((partition, index.saturating_add(1), transactions));
            match opened {
                Ok(Some(open)) => return Ok(Some(open)),
                Ok(None) => {}
                Err(error) if self.options.on_error == OnError::Skip => {
                    let skipped = SkippedRange::of(&context.place.segment, 0, 0, &error);
                    self.with_report(|report| report.skipped.push(skipped));
                }
                Err(error) => return Err((Arc::new(context), error)),
            }
        }
    }

    fn open_segment(&self, segment: &Segment, context: &mut Context) -> Result<Option<Open>, ScanError> {
        let io = |error| ScanError::io(&segment.name, error);
        let source = segment.files.open().map_err(io)?;
        let length = source.length().map_err(io)?;
        context.family = family_of(segment, source.as_ref(), length, &self.options)?;
        let (reader, stop) = match context.family {
            Family::MessageSet => {
                let (start, stop) = segment.range.unwrap_or((0, length));
                let reader = EntryChunkReader::new(start, length, self.options.verify_crc);
                (Reader::MessageSet(reader), stop)
            }
            Family::Records => {
                let warn = |text: String| self.with_report(|report| report.warnings.push(text));
                let found = seams::find(segment, source.as_ref(), length)?;
                context.start_offset = context.start_offset.max(found.first);
                context.last_offset = context.last_offset.min(found.last);
                let offset = context.start_offset;
                let hint = start_position(segment, source.as_ref(), length, offset, &self.options, &warn);
                (Reader::Records(ChunkReader::new(found.start.max(hint), length, self.options.verify_crc)), found.stop)
            }
        };
        Ok(Some(Open {
            reader,
            source: SharedSource(source),
            context: Arc::new(context.clone()),
            ordered: segment.base_offset.is_some(),
            active: segment.active,
            may_be_cut: segment.may_be_cut,
            stop: stop.min(length),
        }))
    }
}

/// Whether the segment may hold an offset between the bounds, by its name and the next one's.
fn within(segment: &Segment, following: Option<i64>, context: &Context) -> bool {
    let Some(base) = segment.base_offset else { return true };
    let stable = context.transactions.as_ref().and_then(|filter| filter.last_stable_offset());
    base <= context.last_offset
        && stable.is_none_or(|stable| base < stable)
        && following.is_none_or(|next| next > context.start_offset)
}

/// Whether the active segment's incomplete last batch is one that a broker is just writing.
fn grows(open: &Open) -> bool {
    let longer = |source: &dyn ReadAt| source.length().is_ok_and(|length| length > open.reader.end());
    if longer(open.source.0.as_ref()) {
        return true;
    }
    thread::sleep(PATIENCE);
    longer(open.source.0.as_ref())
}

fn context_of(
    partition: &Partition,
    segment: Option<&Segment>,
    transactions: Option<Arc<TransactionFilter>>,
) -> Context {
    Context {
        place: Place {
            topic: partition.topic.clone(),
            partition: partition.partition,
            segment: segment.map_or_else(|| Arc::from(""), |segment| Arc::clone(&segment.name)),
        },
        start_offset: partition.start_offset.unwrap_or(i64::MIN),
        last_offset: partition.end_offset.map_or(i64::MAX, |end| end.saturating_sub(1)),
        transactions,
        family: Family::Records,
        base_offset: segment.and_then(|segment| segment.base_offset).unwrap_or_default(),
    }
}
