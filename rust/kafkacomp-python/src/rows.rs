//! Rows from any Arrow library. The exit of the interpreter waits while a batch of them is fetched.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;

use crate::process::{Exiting, Inside, exiting, must_leave};

/// Rows, batch by batch. Their source may be implemented in Python, even if it is the stream of a library, which then takes the GIL
/// itself. Once the interpreter is about to end, no further batch is requested, and the exit waits for the current one.
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

/// The exception for an error of the stream of rows.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub fn rows_to_py(error: ArrowError) -> PyErr {
    match &error {
        ArrowError::ExternalError(source) if source.is::<Exiting>() => exiting(),
        _ => PyValueError::new_err(error.to_string()),
    }
}
