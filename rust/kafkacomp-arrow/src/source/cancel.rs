//! Segments that can no longer be read once their scan is closed, or once its consumer is interrupted, so that all readers end
//! soon.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::options::{Partition, Segment};
use crate::source::watched::{Watch, watched};

thread_local! {
    /// Whether this thread is a consumer that reads segments itself.
    static IS_CONSUMER: Cell<bool> = const { Cell::new(false) };
}

/// Wraps the segments of `partition`: after `closed` is set, opening and reading them fails. What `interrupt` checks ends only the
/// reads of the consumer's thread.
pub fn cancellable(partition: Partition, closed: &Arc<AtomicBool>, interrupt: Option<&Arc<dyn Watch>>) -> Partition {
    let watch: Arc<dyn Watch> = Arc::new(Closed { closed: Arc::clone(closed), interrupt: interrupt.cloned() });
    let wrap = |segments: Vec<Segment>| segments.into_iter().map(|segment| watched(segment, &watch)).collect();
    Partition { segments: wrap(partition.segments), context: wrap(partition.context), ..partition }
}

/// Runs `work` on the consumer's thread.
pub fn as_consumer<T>(work: impl FnOnce() -> T) -> T {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            IS_CONSUMER.set(self.0);
        }
    }
    let _reset = Reset(IS_CONSUMER.replace(true));
    work()
}

#[derive(Debug)]
struct Closed {
    closed: Arc<AtomicBool>,
    interrupt: Option<Arc<dyn Watch>>,
}

impl Watch for Closed {
    fn before_read(&self) -> io::Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(io::Error::other("the scan was closed"));
        }
        self.interrupt.as_ref().filter(|_| IS_CONSUMER.get()).map_or(Ok(()), |interrupt| interrupt.check_interrupt())
    }

    fn check_interrupt(&self) -> io::Result<()> {
        self.before_read()
    }
}
