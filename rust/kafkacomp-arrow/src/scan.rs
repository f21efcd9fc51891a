//! A scan: worker threads and the consumer share one planner and decode chunks; Arrow batches are returned in the planner's order.
//!
//! Every chunk has a place in a bounded queue, in the order of the chunks, and a worker's chunk a channel with room for one Arrow
//! batch. So a worker that is ahead waits, only a few batches per thread are in memory, and nothing is sorted. If all segments are
//! local, the consumer is one of the threads of the scan: while the next batch is not ready, it decodes a chunk itself. A single
//! thread has one place for all chunks, and the last rows of a chunk are returned with those of the next one.
//!
//! A worker waits within a Kafka batch until the consumer has taken the Arrow batch before. The consumer cannot wait for itself, so
//! it pauses between Kafka batches, and leaves one that would fill several Arrow batches to a new worker.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch as ArrowRecordBatch;
use arrow_schema::SchemaRef;

use crate::cancel::{as_consumer, cancellable};
use crate::chunk::Chunk;
use crate::decoder::Decoder;
use crate::options::{Partition, ScanOptions};
use crate::plan::{MIN_CHUNK_BYTES, Planner};
use crate::pool::BufferPool;
use crate::report::{ScanError, ScanReport};
use crate::rows::BatchSink;
use crate::schema::schema;
use crate::watched::Watch;
use crate::worker::Decoded;

/// The number of bytes that a single worker reads at once: they and the columns built from them fit into a core's second-level
/// cache.
const CHUNK_BYTES: usize = 256 << 10;
/// With several workers, the rows of each chunk become separate Arrow batches, so chunks are larger.
const LARGE_CHUNK_BYTES: usize = 4 << 20;
/// The number of chunks per thread for a small source: at its end, workers wait for the one with the last chunk.
const CHUNKS_PER_THREAD: usize = 8;
/// The number of chunks per thread in the queue: a thread that is ahead decodes the next one.
const PLACES_PER_THREAD: usize = 2;
/// How often the consumer looks whether the planner is free before it waits: for about the time of planning a chunk.
const SPINS: usize = 2000;
/// How long the end of a scan waits for its workers. A read cannot be interrupted; the worker ends when it returns.
const LEAVING: Duration = Duration::from_millis(250);

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
    chunks: VecDeque<Place>,
    /// Chunks that are being planned and will get a place.
    planned: usize,
    running: usize,
}

impl Queue {
    fn has_room(&self, options: &ScanOptions) -> bool {
        self.chunks.len() + self.planned < PLACES_PER_THREAD * options.threads.max(1)
    }
}

/// The place of a chunk in the queue.
#[derive(Debug)]
struct Place {
    /// Batches that the consumer has decoded while others were not ready.
    decoded: VecDeque<Item>,
    /// Where the other batches come from.
    rest: Rest,
}

/// Who decodes the rest of a chunk.
#[derive(Debug)]
enum Rest {
    Worker(Receiver<Item>),
    /// The consumer: [`Scan::own`].
    Consumer,
    Nothing,
}

impl Place {
    fn of(rest: Rest) -> Self {
        Self { decoded: VecDeque::new(), rest }
    }

    fn is_consumers(&self) -> bool {
        matches!(self.rest, Rest::Consumer)
    }
}

/// The chunks that the consumer decodes, one at a time.
#[derive(Debug)]
struct OwnChunks {
    decoder: Decoder,
    /// Decoded batches of the current chunk.
    ready: Collected,
    state: Own,
}

/// What the consumer decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    /// No chunk.
    Nothing,
    /// A chunk.
    Chunk,
    /// A chunk that is complete, and whose batches may not have been returned yet.
    Decoded,
    /// The scan has no more chunks.
    End,
}

#[derive(Debug, Default)]
struct Collected(VecDeque<Item>);

impl BatchSink for Collected {
    fn take(&mut self, batch: ArrowRecordBatch) -> bool {
        self.0.push_back(Ok(batch));
        true
    }

    fn collected(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// Sends batches to the consumer, and waits until it has taken the one before.
struct Channel<'c>(&'c SyncSender<Item>);

impl BatchSink for Channel<'_> {
    fn take(&mut self, batch: ArrowRecordBatch) -> bool {
        self.0.send(Ok(batch)).is_ok()
    }

    fn collected(&self) -> Option<usize> {
        None
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
                self.current = Some(lock(&self.shared.queue).chunks.pop_front()?);
                self.shared.changed.notify_all();
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
            drop(self.shared.changed.wait_timeout(queue, patience));
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
        let planner = Planner::new(partitions, Arc::clone(options), self.report(), chunk_bytes);
        *lock(&self.shared.planner) = Some(planner);
        let workers = if are_local {
            let decoder = self.shared.decoder();
            self.own = Some(Box::new(OwnChunks { decoder, ready: Collected::default(), state: Own::Nothing }));
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

impl Shared {
    /// Whether one thread decodes all chunks.
    fn is_alone(&self) -> bool {
        self.options.threads <= 1
    }

    fn decoder(&self) -> Decoder {
        Decoder::new(&self.options, &self.report, &self.pool, self.is_alone())
    }

    /// The planner, unless a worker needs it for longer than a wait costs.
    fn planner_soon(&self) -> Option<MutexGuard<'_, Option<Planner>>> {
        for _ in 0..SPINS {
            match self.planner.try_lock() {
                Ok(planner) => return Some(planner),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        None
    }

    /// Ends the consumer's chunk. If it is not the current one, its batches wait in the queue, and the consumer can decode another.
    fn put_aside(&self, own: &mut OwnChunks) {
        own.state = Own::Decoded;
        if let Some(place) = lock(&self.queue).chunks.iter_mut().find(|place| place.is_consumers()) {
            *place = Place { decoded: std::mem::take(&mut own.ready.0), rest: Rest::Nothing };
            own.state = Own::Nothing;
        }
    }

    /// Takes the next chunk for the consumer; `false` if there is none, or none should be decoded now.
    fn claim_for_consumer(&self, own: &mut OwnChunks) -> bool {
        if own.state == Own::End || (own.state == Own::Decoded && !self.is_alone()) {
            return false;
        }
        if self.closed.load(Ordering::Acquire) {
            own.state = Own::End;
            return false;
        }
        if !lock(&self.queue).has_room(&self.options) {
            return false;
        }
        let Some(mut planner) = self.planner_soon() else { return false };
        if let Some(chunk) = planner.as_mut().and_then(|planner| next_chunk(planner, own.decoder.buffer())) {
            own.decoder.begin(chunk);
            own.state = Own::Chunk;
            if !self.is_alone() {
                lock(&self.queue).chunks.push_back(Place::of(Rest::Consumer));
            }
            return true;
        }
        own.state = Own::End;
        if let Err(error) = own.decoder.flush(&mut own.ready) {
            own.ready.0.push_back(Err(error));
        }
        true
    }
}

/// The next chunk; a panic becomes one with an error.
fn next_chunk(planner: &mut Planner, buffer: &mut Vec<u8>) -> Option<Chunk> {
    catch_unwind(AssertUnwindSafe(|| planner.next(buffer)))
        .unwrap_or_else(|panic| Some(planner.panicked(panic.as_ref())))
}

/// A worker thread. Even if it panics, the consumer gets an error unless the worker has finished its share.
fn work(shared: &Shared, begun: Option<(Decoder, SyncSender<Item>)>) {
    let _leaving = Leaving(shared);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(shared, begun))) {
        let segment = lock(&shared.planner).as_ref().map_or_else(|| Arc::from(""), Planner::segment);
        let (sender, receiver) = sync_channel(1);
        drop(sender.send(Err(ScanError::panicked(&segment, panic.as_ref()))));
        lock(&shared.queue).chunks.push_back(Place::of(Rest::Worker(receiver)));
        shared.closed.store(true, Ordering::Release);
    }
}

fn run(shared: &Shared, begun: Option<(Decoder, SyncSender<Item>)>) {
    let (mut decoder, mut channel) =
        begun.map_or_else(|| (shared.decoder(), None), |(decoder, channel)| (decoder, Some(channel)));
    let mut has_chunk = channel.is_some();
    while has_chunk || claim(shared, &mut decoder, &mut channel) {
        has_chunk = false;
        let Some(sender) = &channel else { return };
        if let Err(error) = decoder.decode(&mut Channel(sender)) {
            if !matches!(error, ScanError::Closed) {
                drop(sender.send(Err(error)));
            }
            shared.closed.store(true, Ordering::Release);
            return;
        }
        if !shared.is_alone() {
            // The consumer continues with the next chunk once the channel of this one is closed.
            channel = None;
        }
    }
    if let Some(sender) = channel
        && let Err(error) = decoder.flush(&mut Channel(&sender))
        && !matches!(error, ScanError::Closed)
    {
        drop(sender.send(Err(error)));
    }
}

/// Takes the next chunk and, if there is no channel yet, a place in the queue, atomically.
fn claim(shared: &Shared, decoder: &mut Decoder, channel: &mut Option<SyncSender<Item>>) -> bool {
    let needs_place = channel.is_none();
    if needs_place {
        let mut queue = lock(&shared.queue);
        while !queue.has_room(&shared.options) && !shared.closed.load(Ordering::Acquire) {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.planned += 1;
    }
    // Places are given in the order of the planner.
    let mut planner = lock(&shared.planner);
    let next = planner.as_mut().filter(|_| !shared.closed.load(Ordering::Acquire));
    let chunk = next.and_then(|planner| next_chunk(planner, decoder.buffer()));
    let is_claimed = chunk.is_some();
    if needs_place {
        let mut queue = lock(&shared.queue);
        queue.planned -= 1;
        if is_claimed {
            let (sender, receiver) = sync_channel(1);
            queue.chunks.push_back(Place::of(Rest::Worker(receiver)));
            *channel = Some(sender);
        }
        shared.changed.notify_all();
    }
    if let Some(chunk) = chunk {
        decoder.begin(chunk);
    }
    is_claimed
}
