//! What a thread must know of its process: whether the interpreter is about to end, and whether a fork made the process.

use std::cell::Cell;
use std::fmt;
use std::process::id;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How long the interpreter's exit waits for calls into Python that are under way.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it looks.
const TICK: Duration = Duration::from_millis(5);

/// Set by the `atexit` hook, and never cleared.
static EXITING: AtomicBool = AtomicBool::new(false);
/// How many calls into Python are under way, or waiting for the GIL, on threads that Python need not know.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    /// Whether this is the thread that ends the interpreter.
    static ENDS_IT: Cell<bool> = const { Cell::new(false) };
}
/// How many forks there are between the process that loaded this module and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// A number that no process between the one that loaded this module and this one has.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Whether the interpreter is about to end.
fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// Whether this thread must leave what Python called, because another one ends the interpreter.
pub fn must_leave() -> bool {
    is_exiting() && !ENDS_IT.get()
}

/// Why Python is not asked.
#[derive(Debug)]
pub struct Exiting;

impl fmt::Display for Exiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the interpreter is exiting: what Python reads and writes is closed")
    }
}

impl std::error::Error for Exiting {}

/// What is raised where nothing is begun any more.
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

    /// `None` when the interpreter is about to end. It counts first and looks then, as the exit sets the flag first and
    /// looks at the count then: either this call sees the flag or the exit sees the call.
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

/// From here on no thread of ours enters Python; waits a while for those that are inside.
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

/// The threads that were inside do not exist in the child.
#[pyfunction]
fn after_fork_in_child() {
    INSIDE.store(0, Ordering::SeqCst);
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Registers the hooks. `atexit` is early enough and no earlier than it must be: its functions run after all threads that
/// are no daemons have been joined, which may be reading scans, and before finalization begins.
///
/// # Errors
/// What the modules say.
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

/// The process that made something with threads or locks. A child that was forked has neither the threads nor, if one of
/// them held it, the lock.
#[derive(Debug, Clone, Copy)]
pub struct Owner(u32);

impl Owner {
    /// This process.
    pub fn current() -> Self {
        Self(id())
    }

    /// Whether this is still the process.
    pub fn is_current(self) -> bool {
        self.0 == id()
    }

    /// # Errors
    /// `RuntimeError` in a process that was forked.
    pub fn check(self, what: &str) -> PyResult<()> {
        if self.is_current() { Ok(()) } else { Err(PyRuntimeError::new_err(self.message(what))) }
    }

    /// What is wrong in a process that was forked.
    pub fn message(self, what: &str) -> String {
        format!("this {what} belongs to process {}, which forked this one: open another one in this process", self.0)
    }
}
