//! Chunks of tiered storage: `kafkacomp.tiered`.

use kafkacomp_log::tiered::{ChunkDecoder as Decoder, ChunkFault, DataKey};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::bytes::bytes;
use crate::error::codec_to_py;
use crate::input::bytes_like;
use crate::memory::out_of_memory;
use crate::scratch::with_output;

/// A `DataKey` of `kafkacomp.tiered.keys`.
#[derive(FromPyObject)]
struct DataKeyFields {
    private_key: String,
    wrapped_key: Vec<u8>,
    aad: Vec<u8>,
}

/// Decodes the chunks of one segment.
#[pyclass(module = "kafkacomp._kafkacomp", frozen)]
pub struct ChunkDecoder(Decoder);

#[pymethods]
impl ChunkDecoder {
    #[new]
    fn new(py: Python<'_>, key: Option<DataKeyFields>) -> PyResult<Self> {
        let Some(fields) = key else { return Ok(Self(Decoder::new(None))) };
        let pem = Zeroizing::new(fields.private_key);
        let key = py.detach(|| DataKey::unwrap_with(&pem, &fields.wrapped_key));
        let key = key.map_err(|fault| PyValueError::new_err(fault.to_string()))?;
        Ok(Self(Decoder::new(Some((&key, fields.aad)))))
    }

    /// The content of a chunk, which must be `size` bytes.
    fn decode<'py>(&self, data: &Bound<'py, PyAny>, size: usize, compressed: bool) -> PyResult<Bound<'py, PyBytes>> {
        let py = data.py();
        let data = bytes_like("data", data)?;
        with_output(size, |out| {
            py.detach(|| self.0.decode(&data, size, compressed, out)).map_err(|fault| match fault {
                ChunkFault::Codec(error) => codec_to_py(py, error),
                ChunkFault::Memory(error) => out_of_memory(error),
                fault => PyValueError::new_err(fault.to_string()),
            })?;
            bytes(py, out.as_slice())
        })
    }
}
