//! The fields of a record, as Python passes them.

use kafkacomp_records::record::{BuildFault, HeadersBuffer};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMapping, PyString};

use crate::error::build_to_py;
use crate::gil::iterate;
use crate::input::bytes_like;

/// A number of 64 bits; a larger one is a `ValueError` and not an `OverflowError`.
#[derive(Clone, Copy)]
pub struct Int64(pub i64);

impl FromPyObject<'_, '_> for Int64 {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        value.extract().map(Self).map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                PyValueError::new_err(format!("{} is out of the range of 64 bits", *value))
            } else {
                error
            }
        })
    }
}

/// A key, value or header value: `bytes` without a copy, a copy of other exporters, `None` for null.
pub enum Field<'a> {
    Null,
    Bytes(&'a [u8]),
    Copied(PyBackedBytes),
}

impl<'a> Field<'a> {
    fn of(value: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.as_bytes()));
        }
        if value.is_none() {
            return Ok(Self::Null);
        }
        bytes_like(name, value).map(Self::Copied).map_err(|error| {
            if !error.is_instance_of::<PyTypeError>(value.py()) {
                return error;
            }
            let found = value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
            PyTypeError::new_err(format!("{name} must be bytes-like or None, not {found}"))
        })
    }

    pub fn get(&self) -> Option<&[u8]> {
        match self {
            Self::Null => None,
            Self::Bytes(bytes) => Some(bytes),
            Self::Copied(bytes) => Some(bytes),
        }
    }
}

/// Adds pairs of string and bytes, or a mapping of them, to `out`.
pub fn encode_headers(headers: &Bound<'_, PyAny>, out: &mut HeadersBuffer) -> PyResult<()> {
    let pairs = match headers.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) => headers.clone(),
    };
    let wrong = |found: &Bound<'_, PyAny>, error: PyErr| {
        let found = found.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        if error.is_instance_of::<PyTypeError>(headers.py()) {
            return PyTypeError::new_err(format!("headers must be a mapping, or pairs of key and value, not {found}"));
        }
        error
    };
    for pair in iterate(&pairs).map_err(|error| wrong(&pairs, error))? {
        let pair = pair?;
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract().map_err(|error| wrong(&pair, error))?;
        let key = key.cast::<PyString>().map_err(|_| {
            let found = key.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
            PyTypeError::new_err(format!("a header key must be a str, not {found}"))
        })?;
        let pushed = out.push(&key.to_cow()?, Field::of(&value, "a header value")?.get());
        pushed.map_err(|error| build_to_py(headers.py(), BuildFault::OutOfMemory(error)))?;
    }
    Ok(())
}

/// The fields of a record from the caller.
pub struct Row<'a> {
    pub value: Field<'a>,
    pub key: Field<'a>,
    pub headers: HeadersBuffer,
}

impl<'a> Row<'a> {
    pub fn of(
        value: &'a Bound<'_, PyAny>,
        key: Option<&'a Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut encoded = HeadersBuffer::new();
        if let Some(headers) = headers {
            encode_headers(headers, &mut encoded)?;
        }
        let key = key.map_or(Ok(Field::Null), |key| Field::of(key, "key"))?;
        Ok(Self { value: Field::of(value, "value")?, key, headers: encoded })
    }
}
