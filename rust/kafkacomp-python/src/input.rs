//! Bytes from Python that can be read with the GIL released.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView};

/// The bytes of an object. `bytes` are read in place; any other exporter of the buffer protocol may change meanwhile and is copied.
///
/// # Errors
/// `TypeError` with the `name` of the argument if it is not bytes-like.
pub fn bytes_like(name: &str, data: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(PyBackedBytes::from(bytes.clone()));
    }
    let view = PyMemoryView::from(data).map_err(|error| not_bytes_like(name, data, error))?;
    let copied = view.call_method0("tobytes")?.cast_into::<PyBytes>()?;
    Ok(PyBackedBytes::from(copied))
}

/// The error of an argument that is not bytes-like, in place of that of a memory view; other errors are not changed.
pub fn not_bytes_like(name: &str, data: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    match data.get_type().name() {
        Ok(found) if error.is_instance_of::<PyTypeError>(data.py()) => {
            PyTypeError::new_err(format!("{name} must be bytes-like, not {found}"))
        }
        _ => error,
    }
}

/// Runs `work` on bytes-like data with the GIL released.
///
/// # Errors
/// `TypeError` with the `name` of the argument if it is not bytes-like.
pub fn detached<R: Send>(name: &str, data: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> R + Send) -> PyResult<R> {
    let bytes = bytes_like(name, data)?;
    Ok(data.py().detach(|| work(&bytes)))
}
