//! Segments that stop being readable once their scan is closed, so that whatever reads them ends soon.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kafkacomp_core::log::ReadAt;

use crate::options::{OpenSegment, Partition, Segment, SideFile};

/// Wraps the segments of `partition`: after `closed` is set, opening and reading them fails.
pub fn cancellable(partition: Partition, closed: &Arc<AtomicBool>) -> Partition {
    let wrap = |segments: Vec<Segment>| segments.into_iter().map(|segment| wrap(segment, closed)).collect();
    Partition { segments: wrap(partition.segments), context: wrap(partition.context), ..partition }
}

fn wrap(segment: Segment, closed: &Arc<AtomicBool>) -> Segment {
    let files = Arc::new(Files { inner: segment.files, closed: Arc::clone(closed) });
    Segment { files, ..segment }
}

fn check(closed: &AtomicBool) -> io::Result<()> {
    if closed.load(Ordering::Acquire) { Err(io::Error::other("the scan was closed")) } else { Ok(()) }
}

#[derive(Debug)]
struct Files {
    inner: Arc<dyn OpenSegment>,
    closed: Arc<AtomicBool>,
}

impl OpenSegment for Files {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        check(&self.closed)?;
        Ok(Arc::new(Source { inner: self.inner.open()?, closed: Arc::clone(&self.closed) }))
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        check(&self.closed)?;
        self.inner.side_file(kind)
    }
}

struct Source {
    inner: Arc<dyn ReadAt>,
    closed: Arc<AtomicBool>,
}

impl ReadAt for Source {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        check(&self.closed)?;
        self.inner.read_at(buffer, position)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.inner.as_slice()
    }

    fn worth_reading(&self) -> usize {
        self.inner.worth_reading()
    }

    fn check_interrupt(&self) -> io::Result<()> {
        check(&self.closed)?;
        self.inner.check_interrupt()
    }

    fn length(&self) -> io::Result<u64> {
        check(&self.closed)?;
        self.inner.length()
    }
}
