//! A scan: worker threads that share one planner, and return Arrow batches in the planner's order.
//!
//! Every chunk has its own channel with room for one Arrow batch. The channels are in a bounded queue, in the order of the chunks.
//! So a worker that is ahead waits, only a few batches per thread are in memory, and nothing is sorted. A single worker has one
//! channel for all chunks, and the last rows of a chunk are returned with those of the next one.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch as ArrowRecordBatch;
use arrow_schema::SchemaRef;

use crate::binary_type::BinaryType;
use crate::cancel::cancellable;
use crate::chunk::Chunk;
use crate::options::{Partition, ScanOptions};
use crate::plan::{MIN_CHUNK_BYTES, Planner};
use crate::pool::BufferPool;
use crate::report::{ScanError, ScanReport};
use crate::schema::schema;
use crate::view_buffers::SharedBytes;
use crate::worker::Worker;

/// The number of bytes that a single worker reads at once: they and the columns built from them fit into a core's second-level
/// cache.
const CHUNK_BYTES: usize = 256 << 10;
/// With several workers, the rows of each chunk become separate Arrow batches, so chunks are larger.
const LARGE_CHUNK_BYTES: usize = 4 << 20;
/// The number of chunks per thread for a small source: at its end, workers wait for the one with the last chunk.
const CHUNKS_PER_THREAD: usize = 8;
/// How long the end of a scan waits for its workers. A read cannot be interrupted; the worker ends when it returns.
const LEAVING: Duration = Duration::from_millis(250);
/// Buffers above this size are freed after the batch that needed them.
const MAX_KEPT_BUFFER: usize = 2 * LARGE_CHUNK_BYTES;

type Item = Result<ArrowRecordBatch, ScanError>;

/// The result of [`Scan::poll`].
#[derive(Debug)]
pub enum Step {
    /// The next batch.
    Batch(ArrowRecordBatch),
    /// The scan failed; there are no more batches.
    Failed(ScanError),
    /// The scan is complete.
    End,
    /// There is no batch yet.
    Waiting,
}

/// Reads partitions into Arrow batches; an iterator.
#[derive(Debug)]
pub struct Scan {
    shared: Arc<Shared>,
    schema: SchemaRef,
    current: Option<Receiver<Item>>,
    workers: Vec<thread::JoinHandle<()>>,
    plan: Option<Vec<Partition>>,
    total_bytes: u64,
    done: bool,
}

/// Stops a scan that another thread may be reading.
#[derive(Debug, Clone)]
pub struct Closer(Arc<Shared>);

impl Closer {
    /// Stops the workers. Threads that wait for a batch get [`ScanError::Closed`].
    pub fn close(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        self.0.closed.store(true, Ordering::Release);
        // With the lock, so that no thread is between checking the flags and waiting.
        let _queue = lock(&self.0.queue);
        self.0.changed.notify_all();
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
struct Shared {
    options: Arc<ScanOptions>,
    report: Arc<Mutex<ScanReport>>,
    planner: Mutex<Option<Planner>>,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Whether reading has stopped, because the scan failed, ended or was closed.
    closed: Arc<AtomicBool>,
    /// Whether a [`Closer`] has closed the scan.
    cancelled: AtomicBool,
    pool: Arc<BufferPool>,
}

#[derive(Debug, Default)]
struct Queue {
    chunks: VecDeque<Receiver<Item>>,
    running: usize,
}

/// What the queue has for the consumer.
enum Place {
    Next(Receiver<Item>),
    End,
    Waiting,
}

impl Scan {
    /// A scan of `partitions` in this order. No file is opened before the first batch is requested. `total_bytes` is the known size
    /// of all segments.
    pub fn new(partitions: Vec<Partition>, options: ScanOptions, total_bytes: u64) -> Self {
        let schema = schema(&options.columns, options.timestamp_unit, options.binary_type);
        let shared = Arc::new(Shared {
            pool: BufferPool::shared(),
            options: Arc::new(options),
            report: Arc::default(),
            planner: Mutex::new(None),
            queue: Mutex::default(),
            changed: Condvar::new(),
            closed: Arc::default(),
            cancelled: AtomicBool::new(false),
        });
        Self { shared, schema, current: None, workers: Vec::new(), plan: Some(partitions), total_bytes, done: false }
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The report so far; it is shared with the running scan.
    pub fn report(&self) -> Arc<Mutex<ScanReport>> {
        Arc::clone(&self.shared.report)
    }

    /// Stops the workers and closes the segments; no more batches are returned. A worker that is inside a read ends when the read
    /// returns; this method waits only a moment for it.
    pub fn close(&mut self) {
        self.plan = None;
        self.finish();
    }

    /// A handle that stops this scan while it is being read.
    pub fn closer(&self) -> Closer {
        Closer(Arc::clone(&self.shared))
    }

    /// The next batch, if it comes within about `patience`.
    pub fn poll(&mut self, patience: Duration) -> Step {
        if self.done {
            return Step::End;
        }
        if let Some(partitions) = self.plan.take()
            && let Err(error) = self.start(partitions)
        {
            return self.failed(error);
        }
        loop {
            if self.shared.cancelled.load(Ordering::Acquire) {
                return self.failed(ScanError::Closed);
            }
            if let Some(receiver) = &self.current {
                match receiver.recv_timeout(patience) {
                    Ok(Ok(batch)) => return Step::Batch(batch),
                    Ok(Err(error)) => return self.failed(error),
                    Err(RecvTimeoutError::Timeout) => return Step::Waiting,
                    Err(RecvTimeoutError::Disconnected) => self.current = None,
                }
            }
            match self.next_receiver(patience) {
                Place::Next(receiver) => self.current = Some(receiver),
                Place::Waiting => return Step::Waiting,
                Place::End => {
                    self.finish();
                    return Step::End;
                }
            }
        }
    }

    fn failed(&mut self, error: ScanError) -> Step {
        self.finish();
        Step::Failed(error)
    }

    fn start(&mut self, partitions: Vec<Partition>) -> Result<(), ScanError> {
        let options = &self.shared.options;
        let threads = options.threads.max(1);
        let chunk_bytes = if threads == 1 {
            CHUNK_BYTES
        } else {
            let share =
                usize::try_from(self.total_bytes).unwrap_or(usize::MAX) / threads.saturating_mul(CHUNKS_PER_THREAD);
            share.clamp(MIN_CHUNK_BYTES, LARGE_CHUNK_BYTES)
        };
        let partitions = partitions.into_iter().map(|each| cancellable(each, &self.shared.closed)).collect();
        let planner = Planner::new(partitions, Arc::clone(options), self.report(), chunk_bytes);
        *lock(&self.shared.planner) = Some(planner);
        lock(&self.shared.queue).running = threads;
        for index in 0..threads {
            let shared = Arc::clone(&self.shared);
            let spawned = thread::Builder::new().name(format!("kafkacomp-scan-{index}")).spawn(move || work(&shared));
            match spawned {
                Ok(handle) => self.workers.push(handle),
                // One worker is enough to finish the scan.
                Err(error) if index == 0 => {
                    lock(&self.shared.queue).running = 0;
                    *lock(&self.shared.planner) = None;
                    return Err(ScanError::Thread(error.to_string()));
                }
                Err(_) => lock(&self.shared.queue).running -= 1,
            }
        }
        Ok(())
    }

    fn next_receiver(&self, patience: Duration) -> Place {
        let deadline = Instant::now().checked_add(patience);
        let mut queue = lock(&self.shared.queue);
        loop {
            if let Some(receiver) = queue.chunks.pop_front() {
                self.shared.changed.notify_all();
                return Place::Next(receiver);
            }
            if queue.running == 0 {
                return Place::End;
            }
            let left = deadline.map_or(patience, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() || self.shared.cancelled.load(Ordering::Acquire) {
                return Place::Waiting;
            }
            queue = self.shared.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn finish(&mut self) {
        self.done = true;
        self.shared.closed.store(true, Ordering::Release);
        self.current = None;
        let deadline = Instant::now().checked_add(LEAVING);
        let mut queue = lock(&self.shared.queue);
        queue.chunks.clear();
        self.shared.changed.notify_all();
        while queue.running > 0 {
            let left = deadline.map_or(LEAVING, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break;
            }
            queue = self.shared.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let all_left = queue.running == 0;
        drop(queue);
        for worker in self.workers.drain(..).filter(|_| all_left) {
            // Panics were caught and sent as errors before.
            drop(worker.join());
        }
        lock(&self.shared.report).complete();
    }
}

impl Iterator for Scan {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            match self.poll(Duration::from_secs(1)) {
                Step::Batch(batch) => return Some(Ok(batch)),
                Step::Failed(error) => return Some(Err(error)),
                Step::End => return None,
                Step::Waiting => {}
            }
        }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        self.finish();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a worker as ended, even if it panics.
struct Leaving<'s>(&'s Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.running = queue.running.saturating_sub(1);
        let is_last = queue.running == 0;
        drop(queue);
        if is_last {
            // The segments are closed here, because the consumer does not wait for a slow read.
            let planner = lock(&self.0.planner).take();
            drop(planner);
        }
        let _queue = lock(&self.0.queue);
        self.0.changed.notify_all();
    }
}

/// A worker thread. Even if it panics, the consumer gets an error unless the worker has finished its share.
fn work(shared: &Shared) {
    let _leaving = Leaving(shared);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(shared))) {
        let segment = lock(&shared.planner).as_ref().map_or_else(|| Arc::from(""), Planner::segment);
        let (sender, receiver) = sync_channel(1);
        drop(sender.send(Err(ScanError::panicked(&segment, panic.as_ref()))));
        lock(&shared.queue).chunks.push_back(receiver);
        shared.closed.store(true, Ordering::Release);
    }
}

/// Runs `step` on a chunk of `segment`; a panic becomes an error that names the segment.
fn guarded(segment: &Arc<str>, step: impl FnOnce() -> Result<(), ScanError>) -> Result<(), ScanError> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| Err(ScanError::panicked(segment, panic.as_ref())))
}

fn run(shared: &Shared) {
    let alone = shared.options.threads <= 1;
    let mut worker = Worker::new(Arc::clone(&shared.options), Arc::clone(&shared.report), &shared.pool);
    let mut buffer = Vec::new();
    let mut sender = None;
    let mut segment = Arc::from("");
    while let Some(chunk) = claim(shared, &mut buffer, &mut sender) {
        let Some(channel) = &sender else { return };
        segment = Arc::clone(&chunk.context.place.segment);
        let views = shared.options.binary_type == BinaryType::BinaryView;
        let in_memory = chunk.is_in_memory();
        let kept = views.then(|| chunk.share(&mut buffer, &shared.pool));
        let data = kept.as_ref().map_or_else(|| chunk.bytes(&buffer), |kept| kept.bytes.as_slice());
        let outcome = guarded(&segment, || process(&mut worker, &chunk, (data, kept.as_ref()), channel, alone));
        if let Err(error) = outcome.and_then(|()| chunk.error.map_or(Ok(()), Err)) {
            // Return the rows before the error first. After a panic, the state of the columns is unknown.
            let flushed = match &error {
                ScanError::Panicked { .. } => Ok(()),
                _ => guarded(&segment, || worker.flush(&mut |batch| channel.send(Ok(batch)).is_ok())),
            };
            if !matches!(error, ScanError::Closed) && !matches!(flushed, Err(ScanError::Closed)) {
                drop(channel.send(Err(error)));
            }
            shared.closed.store(true, Ordering::Release);
            return;
        }
        if !alone {
            // The consumer continues with the next chunk once the channel of this one is closed.
            sender = None;
        }
        if buffer.capacity() > MAX_KEPT_BUFFER {
            buffer = Vec::new();
        }
        if let Some(kept) = kept {
            // A buffer to which no row refers returns to the pool at once. A source in memory took nothing out of the buffer.
            let size = kept.pinned;
            drop(kept);
            if !in_memory {
                // If there is no memory for it, reading the next chunk into an empty buffer returns the error.
                buffer = shared.pool.take_filled(size).unwrap_or_default();
            }
        }
    }
    if let Some(channel) = sender
        && let Err(error) = guarded(&segment, || worker.flush(&mut |batch| channel.send(Ok(batch)).is_ok()))
        && !matches!(error, ScanError::Closed)
    {
        drop(channel.send(Err(error)));
    }
}

/// Processes a chunk. A single worker keeps its last rows for the next chunk; with several workers, all rows are returned.
fn process(
    worker: &mut Worker,
    chunk: &Chunk,
    data: (&[u8], Option<&SharedBytes>),
    sender: &SyncSender<Item>,
    alone: bool,
) -> Result<(), ScanError> {
    let mut sink = |batch| sender.send(Ok(batch)).is_ok();
    worker.chunk(chunk, data, &mut sink)?;
    if alone { Ok(()) } else { worker.flush(&mut sink) }
}

/// Takes the next chunk and, if there is no channel yet, a place in the queue, atomically.
fn claim(shared: &Shared, buffer: &mut Vec<u8>, channel: &mut Option<SyncSender<Item>>) -> Option<Chunk> {
    let mut planner = lock(&shared.planner);
    if shared.closed.load(Ordering::Acquire) {
        return None;
    }
    let next = planner.as_mut()?;
    let chunk = match catch_unwind(AssertUnwindSafe(|| next.next(buffer))) {
        Ok(chunk) => chunk?,
        Err(panic) => next.panicked(panic.as_ref()),
    };
    if channel.is_some() {
        return Some(chunk);
    }
    let (sender, receiver) = sync_channel(1);
    let mut queue = lock(&shared.queue);
    while queue.chunks.len() >= shared.options.threads.max(1) && !shared.closed.load(Ordering::Acquire) {
        queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    if shared.closed.load(Ordering::Acquire) {
        return None;
    }
    queue.chunks.push_back(receiver);
    shared.changed.notify_all();
    *channel = Some(sender);
    Some(chunk)
}
