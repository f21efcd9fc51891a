//! `kafkacomp.scan`'s reader: an Arrow stream by the PyCapsule interface.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, RecordBatch as ArrowRecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use kafkacomp_arrow::{Column, IsolationLevel, Missing, OnError, Scan, ScanOptions, ScanReport, SkippedRange};
use kafkacomp_core::log::Family;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3_arrow::PyRecordBatch;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

use crate::cells::{column, time_unit};
use crate::error::scan_to_py;
use crate::gil::with_gil;
use crate::segment::partitions;

/// The names of all columns, in the order of the documentation.
#[pyfunction]
pub fn columns() -> Vec<&'static str> {
    Column::ALL.iter().map(|column| column.name()).collect()
}

/// A scan that is read once.
#[pyclass(module = "kafkacomp", frozen)]
pub struct ScanReader {
    schema: SchemaRef,
    report: Arc<Mutex<ScanReport>>,
    stream: Mutex<Option<Stream>>,
    /// Whether it was read to its end by iteration.
    exhausted: AtomicBool,
    failure: Failure,
}

/// The exception that ended the scan; a C stream carries no more than its text.
type Failure = Arc<Mutex<Option<Py<PyAny>>>>;

/// The scan with everything that happens around each of its batches. Runs with the GIL free, whoever pulls.
struct Stream {
    scan: Scan,
    report: Arc<Mutex<ScanReport>>,
    failure: Failure,
    progress: Option<Py<PyAny>>,
    total_bytes: u64,
    warned: usize,
}

impl Stream {
    fn pull(&mut self, py: Python<'_>) -> PyResult<Option<ArrowRecordBatch>> {
        let pulled = py.detach(|| self.scan.next());
        // A consumer in C does not look for Ctrl-C between batches.
        py.check_signals()?;
        self.log(py, matches!(pulled, None | Some(Err(_))))?;
        if let Some(progress) = &self.progress {
            let done = lock(&self.report).bytes_in;
            progress.call1(py, (done.min(self.total_bytes), self.total_bytes))?;
        }
        pulled.transpose().map_err(|error| scan_to_py(py, error))
    }

    /// Logs warnings as they come and, at the `end`, when they are in file order, the ranges that were left out.
    fn log(&mut self, py: Python<'_>, end: bool) -> PyResult<()> {
        let mut fresh: Vec<String> = lock(&self.report).warnings.iter().skip(self.warned).cloned().collect();
        self.warned = self.warned.saturating_add(fresh.len());
        if end {
            let left_out = |s: &SkippedRange| {
                format!("{} bytes at byte {} left out: {}: {}", s.length, s.position, s.reason.name(), s.message)
            };
            fresh.extend(lock(&self.report).skipped.iter().map(left_out));
        }
        for warning in &fresh {
            let logger = py.import("logging")?.call_method1("getLogger", ("kafkacomp",))?;
            logger.call_method1("warning", ("%s", warning))?;
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The workers may be waiting for the GIL; what they held of Python's is let go with it.
        with_gil(|py| {
            py.detach(|| self.scan.close());
            self.progress = None;
            self.failure = Failure::default();
        });
    }
}

impl Iterator for Stream {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        with_gil(|py| match self.pull(py) {
            Ok(batch) => batch.map(|batch| Ok(Arc::new(StructArray::from(batch)) as ArrayRef)),
            Err(error) => {
                // The C stream ends its message at a zero byte.
                let message = error.value(py).to_string().replace('\0', "\\0");
                *lock(&self.failure) = Some(error.into_value(py).into_any());
                Some(Err(ArrowError::ExternalError(message.into())))
            }
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn used_up() -> PyErr {
    PyValueError::new_err("this scan was already read or closed: call kafkacomp.scan again")
}

/// The family that `format` names; `None`: the segments tell.
pub fn family(format: &str) -> Option<Family> {
    match format {
        "0.7" => Some(Family::MessageSet),
        "0.8+" => Some(Family::Records),
        _ => None,
    }
}

/// What `kafkacomp.scan` has checked already.
fn options(settings: &Bound<'_, PyDict>) -> PyResult<ScanOptions> {
    fn get<'py, T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>>(
        settings: &Bound<'py, PyDict>,
        name: &str,
    ) -> PyResult<T> {
        let value = settings.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("no {name}")))?;
        value.extract().map_err(Into::into)
    }
    let names: Vec<String> = get(settings, "columns")?;
    Ok(ScanOptions {
        columns: names.iter().map(|name| column(name)).collect::<PyResult<_>>()?,
        start_timestamp: get(settings, "start_timestamp")?,
        end_timestamp: get(settings, "end_timestamp")?,
        isolation_level: if get(settings, "read_committed")? {
            IsolationLevel::ReadCommitted
        } else {
            IsolationLevel::ReadUncommitted
        },
        on_error: if get(settings, "skip")? { OnError::Skip } else { OnError::Raise },
        include_control: get(settings, "include_control")?,
        batch_size: get(settings, "batch_size")?,
        batch_bytes: get(settings, "batch_bytes")?,
        threads: get(settings, "threads")?,
        timestamp_unit: time_unit(&get::<String>(settings, "timestamp_unit")?),
        verify_crc: get(settings, "verify_crc")?,
        max_output_size: get(settings, "max_output_size")?,
        visible_only: get(settings, "visible_only")?,
        family: family(&get::<String>(settings, "format")?),
    })
}

#[pymethods]
impl ScanReader {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "an argument is extracted to a value")]
    fn new(
        sources: Vec<Bound<'_, PyAny>>,
        settings: &Bound<'_, PyDict>,
        total_bytes: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let tuples = sources.iter().map(PyAnyMethods::extract).collect::<PyResult<Vec<_>>>()?;
        let scan = Scan::new(partitions(tuples)?, options(settings)?, total_bytes);
        let (schema, report, failure) = (Arc::clone(scan.schema()), scan.report(), Failure::default());
        let stream = Stream {
            scan,
            report: Arc::clone(&report),
            failure: Arc::clone(&failure),
            progress,
            total_bytes,
            warned: 0,
        };
        Ok(Self { schema, report, stream: Mutex::new(Some(stream)), exhausted: AtomicBool::new(false), failure })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.schema.as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let stream = lock(&self.stream).take().ok_or_else(used_up)?;
        let field = Field::new_struct("", self.schema.fields().clone(), false);
        debug_assert!(matches!(field.data_type(), DataType::Struct(_)));
        to_stream_pycapsule(py, Box::new(ArrayIterator::new(stream, Arc::new(field))), requested_schema)
    }

    fn __iter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if slf.get().closed() { Err(used_up()) } else { Ok(slf) }
    }

    /// The next batch as a `pyarrow.RecordBatch`; failures are raised as they are.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.exhausted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        // The stream is taken out while it runs: a second thread is told so rather than made to wait.
        let mut stream = lock(&self.stream).take().ok_or_else(used_up)?;
        match stream.pull(py) {
            Ok(Some(batch)) => {
                *lock(&self.stream) = Some(stream);
                PyRecordBatch::new(batch).into_pyarrow(py).map(Some)
            }
            Ok(None) => {
                self.exhausted.store(true, Ordering::Relaxed);
                Ok(None)
            }
            Err(error) => {
                self.exhausted.store(true, Ordering::Relaxed);
                *lock(&self.failure) = Some(error.value(py).clone().into_any().unbind());
                Err(error)
            }
        }
    }

    /// Stops the scan and frees what it holds.
    fn close(&self) {
        let stream = lock(&self.stream).take();
        // Dropping it waits for the workers with the GIL free.
        drop(stream);
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        self.close();
    }

    /// Whether the scan was handed over, read to its end or closed.
    #[getter]
    fn closed(&self) -> bool {
        lock(&self.stream).is_none()
    }

    /// The exception that ended the scan, or `None`.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        lock(&self.failure).as_ref().map(|error| error.clone_ref(py))
    }

    /// A `kafkacomp.ScanReport` of what was done so far.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = lock(&self.report).clone();
        let counts = PyDict::new(py);
        counts.set_item("batches", report.batches)?;
        counts.set_item("records", report.records)?;
        counts.set_item("bytes_in", report.bytes_in)?;
        counts.set_item("bytes_out", report.bytes_out)?;
        let skipped = report
            .skipped
            .iter()
            .map(|s| (&*s.segment, s.position, s.length, s.reason.name(), &*s.message, s.first_offset, s.last_offset));
        counts.set_item("records_below_log_start", report.records_below_log_start)?;
        counts.set_item("records_above_high_watermark", report.records_above_high_watermark)?;
        counts.set_item("skipped", skipped.collect::<Vec<_>>())?;
        counts.set_item("warnings", report.warnings)?;
        let ranges = report.missing.ranges();
        let missing = ranges.iter().map(|Missing { topic, partition, segment, range }| {
            (topic.as_deref(), *partition, range.first_offset, range.last_offset, &**segment, range.reason.name())
        });
        counts.set_item("missing", missing.collect::<Vec<_>>())?;
        counts.set_item("more_missing", report.missing.more())?;
        py.import("kafkacomp._report")?.getattr("ScanReport")?.call_method1("_of", (counts,))
    }
}
