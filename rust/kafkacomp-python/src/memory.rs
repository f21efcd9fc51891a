//! The exception for a lack of memory.

use kafkacomp_core::memory::OutOfMemory;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// The exception where memory ran out.
pub fn out_of_memory(error: OutOfMemory) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}
