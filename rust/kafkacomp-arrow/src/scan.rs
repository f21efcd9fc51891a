//! A scan: worker threads over one planner, their Arrow batches in the planner's order.
//!
//! Every chunk has a channel of its own that holds one Arrow batch; the channels stand in a queue of
//! bounded length in the order of the chunks. So a worker that is ahead waits, memory stays at a few
//! batches a thread, and order costs no sorting. A worker alone has one channel for all, and a few
//! rows at the end of a chunk run on into the next.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use arrow_array::RecordBatch as ArrowRecordBatch;
use arrow_schema::SchemaRef;

use crate::options::{Partition, ScanOptions};
use crate::plan::{Chunk, MIN_CHUNK_BYTES, Planner};
use crate::pool::BufferPool;
use crate::report::{ScanError, ScanReport};
use crate::schema::schema;
use crate::worker::{Stop, Worker};

/// What is read at once by a single worker: a part of a core's second-level cache, which what is made of it
/// shall fit into too.
const CHUNK_BYTES: usize = 256 << 10;
/// With several workers a chunk's rows make Arrow batches of their own, so chunks are larger.
const LARGE_CHUNK_BYTES: usize = 4 << 20;
/// How finely a small source is cut: at its end, workers wait for the one that has the last chunk.
const CHUNKS_PER_THREAD: usize = 8;
/// Pooled buffers above this size are given back after the batch that needed them.
const MAX_KEPT_BUFFER: usize = 2 * LARGE_CHUNK_BYTES;

type Item = Result<ArrowRecordBatch, ScanError>;

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

#[derive(Debug)]
struct Shared {
    options: Arc<ScanOptions>,
    report: Arc<Mutex<ScanReport>>,
    planner: Mutex<Option<Planner>>,
    queue: Mutex<Queue>,
    changed: Condvar,
    closed: AtomicBool,
    pool: Arc<BufferPool>,
}

#[derive(Debug, Default)]
struct Queue {
    chunks: VecDeque<Receiver<Item>>,
    running: usize,
}

impl Scan {
    /// A scan of `partitions` in this order. Nothing is opened before the first batch is asked for.
    /// `total_bytes` is the size of all segments as far as it is known.
    pub fn new(partitions: Vec<Partition>, options: ScanOptions, total_bytes: u64) -> Self {
        let schema = schema(&options.columns, options.timestamp_unit);
        let shared = Arc::new(Shared {
            pool: BufferPool::shared(),
            options: Arc::new(options),
            report: Arc::default(),
            planner: Mutex::new(None),
            queue: Mutex::default(),
            changed: Condvar::new(),
            closed: AtomicBool::new(false),
        });
        Self { shared, schema, current: None, workers: Vec::new(), plan: Some(partitions), total_bytes, done: false }
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What was done so far; shared with the running scan.
    pub fn report(&self) -> Arc<Mutex<ScanReport>> {
        Arc::clone(&self.shared.report)
    }

    /// Stops the workers and lets go of the segments; there are no more batches then.
    pub fn close(&mut self) {
        self.plan = None;
        self.finish();
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
        let planner = Planner::new(partitions, Arc::clone(options), self.report(), chunk_bytes);
        *lock(&self.shared.planner) = Some(planner);
        lock(&self.shared.queue).running = threads;
        for index in 0..threads {
            let shared = Arc::clone(&self.shared);
            let spawned = thread::Builder::new().name(format!("kafkacomp-scan-{index}")).spawn(move || run(&shared));
            match spawned {
                Ok(handle) => self.workers.push(handle),
                // One worker is enough to finish.
                Err(error) if index == 0 => return Err(ScanError::Thread(error.to_string())),
                Err(_) => lock(&self.shared.queue).running -= 1,
            }
        }
        Ok(())
    }

    fn next_receiver(&self) -> Option<Receiver<Item>> {
        let mut queue = lock(&self.shared.queue);
        loop {
            if let Some(receiver) = queue.chunks.pop_front() {
                self.shared.changed.notify_all();
                return Some(receiver);
            }
            if queue.running == 0 {
                return None;
            }
            queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&mut self) {
        self.done = true;
        self.shared.closed.store(true, Ordering::Release);
        self.current = None;
        lock(&self.shared.queue).chunks.clear();
        self.shared.changed.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has already ended its channel; there is nothing to add.
            drop(worker.join());
        }
        *lock(&self.shared.planner) = None;
        lock(&self.shared.report).complete();
    }
}

impl Iterator for Scan {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.done {
            return None;
        }
        if let Some(partitions) = self.plan.take()
            && let Err(error) = self.start(partitions)
        {
            self.finish();
            return Some(Err(error));
        }
        loop {
            if let Some(receiver) = &self.current {
                match receiver.recv() {
                    Ok(Ok(batch)) => return Some(Ok(batch)),
                    Ok(Err(error)) => {
                        self.finish();
                        return Some(Err(error));
                    }
                    Err(_) => self.current = None,
                }
            }
            let Some(receiver) = self.next_receiver() else {
                self.finish();
                return None;
            };
            self.current = Some(receiver);
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

/// Counts a worker as gone, however it ends.
struct Leaving<'s>(&'s Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.running = queue.running.saturating_sub(1);
        self.0.changed.notify_all();
    }
}

fn run(shared: &Shared) {
    let _leaving = Leaving(shared);
    let alone = shared.options.threads <= 1;
    let mut worker = Worker::new(Arc::clone(&shared.options), Arc::clone(&shared.report), &shared.pool);
    let mut buffer = Vec::new();
    let mut sender = None;
    while let Some(chunk) = claim(shared, &mut buffer, &mut sender) {
        let Some(channel) = &sender else { return };
        let outcome = process(&mut worker, &chunk, chunk.bytes(&buffer), channel, alone);
        if let Err(stop) = outcome.and_then(|()| chunk.error.map_or(Ok(()), |error| Err(Stop::Failed(error)))) {
            // The rows before the damage first, then what is wrong.
            let flushed = worker.flush(&mut |batch| channel.send(Ok(batch)).is_ok());
            if let (Stop::Failed(error), Ok(())) = (stop, flushed) {
                drop(channel.send(Err(error)));
            }
            shared.closed.store(true, Ordering::Release);
            return;
        }
        if !alone {
            // The consumer goes on to the next chunk only when this one's channel is closed.
            sender = None;
        }
        if buffer.capacity() > MAX_KEPT_BUFFER {
            buffer = Vec::new();
        }
    }
    if let Some(channel) = sender
        && let Err(Stop::Failed(error)) = worker.flush(&mut |batch| channel.send(Ok(batch)).is_ok())
    {
        drop(channel.send(Err(error)));
    }
}

/// A worker alone carries rows on into the next chunk; among several, a chunk ends with its last row.
fn process(
    worker: &mut Worker,
    chunk: &Chunk,
    data: &[u8],
    sender: &SyncSender<Item>,
    alone: bool,
) -> Result<(), Stop> {
    let mut sink = |batch| sender.send(Ok(batch)).is_ok();
    worker.chunk(chunk, data, &mut sink)?;
    if alone { Ok(()) } else { worker.flush(&mut sink) }
}

/// Takes the next chunk and, without a channel yet, its place in the queue, in one step.
fn claim(shared: &Shared, buffer: &mut Vec<u8>, channel: &mut Option<SyncSender<Item>>) -> Option<Chunk> {
    let mut planner = lock(&shared.planner);
    if shared.closed.load(Ordering::Acquire) {
        return None;
    }
    let chunk = planner.as_mut()?.next(buffer)?;
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
