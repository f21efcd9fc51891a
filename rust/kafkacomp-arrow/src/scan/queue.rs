//! What the threads of a scan share: the planner, and the queue of chunks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch as ArrowRecordBatch;

use crate::columns::pool::BufferPool;
use crate::decode::decoder::Decoder;
use crate::options::ScanOptions;
use crate::plan::planner::Planner;
use crate::report::{ScanError, ScanReport};
use crate::source::read_ahead::AheadOf;

/// The number of chunks per thread in the queue: a thread that is ahead decodes the next one.
const PLACES_PER_THREAD: usize = 2;

/// An Arrow batch, or the error that ends the scan.
pub(super) type Item = Result<ArrowRecordBatch, ScanError>;

/// What the threads of a scan share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: Arc<ScanOptions>,
    pub(super) report: Arc<Mutex<ScanReport>>,
    pub(super) planner: Mutex<Option<Planner>>,
    /// The number of threads that wait for the planner.
    pub(super) waiting: AtomicUsize,
    pub(super) ahead: Arc<AheadOf>,
    pub(super) queue: Mutex<Queue>,
    /// A change of the queue, or of `closed`.
    pub(super) changed: Condvar,
    /// Whether reading has stopped, because the scan failed, ended or was closed.
    pub(super) closed: Arc<AtomicBool>,
    /// Whether a [`Closer`](super::Closer) has closed the scan.
    pub(super) cancelled: AtomicBool,
    pub(super) pool: Arc<BufferPool>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) chunks: VecDeque<Place>,
    /// Chunks that are being planned and will get a place.
    pub(super) planned: usize,
    pub(super) running: usize,
    /// The number of threads that wait for a change of the queue.
    waiting: usize,
}

impl Queue {
    pub(super) fn has_room(&self, options: &ScanOptions) -> bool {
        self.chunks.len() + self.planned < PLACES_PER_THREAD * options.threads.max(1)
    }
}

/// The place of a chunk in the queue.
#[derive(Debug)]
pub(super) struct Place {
    /// Batches that the consumer has decoded while others were not ready.
    pub(super) decoded: VecDeque<Item>,
    /// Where the other batches come from.
    pub(super) rest: Rest,
}

/// Who decodes the rest of a chunk.
#[derive(Debug)]
pub(super) enum Rest {
    Worker(Receiver<Item>),
    /// The consumer: `Scan::own`.
    Consumer,
    Nothing,
}

impl Place {
    pub(super) fn of(rest: Rest) -> Self {
        Self { decoded: VecDeque::new(), rest }
    }

    pub(super) fn is_consumers(&self) -> bool {
        matches!(self.rest, Rest::Consumer)
    }
}

impl Shared {
    /// Whether one thread decodes all chunks.
    pub(super) fn is_alone(&self) -> bool {
        self.options.threads <= 1
    }

    /// Prepares the buffer of `decoder` for the next chunk: if threads share the scan of a local file, what the planner will need is
    /// read into it.
    pub(super) fn prepare(&self, decoder: &mut Decoder) {
        let planner_is_awaited = self.waiting.load(Ordering::Relaxed) > 0;
        if self.is_alone() || !self.ahead.read(self.options.threads, planner_is_awaited, decoder.buffer()) {
            decoder.renew_buffer();
        }
    }

    /// Waits until the queue has changed, at most as long as `patience`.
    pub(super) fn wait_for_change<'q>(
        &self,
        mut queue: MutexGuard<'q, Queue>,
        patience: Duration,
    ) -> MutexGuard<'q, Queue> {
        queue.waiting += 1;
        let mut queue = self.changed.wait_timeout(queue, patience).unwrap_or_else(PoisonError::into_inner).0;
        queue.waiting -= 1;
        queue
    }

    /// Releases the queue after a change, and wakes the threads that wait for one. If none waits, this saves a system call.
    pub(super) fn announce(&self, queue: MutexGuard<'_, Queue>) {
        let is_awaited = queue.waiting > 0;
        drop(queue);
        if is_awaited {
            self.changed.notify_all();
        }
    }

    pub(super) fn decoder(&self) -> Decoder {
        Decoder::new(&self.options, &self.report, &self.pool, self.is_alone())
    }
}
