//! One-shot decompression. Bytes are decoded into a buffer of the thread with the GIL released, and copied to the result with the
//! GIL held.

use kafkacomp_records::compress::lz4::{self, HeaderChecksum, HeaderChecksumCheck, HeaderChecksumFound};
use kafkacomp_records::compress::{self, CompressionType, DecodeOptions, Strictness, zstd};
use kafkacomp_records::record::lz4_checksum::decode_options;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView, PySlice};

use crate::bytes::bytes;
use crate::enums::compression_type_for_id;
use crate::error::codec_to_py;
use crate::input::{bytes_like, not_bytes_like};
use crate::scratch::with_output;
use crate::value::PackageClass;

static LZ4_FRAME_INFO: PackageClass = PackageClass::new("kafkacomp.lz4", "FrameInfo");
static ZSTD_FRAME_INFO: PackageClass = PackageClass::new("kafkacomp.zstd", "FrameInfo");

/// Decodes `data` with the GIL released, and passes the content to `take` with the GIL held.
fn decoded<R>(
    data: &Bound<'_, PyAny>,
    compression_type: CompressionType,
    options: DecodeOptions,
    limit: usize,
    take: impl FnOnce(&[u8]) -> PyResult<R>,
) -> PyResult<R> {
    let py = data.py();
    let data = bytes_like("data", data)?;
    with_output(limit, |out| {
        py.detach(|| compress::decompress(compression_type, options, &data, out))
            .map_err(|error| codec_to_py(py, error))?;
        take(out.as_slice())
    })
}

/// The options of a decoder that follows the codec's specification, with this check of LZ4's header checksum.
///
/// # Errors
/// `ValueError` for an unknown name of a check.
pub fn specification(check: &str) -> PyResult<DecodeOptions> {
    let lz4_header_checksum = match check {
        "standard" => HeaderChecksumCheck::Require(HeaderChecksum::FrameDescriptor),
        "broken" => HeaderChecksumCheck::Require(HeaderChecksum::WithMagic),
        "either" => HeaderChecksumCheck::Either,
        "ignore" => HeaderChecksumCheck::Ignore,
        _ => {
            return Err(PyValueError::new_err(format!(
                "header_checksum must be 'standard', 'broken', 'either' or 'ignore', not {check:?}"
            )));
        }
    };
    Ok(DecodeOptions { strictness: Strictness::Specification, lz4_header_checksum })
}

/// Decompresses `data` by the specification of the codec.
#[pyfunction]
pub fn decompress<'py>(
    data: &Bound<'py, PyAny>,
    compression_type: u8,
    checksum: &str,
    max_output_size: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let (compression_type, options) = (compression_type_for_id(compression_type)?, specification(checksum)?);
    decoded(data, compression_type, options, max_output_size, |content| bytes(data.py(), content))
}

/// Decompresses `data` by the specification of the codec into a writable buffer, and returns the number of bytes.
#[pyfunction]
pub fn decompress_into(
    data: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    compression_type: u8,
    checksum: &str,
) -> PyResult<usize> {
    let py = data.py();
    let (compression_type, options) = (compression_type_for_id(compression_type)?, specification(checksum)?);
    // While the view exists, the buffer cannot be resized.
    let view =
        PyMemoryView::from(out).map_err(|error| not_bytes_like("out", out, error))?.call_method1("cast", ("B",))?;
    if view.getattr("readonly")?.extract()? {
        return Err(PyTypeError::new_err("out must be writable"));
    }
    decoded(data, compression_type, options, view.len()?, |content| {
        let front = view.get_item(PySlice::new(py, 0, content.len().cast_signed(), 1))?;
        PyBuffer::<u8>::get(&front)?.copy_from_slice(py, content)?;
        Ok(content.len())
    })
}

/// Decompresses `data` as Kafka does in a record set of this magic.
#[pyfunction]
pub fn decompress_record_set<'py>(
    data: &Bound<'py, PyAny>,
    compression_type: u8,
    magic: i8,
    max_output_size: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let (compression_type, options) =
        (compression_type_for_id(compression_type)?, decode_options(magic, Strictness::Tolerant));
    decoded(data, compression_type, options, max_output_size, |content| bytes(data.py(), content))
}

/// The header of the first zstd frame, as a `kafkacomp.zstd.FrameInfo`.
#[pyfunction]
pub fn zstd_frame_info<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let info = zstd::frame_info(&bytes_like("frame_buffer", data)?).map_err(|error| codec_to_py(py, error))?;
    ZSTD_FRAME_INFO.make(py, (info.content_size, info.dictionary_id))
}

/// The header of the first LZ4 frame, as a `kafkacomp.lz4.FrameInfo`.
#[pyfunction]
pub fn lz4_frame_info<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let info = lz4::frame_info(&bytes_like("data", data)?).map_err(|error| codec_to_py(py, error))?;
    let rule = match info.header_checksum_found() {
        HeaderChecksumFound::FrameDescriptor => "standard",
        HeaderChecksumFound::WithMagic => "broken",
        HeaderChecksumFound::Both => "both",
        HeaderChecksumFound::Neither => "neither",
    };
    let fields = PyDict::new(py);
    fields.set_item("position", info.position)?;
    fields.set_item("header_length", info.header_length)?;
    fields.set_item("flg", info.flg.byte())?;
    fields.set_item("bd", info.bd.byte())?;
    fields.set_item("block_max_size", info.bd.block_max_size().bytes())?;
    fields.set_item("content_size", info.content_size)?;
    fields.set_item("dictionary_id", info.dictionary_id)?;
    fields.set_item("header_checksum", info.header_checksum)?;
    fields.set_item("standard_header_checksum", info.checksum_of_descriptor)?;
    fields.set_item("broken_header_checksum", info.checksum_with_magic)?;
    fields.set_item("header_checksum_rule", rule)?;
    LZ4_FRAME_INFO.make_with(&fields)
}
