//! Incremental compression and decompression in the shape of PEP 784. An object may be used from several threads, one call
//! after another; the GIL is free during a call.

use kafkacomp_records::compress::Strictness;
use kafkacomp_records::compress::lz4;
use kafkacomp_records::compress::stream::{
    Decoder, DecoderOptions, Encoder, IncrementalCompressor, IncrementalDecompressor, MultiFrameDecoder, Operation,
    decoder, encoder,
};
use kafkacomp_records::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_records::record::lz4_checksum::{decode_options, written_header_checksum};
use pyo3::exceptions::{PyEOFError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::codec::specification;
use crate::encode::{FrameOptions, Level, compression, lz4_options};
use crate::enums::compression_type_for_id;
use crate::error::codec_to_py;
use crate::input::bytes_like;
use crate::scratch::with_output;
use crate::shared::Shared;

const CONTINUE: i32 = 0;
const FLUSH_BLOCK: i32 = 1;
const FLUSH_FRAME: i32 = 2;

/// The base of the compressing classes.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, subclass)]
pub struct Compressor(Shared<Compressing>);

struct Compressing {
    compressor: IncrementalCompressor,
    last_mode: i32,
}

impl Compressor {
    /// Ends the stream, because output did not reach the caller.
    fn lose(&self, py: Python<'_>) {
        if let Ok(mut state) = self.0.lock_attached(py) {
            state.compressor.lose();
        }
    }
}

#[pymethods]
impl Compressor {
    #[classattr]
    const CONTINUE: i32 = CONTINUE;
    #[classattr]
    const FLUSH_BLOCK: i32 = FLUSH_BLOCK;
    #[classattr]
    const FLUSH_FRAME: i32 = FLUSH_FRAME;

    /// A compressor of Kafka's stream for this magic, or of an LZ4 frame with these options.
    #[new]
    #[pyo3(signature = (compression_type, level, magic, lz4_options=None))]
    fn new(compression_type: u8, level: Option<Level>, magic: i8, lz4_options: Option<FrameOptions>) -> PyResult<Self> {
        let compression = compression(compression_type_for_id(compression_type)?, level)?;
        let compression_type = compression.compression_type();
        let encoder: Box<dyn Encoder> = match lz4_options {
            Some(options) => Box::new(lz4::encoder(self::lz4_options(compression.level(), options)?)),
            None => Python::attach(|py| {
                encoder(compression, written_header_checksum(magic)).map_err(|error| codec_to_py(py, error))
            })?,
        };
        let compressor = IncrementalCompressor::new(compression_type, encoder);
        Ok(Self(Shared::new(Compressing { compressor, last_mode: FLUSH_FRAME })))
    }

    /// The mode of the last call of `compress` or `flush`; at first `FLUSH_FRAME`.
    #[getter]
    fn last_mode(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(self.0.lock_attached(py)?.last_mode)
    }

    /// Compress data, and return the compressed bytes that are available so far.
    ///
    /// The mode `CONTINUE` may keep data for later, `FLUSH_BLOCK` returns all of them, so that a reader can decompress
    /// them, and `FLUSH_FRAME` also ends the frame; later data begin a new one.
    #[pyo3(signature = (data, mode=0))]
    fn compress<'py>(&self, data: &Bound<'py, PyAny>, mode: i32) -> PyResult<Bound<'py, PyBytes>> {
        let operation = match mode {
            CONTINUE => Operation::Continue,
            FLUSH_BLOCK => Operation::FlushBlock,
            FLUSH_FRAME => Operation::FlushFrame,
            _ => return Err(PyValueError::new_err("mode must be CONTINUE, FLUSH_BLOCK or FLUSH_FRAME")),
        };
        let py = data.py();
        let data = bytes_like("data", data)?;
        with_output(isize::MAX as usize, |out| {
            py.detach(|| {
                let mut state = self.0.lock()?;
                state.last_mode = mode;
                PyResult::Ok(state.compressor.compress(&data, operation, out))
            })?
            .map_err(|error| codec_to_py(py, error))?;
            bytes(py, out.as_slice()).inspect_err(|_| self.lose(py))
        })
    }

    /// Return the compressed bytes of all data so far, and end the block (`FLUSH_BLOCK`) or the frame (`FLUSH_FRAME`).
    #[pyo3(signature = (mode=2))]
    fn flush<'py>(&self, py: Python<'py>, mode: i32) -> PyResult<Bound<'py, PyBytes>> {
        match mode {
            FLUSH_BLOCK | FLUSH_FRAME => self.compress(PyBytes::new(py, b"").as_any(), mode),
            _ => Err(PyValueError::new_err("mode must be FLUSH_BLOCK or FLUSH_FRAME")),
        }
    }

    #[expect(clippy::unused_self, reason = "a method of Python's")]
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a compressor cannot be pickled"))
    }
}

/// The base of the decompressing classes.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, subclass)]
pub struct Decompressor(Shared<Decompressing>);

type Decompressing = IncrementalDecompressor<PyBackedBytes>;

impl Decompressor {
    /// Ends the stream, because output did not reach the caller.
    fn lose(&self, py: Python<'_>) {
        if let Ok(mut state) = self.0.lock_attached(py) {
            state.lose();
        }
    }
}

#[pymethods]
impl Decompressor {
    /// A decompressor of one frame, or with `frames` of all frames: by the codec's specification, or as Kafka's stream for a magic.
    #[new]
    fn new(
        compression_type: u8,
        checksum: &str,
        magic: Option<i8>,
        max_output_size: Option<usize>,
        frames: bool,
    ) -> PyResult<Self> {
        let compression_type = compression_type_for_id(compression_type)?;
        let by_specification = specification(checksum)?;
        let decode = magic.map_or(by_specification, |magic| decode_options(magic, Strictness::Tolerant));
        let limit = max_output_size.map_or(u64::MAX, |limit| limit as u64);
        let options = DecoderOptions { decode, limit };
        let decoder: Box<dyn Decoder> = if frames {
            Box::new(MultiFrameDecoder::new(compression_type, options))
        } else {
            decoder(compression_type, options)
        };
        Ok(Self(Shared::new(Decompressing::new(compression_type, decoder))))
    }

    /// Decompress data, and return at most `max_length` bytes of the content; -1 is no limit.
    ///
    /// Input that is not needed yet is kept: while `needs_input` is false, call it with `b""` for more. Raises
    /// `DecompressionError` for corrupt data and `EOFError` after the end of the frame.
    #[pyo3(signature = (data, max_length=-1), text_signature = "($self, data, max_length=-1)")]
    fn decompress<'py>(&self, data: &Bound<'py, PyAny>, max_length: isize) -> PyResult<Bound<'py, PyBytes>> {
        let py = data.py();
        let data = bytes_like("data", data)?;
        let max_length = usize::try_from(max_length).ok();
        with_output(max_length.unwrap_or(DEFAULT_MAX_OUTPUT_SIZE), |out| {
            let done = py.detach(|| {
                let mut state = self.0.lock()?;
                PyResult::Ok((!state.is_ended()).then(|| state.decompress(data, max_length, out)))
            })?;
            done.ok_or_else(|| PyEOFError::new_err("the end of the frame was already reached"))?
                .map_err(|error| codec_to_py(py, error))?;
            bytes(py, out.as_slice()).inspect_err(|_| self.lose(py))
        })
    }

    /// Raise `TruncatedError` if the data may not end here.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let finished = self.0.lock_attached(py)?.finish();
        finished.map_err(|error| codec_to_py(py, error))
    }

    /// Whether the end of the frame was reached.
    #[getter]
    fn eof(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.0.lock_attached(py)?.is_ended())
    }

    /// Whether more input is needed before `decompress` can return more content.
    #[getter]
    fn needs_input(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.0.lock_attached(py)?.needs_input())
    }

    /// The bytes after the end of the frame; empty before the end.
    #[getter]
    fn unused_data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.0.lock_attached(py)?;
        bytes(py, if state.is_ended() { state.rest() } else { &[] })
    }

    #[expect(clippy::unused_self, reason = "a method of Python's")]
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a decompressor cannot be pickled"))
    }
}
