//! Runs work on threads, while the caller's thread reports the progress.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The time between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// The progress of work on threads.
#[derive(Debug, Default)]
pub(super) struct Step {
    bytes: AtomicU64,
    is_stopped: AtomicBool,
}

impl Step {
    /// Adds a number of bytes that are done. Returns whether to go on.
    pub(super) fn done(&self, bytes: u64) -> bool {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        !self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// What became of the work: its results in the order of the numbers, the end that `progress` asked for, or an error.
pub(super) type Worked<T, E, B> = Result<ControlFlow<B, Vec<T>>, (usize, E)>;

/// The work of a number; it returns nothing if its step has ended it.
pub(super) type Work<'w, T, E> = dyn Fn(usize, &Step) -> Result<Option<T>, E> + Sync + 'w;

/// Does the work of each number below `count`. `progress` is called with the bytes
/// done since the last call, on the caller's thread, and may end the work. After an error no other work begins.
pub(super) fn on_threads<T: Send, E: Send, B>(
    count: usize,
    threads: usize,
    work: &Work<'_, T, E>,
    progress: &mut dyn FnMut(u64) -> ControlFlow<B>,
) -> Worked<T, E, B> {
    let (next, step) = (AtomicUsize::new(0), Step::default());
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let mut ended = None;
    let mut failed: Option<(usize, E)> = None;
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (sender, next, step) = (sender.clone(), &next, &step);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || step.is_stopped() {
                        return;
                    }
                    if sender.send((number, work(number, step))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        loop {
            let result = receiver.recv_timeout(TICK);
            let is_last = matches!(result, Err(RecvTimeoutError::Disconnected));
            match result {
                Ok((number, Ok(found))) => {
                    if let Some(place) = results.get_mut(number) {
                        *place = found;
                    }
                }
                // What ends the work may end reads, too.
                Ok((_, Err(_))) if ended.is_some() => {}
                Ok((number, Err(error))) => {
                    step.stop();
                    failed.get_or_insert((number, error));
                }
                Err(_) => {}
            }
            let now = step.bytes.swap(0, Ordering::Relaxed);
            if ended.is_none()
                && failed.is_none()
                && let ControlFlow::Break(broken) = progress(now)
            {
                step.stop();
                ended = Some(broken);
            }
            if is_last {
                return;
            }
        }
    });
    match (failed, ended) {
        (Some(failed), _) => Err(failed),
        (None, Some(ended)) => Ok(ControlFlow::Break(ended)),
        (None, None) => Ok(ControlFlow::Continue(results.into_iter().flatten().collect())),
    }
}
