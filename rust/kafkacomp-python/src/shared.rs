//! State that several threads share, and that is usable after a fork.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::process::forks;

/// How long a lock may be held without a mark of its process: a thread that has just taken it sets the mark next.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

/// A mutex that can be used after a fork. If a thread held it during the fork, that thread does not exist in the child, where
/// locking it is an error; otherwise it works in the child as in the parent.
pub struct Shared<T> {
    value: Mutex<T>,
    /// [`forks`] of the process whose thread took the mutex last.
    taken_in: AtomicU32,
}

impl<T> Shared<T> {
    /// An unlocked mutex.
    pub fn new(value: T) -> Self {
        Self { value: Mutex::new(value), taken_in: AtomicU32::new(u32::MAX) }
    }

    /// Locks it without holding the GIL. After a panic the state is used like after an error.
    ///
    /// # Errors
    /// `RuntimeError` if a thread held it when this process was forked.
    pub fn lock(&self) -> PyResult<MutexGuard<'_, T>> {
        let guard = match self.at_once()? {
            Some(guard) => guard,
            None => self.value.lock().unwrap_or_else(PoisonError::into_inner),
        };
        Ok(self.mark(guard))
    }

    /// Locks it with the GIL held, which is released while it waits.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn lock_attached(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, T>> {
        let guard = match self.at_once()? {
            Some(guard) => guard,
            None => self.value.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner),
        };
        Ok(self.mark(guard))
    }

    fn mark<'s>(&self, guard: MutexGuard<'s, T>) -> MutexGuard<'s, T> {
        self.taken_in.store(forks(), Ordering::Relaxed);
        guard
    }

    /// Locks it if it is free; `None` if a thread of this process holds it.
    fn at_once(&self) -> PyResult<Option<MutexGuard<'_, T>>> {
        let mut since = None;
        loop {
            match self.value.try_lock() {
                Ok(guard) => return Ok(Some(guard)),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(Some(poisoned.into_inner())),
                Err(TryLockError::WouldBlock) if self.taken_in.load(Ordering::Relaxed) == forks() => return Ok(None),
                Err(TryLockError::WouldBlock) => {}
            }
            if since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                return Err(PyRuntimeError::new_err(
                    "another thread was using this object when the process was forked: make another one in this process",
                ));
            }
            sleep(TICK);
        }
    }
}
