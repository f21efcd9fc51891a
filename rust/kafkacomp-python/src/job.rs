//! The job of rewriting a partition, with progress and interrupts.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use kafkacomp_arrow::{Partition, Segment};
use kafkacomp_log::maintain::partition::{
    PartitionError, PartitionFindings, PartitionHistory, PartitionJob, SourceSegment,
};
use kafkacomp_log::{Compaction, MissingRange};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyTuple;

use crate::error::{CorruptRecordError, log_to_py};
use crate::file_object::Raised;
use crate::interrupt::interruptible;
use crate::progress::Progress;
use crate::results;
use crate::segment::{PartitionFields, partition};
use crate::value::PackageClass;

static MISSING_RANGE: PackageClass = PackageClass::new("kafkacomp.arrow._report", "MissingRange");

/// A `PartitionJob` of `kafkacomp.log._rewrite_work`, which has checked its fields.
pub struct JobFields<'py> {
    partition: PartitionFields<'py>,
    producer_snapshot: Option<PyBackedBytes>,
    leader_epoch_checkpoint: Option<PyBackedBytes>,
    partition_metadata: Option<PyBackedBytes>,
    target: PathBuf,
    segment_bytes: Option<u32>,
    max_output_size: usize,
    progress: Option<Py<PyAny>>,
}

/// Not derived, as that would replace exceptions of the file system from which a partition's checkpoints are read.
impl<'py> FromPyObject<'_, 'py> for JobFields<'py> {
    type Error = PyErr;

    fn extract(fields: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            partition: fields.getattr("partition")?.extract()?,
            producer_snapshot: fields.getattr("producer_snapshot")?.extract()?,
            leader_epoch_checkpoint: fields.getattr("leader_epoch_checkpoint")?.extract()?,
            partition_metadata: fields.getattr("partition_metadata")?.extract()?,
            target: fields.getattr("target")?.extract()?,
            segment_bytes: fields.getattr("segment_bytes")?.extract()?,
            max_output_size: fields.getattr("max_output_size")?.extract()?,
            progress: fields.getattr("progress")?.extract()?,
        })
    }
}

impl JobFields<'_> {
    /// The most bytes that one batch's records may decompress to.
    pub fn max_output_size(&self) -> usize {
        self.max_output_size
    }
}

/// A job, and the names and callbacks for its exceptions and reports.
pub struct Work {
    /// The job for the core.
    pub job: PartitionJob,
    topic: Option<Arc<str>>,
    partition: Option<i32>,
    progress: Progress,
    raised: Raised,
}

impl Work {
    /// The job with the fields from Python.
    ///
    /// # Errors
    /// `TypeError` for a segment that cannot be opened.
    pub fn new(fields: JobFields<'_>) -> PyResult<Self> {
        let raised = Raised::default();
        let Partition { topic, partition, segments, checkpoints, .. } = partition(fields.partition, &raised)?;
        let source = |segment| {
            let Segment { name, base_offset, files, .. } = interruptible(segment, &raised);
            SourceSegment { name, base_offset, files }
        };
        let content = |file: Option<PyBackedBytes>| file.map(|bytes| bytes.to_vec());
        let job = PartitionJob {
            segments: segments.into_iter().map(source).collect(),
            history: PartitionHistory {
                producer_snapshot: content(fields.producer_snapshot),
                leader_epoch_checkpoint: content(fields.leader_epoch_checkpoint),
                partition_metadata: content(fields.partition_metadata),
                compaction: Compaction::of(topic.as_deref(), checkpoints.cleaned_to),
                reached: checkpoints.reached,
            },
            target: fields.target,
            segment_bytes: fields.segment_bytes,
            max_output_size: fields.max_output_size,
        };
        Ok(Self { job, topic, partition, progress: Progress::new(fields.progress), raised })
    }

    /// Calls the caller's `progress(bytes_done)`. Its exception, or that of a signal's handler, ends the work.
    pub fn report(&self, done: u64) -> ControlFlow<PyErr> {
        self.progress.report(done)
    }

    /// Runs `work` with the GIL released.
    ///
    /// # Errors
    /// The exception of a callback, or that of a partition that cannot be rewritten.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Self) -> Result<ControlFlow<PyErr, T>, PartitionError> + Send,
    ) -> PyResult<T> {
        let done = match py.detach(|| work(self)) {
            Ok(ControlFlow::Continue(done)) => Ok(done),
            Ok(ControlFlow::Break(error)) => Err(error),
            Err(error) => Err(partition_to_py(py, error)),
        };
        self.raised.or(py, done)
    }

    /// The file name of the segment with this index.
    pub fn segment_name(&self, index: usize) -> &str {
        self.job.segments.get(index).map_or("", |segment| &segment.name)
    }

    /// The findings as an object of Python.
    ///
    /// # Errors
    /// Only those of the import.
    pub fn findings(&self, py: Python<'_>, found: PartitionFindings) -> PyResult<results::PartitionFindings> {
        let PartitionFindings { missing, more_missing, compacted_to, warnings } = found;
        let owner = (self.topic.as_deref(), self.partition);
        let missing =
            missing.into_iter().map(|(index, range)| missing_range(py, owner, self.segment_name(index), range));
        let missing = PyTuple::new(py, missing.collect::<PyResult<Vec<_>>>()?)?.unbind();
        Ok(results::PartitionFindings { missing, more_missing, compacted_to, warnings })
    }
}

/// A `kafkacomp.arrow.MissingRange` of a segment, with its topic and partition.
///
/// # Errors
/// Only those of the import.
pub fn missing_range<'py>(
    py: Python<'py>,
    (topic, partition): (Option<&str>, Option<i32>),
    segment: impl IntoPyObject<'py>,
    MissingRange { first_offset, last_offset, reason }: MissingRange,
) -> PyResult<Bound<'py, PyAny>> {
    let segment = segment.into_bound_py_any(py)?;
    MISSING_RANGE.make(py, (topic, partition, first_offset, last_offset, segment, reason.name()))
}

fn partition_to_py(py: Python<'_>, error: PartitionError) -> PyErr {
    match error {
        PartitionError::Segment { segment, error } => log_to_py(py, error, Some(&segment)),
        PartitionError::Disagreement { .. } => CorruptRecordError::new_err(error.to_string()),
        PartitionError::Panicked { .. } => PyRuntimeError::new_err(error.to_string()),
    }
}
