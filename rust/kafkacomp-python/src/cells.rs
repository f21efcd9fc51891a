//! `kafkacomp.arrow`'s functions on columns of cells: arrays in and out by the `PyCapsule` interface.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::Field;
use kafkacomp_arrow::cells::{self, CompressOptions, DecompressOptions, OnBadCell, Parameter, ParseOptions};
use kafkacomp_arrow::{Column, options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{to_array_pycapsules, to_schema_pycapsule};
use pyo3_arrow::input::AnyArray;

use crate::enums::compression_type_for_id;
use crate::error::cell_to_py;
use crate::process::Inside;

/// An Arrow array that `pyarrow.array`, `polars.Series` and similar functions import without a copy.
#[pyclass(module = "kafkacomp.arrow", frozen)]
pub struct ArrowArray(ArrayRef);

#[pymethods]
impl ArrowArray {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.field())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        to_array_pycapsules(py, Arc::new(self.field()), &self.0, requested_schema)
    }
}

impl ArrowArray {
    fn field(&self) -> Field {
        Field::new("", self.0.data_type().clone(), true)
    }
}

/// One array of the argument; the chunks of a stream (a chunked array, a polars series) are concatenated.
pub struct Whole(ArrayRef);

impl FromPyObject<'_, '_> for Whole {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        // As in `rows`, the stream may be implemented in Python.
        let _inside = Inside::method()?;
        let (chunks, field) = match value.extract()? {
            AnyArray::Array(array) => return Ok(Self(array.into_inner().0)),
            stream @ AnyArray::Stream(_) => stream.into_chunked_array()?.into_inner(),
        };
        let whole = value.py().detach(|| cells::concatenate(&chunks, field.data_type()));
        Ok(Self(whole.map_err(|error| PyValueError::new_err(error.to_string()))?))
    }
}

/// A number for all cells, `None`, or an array.
#[derive(FromPyObject)]
pub enum Argument {
    /// One number for all cells.
    Constant(Option<i32>),
    /// One number for each cell.
    Column(Whole),
}

impl Argument {
    fn parameter<T>(&self, constant: impl FnOnce(Option<i32>) -> PyResult<T>) -> PyResult<Parameter<'_, T>> {
        match self {
            Self::Constant(value) => constant(*value).map(Parameter::Constant),
            Self::Column(array) => Ok(Parameter::Column(array.0.as_ref())),
        }
    }

    fn compression_type(&self) -> PyResult<Parameter<'_, kafkacomp_records::CompressionType>> {
        // A number that does not fit into a byte is not an id.
        self.parameter(|id| compression_type_for_id(id.and_then(|id| u8::try_from(id).ok()).unwrap_or(u8::MAX)))
    }

    fn magic(&self) -> PyResult<Parameter<'_, Option<i8>>> {
        self.parameter(|magic| Ok(magic.and_then(|magic| i8::try_from(magic).ok())))
    }
}

fn on_bad_cell(null: bool) -> OnBadCell {
    if null { OnBadCell::Null } else { OnBadCell::Raise }
}

/// Decompresses cells.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
pub fn decompress_cells(
    py: Python<'_>,
    data: Whole,
    compression_type: Argument,
    magic: Argument,
    bad_is_null: bool,
    max_output_size: usize,
) -> PyResult<ArrowArray> {
    let options = DecompressOptions {
        compression_type: compression_type.compression_type()?,
        magic: magic.magic()?,
        on_bad_cell: on_bad_cell(bad_is_null),
        max_output_size,
    };
    py.detach(|| cells::decompress(data.0.as_ref(), options)).map(ArrowArray).map_err(|error| cell_to_py(py, error))
}

/// Compresses cells.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as above")]
pub fn compress_cells(
    py: Python<'_>,
    data: Whole,
    compression_type: Argument,
    level: Argument,
    magic: Argument,
    bad_is_null: bool,
) -> PyResult<ArrowArray> {
    let options = CompressOptions {
        compression_type: compression_type.compression_type()?,
        level: level.parameter(Ok)?,
        magic: magic.magic()?,
        on_bad_cell: on_bad_cell(bad_is_null),
    };
    py.detach(|| cells::compress(data.0.as_ref(), options)).map(ArrowArray).map_err(|error| cell_to_py(py, error))
}

/// `kafkacomp.arrow._cells.RecordFields`.
#[derive(FromPyObject)]
pub struct RecordFields {
    columns: Vec<String>,
    timestamp_unit: String,
    include_control: bool,
    verify_crc: bool,
}

/// Parses the records of cells that are record sets.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as above")]
pub fn parse_cells(
    py: Python<'_>,
    data: Whole,
    fields: RecordFields,
    bad_is_null: bool,
    max_output_size: usize,
) -> PyResult<ArrowArray> {
    let options = ParseOptions {
        columns: fields.columns.iter().map(|name| column(name)).collect::<PyResult<_>>()?,
        timestamp_unit: options::time_unit(&fields.timestamp_unit),
        include_control: fields.include_control,
        verify_crc: fields.verify_crc,
        on_bad_cell: on_bad_cell(bad_is_null),
        max_output_size,
    };
    py.detach(|| cells::parse_records(data.0.as_ref(), &options)).map(ArrowArray).map_err(|error| cell_to_py(py, error))
}

/// The column with this name.
///
/// # Errors
/// `ValueError` if there is no such column.
pub fn column(name: &str) -> PyResult<Column> {
    Column::for_name(name).ok_or_else(|| PyValueError::new_err(format!("unknown column {name:?}")))
}
