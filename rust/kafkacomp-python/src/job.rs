//! A partition that is rewritten, as Python gives it; and what ends the work.

use std::ops::ControlFlow;
use std::path::PathBuf;

use kafkacomp_arrow::{Partition, Segment};
use kafkacomp_core::log::maintain::partition::{PartitionError, PartitionHistory, PartitionJob, SourceSegment};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::error::{CorruptRecordError, log_to_py};
use crate::file_object::Raised;
use crate::gil::call;
use crate::interrupt::interruptible;
use crate::segment::{PartitionTuple, partitions};

/// The producer snapshot at the first segment's base offset, the leader epoch checkpoint, the partition's metadata; and
/// the offset up to which compaction has cleaned the log.
type History = (Option<PyBackedBytes>, Option<PyBackedBytes>, Option<PyBackedBytes>, Option<i64>);

/// The arguments that all kinds of work have: partition, history, target, segment size, cap, progress.
pub type JobTuple<'py> = (PartitionTuple<'py>, History, PathBuf, Option<u32>, usize, Option<Py<PyAny>>);

/// The job, and the callback that is told the bytes read so far.
///
/// # Errors
/// `TypeError` for a segment that cannot be opened.
pub fn job(arguments: JobTuple<'_>) -> PyResult<(PartitionJob, Progress)> {
    let (partition, history, target, segment_bytes, max_output_size, progress) = arguments;
    let (snapshot, epochs, metadata, cleaned_to) = history;
    let raised = Raised::default();
    let found = partitions(vec![partition], &raised)?.into_iter().next();
    let Partition { segments, .. } = found.ok_or_else(|| PyValueError::new_err("no partition"))?;
    let source = |segment| {
        let Segment { name, base_offset, named_offset, files, .. } = interruptible(segment, &raised);
        SourceSegment { name, base_offset, named_offset, files }
    };
    let content = |file: Option<PyBackedBytes>| file.map(|bytes| bytes.to_vec());
    let job = PartitionJob {
        segments: segments.into_iter().map(source).collect(),
        history: PartitionHistory {
            producer_snapshot: content(snapshot),
            leader_epoch_checkpoint: content(epochs),
            partition_metadata: content(metadata),
            cleaned_to,
        },
        target,
        segment_bytes,
        max_output_size,
    };
    Ok((job, Progress(progress)))
}

/// The caller's `progress(bytes_done)`.
pub struct Progress(Option<Py<PyAny>>);

impl Progress {
    /// Reports the bytes read so far. An exception of the callback or of a signal's handler ends the work.
    pub fn report(&self, done: u64) -> ControlFlow<PyErr> {
        let reported = Python::attach(|py| {
            py.check_signals()?;
            self.0.as_ref().map_or(Ok(()), |progress| call(progress.bind(py), (done,)).map(drop))
        });
        reported.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }
}

/// What the work returned, or the exception that ended it.
///
/// # Errors
/// That of a callback, or of a partition that cannot be rewritten.
pub fn completed<T>(py: Python<'_>, done: Result<ControlFlow<PyErr, T>, PartitionError>) -> PyResult<T> {
    match done {
        Ok(ControlFlow::Continue(done)) => Ok(done),
        Ok(ControlFlow::Break(error)) => Err(error),
        Err(error) => Err(partition_to_py(py, error)),
    }
}

/// The exception for a partition that cannot be rewritten.
pub fn partition_to_py(py: Python<'_>, error: PartitionError) -> PyErr {
    match error {
        PartitionError::Segment { segment, error } => log_to_py(py, error, Some(&segment)),
        PartitionError::Disagreement { .. } => CorruptRecordError::new_err(error.to_string()),
        PartitionError::Panicked { .. } => PyRuntimeError::new_err(error.to_string()),
    }
}
