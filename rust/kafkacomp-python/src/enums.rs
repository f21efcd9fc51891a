//! Members of the package's enums.

use kafkacomp_core::CompressionType;
use kafkacomp_core::record::TimestampType;
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
