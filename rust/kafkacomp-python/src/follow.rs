//! A log that grows, for Spark's streams: `kafkacomp._kafkacomp.LogFollower`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kafkacomp_core::log::{Follower, Stop};
use pyo3::prelude::*;

use crate::error::{chunk_to_py, to_py};
use crate::segment::{SegmentTuple, segment};

/// What has come to a partition's log since the last look, by headers.
#[pyclass(module = "kafkacomp", frozen)]
pub struct LogFollower(Mutex<Follower>);

impl LogFollower {
    fn lock(&self) -> MutexGuard<'_, Follower> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl LogFollower {
    #[new]
    fn new(transactions: bool) -> Self {
        Self(Mutex::new(Follower::new(transactions)))
    }

    /// Looks at a segment: the one of the last look, or if `is_new` another one from its start.
    fn follow(&self, py: Python<'_>, source: SegmentTuple<'_>, is_new: bool, skip: bool) -> PyResult<&'static str> {
        let segment = segment(source)?;
        let found = py.detach(|| {
            let source = segment.files.open()?;
            let mut follower = self.lock();
            if is_new {
                follower.enter();
            }
            follower.follow(source.as_ref(), skip)
        });
        match found.map_err(|error| chunk_to_py(py, &segment.name, error))? {
            Stop::End => Ok("end"),
            Stop::Torn => Ok("torn"),
            Stop::Shrunk => Ok("shrunk"),
            Stop::Damage(_) if skip => Ok("damage"),
            Stop::Damage(error) => Err(to_py(py, &error, Some(&segment.name))),
        }
    }

    /// Aborted transactions that reach into these offsets.
    fn aborted(&self, py: Python<'_>, start: i64, end: i64) -> Vec<(i64, i64, i64)> {
        let mut found = py.detach(|| self.lock().aborted(start, end));
        found.sort_unstable();
        found.into_iter().map(|(producer_id, range)| (producer_id, range.first_offset, range.last_offset)).collect()
    }

    /// Forgets aborted transactions that end before this offset.
    fn forget(&self, py: Python<'_>, offset: i64) {
        py.detach(|| self.lock().forget(offset));
    }

    /// Where in the segment the next batch begins.
    #[getter]
    fn position(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock().position())
    }

    /// The offset behind the last batch.
    #[getter]
    fn end_offset(&self, py: Python<'_>) -> Option<i64> {
        py.detach(|| self.lock().end_offset())
    }

    /// The first offset of the earliest open transaction.
    #[getter]
    fn first_open(&self, py: Python<'_>) -> Option<i64> {
        py.detach(|| self.lock().first_open())
    }
}
