//! The state of the process: whether the interpreter is about to end, and whether the process was forked.

use std::cell::Cell;
use std::fmt;
use std::process::id;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How long the exit of the interpreter waits for running calls into Python.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time between two checks.
const TICK: Duration = Duration::from_millis(5);

/// Set by the `atexit` hook, and never cleared.
static EXITING: AtomicBool = AtomicBool::new(false);
/// The number of calls into Python that are running, or waiting for the GIL, on threads that Python may not know.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    /// Whether this is the thread that ends the interpreter.
    static ENDS_IT: Cell<bool> = const { Cell::new(false) };
}
/// The number of forks from the process that loaded this module to this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The number of forks, which differs between this process and those that it descends from.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Whether the interpreter is about to end.
fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// Whether this thread must return to Python, because another one ends the interpreter.
pub fn must_leave() -> bool {
    is_exiting() && !ENDS_IT.get()
}

/// The error of a call that would enter Python while the interpreter ends.
#[derive(Debug)]
pub struct Exiting;

impl fmt::Display for Exiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the interpreter is exiting: what Python reads and writes is closed")
    }
}

impl std::error::Error for Exiting {}

/// The exception for a call that is not begun because the interpreter ends.
pub fn exiting() -> PyErr {
    PyRuntimeError::new_err(Exiting.to_string())
}

/// A call into Python that the interpreter's exit waits for.
pub struct Inside(());

impl Inside {
    /// For a method that Python called: before the interpreter ends, the exit waits until the thread is back in Python's own
    /// code. The thread that ends the interpreter may still read.
    ///
    /// # Errors
    /// `RuntimeError` when the interpreter is about to end.
    pub fn method() -> PyResult<Self> {
        match Self::enter() {
            Some(inside) => Ok(inside),
            None if ENDS_IT.get() => Ok(Self::count()),
            None => Err(exiting()),
        }
    }

    fn count() -> Self {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// `None` if the interpreter is about to end. The call is counted before the flag is checked, and the exit sets the flag before it
    /// checks the count: either this call sees the flag, or the exit sees the call.
    pub fn enter() -> Option<Self> {
        let inside = Self::count();
        (!is_exiting()).then_some(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // A fork may have set the count to zero meanwhile.
        let _ = INSIDE.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| Some(count.saturating_sub(1)));
    }
}

/// Prevents further calls into Python, and waits a while for those that are running.
#[pyfunction]
fn before_exit(py: Python<'_>) -> PyResult<()> {
    ENDS_IT.set(true);
    EXITING.store(true, Ordering::SeqCst);
    let start = Instant::now();
    while INSIDE.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
        py.detach(|| sleep(TICK));
        py.check_signals()?;
    }
    Ok(())
}

/// Resets the count: the threads with running calls do not exist in the child.
#[pyfunction]
fn after_fork_in_child() {
    INSIDE.store(0, Ordering::SeqCst);
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Registers the hooks. The functions of `atexit` run before finalization begins, and after all non-daemon threads, which may be
/// reading scans, have been joined.
///
/// # Errors
/// An exception of `atexit` or `os`.
pub fn register_hooks(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(before_exit, module)?,))?;
    let os = py.import("os")?;
    if os.hasattr("register_at_fork")? {
        let hooks = PyDict::new(py);
        hooks.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, module)?)?;
        os.call_method("register_at_fork", (), Some(&hooks))?;
    }
    Ok(())
}

/// The process that created an object with threads or locks. A forked child does not have the threads, and a lock that one of them
/// held is never released there.
#[derive(Debug, Clone, Copy)]
pub struct Owner(u32);

impl Owner {
    /// This process.
    pub fn current() -> Self {
        Self(id())
    }

    /// Whether the current process is this one.
    pub fn is_current(self) -> bool {
        self.0 == id()
    }

    /// # Errors
    /// `RuntimeError` in a process that was forked.
    pub fn check(self, what: &str) -> PyResult<()> {
        if self.is_current() { Ok(()) } else { Err(PyRuntimeError::new_err(self.message(what))) }
    }

    /// The message of the error in a forked process.
    pub fn message(self, what: &str) -> String {
        format!("this {what} belongs to process {}, which forked this one: open another one in this process", self.0)
    }
}
