//! Rows as JSON lines, by the writer of the crate `arrow-json`.

use arrow_array::RecordBatchReader;
use arrow_json::writer::{LineDelimited, WriterBuilder};
use arrow_schema::ArrowError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::rows::{Rows, rows_to_py};

/// One object a line, with every column in it: null where a value is.
#[pyfunction]
pub fn json_lines(py: Python<'_>, rows: Rows) -> PyResult<Bound<'_, PyBytes>> {
    let written = py.detach(|| write(rows));
    Ok(PyBytes::new(py, &written.map_err(rows_to_py)?))
}

fn write(rows: impl RecordBatchReader) -> Result<Vec<u8>, ArrowError> {
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(Vec::new());
    for batch in rows {
        writer.write(&batch?)?;
    }
    writer.finish()?;
    Ok(writer.into_inner())
}
