//! Plans what is read next: segments in order, their bounds by the indexes, chunks of complete batches.
//!
//! One planner serves all workers under a lock. Only the planner reads the segments, which determines the order. The workers
//! verify, decompress and build columns in parallel.

mod judging;
mod message_sets;
mod opening;

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kafkacomp_log::{ChunkBuffer, Compaction, LargeCorrupt, MissingRange, TransactionFilter};

use crate::columns::pool::BufferPool;
use crate::missing::PartitionId;
use crate::options::{OnError, Partition, ScanOptions, Segment};
use crate::plan::chunk::Chunk;
use crate::plan::context::Context;
use crate::plan::continuity::Findings;
use crate::plan::judged::{Judged, Piece};
use crate::plan::open::{AtGaps, Finish, Open, Step};
use crate::report::{ScanError, ScanReport, SkippedRange};
use crate::source::read_ahead::AheadOf;
use crate::sync::lock;

/// The column data of a chunk where several workers share the scan: small enough for the cache, and large enough to make the
/// hand-over cheap.
const SHARED_BATCH_BYTES: usize = 1 << 20;

/// The least number of bytes that is worth a hand-over between threads.
pub const MIN_CHUNK_BYTES: usize = 256 << 10;

/// The partition that is being read.
#[derive(Debug)]
struct Current {
    partition: Partition,
    id: PartitionId,
    /// What is read next.
    pieces: VecDeque<Piece>,
    /// The judgement, once something was not where it should be.
    judged: Option<Arc<Judged>>,
    /// The judgement, if the pass for transactions needed one.
    prejudged: Option<Judged>,
    /// The offset at which the next piece is an error, or before which it is.
    fails: Option<(i64, ScanError)>,
    /// Of files of Kafka 0.7, by their index: a position at which a message begins.
    messages: HashMap<usize, i64>,
    transactions: Option<Arc<TransactionFilter>>,
    /// Large corrupt batches that the pass for transactions has found, by segment.
    large_corrupt: HashMap<Arc<str>, LargeCorrupt>,
    /// The offset after the last one that was returned.
    position: Option<i64>,
    /// The offset after the last one that was returned or reported missing, and its segment.
    accounted: Option<(Arc<str>, i64)>,
    /// The positions that each segment of Kafka 0.7 has returned: index, first offset, and end.
    delivered: Vec<(usize, i64, i64)>,
    /// Whether compaction has removed records from a batch that was read.
    is_thinned: bool,
    /// What its segments did at gaps and at corrupt bytes.
    at_gaps: AtGaps,
    /// Whether a batch was decoded whose records are later than its header shows.
    understated: Arc<AtomicBool>,
    /// Shared with the chunks that are not decoded yet.
    in_flight: Arc<()>,
}

impl Current {
    /// The base offset of the first later segment that has another one.
    fn next_base(&self, index: usize) -> Option<i64> {
        let first = self.partition.segments.get(index)?.first_offset()?;
        let later = self.partition.segments.get(index.saturating_add(1)..)?;
        later.iter().filter_map(Segment::first_offset).find(|&next| next > first)
    }

    fn compaction(&self) -> Compaction {
        self.partition.compaction().or_thinned(self.is_thinned)
    }
}

/// What a planner returns.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and a box would be an allocation for each chunk"
)]
pub enum Planned {
    /// The next chunk.
    Chunk(Chunk),
    /// The next segment can be planned when the chunks before it are decoded.
    Later,
    /// There are no more chunks.
    End,
}

/// Returns chunks in order.
#[derive(Debug)]
pub struct Planner {
    partitions: std::iter::Enumerate<std::vec::IntoIter<Partition>>,
    current: Option<Current>,
    open: Option<Open>,
    options: Arc<ScanOptions>,
    report: Arc<Mutex<ScanReport>>,
    ahead: Arc<AheadOf>,
    chunk_bytes: usize,
    /// Somewhat more than the length of the last chunk that was not the end of a segment.
    usual_length: Option<usize>,
    pool: Arc<BufferPool>,
    failed: bool,
    /// The segment that was opened last.
    segment: Arc<str>,
}

impl Drop for Planner {
    fn drop(&mut self) {
        // The segment is closed.
        self.ahead.set(None);
    }
}

/// An error, and the segment that it is about.
type Failed = (Arc<Context>, ScanError);

impl Planner {
    /// A planner of these partitions with chunks of about `chunk_bytes`, which says in `ahead` what is read next.
    pub fn new(
        partitions: Vec<Partition>,
        options: Arc<ScanOptions>,
        report: Arc<Mutex<ScanReport>>,
        ahead: Arc<AheadOf>,
        chunk_bytes: usize,
    ) -> Self {
        Self {
            partitions: partitions.into_iter().enumerate(),
            current: None,
            open: None,
            options,
            report,
            ahead,
            chunk_bytes,
            usual_length: None,
            pool: BufferPool::shared(),
            failed: false,
            segment: Arc::from(""),
        }
    }

    /// The name of the segment that is being read.
    pub fn segment(&self) -> Arc<str> {
        Arc::clone(&self.segment)
    }

    /// Reads the next chunk into `buffer`; after an error, it is the end. After a panic, the last chunk is an error that names the
    /// segment. `waiting` is the number of threads that wait for the planner.
    pub fn next_or_panicked(&mut self, buffer: &mut ChunkBuffer, waiting: &AtomicUsize) -> Planned {
        catch_unwind(AssertUnwindSafe(|| self.next(buffer, waiting)))
            .unwrap_or_else(|panic| Planned::Chunk(self.panicked(panic.as_ref())))
    }

    /// Gives the next chunk returned memory for one as large as the last, if its buffer has less: new memory costs a page fault for each
    /// page.
    fn renew(&self, buffer: &mut ChunkBuffer, open: &Open) {
        let usual = self.usual_length.unwrap_or_else(|| self.target());
        let length = usual.min(usize::try_from(open.left()).unwrap_or(usize::MAX));
        if buffer.capacity() < length
            && let Some(memory) = self.pool.take_returned(length)
        {
            let small = std::mem::replace(buffer, ChunkBuffer::new(memory, 0..0));
            self.pool.give(small.into_parts().0);
        }
    }

    fn panicked(&mut self, panic: &(dyn Any + Send)) -> Chunk {
        self.failed = true;
        let error = ScanError::panicked(&self.segment, panic);
        let context = Context::of(&Partition::default(), PartitionId::default(), None, &self.options);
        Chunk::failed(Arc::new(context), error)
    }

    fn next(&mut self, buffer: &mut ChunkBuffer, waiting: &AtomicUsize) -> Planned {
        while !self.failed {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => match self.open_next() {
                    Ok(Some(open)) => {
                        self.ahead.set(open.ahead.clone());
                        open
                    }
                    Ok(None) => return Planned::End,
                    Err((context, error)) => {
                        self.failed = true;
                        return Planned::Chunk(Chunk::failed(context, error));
                    }
                },
            };
            if !self.skip_earlier(&mut open) {
                self.open = Some(open);
                return Planned::Later;
            }
            let (position, expected) = (open.position(), open.expected());
            let context = Arc::clone(&open.context);
            let (source, ordered, started) = (Some(open.source.clone()), open.ordered, open.has_started());
            if open.reads_now() {
                self.renew(buffer, &open);
            }
            let (length, step) = open.read(buffer, self.target(), waiting, &self.options, &self.report);
            let verified_to = open.verified_to;
            let mut is_judged = false;
            let (finish, error) = match step {
                Step::More => (None, None),
                Step::Done(finish) => (Some(finish), None),
                Step::Judge => match self.judge(&open) {
                    Ok(()) => {
                        is_judged = true;
                        (None, None)
                    }
                    Err(error) => (None, Some(error)),
                },
                // The rest of the segment cannot be read.
                Step::Failed(error) if self.skips(&error) => {
                    open.lose(SkippedRange::of(&context.place.segment, open.position(), open.left(), &error));
                    (Some(Finish::File), None)
                }
                Step::Failed(error) => (None, Some(error)),
            };
            match finish {
                Some(finish) => self.close(&mut open, finish),
                None if error.is_some() => drop(open.finish(Finish::Bound, false)),
                None => {}
            }
            let Findings { notes, missing, skipped, warnings, is_compacted } = open.take_findings();
            let is_done = finish.is_some() || error.is_some() || is_judged;
            if let Some(current) = &mut self.current {
                current.is_thinned |= is_compacted;
                current.at_gaps.passed_gap |= open.at_gaps.passed_gap;
                current.at_gaps.passed_loss |= open.at_gaps.passed_loss;
            }
            self.failed |= error.is_some();
            self.with_report(|report| {
                report.bytes_in += length as u64;
                report.skipped.extend(skipped);
                report.warnings.extend(warnings);
                if context.compaction.or_thinned(is_compacted) != context.compaction {
                    report.missing.set_compacted(&context.id);
                }
            });
            if is_done {
                self.ahead.set(None);
            } else {
                self.open = Some(open);
                self.usual_length = Some(length.saturating_add(length / 16));
            }
            if length > 0 || error.is_some() {
                return Planned::Chunk(Chunk {
                    position,
                    length,
                    verified_to,
                    source,
                    context,
                    ordered,
                    started,
                    expected,
                    notes,
                    missing,
                    error,
                    in_flight: self.current.as_ref().map(|current| Arc::clone(&current.in_flight)).unwrap_or_default(),
                });
            }
            self.report_missing(&context.id, &missing);
        }
        Planned::End
    }

    /// Skips a segment whose headers are all earlier than the time bound, unless a batch before it shows that headers of this
    /// partition understate their times. `false` if that is unknown, because chunks before it are not decoded yet.
    fn skip_earlier(&mut self, open: &mut Open) -> bool {
        let Some(earlier) = open.earlier else { return true };
        let Some(current) = &mut self.current else { return true };
        // No chunk shares it any more; otherwise threads would give different results.
        let are_decoded = Arc::get_mut(&mut current.in_flight).is_some();
        let is_understated = current.understated.load(Ordering::Relaxed);
        if !are_decoded && !is_understated {
            return false;
        }
        open.earlier = None;
        if !is_understated {
            open.skip(earlier);
            if open.context.compaction.or_thinned(earlier.is_compacted) != open.context.compaction {
                self.with_report(|report| report.missing.set_compacted(&open.context.id));
            }
        }
        true
    }

    fn with_report<T>(&self, change: impl FnOnce(&mut ScanReport) -> T) -> T {
        change(&mut lock(&self.report))
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
            self.options.arrow_batch_bytes.min(SHARED_BATCH_BYTES) / usize::try_from(growth).unwrap_or(usize::MAX);
        one_batch.clamp(MIN_CHUNK_BYTES, self.chunk_bytes.max(MIN_CHUNK_BYTES))
    }

    /// Ends a segment: records what it has returned, and what is missing at its end.
    fn close(&mut self, open: &mut Open, finish: Finish) {
        let Some(current) = &mut self.current else { return };
        let is_last = current.pieces.is_empty();
        let expected = open.end_offsets();
        let reported = open.finish(finish, is_last);
        let segment = &open.context.place.segment;
        if let Some((_, end)) = open.piece {
            // What is missing after it is before the next piece.
            current.accounted = Some((Arc::clone(segment), end));
            current.position = Some(end);
            return;
        }
        let valid_end =
            current.partition.segments.get(open.index).and_then(|segment| segment.offsets).map(|(_, end)| end);
        let Some((accounted, end)) = expected.filter(|_| open.ordered) else { return };
        let end = valid_end.map_or(end, |valid| end.min(valid));
        if open.continuity.is_none() {
            let begin = current.position.unwrap_or(i64::MIN).max(open.context.base_offset);
            current.delivered.push((open.index, begin, end));
        }
        current.position = Some(current.position.map_or(end, |position| position.max(end)));
        let next_base = open.ends.next_base.filter(|_| reported && finish == Finish::File);
        let resumes = next_base.unwrap_or(accounted).max(end);
        if current.accounted.as_ref().is_none_or(|(_, accounted)| *accounted <= resumes) {
            current.accounted = Some((Arc::clone(segment), resumes));
        }
    }
}
