//! Rows that a caller gives: those of any Arrow library, taken while the interpreter's exit waits.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;

use crate::process::{Exiting, Inside, exiting, must_leave};

/// Rows, batch by batch. Where they come from may be written in Python, also behind a library's stream, which takes the GIL
/// itself: once the interpreter is about to end, no further batch is asked for, and the exit waits for the one under way.
pub struct Rows {
    reader: Box<dyn RecordBatchReader + Send>,
    _inside: Inside,
}

impl FromPyObject<'_, '_> for Rows {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let inside = Inside::method()?;
        let rows: AnyRecordBatch = value.extract()?;
        Ok(Self { reader: rows.into_reader()?, _inside: inside })
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if must_leave() {
            return Some(Err(ArrowError::ExternalError(Box::new(Exiting))));
        }
        self.reader.next()
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

/// The exception for rows that could not be had.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub fn rows_to_py(error: ArrowError) -> PyErr {
    match &error {
        ArrowError::ExternalError(source) if source.is::<Exiting>() => exiting(),
        _ => PyValueError::new_err(error.to_string()),
    }
}
