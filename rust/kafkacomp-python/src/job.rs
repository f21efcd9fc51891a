//! Work on a partition that makes a new one: its segments, where it goes, progress, and what ends it.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kafkacomp_arrow::{Partition, ScanError, Segment};
use kafkacomp_core::log::write::WriteOptions;
use kafkacomp_core::log::{self, ReadAt, ReadError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::error::{CorruptRecordError, log_to_py, scan_to_py};
use crate::file_object::Raised;
use crate::gil::call;
use crate::interrupt::interruptible;
use crate::segment::{PartitionTuple, partitions};

/// What a partition brings along: its first segment's producer snapshot, its leader epochs, its metadata; and the offset
/// up to which compaction has cleaned it.
type History = (Option<PyBackedBytes>, Option<PyBackedBytes>, Option<PyBackedBytes>, Option<i64>);

/// Why the work ended early.
pub(crate) enum JobError {
    Log(log::Error),
    Python(PyErr),
    Panicked(Box<dyn Any + Send>),
    /// Two segment files have different records at this offset; the index of the one before.
    Disagreement {
        earlier: usize,
        offset: i64,
    },
}

impl<E: Into<log::Error>> From<E> for JobError {
    fn from(error: E) -> Self {
        Self::Log(error.into())
    }
}

/// What the work has given, or the exception of a callback that ended it.
pub(crate) fn completed<T>(flow: ControlFlow<PyErr, T>) -> Result<T, JobError> {
    match flow {
        ControlFlow::Continue(done) => Ok(done),
        ControlFlow::Break(error) => Err(JobError::Python(error)),
    }
}

/// Which partition is written anew, and where.
pub(crate) struct Job {
    pub(crate) segments: Vec<Segment>,
    pub(crate) target: PathBuf,
    pub(crate) options: WriteOptions,
    /// Whether the new segments begin where the old ones did.
    pub(crate) keeps_segments: bool,
    pub(crate) history: History,
    pub(crate) max_output_size: usize,
    progress: Option<Py<PyAny>>,
    /// The segment under way.
    pub(crate) current: AtomicUsize,
}

/// The arguments that all kinds of work have: partition, history, target, segment size, cap, progress.
pub(crate) type JobTuple<'py> = (PartitionTuple<'py>, History, PathBuf, Option<u32>, usize, Option<Py<PyAny>>);

impl Job {
    pub(crate) fn new(
        (partition, history, target, segment_bytes, max_output_size, progress): JobTuple<'_>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let found = partitions(vec![partition], &raised)?.into_iter().next();
        let Partition { segments, .. } = found.ok_or_else(|| PyValueError::new_err("no partition"))?;
        let segments = segments.into_iter().map(|segment| interruptible(segment, &raised)).collect();
        let mut options = WriteOptions::default();
        options.segment_bytes = segment_bytes.unwrap_or(options.segment_bytes);
        let current = AtomicUsize::new(0);
        let keeps_segments = segment_bytes.is_none();
        Ok(Self { segments, target, options, keeps_segments, history, max_output_size, progress, current })
    }

    pub(crate) fn open(&self, index: usize) -> Result<Arc<dyn ReadAt>, JobError> {
        let segment = self.segments.get(index).ok_or(ReadError::Io(std::io::ErrorKind::NotFound.into()))?;
        Ok(segment.files.open().map_err(ReadError::Io)?)
    }

    pub(crate) fn tell(&self, done: u64) -> ControlFlow<PyErr> {
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map_or(Ok(()), |progress| call(progress.bind(py), (done,)).map(drop))
        });
        told.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }

    fn to_py(&self, py: Python<'_>, stop: JobError) -> PyErr {
        let segment = self.segments.get(self.current.load(Ordering::Relaxed)).map(|segment| Arc::clone(&segment.name));
        let segment = segment.unwrap_or_else(|| Arc::from(""));
        match stop {
            JobError::Log(error) => log_to_py(py, error, Some(&segment)),
            JobError::Python(error) => error,
            JobError::Panicked(panic) => scan_to_py(py, ScanError::panicked(&segment, panic.as_ref())),
            JobError::Disagreement { earlier, offset } => {
                let earlier = self.segments.get(earlier).map_or("", |segment| &segment.name);
                disagreement(earlier, &segment, offset)
            }
        }
    }

    pub(crate) fn run<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Self) -> Result<R, JobError> + Send,
    ) -> PyResult<R> {
        // A panic, on whichever thread, is an error that names the segment; the folder under way is removed.
        let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(self))));
        done.unwrap_or_else(|panic| Err(JobError::Panicked(panic))).map_err(|stop| self.to_py(py, stop))
    }
}

/// The exception for two files that have different records at an offset.
pub fn disagreement(earlier: &str, later: &str, offset: i64) -> PyErr {
    CorruptRecordError::new_err(format!(
        "{earlier} and {later} have different records at offset {offset}: remove the file that is not valid"
    ))
}
