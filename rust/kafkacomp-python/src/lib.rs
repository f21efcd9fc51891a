//! The extension module: extract, release the GIL, call the core, map the error. Nothing else.

use pyo3::prelude::*;

#[pymodule]
fn _kafkacomp(_m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
