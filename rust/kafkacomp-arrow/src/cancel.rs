//! Segments that can no longer be read once their scan is closed, so that all readers end soon.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::options::{Partition, Segment};
use crate::watched::{Watch, watched};

/// Wraps the segments of `partition`: after `closed` is set, opening and reading them fails.
pub fn cancellable(partition: Partition, closed: &Arc<AtomicBool>) -> Partition {
    let watch: Arc<dyn Watch> = Arc::new(Closed(Arc::clone(closed)));
    let wrap = |segments: Vec<Segment>| segments.into_iter().map(|segment| watched(segment, &watch)).collect();
    Partition { segments: wrap(partition.segments), context: wrap(partition.context), ..partition }
}

#[derive(Debug)]
struct Closed(Arc<AtomicBool>);

impl Watch for Closed {
    fn before_read(&self) -> io::Result<()> {
        if self.0.load(Ordering::Acquire) { Err(io::Error::other("the scan was closed")) } else { Ok(()) }
    }

    fn check_interrupt(&self) -> io::Result<()> {
        self.before_read()
    }
}
