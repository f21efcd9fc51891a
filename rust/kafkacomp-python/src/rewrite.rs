//! Partitions written anew: recompressed, converted, repaired.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kafkacomp_arrow::{Partition, ScanError, Segment};
use kafkacomp_core::log::repair::{Repair, RepairReport, Repairer, first_offset};
use kafkacomp_core::log::rewrite::{ParallelRecompressor, Rewrite, rewrite_segment};
use kafkacomp_core::log::write::{LogWriter, ProducerState, Staging, WriteError, WriteOptions, WriteReport};
use kafkacomp_core::log::{ChunkError, PartitionMetadata, ProducerSnapshot, ReadAt, read_leader_epoch_checkpoint};
use kafkacomp_core::record::{ConvertOptions, Converter, Merger};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;

use crate::codec::kind;
use crate::encode::{Level, compression};
use crate::error::{scan_to_py, to_py, write_to_py};
use crate::file_object::Raised;
use crate::gil::call;
use crate::interrupt::interruptible;
use crate::segment::{PartitionTuple, partitions};

/// A folder that appears whole or not at all.
#[pyclass(module = "kafkacomp._kafkacomp")]
pub struct StagedFolder(Option<Staging>);

#[pymethods]
impl StagedFolder {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
    fn new(py: Python<'_>, target: PathBuf) -> PyResult<Self> {
        Staging::new(&target).map(|staging| Self(Some(staging))).map_err(|error| write_to_py(py, error, None))
    }

    /// Where its content is to be written.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|staging| staging.folder().to_owned())
    }

    /// Gives it its name.
    fn publish(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0.take().map_or(Ok(()), Staging::publish).map_err(|error| write_to_py(py, error, None))
    }

    /// Removes it, if it has not been published.
    fn discard(&mut self) {
        self.0 = None;
    }
}

/// A repaired partition's folder before it appears.
#[pyclass(module = "kafkacomp._kafkacomp")]
pub struct RepairedFolder(Option<LogWriter>);

#[pymethods]
impl RepairedFolder {
    /// Puts a further file into it.
    fn write(&self, py: Python<'_>, name: &str, content: &[u8]) -> PyResult<()> {
        let written = self.0.as_ref().map_or(Ok(()), |writer| writer.staging().write(name, content));
        written.map_err(|error| write_to_py(py, error, None))
    }

    /// Gives it its name; nothing the second time.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Option<Counts>> {
        let Some(writer) = self.0.take() else { return Ok(None) };
        py.detach(|| writer.finish()).map(|report| Some(counts(report))).map_err(|error| write_to_py(py, error, None))
    }
}

/// What a partition brings along: its first segment's producer snapshot, its leader epochs, its metadata.
type History = (Option<PyBackedBytes>, Option<PyBackedBytes>, Option<PyBackedBytes>);

/// Why the work ended early.
pub(crate) enum Stop {
    Read(ChunkError),
    Record(kafkacomp_core::Error),
    Write(WriteError),
    Python(PyErr),
    Panicked(Box<dyn Any + Send>),
}

impl From<ChunkError> for Stop {
    fn from(error: ChunkError) -> Self {
        Self::Read(error)
    }
}

impl From<kafkacomp_core::Error> for Stop {
    fn from(error: kafkacomp_core::Error) -> Self {
        Self::Record(error)
    }
}

impl From<WriteError> for Stop {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Record(error) => Self::Record(error),
            error => Self::Write(error),
        }
    }
}

/// Which partition is written anew, and where.
pub(crate) struct Job {
    pub(crate) segments: Vec<Segment>,
    pub(crate) target: PathBuf,
    pub(crate) options: WriteOptions,
    /// Whether the new segments begin where the old ones did.
    keeps_segments: bool,
    history: History,
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

    pub(crate) fn open(&self, index: usize) -> Result<Arc<dyn ReadAt>, Stop> {
        let segment = self.segments.get(index).ok_or(ChunkError::Io(std::io::ErrorKind::NotFound.into()))?;
        Ok(segment.files.open().map_err(ChunkError::Io)?)
    }

    fn writer(&self) -> Result<LogWriter, Stop> {
        let (snapshot, epochs, metadata) = &self.history;
        let metadata = metadata.as_deref().map(PartitionMetadata::parse).transpose()?;
        let options = WriteOptions { topic_id: metadata.map(|metadata| metadata.topic_id), ..self.options };
        let base_offset = match self.segments.first().and_then(|segment| segment.base_offset) {
            Some(offset) => offset,
            None => first_offset(self.open(0)?.as_ref(), self.max_output_size)?,
        };
        let mut writer = LogWriter::create(&self.target, base_offset, options)?;
        let snapshot = snapshot.as_deref().map(ProducerSnapshot::parse).transpose()?;
        let producers = snapshot.map(|snapshot| ProducerState::from_entries(&snapshot.producers));
        let epochs = epochs.as_deref().map(read_leader_epoch_checkpoint).transpose()?;
        writer.set_history(producers.unwrap_or_default(), epochs.unwrap_or_default())?;
        Ok(writer)
    }

    /// Does `work` for each segment; it is given the source, the next segment's base offset, the writer and what
    /// is to be called with the bytes done.
    fn each(
        &self,
        writer: &mut LogWriter,
        mut work: impl FnMut(
            &dyn ReadAt,
            Option<i64>,
            &mut LogWriter,
            &mut dyn FnMut(u64) -> Result<(), Stop>,
        ) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut done = 0_u64;
        for (index, segment) in self.segments.iter().enumerate() {
            self.current.store(index, Ordering::Relaxed);
            if let Some(base_offset) = segment.base_offset.filter(|_| self.keeps_segments) {
                writer.roll(base_offset)?;
            }
            let source = self.open(index)?;
            let length = source.length().map_err(ChunkError::Io)?;
            let next = self.segments.get(index.saturating_add(1)).and_then(|segment| segment.base_offset);
            work(source.as_ref(), next, writer, &mut |now| self.tell(done.saturating_add(now)))?;
            done = done.saturating_add(length);
        }
        Ok(())
    }

    pub(crate) fn tell(&self, done: u64) -> Result<(), Stop> {
        Python::attach(|py| {
            py.check_signals()?;
            self.progress
                .as_ref()
                .map_or(Ok(()), |progress| call(progress.bind(py), &(done,).into_pyobject(py)?).map(drop))
        })
        .map_err(Stop::Python)
    }

    fn rewrite(&self, rewrite: &mut Rewrite) -> Result<WriteReport, Stop> {
        let mut writer = self.writer()?;
        self.each(&mut writer, |source, _, writer, progress| {
            rewrite_segment(source, rewrite, writer, progress)?;
            rewrite.finish(&mut |out| writer.append(out).map_err(Stop::from))
        })?;
        Ok(writer.finish()?)
    }

    fn repair(&self, kept: Option<&str>) -> Result<(LogWriter, RepairReport), Stop> {
        let mut writer = self.writer()?;
        let mut repairer = Repairer::new(self.max_output_size, kept);
        self.each(&mut writer, |source, next, writer, progress| repairer.segment(source, next, writer, progress))?;
        let report = repairer.finish()?;
        Ok((writer, report))
    }

    fn to_py(&self, py: Python<'_>, stop: Stop) -> PyErr {
        let segment = self.segments.get(self.current.load(Ordering::Relaxed)).map(|segment| Arc::clone(&segment.name));
        let segment = segment.unwrap_or_else(|| Arc::from(""));
        match stop {
            Stop::Read(ChunkError::Io(error)) => scan_to_py(py, ScanError::Io { segment, error }),
            Stop::Read(ChunkError::Shrunk { length, expected }) => {
                scan_to_py(py, ScanError::Shrunk { segment, length, expected })
            }
            Stop::Record(error) => to_py(py, &error, Some(&segment)),
            Stop::Write(error) => write_to_py(py, error, Some(&segment)),
            Stop::Python(error) => error,
            Stop::Panicked(panic) => scan_to_py(py, ScanError::panicked(&segment, panic.as_ref())),
        }
    }

    pub(crate) fn run<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Self) -> Result<R, Stop> + Send,
    ) -> PyResult<R> {
        // A panic, on whichever thread, is an error that names the segment; the folder under way is removed.
        let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(self))));
        done.unwrap_or_else(|panic| Err(Stop::Panicked(panic))).map_err(|stop| self.to_py(py, stop))
    }
}

/// Segments, batches and bytes written, first offset, end offset.
pub(crate) type Counts = (u64, u64, u64, i64, i64);

pub(crate) fn counts(report: WriteReport) -> Counts {
    (report.segments, report.batches, report.bytes, report.log_start_offset, report.log_end_offset)
}

/// Compresses a partition anew; with `merge_bytes` small batches are joined.
#[pyfunction]
pub fn recompress_partition(
    py: Python<'_>,
    job: JobTuple<'_>,
    compression_type: u8,
    level: Option<Level>,
    merge_bytes: Option<usize>,
    threads: usize,
) -> PyResult<Counts> {
    let compression = compression(kind(compression_type)?, level)?;
    let job = Job::new(job)?;
    let mut rewrite = match merge_bytes {
        Some(bytes) => Rewrite::Merge(Merger::new(compression, bytes, job.max_output_size)),
        None => Rewrite::Recompress(ParallelRecompressor::new(compression, job.max_output_size, threads)),
    };
    job.run(py, |job| job.rewrite(&mut rewrite)).map(counts)
}

/// Brings a partition to another message format.
#[pyfunction]
pub fn convert_partition(
    py: Python<'_>,
    job: JobTuple<'_>,
    to_magic: i8,
    upgrade: bool,
    batch_bytes: i32,
) -> PyResult<Counts> {
    let job = Job::new(job)?;
    let max_output_size = job.max_output_size;
    let options = ConvertOptions { to_magic, upgrade, batch_bytes, max_output_size, ..ConvertOptions::default() };
    let mut rewrite = Rewrite::Convert(Converter::new(options));
    job.run(py, |job| job.rewrite(&mut rewrite)).map(counts)
}

/// Repairs a partition; what is left out goes into the file `kept` of the new folder. The folder is still to be finished.
#[pyfunction]
pub fn repair_partition<'py>(
    py: Python<'py>,
    job: JobTuple<'_>,
    kept: Option<&str>,
) -> PyResult<(RepairedFolder, Bound<'py, PyDict>)> {
    let job = Job::new(job)?;
    let (writer, report) = job.run(py, |job| job.repair(kept))?;
    let fields = PyDict::new(py);
    fields.set_item("repairs", report.repairs.iter().map(repair).collect::<Vec<_>>())?;
    fields.set_item("more_repairs", report.more_repairs)?;
    fields.set_item("mended_batches", report.mended_batches)?;
    fields.set_item("left_out", report.left_out)?;
    fields.set_item("left_out_bytes", report.left_out_bytes)?;
    fields.set_item("zero_tail_bytes", report.zero_tail_bytes)?;
    fields.set_item("first_open_offset", writer.producers().first_open_offset())?;
    Ok((RepairedFolder(Some(writer)), fields))
}

/// Segment, position, length, action, offsets, reason, place in the file of what is left out.
type RepairTuple<'a> = (usize, u64, u64, &'static str, Option<(i64, i64)>, &'a str, Option<u64>);

fn repair(repair: &Repair) -> RepairTuple<'_> {
    let Repair { segment, position, length, action, offsets, ref reason, kept_at } = *repair;
    (segment, position, length, action.name(), offsets, reason, kept_at)
}
