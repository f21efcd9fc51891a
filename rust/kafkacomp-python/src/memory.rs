//! The exception for a lack of memory.

use kafkacomp_records::memory::OutOfMemory;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// `MemoryError` for a failed allocation.
pub fn out_of_memory(error: OutOfMemory) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}
