//! Segments that the caller's Python code opens and reads: file systems of pyarrow and fsspec, and file objects.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafkacomp_log::read::source::UNKNOWN_WORTH_READING;
use kafkacomp_log::{OpenSegment, ReadAt, SideFile, SourceTraits};
use kafkacomp_records::memory;
use pyo3::exceptions::{
    PyFileNotFoundError, PyNotADirectoryError, PyOSError, PyRuntimeError, PyStopIteration, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyTuple;

use crate::gil::{Held, attach, attribute, call};
use crate::input::bytes_like;
use crate::memory::out_of_memory;
use crate::process::Exiting;

/// `errno` of bytes that the storage cannot read.
const EIO: i32 = 5;
/// `errno` of a file that is too large to be an index.
const EFBIG: i32 = 27;

/// The exception of a file object that ends a scan even with `on_error="skip"`. Only `FileNotFoundError` and an `OSError` with `EIO`
/// or `EFBIG` describe the storage; all others (`KeyboardInterrupt`, `MemoryError`, an error in the caller's code) end the scan.
#[derive(Debug, Clone, Default)]
pub struct Raised(Arc<Mutex<Option<Held<PyErr>>>>);

impl Raised {
    fn lock(&self) -> MutexGuard<'_, Option<Held<PyErr>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_set(&self) -> bool {
        self.lock().is_some()
    }

    fn keep(&self, py: Python<'_>, error: &PyErr) {
        self.lock().get_or_insert_with(|| Held::new(error.clone_ref(py)));
    }

    /// The exception if there was one, otherwise `result`.
    ///
    /// # Errors
    /// The exception, or that of `result`.
    pub fn or<T>(&self, py: Python<'_>, result: PyResult<T>) -> PyResult<T> {
        let raised = self.lock().as_ref().and_then(Held::get).map(|error| error.clone_ref(py));
        raised.map_or(result, Err)
    }
}

/// An exception of a file object as the source of an [`io::Error`].
#[derive(Debug)]
pub struct Carried {
    error: Held<PyErr>,
    text: String,
}

impl Carried {
    /// The exception.
    pub fn error(&self, py: Python<'_>) -> Option<PyErr> {
        self.error.get().map(|error| error.clone_ref(py))
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Carried {}

/// Replaces `StopIteration` by a `RuntimeError` with it as the cause, as in generators (PEP 479): it would end a loop over the reader
/// as if the data were complete.
pub fn not_the_end(py: Python<'_>, error: PyErr, what: &str) -> PyErr {
    if !error.is_instance_of::<PyStopIteration>(py) {
        return error;
    }
    let outer = PyRuntimeError::new_err(format!("{what} raised StopIteration"));
    outer.set_cause(py, Some(error));
    outer
}

/// Runs `f` attached, unless an earlier call failed or the interpreter is about to end.
fn attached<T>(raised: &Raised, f: impl FnOnce(Python<'_>) -> PyResult<T>) -> io::Result<T> {
    attached_with(raised, failure, f)
}

/// As [`attached`]; `failure` makes the error of an exception.
pub fn attached_with<T>(
    raised: &Raised,
    failure: impl FnOnce(Python<'_>, PyErr, &Raised) -> io::Error,
    f: impl FnOnce(Python<'_>) -> PyResult<T>,
) -> io::Result<T> {
    if raised.is_set() {
        return Err(io::Error::other("an earlier read failed"));
    }
    let done = attach(|py| f(py).map_err(|error| failure(py, not_the_end(py, error, "a file object"), raised)));
    done.unwrap_or_else(|| Err(io::Error::other(Exiting)))
}

/// `error` as the error of a read. If it must end the scan, it is stored in `raised`.
pub fn failure(py: Python<'_>, error: PyErr, raised: &Raised) -> io::Error {
    let value = error.value(py);
    let errno = || value.getattr("errno").and_then(|errno| errno.extract::<i32>()).ok();
    let kind = if error.is_instance_of::<PyFileNotFoundError>(py) {
        io::ErrorKind::NotFound
    } else if error.is_instance_of::<PyOSError>(py) && errno() == Some(EIO) {
        io::ErrorKind::UnexpectedEof
    } else if error.is_instance_of::<PyOSError>(py) && errno() == Some(EFBIG) {
        io::ErrorKind::FileTooLarge
    } else {
        raised.keep(py, &error);
        io::ErrorKind::Other
    };
    carried(py, kind, error)
}

/// `error` as the error of looking up, listing or reading a file: every `OSError` describes the storage. Others are stored in
/// `raised`, because they must end the listing.
pub fn storage_failure(py: Python<'_>, error: PyErr, raised: &Raised) -> io::Error {
    let kind = if error.is_instance_of::<PyFileNotFoundError>(py) {
        io::ErrorKind::NotFound
    } else if error.is_instance_of::<PyNotADirectoryError>(py) {
        io::ErrorKind::NotADirectory
    } else {
        if !error.is_instance_of::<PyOSError>(py) {
            raised.keep(py, &error);
        }
        io::ErrorKind::Other
    };
    carried(py, kind, error)
}

fn carried(py: Python<'_>, kind: io::ErrorKind, error: PyErr) -> io::Error {
    let text = error.value(py).str().map_or_else(|_| error.to_string(), |text| text.to_string());
    io::Error::new(kind, Carried { error: Held::new(error), text })
}

/// Calls a method of an object that the caller's code may have made.
///
/// # Errors
/// What it raises.
pub fn method<'py, A>(
    object: Option<&Py<PyAny>>,
    name: &str,
    arguments: A,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    PyErr: From<A::Error>,
{
    let object = object.ok_or_else(|| PyRuntimeError::new_err("the file object is gone"))?.bind(py);
    call(&attribute(object, name)?, arguments)
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// The bytes that `what` returned.
///
/// # Errors
/// `TypeError` for other objects.
pub fn bytes_of(object: &Bound<'_, PyAny>, what: &str) -> PyResult<PyBackedBytes> {
    let wrong = |_| PyTypeError::new_err(format!("{what} must return bytes, not {}", type_name(object)));
    bytes_like(what, object).map_err(wrong)
}

/// An object with `open_segment() -> file` and `side_file(suffix) -> bytes | None`, and perhaps `may_be_truncated: bool`.
#[derive(Debug)]
pub struct PySegment {
    opener: Held<Py<PyAny>>,
    may_be_truncated: bool,
    raised: Raised,
}

impl PySegment {
    /// A segment that `opener` opens.
    ///
    /// # Errors
    /// What its attribute `may_be_truncated` raises, or `TypeError` if that is not a bool.
    pub fn new(opener: Bound<'_, PyAny>, raised: &Raised) -> PyResult<Self> {
        let may_be_truncated = opener.getattr_opt("may_be_truncated")?.map(|value| value.extract()).transpose()?;
        Ok(Self {
            opener: Held::new(opener.unbind()),
            may_be_truncated: may_be_truncated.unwrap_or(false),
            raised: raised.clone(),
        })
    }
}

impl OpenSegment for PySegment {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        attached(&self.raised, |py| {
            let file = method(self.opener.get(), "open_segment", (), py)?;
            opened_file(file, &self.raised)
        })
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        attached(&self.raised, |py| {
            let data = method(self.opener.get(), "side_file", (kind.suffix(),), py)?;
            if data.is_none() {
                return Ok(None);
            }
            memory::copy_of(&bytes_of(&data, "side_file")?).map(Some).map_err(out_of_memory)
        })
    }

    fn may_be_truncated(&self) -> bool {
        self.may_be_truncated
    }
}

/// The bytes of an open file of a file system; `raised` takes an exception that must end the work.
///
/// # Errors
/// What its `size()` raises.
pub fn opened_file(file: Bound<'_, PyAny>, raised: &Raised) -> PyResult<Arc<dyn ReadAt>> {
    let py = file.py();
    let worth_reading = attribute(&file, "worth_reading").ok().and_then(|bytes| bytes.extract().ok());
    let worth_reading = worth_reading.unwrap_or(UNKNOWN_WORTH_READING);
    let chunk_size = file.getattr("chunk_size").ok().and_then(|bytes| bytes.extract::<u64>().ok());
    let chunk_size = chunk_size.unwrap_or(1).max(1);
    let file = Held::new(file.unbind());
    let file = PyFile { file, length: AtomicU64::new(0), worth_reading, chunk_size, raised: raised.clone() };
    file.length.store(file.size(py)?, Ordering::Relaxed);
    Ok(Arc::new(file))
}

/// An object with the methods `read_at(nbytes, offset) -> bytes` and `size() -> int` of pyarrow's files, and perhaps the attributes
/// `worth_reading: int` and `chunk_size: int`; see [`ReadAt`].
struct PyFile {
    file: Held<Py<PyAny>>,
    length: AtomicU64,
    worth_reading: usize,
    chunk_size: u64,
    raised: Raised,
}

impl PyFile {
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        let size = method(self.file.get(), "size", (), py)?;
        let wrong = |_| match size.extract::<i128>() {
            Ok(size) => PyValueError::new_err(format!("size() must return 0 to 2**64 - 1, not {size}")),
            Err(_) => PyTypeError::new_err(format!("size() must return int, not {}", type_name(&size))),
        };
        size.extract().map_err(wrong)
    }

    fn read(&self, py: Python<'_>, buffer: &mut [u8], position: u64, wanted: u64) -> PyResult<usize> {
        let data = method(self.file.get(), "read_at", (wanted, position), py)?;
        let data = bytes_of(&data, "read_at")?;
        let Some(to) = buffer.get_mut(..data.len()).filter(|to| to.len() as u64 <= wanted) else {
            let message = format!("read_at({wanted}, {position}) returned {} bytes", data.len());
            return Err(PyValueError::new_err(message));
        };
        to.copy_from_slice(&data);
        if data.is_empty() {
            let size = self.size(py)?;
            if size > position {
                let message = format!("read_at({wanted}, {position}) returned no bytes of a file of {size} bytes");
                return Err(PyOSError::new_err((EIO, message)));
            }
            // The file became shorter; the reader detects it by the length.
            self.length.store(size, Ordering::Relaxed);
        }
        Ok(data.len())
    }
}

impl ReadAt for PyFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let wanted = (self.length.load(Ordering::Relaxed).saturating_sub(position)).min(buffer.len() as u64);
        if wanted == 0 {
            return Ok(0);
        }
        attached(&self.raised, |py| self.read(py, buffer, position, wanted))
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.length.load(Ordering::Relaxed))
    }

    fn traits(&self) -> SourceTraits<'_> {
        SourceTraits { worth_reading: self.worth_reading, chunk_size: self.chunk_size, ..SourceTraits::default() }
    }
}
