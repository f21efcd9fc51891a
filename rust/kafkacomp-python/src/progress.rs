//! Callbacks for the progress of work that runs with the GIL free.

use std::ops::ControlFlow;

use pyo3::prelude::*;

use crate::gil::call;

/// The caller's `progress(bytes_done)`, if there is one.
pub struct Progress(Option<Py<PyAny>>);

impl Progress {
    /// Calls `progress`.
    pub fn new(progress: Option<Py<PyAny>>) -> Self {
        Self(progress)
    }

    /// Reports the number of bytes done. The exception of the callback, or that of a signal's handler, ends the work.
    pub fn report(&self, done: u64) -> ControlFlow<PyErr> {
        let reported = Python::attach(|py| {
            py.check_signals()?;
            self.0.as_ref().map_or(Ok(()), |progress| call(progress.bind(py), (done,)).map(drop))
        });
        reported.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }
}
