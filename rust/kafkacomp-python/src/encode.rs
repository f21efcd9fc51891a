//! One-shot compression, and the levels and options of the compressing functions and classes.

use std::cell::RefCell;

use kafkacomp_records::compress::lz4::{self, BlockMaxSize, EncodeOptions, HeaderChecksum};
use kafkacomp_records::compress::{CodecError, Compression, CompressionType, compress as compress_as_kafka};
use kafkacomp_records::record::lz4_checksum::written_header_checksum;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes};

use crate::bytes::bytes;
use crate::enums::compression_type_for_id;
use crate::error::codec_to_py;
use crate::input::bytes_like;

/// The largest buffer that a thread keeps for the next call.
const MAX_KEPT: usize = kafkacomp_records::limits::MAX_POOLED_BUFFER;

/// The level of a caller. `TypeError` if it is not an integer, and for a bool, which is an `int` in Python. A number of more than 32
/// bits is clamped, because no codec has such a level.
#[derive(Clone, Copy)]
pub struct Level(i32);

impl FromPyObject<'_, '_> for Level {
    type Error = PyErr;

    fn extract(level: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if level.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err("a level must be an int, not a bool"));
        }
        match level.extract() {
            Err(error) if PyErr::is_instance_of::<PyOverflowError>(&error, level.py()) => {
                Ok(Self(if level.lt(0)? { i32::MIN } else { i32::MAX }))
            }
            found => found.map(Self),
        }
    }
}

/// A compression type with a level, or with Kafka's default for None.
///
/// # Errors
/// `ValueError` for a level that the type does not have.
pub fn compression(compression_type: CompressionType, level: Option<Level>) -> PyResult<Compression> {
    let compression = Compression::new(compression_type, level.map(|level| level.0));
    compression.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// `kafkacomp.lz4.FrameOptions`.
#[derive(FromPyObject)]
pub struct FrameOptions {
    header_checksum: String,
    block_size: usize,
    block_checksum: bool,
    content_checksum: bool,
    content_size: bool,
}

/// These options with a level that was checked.
///
/// # Errors
/// `ValueError` for a header checksum or block size that cannot be written.
pub fn lz4_options(level: i32, options: FrameOptions) -> PyResult<EncodeOptions> {
    let FrameOptions { header_checksum, block_size, block_checksum, content_checksum, content_size } = options;
    let header_checksum = match header_checksum.as_str() {
        "standard" => HeaderChecksum::FrameDescriptor,
        "broken" => HeaderChecksum::WithMagic,
        name => {
            return Err(PyValueError::new_err(format!("header_checksum must be 'standard' or 'broken', not {name:?}")));
        }
    };
    let block_max_size = BlockMaxSize::of_bytes(block_size).ok_or_else(|| {
        PyValueError::new_err(format!("block_size must be 65536, 262144, 1048576 or 4194304, not {block_size}"))
    })?;
    Ok(EncodeOptions { level, header_checksum, block_max_size, block_checksum, content_checksum, content_size })
}

/// Compresses into a buffer of the thread with the GIL released.
fn compressed<'py>(
    data: &Bound<'py, PyAny>,
    encode: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<(), CodecError> + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    thread_local! {
        static KEPT: RefCell<Vec<u8>> = RefCell::default();
    }
    let py = data.py();
    let data = bytes_like("data", data)?;
    let (verdict, mut out) = py.detach(|| {
        let mut out = KEPT.take();
        (encode(&data, &mut out), out)
    });
    let result = verdict.map_err(|error| codec_to_py(py, error)).and_then(|()| bytes(py, &out));
    out.clear();
    out.shrink_to(MAX_KEPT);
    KEPT.set(out);
    result
}

/// Compresses data in the framing of Kafka's stream for this type and magic.
#[pyfunction]
pub fn compress<'py>(
    data: &Bound<'py, PyAny>,
    compression_type: u8,
    level: Option<Level>,
    magic: i8,
) -> PyResult<Bound<'py, PyBytes>> {
    let compression = compression(compression_type_for_id(compression_type)?, level)?;
    compressed(data, |data, out| compress_as_kafka(compression, written_header_checksum(magic), data, out))
}

/// One LZ4 frame with these options.
#[pyfunction]
pub fn lz4_compress<'py>(
    data: &Bound<'py, PyAny>,
    level: Option<Level>,
    options: FrameOptions,
) -> PyResult<Bound<'py, PyBytes>> {
    let compression = compression(CompressionType::Lz4, level)?;
    let options = lz4_options(compression.level(), options)?;
    compressed(data, |data, out| lz4::compress(data, options, out))
}
