//! Members of the package's enums, to and from the core's.

use kafkacomp_records::CompressionType;
use kafkacomp_records::record::TimestampType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::value::PackageClass;

static COMPRESSION_TYPE: PackageClass = PackageClass::new("kafkacomp._types", "CompressionType");
static TIMESTAMP_TYPE: PackageClass = PackageClass::new("kafkacomp._types", "TimestampType");

/// The member of `kafkacomp.CompressionType`.
///
/// # Errors
/// Only those of the import.
pub fn compression_type(py: Python<'_>, compression_type: CompressionType) -> PyResult<Bound<'_, PyAny>> {
    COMPRESSION_TYPE.make(py, (compression_type.id(),))
}

/// The member of `kafkacomp.record.TimestampType`.
///
/// # Errors
/// Only those of the import.
pub fn timestamp_type(py: Python<'_>, timestamp_type: TimestampType) -> PyResult<Bound<'_, PyAny>> {
    TIMESTAMP_TYPE.make(py, (timestamp_type as i8,))
}

/// The compression type with this id.
///
/// # Errors
/// `ValueError` for an id that Kafka does not have.
pub fn compression_type_for_id(id: u8) -> PyResult<CompressionType> {
    CompressionType::for_id(id).ok_or_else(|| PyValueError::new_err(format!("invalid compression type id {id}")))
}

/// The timestamp type with this id.
///
/// # Errors
/// `ValueError` for an id that Kafka does not have.
pub fn timestamp_type_for_id(id: i8) -> PyResult<TimestampType> {
    TimestampType::for_id(id).ok_or_else(|| PyValueError::new_err(format!("invalid timestamp type id {id}")))
}
