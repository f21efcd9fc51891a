//! One-shot decompression. Bytes are decoded into a kept private buffer while the GIL is free, and copied to
//! where Python wants them while it is held.

use std::cell::RefCell;

use kafkacomp_core::buffer::OutputBuffer;
use kafkacomp_core::compress::lz4::{self, DecodeOptions, HeaderChecksum, HeaderChecksumRule};
use kafkacomp_core::compress::{CodecError, CompressionType, Decompressor, Strictness, gzip, snappy, zstd};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PySlice};

use crate::bytes::bytes;
use crate::error::codec_to_py;
use crate::input::bytes_like;
use crate::scratch::with_output;

thread_local! {
    /// Contexts, kept from call to call.
    static KEPT: RefCell<Decompressor> = RefCell::default();
}

/// How compressed bytes are read.
#[derive(Clone, Copy)]
enum Reading {
    /// As the codec's specification asks; LZ4 with this header checksum.
    Specification(CompressionType, HeaderChecksum),
    /// As Kafka reads what a record set of this magic holds.
    RecordSet(CompressionType, i8),
}

impl Reading {
    fn decode(self, data: &[u8], decompressor: &mut Decompressor, out: &mut OutputBuffer) -> Result<(), CodecError> {
        match self {
            Self::Specification(CompressionType::Gzip, _) => gzip::decompress(data, out),
            Self::Specification(CompressionType::Snappy, _) => snappy::decompress(data, out),
            Self::Specification(CompressionType::Lz4, header_checksum) => {
                let strictness = Strictness::Specification;
                lz4::decompress(data, DecodeOptions { header_checksum, strictness }, out)
            }
            Self::Specification(CompressionType::Zstd, _) => zstd::decompress(data, out),
            Self::Specification(kind @ CompressionType::None, _) => decompressor.decompress(kind, 2, data, out),
            Self::RecordSet(kind, magic) => decompressor.decompress(kind, magic, data, out),
        }
    }
}

/// Decodes with the GIL free, and gives what was decoded to `take` with the GIL held.
fn decoded<R>(
    data: &Bound<'_, PyAny>,
    reading: Reading,
    limit: usize,
    take: impl FnOnce(&[u8]) -> PyResult<R>,
) -> PyResult<R> {
    let py = data.py();
    let data = bytes_like(data)?;
    with_output(limit, |out| {
        py.detach(|| {
            let mut decompressor = KEPT.take();
            let verdict = reading.decode(&data, &mut decompressor, out);
            KEPT.set(decompressor);
            verdict
        })
        .map_err(|error| codec_to_py(py, error))?;
        take(out.as_slice())
    })
}

/// The compression type with this id.
///
/// # Errors
/// `ValueError` for an id that Kafka does not have.
pub fn kind(id: u8) -> PyResult<CompressionType> {
    CompressionType::for_id(id).ok_or_else(|| PyValueError::new_err(format!("unknown compression type id: {id}")))
}

/// The header checksum that a reader demands.
///
/// # Errors
/// `ValueError` for any other name.
pub fn header_checksum(name: &str) -> PyResult<HeaderChecksum> {
    match name {
        "standard" => Ok(HeaderChecksum::Standard),
        "broken" => Ok(HeaderChecksum::Broken),
        "either" => Ok(HeaderChecksum::Either),
        "ignore" => Ok(HeaderChecksum::Ignore),
        _ => Err(PyValueError::new_err(format!(
            "header_checksum must be 'standard', 'broken', 'either' or 'ignore', not {name:?}"
        ))),
    }
}

/// By the codec's specification.
#[pyfunction]
pub fn decompress<'py>(
    data: &Bound<'py, PyAny>,
    compression_type: u8,
    checksum: &str,
    max_output_size: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let reading = Reading::Specification(kind(compression_type)?, header_checksum(checksum)?);
    decoded(data, reading, max_output_size, |content| bytes(data.py(), content))
}

/// By the codec's specification, to the front of a writable buffer; the number of bytes.
#[pyfunction]
pub fn decompress_into(
    data: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    compression_type: u8,
    checksum: &str,
) -> PyResult<usize> {
    let py = data.py();
    let reading = Reading::Specification(kind(compression_type)?, header_checksum(checksum)?);
    // The view holds the buffer's size while the GIL is free.
    let view = PyMemoryView::from(out)?.call_method1("cast", ("B",))?;
    if view.getattr("readonly")?.extract()? {
        return Err(PyTypeError::new_err("out must be writable"));
    }
    decoded(data, reading, view.len()?, |content| {
        let front = view.get_item(PySlice::new(py, 0, content.len().cast_signed(), 1))?;
        PyBuffer::<u8>::get(&front)?.copy_from_slice(py, content)?;
        Ok(content.len())
    })
}

/// As Kafka reads a record set of this magic.
#[pyfunction]
pub fn decompress_record_set<'py>(
    data: &Bound<'py, PyAny>,
    compression_type: u8,
    magic: i8,
    max_output_size: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let reading = Reading::RecordSet(kind(compression_type)?, magic);
    decoded(data, reading, max_output_size, |content| bytes(data.py(), content))
}

/// Position, header length, FLG, BD, largest block, content size, dictionary id, stored, standard and broken
/// header checksum, rule.
type FrameInfo = (usize, usize, u8, u8, usize, Option<u64>, Option<u32>, u8, u8, u8, &'static str);

/// What the header of the first LZ4 frame says.
#[pyfunction]
pub fn lz4_frame_info(data: &Bound<'_, PyAny>) -> PyResult<FrameInfo> {
    let info = lz4::frame_info(&bytes_like(data)?).map_err(|error| codec_to_py(data.py(), error))?;
    let rule = match info.header_checksum_rule() {
        HeaderChecksumRule::Standard => "standard",
        HeaderChecksumRule::Broken => "broken",
        HeaderChecksumRule::Both => "both",
        HeaderChecksumRule::Neither => "neither",
    };
    Ok((
        info.position,
        info.header_length,
        info.flg.byte(),
        info.bd.byte(),
        info.bd.block_max_size().bytes(),
        info.content_size,
        info.dictionary_id,
        info.header_checksum,
        info.standard_header_checksum,
        info.broken_header_checksum,
        rule,
    ))
}
