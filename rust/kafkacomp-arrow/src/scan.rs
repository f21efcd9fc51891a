//! A scan: worker threads and the consumer share one planner and decode chunks; Arrow batches are returned in the planner's order.
//!
//! Every chunk has a place in a bounded queue, in the order of the chunks, and a worker's chunk a channel with room for one Arrow
//! batch. So a worker that is ahead waits, only a few batches per thread are in memory, and nothing is sorted. If all segments are
//! local, the consumer is one of the threads of the scan: while the next batch is not ready, it decodes a chunk itself. A single
//! thread has one place for all chunks, and the last rows of a chunk are returned with those of the next one.
//!
//! A worker waits within a Kafka batch until the consumer has taken the Arrow batch before. The consumer cannot wait for itself, so
//! it pauses between Kafka batches, and leaves one that would fill several Arrow batches to a new worker.

mod own_chunks;
mod planning;
mod queue;
mod worker_thread;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch as ArrowRecordBatch;
use arrow_schema::SchemaRef;

use crate::columns::pool::BufferPool;
use crate::columns::schema::schema;
use crate::decode::decoder::Decoder;
use crate::decode::worker::Decoded;
use crate::options::{Partition, ScanOptions};
use crate::plan::planner::{MIN_CHUNK_BYTES, Planner};
use crate::report::{ScanError, ScanReport};
use crate::source::cancel::{as_consumer, cancellable};
use crate::source::watched::Watch;
use crate::sync::lock;
use own_chunks::{Own, OwnChunks};
use queue::{Item, Place, Rest, Shared};
use worker_thread::work;

/// The number of bytes that a single worker reads at once: they and the columns built from them fit into a core's second-level
/// cache.
const CHUNK_BYTES: usize = 256 << 10;
/// With several workers, the rows of each chunk become separate Arrow batches, so chunks are larger.
const LARGE_CHUNK_BYTES: usize = 4 << 20;
/// The number of chunks per thread for a small source: at its end, workers wait for the one with the last chunk.
const CHUNKS_PER_THREAD: usize = 8;
/// How long the end of a scan waits for its workers. A read cannot be interrupted; the worker ends when it returns.
const LEAVING: Duration = Duration::from_millis(250);

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
    /// The place of the chunk whose batches are returned.
    current: Option<Place>,
    /// The chunks that the consumer decodes; `None` if only workers do.
    own: Option<Box<OwnChunks>>,
    workers: Vec<thread::JoinHandle<()>>,
    plan: Option<Vec<Partition>>,
    interrupt: Option<Arc<dyn Watch>>,
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
        self.0.announce(lock(&self.0.queue));
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }
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
            waiting: AtomicUsize::new(0),
            ahead: Arc::default(),
            queue: Mutex::default(),
            changed: Condvar::new(),
            closed: Arc::default(),
            cancelled: AtomicBool::new(false),
        });
        Self {
            shared,
            schema,
            current: None,
            own: None,
            workers: Vec::new(),
            plan: Some(partitions),
            interrupt: None,
            total_bytes,
            done: false,
        }
    }

    /// A scan whose reads on the consumer's thread are interrupted by `interrupt`.
    pub fn interruptible(mut self, interrupt: Arc<dyn Watch>) -> Self {
        self.interrupt = Some(interrupt);
        self
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
        let deadline = Instant::now().checked_add(patience);
        loop {
            if self.shared.cancelled.load(Ordering::Acquire) {
                return self.failed(ScanError::Closed);
            }
            match self.next_ready() {
                Some(Ok(batch)) => return Step::Batch(batch),
                Some(Err(error)) => return self.failed(error),
                None => {}
            }
            let has_worked = match as_consumer(|| self.decode()) {
                Ok(has_worked) => has_worked,
                Err(error) => return self.failed(error),
            };
            let left = deadline.map_or(patience, |deadline| deadline.saturating_duration_since(Instant::now()));
            match has_worked {
                true if left.is_zero() => return Step::Waiting,
                true => {}
                false if self.is_over() => {
                    self.finish();
                    return Step::End;
                }
                false => match self.wait(left) {
                    Some(Ok(batch)) => return Step::Batch(batch),
                    Some(Err(error)) => return self.failed(error),
                    None if left.is_zero() => return Step::Waiting,
                    None => {}
                },
            }
        }
    }

    /// The next batch, if it is ready.
    fn next_ready(&mut self) -> Option<Item> {
        loop {
            let Some(place) = &mut self.current else {
                let mut queue = lock(&self.shared.queue);
                self.current = Some(queue.chunks.pop_front()?);
                self.shared.announce(queue);
                continue;
            };
            if let Some(item) = place.decoded.pop_front() {
                return Some(item);
            }
            match &place.rest {
                Rest::Worker(receiver) => match receiver.try_recv() {
                    Ok(item) => return Some(item),
                    Err(TryRecvError::Empty) => return None,
                    Err(TryRecvError::Disconnected) => {}
                },
                Rest::Consumer => {
                    let own = self.own.as_mut()?;
                    if let Some(item) = own.ready.0.pop_front() {
                        return Some(item);
                    }
                    if self.shared.is_alone() || own.state != Own::Decoded {
                        return None;
                    }
                    own.state = Own::Nothing;
                }
                Rest::Nothing => {}
            }
            self.current = None;
        }
    }

    /// Decodes a part of a chunk, unless there is none or enough is decoded; returns whether there was something to do.
    fn decode(&mut self) -> Result<bool, ScanError> {
        let Some(own) = &mut self.own else { return Ok(false) };
        if own.state != Own::Chunk {
            return Ok(self.shared.claim_for_consumer(own));
        }
        if !own.ready.0.is_empty() {
            return Ok(false);
        }
        match own.decoder.decode(&mut own.ready) {
            Ok(Decoded::Complete) => self.shared.put_aside(own),
            Ok(Decoded::Paused) => {}
            Ok(Decoded::NeedsThread) => self.hand_over()?,
            Err(error) => {
                own.ready.0.push_back(Err(error));
                self.shared.put_aside(own);
                self.shared.closed.store(true, Ordering::Release);
            }
        }
        Ok(true)
    }

    /// Lets a new worker go on with the consumer's chunk, and with all the next ones.
    fn hand_over(&mut self) -> Result<(), ScanError> {
        let Some(own) = self.own.take() else { return Ok(()) };
        let OwnChunks { decoder, ready, .. } = *own;
        let (sender, receiver) = sync_channel(1);
        let place = Place { decoded: ready.0, rest: Rest::Worker(receiver) };
        let mut queue = lock(&self.shared.queue);
        match queue.chunks.iter_mut().find(|place| place.is_consumers()) {
            Some(own) => *own = place,
            None => self.current = Some(place),
        }
        queue.running += 1;
        drop(queue);
        self.spawn(Some((decoder, sender)))
    }

    /// Whether there are no more batches.
    fn is_over(&self) -> bool {
        let own_is_over = self.own.as_ref().is_none_or(|own| own.state == Own::End && own.ready.0.is_empty());
        let queue = lock(&self.shared.queue);
        let none_is_current = self.current.as_ref().is_none_or(Place::is_consumers);
        own_is_over && none_is_current && queue.running == 0 && queue.chunks.is_empty()
    }

    /// Waits until there may be a batch, at most as long as `patience`.
    fn wait(&mut self, patience: Duration) -> Option<Item> {
        if let Some(Place { rest: Rest::Worker(receiver), .. }) = &self.current {
            return match receiver.recv_timeout(patience) {
                Ok(item) => Some(item),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    self.current = None;
                    None
                }
            };
        }
        let queue = lock(&self.shared.queue);
        if queue.chunks.is_empty() && queue.running > 0 && !self.shared.cancelled.load(Ordering::Acquire) {
            drop(self.shared.wait_for_change(queue, patience));
        }
        None
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
        let are_local = partitions
            .iter()
            .flat_map(|each| each.segments.iter().chain(&each.context))
            .all(|segment| segment.files.is_local());
        let interrupt = self.interrupt.take();
        let partitions =
            partitions.into_iter().map(|each| cancellable(each, &self.shared.closed, interrupt.as_ref())).collect();
        let planner =
            Planner::new(partitions, Arc::clone(options), self.report(), Arc::clone(&self.shared.ahead), chunk_bytes);
        *lock(&self.shared.planner) = Some(planner);
        let workers = if are_local {
            let decoder = self.shared.decoder();
            self.own = Some(Box::new(OwnChunks::new(decoder)));
            self.current = (threads == 1).then(|| Place::of(Rest::Consumer));
            threads - 1
        } else {
            threads
        };
        lock(&self.shared.queue).running = workers;
        for index in 0..workers {
            if let Err(error) = self.spawn(None) {
                // One thread is enough to finish the scan.
                if index == 0 && self.own.is_none() {
                    lock(&self.shared.queue).running = 0;
                    *lock(&self.shared.planner) = None;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Starts a worker, which is counted as running already; with a chunk that the consumer has begun, if there is one.
    fn spawn(&mut self, begun: Option<(Decoder, SyncSender<Item>)>) -> Result<(), ScanError> {
        let shared = Arc::clone(&self.shared);
        let name = format!("kafkacomp-scan-{}", self.workers.len());
        match thread::Builder::new().name(name).spawn(move || work(&shared, begun)) {
            Ok(handle) => self.workers.push(handle),
            Err(error) => {
                lock(&self.shared.queue).running -= 1;
                return Err(ScanError::Thread(error.to_string()));
            }
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.done = true;
        self.shared.closed.store(true, Ordering::Release);
        self.current = None;
        self.own = None;
        let deadline = Instant::now().checked_add(LEAVING);
        let mut queue = lock(&self.shared.queue);
        queue.chunks.clear();
        self.shared.announce(queue);
        let mut queue = lock(&self.shared.queue);
        while queue.running > 0 {
            let left = deadline.map_or(LEAVING, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break;
            }
            queue = self.shared.wait_for_change(queue, left);
        }
        let all_left = queue.running == 0;
        drop(queue);
        if all_left {
            // The segments are closed.
            drop(lock(&self.shared.planner).take());
        }
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
