//! Members of the package's enums.

use kafkacomp_core::CompressionType;
use kafkacomp_core::record::TimestampType;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::gil::call;

static COMPRESSION_TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static TIMESTAMP_TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The member of `kafkacomp.CompressionType`.
///
/// # Errors
/// Only what the import says.
pub fn compression_type(py: Python<'_>, kind: CompressionType) -> PyResult<Bound<'_, PyAny>> {
    call(COMPRESSION_TYPE.import(py, "kafkacomp._types", "CompressionType")?, (kind.id(),))
}

/// The member of `kafkacomp.record.TimestampType`.
///
/// # Errors
/// Only what the import says.
pub fn timestamp_type(py: Python<'_>, kind: TimestampType) -> PyResult<Bound<'_, PyAny>> {
    call(TIMESTAMP_TYPE.import(py, "kafkacomp._types", "TimestampType")?, (kind as i8,))
}
