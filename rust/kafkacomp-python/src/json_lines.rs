//! Rows as JSON lines.

use kafkacomp_arrow::json_lines::json_lines as lines;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::rows::{Rows, rows_to_py};

/// The rows as JSON objects, one for each line. Every object has all columns; a null is written as `null`.
#[pyfunction]
pub fn json_lines(py: Python<'_>, rows: Rows) -> PyResult<Bound<'_, PyBytes>> {
    let written = py.detach(|| lines(rows)).map_err(rows_to_py)?;
    bytes(py, &written)
}
