//! A log that grows, for Spark's streams: `kafkacomp._kafkacomp.LogFollower`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kafkacomp_log::{FollowEnd, Follower};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::{read_to_py, to_py};
use crate::file_object::Raised;
use crate::interrupt::interruptible;
use crate::plan::aborted_ranges;
use crate::process::Owner;
use crate::segment::{SegmentFields, segment};

/// Follows a partition's log: reads the headers of the batches that were appended since the last call.
#[pyclass(module = "kafkacomp", frozen)]
pub struct LogFollower {
    follower: Mutex<Follower>,
    owner: Owner,
}

impl LogFollower {
    fn lock(&self) -> MutexGuard<'_, Follower> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `f` on the follower with the GIL released.
    fn with<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut Follower) -> T + Send) -> PyResult<T> {
        self.owner.check("follower")?;
        Ok(py.detach(|| f(&mut self.lock())))
    }
}

#[pymethods]
impl LogFollower {
    #[new]
    fn new(transactions: bool) -> Self {
        Self { follower: Mutex::new(Follower::new(transactions)), owner: Owner::current() }
    }

    /// Follows a segment: the one of the last call, or if `is_new` another one from its start. Returns why it ended.
    fn follow(&self, py: Python<'_>, source: SegmentFields<'_>, is_new: bool, skip: bool) -> PyResult<&'static str> {
        self.owner.check("follower")?;
        let raised = Raised::default();
        let segment = interruptible(segment(source, &raised)?, &raised);
        let found = py.detach(|| {
            let source = segment.files.open()?;
            let mut follower = self.lock();
            if is_new {
                follower.enter(segment.base_offset_or_zero());
            }
            follower.follow(source.as_ref(), skip)
        });
        match raised.or(py, found.map_err(|error| read_to_py(py, &segment.name, error)))? {
            FollowEnd::Corrupt(error) if !skip => Err(to_py(py, &error, Some(&segment.name))),
            end => Ok(end.name()),
        }
    }

    /// The aborted transactions that overlap these offsets.
    fn aborted<'py>(&self, py: Python<'py>, start: i64, end: i64) -> PyResult<Bound<'py, PyList>> {
        let found = self.with(py, |follower| follower.aborted(start, end))?;
        let found = found.map_err(|error| PyMemoryError::new_err(error.to_string()))?;
        aborted_ranges(py, found.into_iter())
    }

    /// Forgets aborted transactions that end before this offset.
    fn forget(&self, py: Python<'_>, offset: i64) -> PyResult<()> {
        self.with(py, |follower| follower.forget(offset))
    }

    /// Where in the segment the next batch begins.
    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |follower| follower.position())
    }

    /// The offset after the last batch.
    #[getter]
    fn end_offset(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.with(py, |follower| follower.end_offset())
    }

    /// Whether the last batch follows a gap, and another call must show that nothing below it is appended.
    #[getter]
    fn is_pending(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |follower| follower.is_pending())
    }

    /// The first batch since the last call that is not above those before it: position, first offset, and the expected one.
    fn take_disorder(&self, py: Python<'_>) -> PyResult<Option<(u64, i64, i64)>> {
        let found = self.with(py, Follower::take_disorder)?;
        Ok(found.map(|found| (found.position, found.first, found.expected)))
    }

    /// Sets the end of the log.
    fn set_end_offset(&self, py: Python<'_>, end: i64) -> PyResult<()> {
        self.with(py, |follower| follower.set_end_offset(end))
    }

    /// The first offset of the earliest open transaction.
    #[getter]
    fn first_open(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.with(py, |follower| follower.first_open())
    }
}
