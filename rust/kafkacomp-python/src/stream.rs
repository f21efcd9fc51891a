//! Incremental compression and decompression in the shape of PEP 784. An object may be used from several
//! threads: each call has it for itself, and the GIL is free meanwhile.

use kafkacomp_core::buffer::{NoRoom, OutputBuffer};
use kafkacomp_core::compress::lz4;
use kafkacomp_core::compress::stream::{
    Decoder, DecoderOptions, Encoder, MultiFrameDecoder, Operation, decoder, encoder,
};
use kafkacomp_core::compress::{CodecError, CodecFault, CompressionType, Strictness};
use kafkacomp_core::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_core::memory::{self, OutOfMemory};
use kafkacomp_core::record::lz4_checksum::{decode_options, written_header_checksum};
use pyo3::exceptions::{PyEOFError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::codec::{kind, specification};
use crate::encode::{FrameOptions, Level, compression, lz4_options};
use crate::error::codec_to_py;
use crate::input::bytes_like;
use crate::scratch::with_output;
use crate::shared::Shared;

/// By how much room is asked for at a time.
const ROOM: usize = 64 << 10;

const CONTINUE: i32 = 0;
const FLUSH_BLOCK: i32 = 1;
const FLUSH_FRAME: i32 = 2;

/// The base of the compressing classes.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, subclass)]
pub struct Compressor(Shared<Compressing>);

struct Compressing {
    compression_type: CompressionType,
    encoder: Box<dyn Encoder>,
    last_mode: i32,
    /// Memory ran out for output that the encoder will not make again.
    lost: bool,
}

impl Compressor {
    /// What was made did not reach the caller, who cannot go on from here.
    fn lose(&self, py: Python<'_>) {
        if let Ok(mut state) = self.0.lock_attached(py) {
            state.lost = true;
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

    /// As Kafka's stream of this magic, or an LZ4 one with these options.
    #[new]
    #[pyo3(signature = (compression_type, level, magic, lz4_options=None))]
    fn new(compression_type: u8, level: Option<Level>, magic: i8, lz4_options: Option<FrameOptions>) -> PyResult<Self> {
        let compression = compression(kind(compression_type)?, level)?;
        let compression_type = compression.compression_type();
        let encoder: Box<dyn Encoder> = match lz4_options {
            Some(options) => Box::new(lz4::encoder(self::lz4_options(compression.level(), options)?)),
            None => Python::attach(|py| {
                encoder(compression, written_header_checksum(magic)).map_err(|error| codec_to_py(py, error))
            })?,
        };
        Ok(Self(Shared::new(Compressing { compression_type, encoder, last_mode: FLUSH_FRAME, lost: false })))
    }

    /// The last mode.
    #[getter]
    fn last_mode(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(self.0.lock_attached(py)?.last_mode)
    }

    /// Compresses data.
    #[pyo3(signature = (data, mode=0))]
    fn compress<'py>(&self, data: &Bound<'py, PyAny>, mode: i32) -> PyResult<Bound<'py, PyBytes>> {
        let operation = match mode {
            CONTINUE => Operation::Continue,
            FLUSH_BLOCK => Operation::FlushBlock,
            FLUSH_FRAME => Operation::FlushFrame,
            _ => return Err(PyValueError::new_err("mode must be CONTINUE, FLUSH_BLOCK or FLUSH_FRAME")),
        };
        let py = data.py();
        let data = bytes_like(data)?;
        with_output(isize::MAX as usize, |out| {
            py.detach(|| {
                let mut state = self.0.lock()?;
                state.last_mode = mode;
                PyResult::Ok(state.compress(&data, operation, out))
            })?
            .map_err(|error| codec_to_py(py, error))?;
            bytes(py, out.as_slice()).inspect_err(|_| self.lose(py))
        })
    }

    /// Writes what is kept.
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

impl Compressing {
    fn compress(&mut self, data: &[u8], operation: Operation, out: &mut OutputBuffer) -> Result<(), CodecError> {
        if self.lost {
            return Err(no_room(self.compression_type, NoRoom::OutOfMemory));
        }
        // The caller cannot know how far a call came that failed.
        self.lost = true;
        encode_all(self.compression_type, self.encoder.as_mut(), data, operation, out)?;
        self.lost = false;
        Ok(())
    }
}

fn encode_all(
    compression_type: CompressionType,
    encoder: &mut dyn Encoder,
    mut data: &[u8],
    operation: Operation,
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    loop {
        let room = out.spare(ROOM).map_err(|reason| no_room(compression_type, reason))?;
        let progress = encoder.encode(data, room, operation)?;
        out.advance(progress.written);
        data = &data[progress.consumed..];
        if progress.done {
            return Ok(());
        }
    }
}

fn no_room(compression_type: CompressionType, reason: NoRoom) -> CodecError {
    CodecError { compression_type, position: 0, fault: CodecFault::from(reason) }
}

/// The base of the decompressing classes.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, subclass)]
pub struct Decompressor(Shared<Decompressing>);

/// Bytes that wait to be decoded.
#[derive(Default)]
enum Waiting {
    #[default]
    Nothing,
    /// As Python gave them.
    Given(PyBackedBytes),
    /// Joined from several calls.
    Joined(Vec<u8>),
}

impl Waiting {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Nothing => &[],
            Self::Given(bytes) => bytes,
            Self::Joined(bytes) => bytes,
        }
    }
}

struct Decompressing {
    compression_type: CompressionType,
    decoder: Box<dyn Decoder>,
    waiting: Waiting,
    /// How much of them was taken.
    taken: usize,
    eof: bool,
    needs_input: bool,
    /// Memory ran out for input or output that will not come again.
    lost: bool,
}

impl Decompressing {
    fn rest(&self) -> &[u8] {
        &self.waiting.bytes()[self.taken..]
    }

    /// Appends new input to what is left of the old.
    fn give(&mut self, data: PyBackedBytes) -> Result<(), OutOfMemory> {
        if self.rest().is_empty() {
            (self.waiting, self.taken) = (Waiting::Given(data), 0);
        } else if !data.is_empty() {
            let rest = self.rest();
            let mut joined = memory::with_capacity(rest.len().saturating_add(data.len()))?;
            joined.extend_from_slice(rest);
            joined.extend_from_slice(&data);
            (self.waiting, self.taken) = (Waiting::Joined(joined), 0);
        }
        Ok(())
    }

    /// Takes input and decodes. Once memory ran out for what was given or made, every further call fails so.
    fn run(
        &mut self,
        data: PyBackedBytes,
        max_length: Option<usize>,
        out: &mut OutputBuffer,
    ) -> Result<(), CodecError> {
        if self.lost {
            return Err(no_room(self.compression_type, NoRoom::OutOfMemory));
        }
        let given = self.give(data).map_err(|error| no_room(self.compression_type, error.into()));
        let result = given.and_then(|()| self.decompress(max_length, out));
        self.lost = result.as_ref().is_err_and(|error| error.fault == CodecFault::OutOfMemory);
        result
    }

    /// Decodes until the input or, if only `max_length` bytes are wanted, the room is used up.
    fn decompress(&mut self, max_length: Option<usize>, out: &mut OutputBuffer) -> Result<(), CodecError> {
        let full = loop {
            let some = max_length.is_some() && !out.is_empty();
            let room = match out.spare(ROOM) {
                Err(NoRoom::OutOfMemory) if some => break true,
                Err(reason @ NoRoom::OutOfMemory) => return Err(no_room(self.compression_type, reason)),
                // The frame may end without a further byte, also where none is wanted.
                room => room.unwrap_or_default(),
            };
            let full = room.is_empty();
            let rest = &self.waiting.bytes()[self.taken..];
            let progress = match self.decoder.decode(rest, room) {
                Ok(progress) => progress,
                // Those who ask for pieces get what comes before the error first.
                Err(_) if some => break true,
                Err(error) => return Err(error),
            };
            out.advance(progress.written);
            self.taken += progress.consumed;
            self.eof = progress.done;
            if progress.done || full || (progress.consumed == 0 && progress.written == 0) {
                break full;
            }
        };
        self.needs_input = !self.eof && !full && self.rest().is_empty();
        if full && max_length.is_none() && !self.eof {
            let (position, fault) = (0, CodecFault::OutputLimit { limit: out.limit() as u64 });
            return Err(CodecError { compression_type: self.compression_type, position, fault });
        }
        Ok(())
    }
}

impl Decompressor {
    /// What was made did not reach the caller, who cannot go on from here.
    fn lose(&self, py: Python<'_>) {
        if let Ok(mut state) = self.0.lock_attached(py) {
            state.lost = true;
        }
    }
}

#[pymethods]
impl Decompressor {
    /// One frame, or with `frames` all of them: by the specification, or for a magic as Kafka's stream reads.
    #[new]
    fn new(
        compression_type: u8,
        checksum: &str,
        magic: Option<i8>,
        max_output_size: Option<usize>,
        frames: bool,
    ) -> PyResult<Self> {
        let compression_type = kind(compression_type)?;
        let by_specification = specification(checksum)?;
        let decode = magic.map_or(by_specification, |magic| decode_options(magic, Strictness::Tolerant));
        let limit = max_output_size.map_or(u64::MAX, |limit| limit as u64);
        let options = DecoderOptions { decode, limit };
        let decoder: Box<dyn Decoder> = if frames {
            Box::new(MultiFrameDecoder::new(compression_type, options))
        } else {
            decoder(compression_type, options)
        };
        let (waiting, taken, eof, needs_input, lost) = (Waiting::Nothing, 0, false, true, false);
        Ok(Self(Shared::new(Decompressing { compression_type, decoder, waiting, taken, eof, needs_input, lost })))
    }

    /// Decompresses data.
    #[pyo3(signature = (data, max_length=-1), text_signature = "($self, data, max_length=-1)")]
    fn decompress<'py>(&self, data: &Bound<'py, PyAny>, max_length: isize) -> PyResult<Bound<'py, PyBytes>> {
        let py = data.py();
        let data = bytes_like(data)?;
        let max_length = usize::try_from(max_length).ok();
        with_output(max_length.unwrap_or(DEFAULT_MAX_OUTPUT_SIZE), |out| {
            let done = py.detach(|| {
                let mut state = self.0.lock()?;
                PyResult::Ok((!state.eof).then(|| state.run(data, max_length, out)))
            })?;
            done.ok_or_else(|| PyEOFError::new_err("the end of the frame was already reached"))?
                .map_err(|error| codec_to_py(py, error))?;
            bytes(py, out.as_slice()).inspect_err(|_| self.lose(py))
        })
    }

    /// Raises `TruncatedError` where the data may not end.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let finished = {
            let state = self.0.lock_attached(py)?;
            if state.eof { Ok(()) } else { state.decoder.finish() }
        };
        finished.map_err(|error| codec_to_py(py, error))
    }

    /// Whether the frame has ended.
    #[getter]
    fn eof(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.0.lock_attached(py)?.eof)
    }

    /// Whether more input is needed for more output.
    #[getter]
    fn needs_input(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.0.lock_attached(py)?.needs_input)
    }

    /// What follows the frame.
    #[getter]
    fn unused_data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.0.lock_attached(py)?;
        bytes(py, if state.eof { state.rest() } else { &[] })
    }

    #[expect(clippy::unused_self, reason = "a method of Python's")]
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a decompressor cannot be pickled"))
    }
}
