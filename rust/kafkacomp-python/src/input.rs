//! Bytes from Python that can be read with the GIL released.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView};

/// The bytes of an object. `bytes` are read in place; any other exporter of the buffer protocol may change meanwhile and is copied.
///
/// # Errors
/// `TypeError` if it is not bytes-like.
pub fn bytes_like(data: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(PyBackedBytes::from(bytes.clone()));
    }
    let copied = PyMemoryView::from(data)?.call_method0("tobytes")?.cast_into::<PyBytes>()?;
    Ok(PyBackedBytes::from(copied))
}

/// Runs `work` on bytes-like data with the GIL released.
///
/// # Errors
/// `TypeError` if it is not bytes-like.
pub fn detached<R: Send>(data: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> R + Send) -> PyResult<R> {
    let bytes = bytes_like(data)?;
    Ok(data.py().detach(|| work(&bytes)))
}
