//! Plans what is read next: segments in order, their bounds by the indexes, chunks of complete batches.
//!
//! One planner serves all workers under a lock. Only the planner reads the segments, which determines the order. The workers
//! verify, decompress and build columns in parallel.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kafkacomp_core::log::continuity::positions::{PositionedFile, skipped};
use kafkacomp_core::log::{
    ChunkReader, EntryChunkReader, LargeCorrupt, LogFormat, MissingRange, MissingReason, ReadAt, TransactionFilter,
    chunk_bytes,
};

use crate::bounds::Start;
use crate::committed::transaction_filter;
use crate::context::Context;
use crate::continuity::{Continuity, Findings, Note};
use crate::copies::OtherBatches;
use crate::leader_epochs::LeaderEpochs;
use crate::log_format::log_format_of;
use crate::missing::PartitionId;
use crate::open::{Ends, Finish, Open, Reader, SharedSource, Step};
use crate::options::{IsolationLevel, OnError, Partition, ScanOptions, Segment};
use crate::overlap;
use crate::pool::BufferPool;
use crate::relocate;
use crate::report::{ScanError, ScanReport, SkippedRange};
use crate::unreadable::SkipUnreadable;
use crate::view_buffers::SharedBytes;

/// The column data of a chunk where several workers share the scan: small enough for the cache, and large enough to make the
/// hand-over cheap.
const SHARED_BATCH_BYTES: usize = 2 << 20;

/// The least number of bytes that is worth a hand-over between threads.
pub const MIN_CHUNK_BYTES: usize = 256 << 10;

/// Complete batches of one segment.
#[derive(Debug)]
pub struct Chunk {
    /// The position of the bytes in the segment.
    pub position: u64,
    /// The number of bytes.
    length: usize,
    /// The segment; `None` before the first one.
    source: Option<SharedSource>,
    /// The context of all its batches.
    pub context: Arc<Context>,
    /// Whether offsets increase from batch to batch.
    pub ordered: bool,
    /// Whether a batch of the segment comes before it.
    pub started: bool,
    /// The expected first offset of its first batch, if that is known.
    pub expected: Option<i64>,
    /// Notes about its batches, in the order of their positions.
    pub notes: Vec<(u64, Note)>,
    /// Missing offsets, and the segment that should have them.
    pub missing: Vec<(Arc<str>, MissingRange)>,
    /// The error after the records of the chunk, if there is one.
    pub error: Option<ScanError>,
}

impl Chunk {
    /// The bytes: in the buffer that the planner was given, or in the segment if it is in memory.
    pub fn bytes<'c>(&'c self, buffer: &'c [u8]) -> &'c [u8] {
        let source = self.source.as_ref();
        source.map_or(&[], |source| chunk_bytes(source.0.as_ref(), buffer, self.position, self.length))
    }

    /// The bytes with a reference count; they are taken out of `buffer`.
    pub fn share(&self, buffer: &mut Vec<u8>, pool: &Arc<BufferPool>) -> SharedBytes {
        if let Some(source) = self.source.as_ref().filter(|_| self.is_in_memory()) {
            let part = SourcePart { source: source.clone(), position: self.position, length: self.length };
            return SharedBytes { bytes: bytes::Bytes::from_owner(part).into(), pinned: self.length };
        }
        let data = std::mem::take(buffer);
        SharedBytes { pinned: data.capacity(), bytes: pool.lend(data) }
    }

    /// Whether the bytes lie where the segment has them, and not in a buffer.
    pub fn is_in_memory(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.0.as_slice().is_some())
    }

    /// A chunk that has an error and no batches.
    fn failed(context: Arc<Context>, error: ScanError) -> Self {
        Self {
            position: 0,
            length: 0,
            source: None,
            context,
            ordered: false,
            started: false,
            expected: None,
            notes: Vec::new(),
            missing: Vec::new(),
            error: Some(error),
        }
    }
}

/// A part of a source in memory.
struct SourcePart {
    source: SharedSource,
    position: u64,
    length: usize,
}

impl AsRef<[u8]> for SourcePart {
    fn as_ref(&self) -> &[u8] {
        chunk_bytes(self.source.0.as_ref(), &[], self.position, self.length)
    }
}

/// The partition that is being read.
#[derive(Debug)]
struct Current {
    partition: Partition,
    id: PartitionId,
    /// All segments of the partition.
    segments: Arc<[Segment]>,
    /// The index of the next segment.
    next: usize,
    transactions: Option<Arc<TransactionFilter>>,
    /// Large corrupt batches that the pass for transactions has found, by segment.
    large_corrupt: HashMap<Arc<str>, LargeCorrupt>,
    /// The offset after the last one that was returned.
    position: Option<i64>,
    /// The offset after the last one that was returned or reported missing, and its segment.
    accounted: Option<(Arc<str>, i64)>,
    /// The leader epochs so far.
    epochs: LeaderEpochs,
    /// The offsets that each segment has returned: index, first offset, and end.
    delivered: Vec<(usize, i64, i64)>,
}

impl Current {
    /// The base offset of the first later segment that has another one.
    fn next_base(&self, index: usize) -> Option<i64> {
        let first = self.partition.segments.get(index)?.first_offset()?;
        let later = self.partition.segments.get(index.saturating_add(1)..)?;
        later.iter().filter_map(Segment::first_offset).find(|&next| next > first)
    }
}

/// Returns chunks in order.
#[derive(Debug)]
pub struct Planner {
    partitions: std::iter::Enumerate<std::vec::IntoIter<Partition>>,
    current: Option<Current>,
    open: Option<Open>,
    options: Arc<ScanOptions>,
    report: Arc<Mutex<ScanReport>>,
    chunk_bytes: usize,
    failed: bool,
    /// The segment that was opened last.
    segment: Arc<str>,
}

/// An error, and the segment that it is about.
type Failed = (Arc<Context>, ScanError);

impl Planner {
    /// A planner of these partitions with chunks of about `chunk_bytes`.
    pub fn new(
        partitions: Vec<Partition>,
        options: Arc<ScanOptions>,
        report: Arc<Mutex<ScanReport>>,
        chunk_bytes: usize,
    ) -> Self {
        let partitions = partitions.into_iter().enumerate();
        let segment = Arc::from("");
        Self { partitions, current: None, open: None, options, report, chunk_bytes, failed: false, segment }
    }

    /// The name of the segment that is being read.
    pub fn segment(&self) -> Arc<str> {
        Arc::clone(&self.segment)
    }

    /// The last chunk after [`next`](Self::next) has panicked: an error that names the segment.
    pub fn panicked(&mut self, panic: &(dyn Any + Send)) -> Chunk {
        self.failed = true;
        let error = ScanError::panicked(&self.segment, panic);
        let context = Context::of(&Partition::default(), PartitionId::default(), None, &self.options);
        Chunk::failed(Arc::new(context), error)
    }

    /// Reads the next chunk into `buffer`; `None` at the end or after an error.
    pub fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Chunk> {
        while !self.failed {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => match self.open_next() {
                    Ok(Some(open)) => open,
                    Ok(None) => return None,
                    Err((context, error)) => {
                        self.failed = true;
                        return Some(Chunk::failed(context, error));
                    }
                },
            };
            let (position, expected) = (open.position(), open.expected());
            let context = Arc::clone(&open.context);
            let (source, ordered, started) = (Some(open.source.clone()), open.ordered, open.has_started());
            let (length, step) = open.read(buffer, self.target(), &self.options, &self.report);
            let (finish, error) = match step {
                Step::More => (None, None),
                Step::Done(finish) => (Some(finish), None),
                // The rest of the segment cannot be read.
                Step::Failed(error) if self.skips(&error) => {
                    open.lose(SkippedRange::of(&context.place.segment, open.position(), open.left(), &error));
                    (Some(Finish::File), None)
                }
                Step::Failed(error) => (None, Some(error)),
            };
            match finish {
                Some(finish) => self.close(&mut open, finish),
                None if error.is_some() => drop(open.finish(Finish::Bound, false, None)),
                None => {}
            }
            let Findings { notes, missing, skipped, warnings, is_compacted } = open.take_findings();
            let is_done = finish.is_some() || error.is_some();
            self.failed |= error.is_some();
            self.with_report(|report| {
                report.bytes_in += length as u64;
                report.skipped.extend(skipped);
                report.warnings.extend(warnings);
                // If the cleaner's checkpoint is known, it decides.
                if is_compacted && context.cleaned_to.is_none() {
                    report.missing.set_compacted(&context.id);
                }
            });
            if !is_done {
                self.open = Some(open);
            }
            if length > 0 || error.is_some() {
                return Some(Chunk {
                    position,
                    length,
                    source,
                    context,
                    ordered,
                    started,
                    expected,
                    notes,
                    missing,
                    error,
                });
            }
            self.report_missing(&context.id, &missing);
        }
        None
    }

    fn with_report<T>(&self, change: impl FnOnce(&mut ScanReport) -> T) -> T {
        change(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the scan continues after `error`.
    fn skips(&self, error: &ScanError) -> bool {
        self.options.on_error == OnError::Skip && error.skip_reason().is_some()
    }

    fn report_missing(&self, id: &PartitionId, missing: &[(Arc<str>, MissingRange)]) {
        if missing.is_empty() {
            return;
        }
        self.with_report(|report| {
            for (segment, range) in missing {
                report.missing.add(id, segment, *range);
            }
        });
    }

    /// The number of bytes to read at once. If several workers share the scan, it is about enough for one Arrow batch: a worker
    /// whose chunk has more batches must wait for its turn to return them.
    fn target(&self) -> usize {
        if self.options.threads <= 1 {
            return self.chunk_bytes;
        }
        let growth = self.with_report(|report| report.bytes_out.div_ceil(report.bytes_in.max(1)).max(1));
        let one_batch =
            self.options.batch_bytes.min(SHARED_BATCH_BYTES) / usize::try_from(growth).unwrap_or(usize::MAX);
        one_batch.clamp(MIN_CHUNK_BYTES, self.chunk_bytes.max(MIN_CHUNK_BYTES))
    }

    /// Ends a segment: records what it has returned, and what is missing at its end.
    fn close(&mut self, open: &mut Open, finish: Finish) {
        let Some(current) = &mut self.current else { return };
        let is_last = current.next >= current.partition.segments.len();
        let is_end = is_last && open.ends.next_base.is_none() && !open.ends.is_split;
        let high_watermark = current.partition.checkpoints.high_watermark.filter(|_| is_end);
        let expected = open.end_offsets();
        let reported = open.finish(finish, is_last, high_watermark);
        let valid_end =
            current.partition.segments.get(open.index).and_then(|segment| segment.offsets).map(|(_, end)| end);
        current.epochs = open.continuity.as_ref().map_or(current.epochs, Continuity::epochs);
        let Some((accounted, end)) = expected.filter(|_| open.ordered) else { return };
        let end = valid_end.map_or(end, |valid| end.min(valid));
        let begin = current.position.unwrap_or(i64::MIN).max(open.context.base_offset);
        current.delivered.push((open.index, begin, end));
        current.position = Some(current.position.map_or(end, |position| position.max(end)));
        let next_base = open.ends.next_base.filter(|_| reported && finish == Finish::File);
        let resumes = next_base.unwrap_or(accounted).max(end);
        if current.accounted.as_ref().is_none_or(|(_, accounted)| *accounted <= resumes) {
            current.accounted = Some((Arc::clone(&open.context.place.segment), resumes));
        }
    }

    fn open_next(&mut self) -> Result<Option<Open>, Failed> {
        loop {
            let Some(mut current) = self.current.take() else {
                let Some((index, partition)) = self.partitions.next() else { return Ok(None) };
                self.segment =
                    partition.segments.first().map_or_else(|| Arc::from(""), |first| Arc::clone(&first.name));
                self.current = Some(self.begin(index, partition)?);
                continue;
            };
            let index = current.next;
            let Some(segment) = current.partition.segments.get(index).cloned() else { continue };
            self.segment = Arc::clone(&segment.name);
            current.next = index.saturating_add(1);
            let mut context = Context::of(&current.partition, current.id.clone(), Some(&segment), &self.options);
            context.restrict(current.transactions.clone());
            let following = current.next_base(index);
            if within(&segment, following, &context) {
                let opened = self.open_segment(&mut current, index, &segment, &mut context);
                if let (Some(named), Some(base)) =
                    (segment.named_offset.filter(|_| opened.is_ok()), segment.base_offset)
                {
                    let name = &segment.name;
                    let warning =
                        format!("{name}: the segment begins at offset {base}, not at the {named} of its name");
                    self.with_report(|report| report.warnings.push(warning));
                }
                self.current = Some(current);
                match opened {
                    Ok(open) => return Ok(Some(open)),
                    Err(error) => self.lost(&segment, following, &context, error)?,
                }
            } else {
                // The end of the gap before the segment may have been requested.
                self.gap_before(&mut current, &segment, &context);
                self.current = Some(current);
            }
        }
    }

    fn begin(&self, index: usize, mut partition: Partition) -> Result<Current, Failed> {
        let id = PartitionId { index, topic: partition.topic.clone(), partition: partition.partition };
        overlap::order(&mut partition.segments, &self.options);
        let mut large_corrupt = HashMap::new();
        let transactions = match self.options.isolation_level {
            IsolationLevel::ReadUncommitted => None,
            IsolationLevel::ReadCommitted if partition.transactions.is_some() => partition.transactions.clone(),
            IsolationLevel::ReadCommitted => {
                let found = transaction_filter(&partition, &self.options)
                    .map_err(|error| (Arc::new(Context::of(&partition, id.clone(), None, &self.options)), error))?;
                self.with_report(|report| report.warnings.extend(found.warnings));
                large_corrupt = found.large_corrupt;
                Some(Arc::new(found.filter))
            }
        };
        let (delivered, epochs) = (Vec::new(), LeaderEpochs::default());
        let segments = partition.segments.as_slice().into();
        Ok(Current {
            partition,
            id,
            segments,
            next: 0,
            transactions,
            large_corrupt,
            position: None,
            accounted: None,
            epochs,
            delivered,
        })
    }

    /// Reports the offsets that are missing before a segment that is not opened.
    fn gap_before(&self, current: &mut Current, segment: &Segment, context: &Context) {
        let (Some((name, from)), Some(base)) = (current.accounted.take(), segment.first_offset()) else { return };
        let mut missing = Vec::new();
        context.missing(from, base, MissingReason::Gap, &mut |range| missing.push((Arc::clone(&name), range)));
        self.report_missing(&current.id, &missing);
        current.accounted = Some((name, from.max(base)));
    }

    /// Handles a segment that could not be opened: with `on_error="skip"`, all of it is missing.
    fn lost(
        &mut self,
        segment: &Segment,
        following: Option<i64>,
        context: &Context,
        error: ScanError,
    ) -> Result<(), Failed> {
        let Some(reason) = error.skip_reason().filter(|_| self.skips(&error)) else {
            return Err((Arc::new(context.clone()), error));
        };
        let Some(mut current) = self.current.take() else { return Ok(()) };
        self.gap_before(&mut current, segment, context);
        let resumes = segment.boundaries.next_base.or(following);
        let from =
            segment.first_offset().map(|base| current.accounted.as_ref().map_or(base, |(_, end)| base.max(*end)));
        let name = &segment.name;
        let skipped = SkippedRange::of(name, 0, 0, &error).between(from, resumes);
        self.with_report(|report| report.skipped.push(skipped));
        if let (Some(from), Some(resumes)) = (from, resumes) {
            let mut missing = Vec::new();
            context.missing(from, resumes, reason, &mut |range| missing.push((Arc::clone(name), range)));
            self.report_missing(&current.id, &missing);
            current.accounted = Some((Arc::clone(name), from.max(resumes)));
        }
        self.current = Some(current);
        Ok(())
    }

    fn open_segment(
        &self,
        current: &mut Current,
        index: usize,
        segment: &Segment,
        context: &mut Context,
    ) -> Result<Open, ScanError> {
        let io = |error| ScanError::io(&segment.name, error);
        let source = segment.files.open().map_err(io)?;
        let unreadable =
            (self.options.on_error == OnError::Skip).then(|| Arc::new(SkipUnreadable::new(Arc::clone(&source))));
        let source = unreadable.clone().map_or(source, |source| source as Arc<dyn ReadAt>);
        let length = source.length().map_err(io)?;
        context.log_format = log_format_of(segment, source.as_ref(), length, &self.options)?;
        let is_inner = segment.range.is_some_and(|(start, _)| start > 0);
        if let Some((first, end)) = segment.offsets {
            context.start_offset = context.start_offset.max(first);
            context.last_offset = context.last_offset.min(end.saturating_sub(1));
            context.asked.1 = context.asked.1.min(end.saturating_sub(1));
            self.gap_before(current, segment, context);
        } else if let (Some(base), Some(position)) = (segment.base_offset.filter(|_| !is_inner), current.position)
            && base < position
        {
            self.overlaps(current, segment, base, position, context)?;
            context.start_offset = context.start_offset.max(position);
        }
        let before = current.accounted.clone().filter(|_| segment.base_offset.is_some() && !is_inner);
        // A segment that overlaps those before may have been written by an earlier leader.
        let follows = segment.base_offset.zip(current.position).is_some_and(|(base, position)| base >= position);
        let epochs = if follows { current.epochs } else { LeaderEpochs::default() };
        if let Some((_, accounted)) = &before {
            context.asked.0 = context.asked.0.max(*accounted);
        }
        let mut ends =
            Ends { next_base: segment.boundaries.next_base.or_else(|| current.next_base(index)), ..Ends::default() };
        let mut expected = segment.base_offset;
        let mut likely_stop = None;
        let (reader, stop) = match context.log_format {
            LogFormat::MessageSet => {
                let (start, stop) = segment.range.unwrap_or((0, length));
                let reader = EntryChunkReader::new(start, length, self.options.verify_crc);
                (Reader::MessageSet(reader), stop)
            }
            LogFormat::Records => {
                let warn = |text: String| self.with_report(|report| report.warnings.push(text));
                let found = relocate::find(segment, source.as_ref(), length)?;
                if found.is_replaced {
                    // Brokers replace a segment when they compact it, which explains the missing records.
                    self.with_report(|report| report.missing.set_compacted(&context.id));
                }
                context.start_offset = context.start_offset.max(found.first);
                context.last_offset = context.last_offset.min(found.last);
                context.asked = (context.asked.0.max(found.first), context.asked.1.min(found.last));
                let offset = context.start_offset;
                let start = Start { segment, source: source.as_ref(), length, begin: found.start, warn: &warn };
                likely_stop = start.likely_stop(context.last_offset);
                let start = start.position(offset, &self.options)?;
                if start > 0 {
                    let begin = segment.boundaries.begin.filter(|_| start == found.start);
                    expected = begin.and_then(|begin| begin.first_offset);
                }
                let known = current.large_corrupt.get(&segment.name).cloned().unwrap_or_default();
                let reader = ChunkReader::new(start, length, self.options.verify_crc).with_large_corrupt(known);
                (Reader::Records(reader), found.stop)
            }
        };
        ends.is_split = stop < length;
        ends.next_split = segment.boundaries.end.and_then(|end| end.first_offset);
        let context = Arc::new(context.clone());
        let ordered = segment.base_offset.is_some();
        let mut open = Open {
            source: SharedSource(source),
            index,
            ends,
            reader,
            continuity: None,
            others: OtherBatches::new(Arc::clone(&current.segments), index),
            unreadable,
            active: segment.active,
            may_be_cut: segment.may_be_cut,
            ordered,
            stop: stop.min(length),
            likely_stop: likely_stop.unwrap_or(u64::MAX),
            intact_end: None,
            found: Findings::default(),
            context: Arc::clone(&context),
        };
        if ordered && context.log_format == LogFormat::Records {
            open.continuity = Some(Continuity::new(context, &self.options, expected, before, epochs));
        } else if let (Some((name, from)), Some(base)) = (before, segment.base_offset) {
            context.missing(from, base, MissingReason::Gap, &mut |range| {
                open.found.missing.push((Arc::clone(&name), range));
            });
            // A message that begins in the file before and ends in this one is complete in neither.
            let file = PositionedFile { source: open.source.0.as_ref(), base };
            let skipped = skipped(file, from).map_err(|error| ScanError::log(&segment.name, error))?;
            let resumes = base.saturating_add_unsigned(skipped).max(from);
            let from = from.max(base);
            context.missing(from, resumes, MissingReason::Corrupt, &mut |range| {
                open.found.missing.push((Arc::clone(&segment.name), range));
            });
        }
        Ok(open)
    }

    /// Handles a segment that begins with offsets that others have returned: their records must be the same.
    fn overlaps(
        &self,
        current: &mut Current,
        segment: &Segment,
        base: i64,
        position: i64,
        context: &Context,
    ) -> Result<(), ScanError> {
        current.delivered.retain(|&(_, _, end)| end > base);
        for &(index, begin, end) in &current.delivered {
            let Some(earlier) = current.partition.segments.get(index) else { continue };
            let first = begin.max(base).max(context.start_offset);
            let last = end.min(position).saturating_sub(1).min(context.last_offset);
            if first > last {
                continue;
            }
            let mut warning = format!(
                "{} and {} overlap: offsets {first} to {last} are read from the first",
                earlier.name, segment.name
            );
            match overlap::disagreement(earlier, segment, first, last, &self.options) {
                Ok(None) => {}
                Ok(Some(offset)) if self.options.on_error == OnError::Raise => {
                    let (earlier, later) = (Arc::clone(&earlier.name), Arc::clone(&segment.name));
                    let deciding = current.partition.deciding.clone();
                    return Err(ScanError::Conflict { earlier, later, offset, deciding });
                }
                Ok(Some(offset)) => warning = format!("{warning}; they have different records at offset {offset}"),
                Err(error) if self.skips(&error) => {
                    warning = format!("{warning}; they could not be compared: {error}");
                }
                Err(error) => return Err(error),
            }
            self.with_report(|report| report.warnings.push(warning));
        }
        Ok(())
    }
}

/// Whether the segment may have an offset within the bounds, judged by its name and that of the next one.
fn within(segment: &Segment, following: Option<i64>, context: &Context) -> bool {
    let Some(base) = segment.first_offset() else { return true };
    let stable = context.transactions.as_ref().and_then(|filter| filter.last_stable_offset());
    base <= context.last_offset
        && stable.is_none_or(|stable| base < stable)
        && following.is_none_or(|next| next > context.start_offset)
}
