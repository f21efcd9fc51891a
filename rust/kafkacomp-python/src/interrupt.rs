//! Ctrl-C in work on the caller's own thread: sources that look for signals now and then.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kafkacomp_arrow::Segment;
use kafkacomp_arrow::watched::{Watch, Watched, watched};
use kafkacomp_core::log::ReadAt;
use pyo3::prelude::*;

use crate::file_object::{Raised, failure};

/// How often a source looks.
const TICK: Duration = Duration::from_millis(100);

/// The segment as one whose reading Ctrl-C interrupts. Not for the workers of a scan: signals arrive on the main thread.
/// `raised` takes the exception of the signal's handler.
pub fn interruptible(segment: Segment, raised: &Raised) -> Segment {
    watched(segment, &Signals::watch(raised))
}

/// A source whose reading Ctrl-C interrupts.
pub fn interruptible_source(source: Arc<dyn ReadAt>, raised: &Raised) -> Watched {
    Watched::new(source, Signals::watch(raised))
}

/// Looks for signals.
#[derive(Debug)]
struct Signals {
    raised: Raised,
    looked: Mutex<Instant>,
}

impl Signals {
    fn watch(raised: &Raised) -> Arc<dyn Watch> {
        Arc::new(Self { raised: raised.clone(), looked: Mutex::new(Instant::now()) })
    }
}

impl Watch for Signals {
    fn check_interrupt(&self) -> io::Result<()> {
        {
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            if looked.elapsed() < TICK {
                return Ok(());
            }
            *looked = Instant::now();
        }
        Python::attach(|py| py.check_signals().map_err(|error| failure(py, error, &self.raised)))
    }
}
