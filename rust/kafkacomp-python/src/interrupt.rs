//! Ctrl-C in work on the caller's own thread: sources that look for signals now and then.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kafkacomp_arrow::{OpenSegment, Segment, SideFile};
use kafkacomp_core::log::ReadAt;
use pyo3::prelude::*;

use crate::file_object::{Raised, failure};

/// How often a source looks.
const TICK: Duration = Duration::from_millis(100);

/// The segment as one whose reading Ctrl-C interrupts. Not for the workers of a scan: signals arrive on the main thread.
pub fn interruptible(segment: Segment, raised: &Raised) -> Segment {
    let files = Arc::new(Files { inner: segment.files, raised: raised.clone() });
    Segment { files, ..segment }
}

#[derive(Debug)]
struct Files {
    inner: Arc<dyn OpenSegment>,
    raised: Raised,
}

impl OpenSegment for Files {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(Interruptible::new(self.inner.open()?, &self.raised)))
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        self.inner.side_file(kind)
    }
}

/// A source whose reading Ctrl-C interrupts.
pub struct Interruptible {
    inner: Arc<dyn ReadAt>,
    raised: Raised,
    looked: Mutex<Instant>,
}

impl Interruptible {
    /// `raised` takes the exception of the signal's handler.
    pub fn new(inner: Arc<dyn ReadAt>, raised: &Raised) -> Self {
        Self { inner, raised: raised.clone(), looked: Mutex::new(Instant::now()) }
    }
}

impl ReadAt for Interruptible {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, position)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.inner.as_slice()
    }

    fn worth_reading(&self) -> usize {
        self.inner.worth_reading()
    }

    fn check_interrupt(&self) -> io::Result<()> {
        self.inner.check_interrupt()?;
        {
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            if looked.elapsed() < TICK {
                return Ok(());
            }
            *looked = Instant::now();
        }
        Python::attach(|py| py.check_signals().map_err(|error| failure(py, error, &self.raised)))
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }
}
