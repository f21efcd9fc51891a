//! `kafkacomp.scan`'s reader: an Arrow stream by the PyCapsule interface.

use std::io;
use std::mem::forget;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch as ArrowRecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use kafkacomp_arrow::{Closer, Column, ScanReport, Step};
use kafkacomp_internal::Query;
use pyo3::exceptions::{PyMemoryError, PyModuleNotFoundError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCapsule;
use pyo3_arrow::PyRecordBatch;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

use crate::error::scan_to_py;
use crate::file_object::{Raised, not_the_end};
use crate::gil::{call, with_gil};
use crate::internal::{QueryFields, Source};
use crate::interrupt::signals;
use crate::process::{Exiting, Inside, Owner, must_leave};
use crate::scan_report::to_python;
use crate::scan_settings::Settings;
use crate::segment::{BoundedPartitionFields, bounded_partition};

static WARNINGS: Logger = Logger { name: "kafkacomp", logger: PyOnceLock::new() };

/// A logger of Python, which is looked up once: for a short source, each look-up would be a percent of the scan.
struct Logger {
    name: &'static str,
    logger: PyOnceLock<Py<PyAny>>,
}

impl Logger {
    fn warn(&self, py: Python<'_>, message: &str) -> PyResult<()> {
        let logger = self.logger.get_or_try_init(py, || -> PyResult<_> {
            Ok(call(&py.import("logging")?.getattr("getLogger")?, (self.name,))?.unbind())
        })?;
        call(&logger.bind(py).getattr(intern!(py, "warning"))?, (intern!(py, "%s"), message)).map(drop)
    }
}

/// The names of all columns, in the order of the documentation.
#[pyfunction]
pub fn columns() -> Vec<&'static str> {
    Column::ALL.iter().map(|column| column.name()).collect()
}

/// How long to wait for the next batch before signals are checked.
const TICK: Duration = Duration::from_millis(50);

/// The base of `kafkacomp.arrow.ScanReader`, without what needs pyarrow.
#[pyclass(module = "kafkacomp", frozen, subclass)]
pub struct ScanReader {
    schema: SchemaRef,
    report: Arc<Mutex<ScanReport>>,
    state: Mutex<State>,
    closer: Closer,
    /// Whether it was read to its end by iteration.
    exhausted: AtomicBool,
    /// Whether all rows were read, by iteration or by a consumer of the stream.
    complete: Arc<AtomicBool>,
    /// The rows that were returned.
    rows: Arc<AtomicU64>,
    failure: Failure,
    owner: Owner,
}

/// The owner of the stream.
enum State {
    /// The reader: it can be read or handed over.
    Ready(Stream),
    /// A call of `__next__`, perhaps on another thread.
    Running,
    /// Nobody, or the consumer to which it was handed over: it cannot be read by this object.
    Gone,
}

/// The exception that ended the scan, of which a C stream carries only class, error code and text.
type Failure = Arc<Mutex<Option<Py<PyAny>>>>;

/// The scan as a stream of Arrow batches, which logs warnings and calls the progress callback after each batch. The scan runs
/// without the GIL, also if an Arrow consumer reads the stream.
struct Stream {
    /// `None` only while it is dropped.
    scan: Option<Box<Source>>,
    report: Arc<Mutex<ScanReport>>,
    complete: Arc<AtomicBool>,
    /// The rows that were returned.
    rows: Arc<AtomicU64>,
    failure: Failure,
    raised: Raised,
    progress: Option<Py<PyAny>>,
    /// Called with the report at the end, if anything is missing.
    warn_of_losses: Option<Py<PyAny>>,
    total_bytes: u64,
    warned: usize,
    owner: Owner,
}

impl Stream {
    /// Waits for the next batch with the GIL free. Signals are checked every [`TICK`], because neither a consumer in C nor a slow
    /// read checks them.
    fn poll(&mut self, py: Python<'_>) -> PyResult<Step> {
        let Some(scan) = &mut self.scan else { return Ok(Step::End) };
        loop {
            let step = py.detach(|| scan.poll(TICK));
            py.check_signals()?;
            if !matches!(step, Step::Waiting) || must_leave() {
                return Ok(step);
            }
        }
    }

    /// The next batch, after the warnings were logged and the progress callback was called. The exit of the interpreter does not
    /// wait for the callback, so `inside` is dropped while it runs.
    fn pull(&mut self, py: Python<'_>, inside: &mut Option<Inside>) -> PyResult<Option<ArrowRecordBatch>> {
        let step = self.poll(py)?;
        self.log(py, matches!(step, Step::End | Step::Failed(_)))?;
        let pulled = match step {
            Step::Batch(batch) => {
                self.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
                Some(batch)
            }
            Step::End => {
                self.raised.or(py, Ok(()))?;
                self.complete.store(true, Ordering::Relaxed);
                None
            }
            Step::Waiting => return Err(PyRuntimeError::new_err(Exiting.to_string())),
            Step::Failed(error) => return self.raised.or(py, Err(scan_to_py(py, error))),
        };
        if let Some(progress) = &self.progress {
            let done = lock(&self.report).bytes_in;
            let arguments = (done.min(self.total_bytes), self.total_bytes);
            let is_method = inside.take().is_some();
            call(progress.bind(py), arguments).map_err(|error| not_the_end(py, error, "progress"))?;
            if is_method {
                *inside = Some(Inside::method()?);
            }
        }
        Ok(pulled)
    }

    /// Logs warnings as they come and, at the `end`, when the ranges are in file order, has the losses logged.
    fn log(&mut self, py: Python<'_>, end: bool) -> PyResult<()> {
        let (warnings, has_losses) = {
            let report = lock(&self.report);
            let warnings = report.warnings.get(self.warned..).unwrap_or_default().to_vec();
            (warnings, !report.skipped.is_empty() || report.missing.has_lost())
        };
        self.warned = self.warned.saturating_add(warnings.len());
        warnings.iter().try_for_each(|message| WARNINGS.warn(py, message))?;
        if end
            && has_losses
            && let Some(warn) = self.warn_of_losses.take()
        {
            let report = lock(&self.report).clone();
            call(warn.bind(py), (to_python(py, &report)?,))?;
        }
        Ok(())
    }

    /// Stores the exception and returns the part of it that a C stream can transport: an error code, for lack of memory, an error of
    /// the system or any other error, and a text with class and Kafka's error code.
    fn fail(&self, py: Python<'_>, error: PyErr) -> ArrowError {
        let value = error.value(py);
        let text = value.str().map_or_else(|_| String::new(), |text| text.to_string());
        let (is_os, is_memory) = (error.is_instance_of::<PyOSError>(py), error.is_instance_of::<PyMemoryError>(py));
        let code = value.getattr("error_code").and_then(|code| code.extract::<Option<i16>>()).ok().flatten();
        let code = code.map_or_else(String::new, |code| format!(" (Kafka's error code {code})"));
        let message = match value.get_type().qualname() {
            Ok(name) if text.is_empty() => name.to_string(),
            Ok(name) if !is_os => format!("{name}{code}: {text}"),
            _ => text,
        };
        *lock(&self.failure) = Some(error.into_value(py).into_any());
        // The C stream ends its message at a zero byte.
        let message = message.replace('\0', "\\0");
        match (is_os, is_memory) {
            (true, _) => ArrowError::IoError(message, io::ErrorKind::Other.into()),
            (_, true) => ArrowError::MemoryError(message),
            _ => ArrowError::ExternalError(message.into()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owner.is_current() {
            // The workers may be waiting for the GIL, and their Python objects are dropped with the GIL held.
            with_gil(|py| {
                let scan = self.scan.take();
                py.detach(|| drop(scan));
                self.progress = None;
                self.warn_of_losses = None;
                self.failure = Failure::default();
                self.raised = Raised::default();
            });
        }
        // In a forked process, and once the interpreter is about to end, nothing was dropped above: it is leaked.
        forget((
            self.scan.take(),
            self.progress.take(),
            self.warn_of_losses.take(),
            std::mem::take(&mut self.failure),
            std::mem::take(&mut self.raised),
        ));
    }
}

impl Iterator for Stream {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let failed = |message: String| Some(Err(ArrowError::ExternalError(message.into())));
        if !self.owner.is_current() {
            return failed(self.owner.message("scan"));
        }
        let pulled = with_gil(|py| self.pull(py, &mut None).map_err(|error| self.fail(py, error)));
        match pulled {
            Some(Ok(batch)) => batch.map(|batch| Ok(Arc::new(StructArray::from(batch)) as ArrayRef)),
            Some(Err(error)) => Some(Err(error)),
            None => failed(Exiting.to_string()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// If pyarrow cannot be imported, the error that names the extra to install.
pub fn extra(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyModuleNotFoundError>(py) {
        return error;
    }
    let with_command = py.import("kafkacomp._extras").and_then(|module| module.getattr("with_command"));
    with_command.and_then(|with| call(&with, (error.value(py),))).map_or_else(|other| other, PyErr::from_value)
}

fn used_up() -> PyErr {
    PyValueError::new_err("this scan was already read or closed: call kafkacomp.scan again")
}

fn in_use() -> PyErr {
    PyValueError::new_err("this scan is being read: by another thread, or by a call that has not returned")
}

impl ScanReader {
    /// Takes the stream out and leaves `rest`.
    fn take(&self, rest: State) -> PyResult<Stream> {
        self.owner.check("scan")?;
        let mut state = lock(&self.state);
        match std::mem::replace(&mut *state, rest) {
            State::Ready(stream) => Ok(stream),
            State::Running => {
                *state = State::Running;
                Err(in_use())
            }
            State::Gone => {
                *state = State::Gone;
                Err(used_up())
            }
        }
    }
}

#[pymethods]
impl ScanReader {
    #[new]
    #[pyo3(signature = (sources, settings, total_bytes, progress, warn_of_losses, query=None))]
    fn new(
        sources: Vec<BoundedPartitionFields<'_>>,
        settings: Settings,
        total_bytes: u64,
        progress: Option<Py<PyAny>>,
        warn_of_losses: Py<PyAny>,
        query: Option<QueryFields>,
    ) -> PyResult<Self> {
        let (raised, owner) = (Raised::default(), Owner::current());
        let partitions =
            sources.into_iter().map(|fields| bounded_partition(fields, &raised)).collect::<PyResult<_>>()?;
        let query = query.map(Query::try_from).transpose()?;
        let scan = Source::new(query, partitions, settings.options()?, total_bytes, signals(&raised));
        let (schema, report, failure) = (scan.schema(), scan.report(), Failure::default());
        let rows = Arc::<AtomicU64>::default();
        let (closer, complete) = (scan.closer(), Arc::<AtomicBool>::default());
        let stream = Stream {
            scan: Some(Box::new(scan)),
            report: Arc::clone(&report),
            complete: Arc::clone(&complete),
            rows: Arc::clone(&rows),
            failure: Arc::clone(&failure),
            raised,
            progress,
            warn_of_losses: Some(warn_of_losses),
            total_bytes,
            warned: 0,
            owner,
        };
        let state = Mutex::new(State::Ready(stream));
        Ok(Self { schema, report, state, closer, exhausted: AtomicBool::new(false), complete, rows, failure, owner })
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
        let stream = self.take(State::Gone)?;
        let field = Field::new_struct("", self.schema.fields().clone(), false);
        debug_assert!(matches!(field.data_type(), DataType::Struct(_)));
        to_stream_pycapsule(py, Box::new(ArrayIterator::new(stream, Arc::new(field))), requested_schema)
    }

    fn __iter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if slf.get().closed()? { Err(used_up()) } else { Ok(slf) }
    }

    /// Return the next batch; raises the errors of the scan.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.owner.check("scan")?;
        if self.exhausted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        // Once the interpreter is ending, CPython ends every thread that waits for the GIL. pyarrow releases the GIL, so the exit
        // waits for this thread while it is in pyarrow. It does not wait for callbacks of the caller.
        let mut inside = Some(Inside::method()?);
        let mut stream = self.take(State::Running)?;
        let pulled = stream.pull(py, &mut inside);
        let continues = matches!(pulled, Ok(Some(_))) && !self.closer.is_closed();
        let mut stream = Some(stream);
        {
            let mut state = lock(&self.state);
            *state = stream.take_if(|_| continues).map_or(State::Gone, State::Ready);
        }
        // Without the lock: it waits for the workers.
        drop(stream);
        match pulled {
            Ok(Some(batch)) => PyRecordBatch::new(batch).into_pyarrow(py).map(Some).map_err(|error| extra(py, error)),
            Ok(None) => {
                self.exhausted.store(true, Ordering::Relaxed);
                Ok(None)
            }
            Err(_) if self.closer.is_closed() => Err(used_up()),
            Err(error) => {
                self.exhausted.store(true, Ordering::Relaxed);
                *lock(&self.failure) = Some(error.value(py).clone().into_any().unbind());
                Err(error)
            }
        }
    }

    /// Stop the scan and free its memory and files.
    ///
    /// It may be called while another thread or the progress callback is in `__next__`. A stream that was exported belongs
    /// to its consumer and is not closed.
    fn close(&self) -> PyResult<()> {
        self.owner.check("scan")?;
        let state = {
            let mut state = lock(&self.state);
            match *state {
                State::Running => {
                    self.closer.close();
                    return Ok(());
                }
                _ => std::mem::replace(&mut *state, State::Gone),
            }
        };
        // Dropping the stream waits for the workers with the GIL free.
        drop(state);
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close()
    }

    /// Whether the scan was exported as a stream, read to its end or closed.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        self.owner.check("scan")?;
        Ok(self.closer.is_closed() || matches!(*lock(&self.state), State::Gone))
    }

    fn __repr__(&self) -> PyResult<String> {
        let columns: Vec<_> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let closed = if self.closed()? { "True" } else { "False" };
        let records = lock(&self.report).records;
        Ok(format!("ScanReader(columns=['{}'], records={records}, closed={closed})", columns.join("', '")))
    }

    /// The exception that ended the scan, of which an Arrow stream passes on only the text; None without one.
    #[getter]
    fn error(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.owner.check("scan")?;
        Ok(lock(&self.failure).as_ref().map(|error| error.clone_ref(py)))
    }

    /// The number of rows, once all were read, also by a consumer of the stream; None before.
    #[getter]
    fn num_rows(&self) -> PyResult<Option<u64>> {
        self.owner.check("scan")?;
        Ok(self.complete.load(Ordering::Relaxed).then(|| self.rows.load(Ordering::Relaxed)))
    }

    /// The counts and findings of the scan so far.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.owner.check("scan")?;
        let report = lock(&self.report).clone();
        to_python(py, &report)
    }
}
