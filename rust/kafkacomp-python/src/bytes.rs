//! Bytes for Python.

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A copy of `content` as a `bytes` object. Unlike `PyBytes::new` it does not panic if memory runs out.
///
/// # Errors
/// `MemoryError`.
pub fn bytes<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let length = ffi::Py_ssize_t::try_from(content.len()).map_err(|_| PyMemoryError::new_err(()))?;
    // SAFETY: `content` has `length` bytes, which Python copies before the call returns; what it returns is a new
    // reference to a bytes object, or null with an exception set. The GIL is held, as `py` shows.
    #[expect(unsafe_code, reason = "the safe constructor panics where memory runs out")]
    let made = unsafe {
        let made = ffi::PyBytes_FromStringAndSize(content.as_ptr().cast(), length);
        Bound::from_owned_ptr_or_err(py, made)
    };
    made?.cast_into().map_err(PyErr::from)
}
