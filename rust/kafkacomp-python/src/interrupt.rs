//! Interrupting work that runs on the caller's own thread: sources that check for signals, such as Ctrl-C. On other threads, which
//! receive no signals, they check a flag.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kafkacomp_arrow::Segment;
use kafkacomp_arrow::source::watched::{Watch, Watched, watched};
use kafkacomp_log::ReadAt;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::file_object::{Raised, failure};
use crate::process::{Exiting, must_leave};

/// The time between two checks.
const TICK: Duration = Duration::from_millis(100);

thread_local! {
    /// The flag that ends the calls on this thread.
    static STOPPED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// A flag with which one thread ends the calls into the core on others. They raise `KeyboardInterrupt`.
#[pyclass(frozen, module = "kafkacomp._kafkacomp")]
#[derive(Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

#[pymethods]
impl StopFlag {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends the calls on the threads that [`obey`](Self::obey) the flag.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Makes the flag end the calls that this thread begins from now on.
    fn obey(&self) {
        STOPPED.set(Some(Arc::clone(&self.0)));
    }
}

/// The check for signals of the calling thread. Not for the workers of a scan: signals arrive on the main thread. `raised` takes
/// the exception of the signal's handler.
pub fn signals(raised: &Raised) -> Arc<dyn Watch> {
    Signals::watch(raised, of_thread().into_iter().collect())
}

/// The flag that ends the calls on this thread.
fn of_thread() -> Option<Arc<AtomicBool>> {
    STOPPED.with_borrow(Clone::clone)
}

/// The segment as one whose reading Ctrl-C interrupts; see [`signals`].
pub fn interruptible(segment: Segment, raised: &Raised) -> Segment {
    watched(segment, &signals(raised))
}

/// The segment as one that several threads read: what the calling thread interrupts and `stopped` end it.
pub fn stoppable(segment: Segment, raised: &Raised, stopped: &Arc<AtomicBool>) -> Segment {
    let flags = of_thread().into_iter().chain([Arc::clone(stopped)]).collect();
    watched(segment, &Signals::watch(raised, flags))
}

/// A source whose reading Ctrl-C interrupts.
pub fn interruptible_source(source: Arc<dyn ReadAt>, raised: &Raised) -> Watched {
    Watched::new(source, signals(raised))
}

/// Checks for signals and for flags.
#[derive(Debug)]
struct Signals {
    raised: Raised,
    stopped: Vec<Arc<AtomicBool>>,
    looked: Mutex<Instant>,
}

impl Signals {
    fn watch(raised: &Raised, stopped: Vec<Arc<AtomicBool>>) -> Arc<dyn Watch> {
        Arc::new(Self { raised: raised.clone(), stopped, looked: Mutex::new(Instant::now()) })
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
        if must_leave() {
            return Err(io::Error::other(Exiting));
        }
        let is_stopped = self.stopped.iter().any(|stopped| stopped.load(Ordering::Relaxed));
        let check =
            |py: Python<'_>| if is_stopped { Err(PyKeyboardInterrupt::new_err(())) } else { py.check_signals() };
        Python::attach(|py| check(py).map_err(|error| failure(py, error, &self.raised)))
    }
}
