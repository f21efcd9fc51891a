//! A worker thread of a scan.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use arrow_array::RecordBatch as ArrowRecordBatch;

use super::queue::{Item, Place, Rest, Shared};
use crate::decode::decoder::Decoder;
use crate::decode::rows::BatchSink;
use crate::plan::planner::{Planned, Planner};
use crate::report::ScanError;
use crate::sync::lock;

/// How long a worker waits for a change before it asks again for a chunk that could not be planned yet.
const LATER: Duration = Duration::from_millis(5);

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
        self.0.announce(lock(&self.0.queue));
    }
}

/// A worker thread. Even if it panics, the consumer gets an error unless the worker has finished its share.
pub(super) fn work(shared: &Shared, begun: Option<(Decoder, SyncSender<Item>)>) {
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
    loop {
        if needs_place {
            let mut queue = lock(&shared.queue);
            while !queue.has_room(&shared.options) && !shared.closed.load(Ordering::Acquire) {
                queue = shared.wait_for_change(queue, Duration::MAX);
            }
            queue.planned += 1;
        }
        shared.prepare(decoder);
        // Places are given in the order of the planner.
        let mut planner = shared.planner();
        let is_closed = shared.closed.load(Ordering::Acquire);
        let next = if is_closed { Planned::End } else { shared.next_chunk(&mut planner, decoder.buffer()) };
        if needs_place {
            let mut queue = lock(&shared.queue);
            queue.planned -= 1;
            if matches!(next, Planned::Chunk(_)) {
                let (sender, receiver) = sync_channel(1);
                queue.chunks.push_back(Place::of(Rest::Worker(receiver)));
                *channel = Some(sender);
            }
            shared.announce(queue);
        }
        drop(planner);
        match next {
            Planned::Chunk(chunk) => {
                decoder.begin(chunk);
                return true;
            }
            Planned::End => return false,
            // The thread that decodes the last chunk before plans the next one.
            Planned::Later => drop(shared.wait_for_change(lock(&shared.queue), LATER)),
        }
    }
}
