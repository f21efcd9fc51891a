//! Decompresses and compresses cells.

use std::cell::Cell;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, GenericBinaryArray, OffsetSizeTrait};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::{self, CodecError, CodecFault, Strictness};
use kafkacomp_records::limits::{DEFAULT_MAX_OUTPUT_SIZE, MAX_POOLED_BUFFER};
use kafkacomp_records::memory;
use kafkacomp_records::record::lz4_checksum::{decode_options, written_header_checksum};

use super::fault::{CellError, CellFault, OnBadCell};
use super::parameter::{Numbers, Parameter, Types};
use crate::build::bytes::Bytes;
use crate::columns::pool::BufferPool;
use crate::columns::validity::Validity;

thread_local! {
    /// The size of the last result in bytes: that of the next rows is probably about as large.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// Options for decompressing cells.
#[derive(Debug, Clone, Copy)]
pub struct DecompressOptions<'a> {
    /// The compression type, by name or id.
    pub compression_type: Parameter<'a, CompressionType>,
    /// The message format, 0 to 2: with magic 0, any LZ4 header checksum is accepted (KIP-57).
    pub magic: Parameter<'a, Option<i8>>,
    /// What happens at a bad cell.
    pub on_bad_cell: OnBadCell,
    /// The most bytes that a cell may decompress to.
    pub max_output_size: usize,
}

/// Options for compressing cells.
#[derive(Debug, Clone, Copy)]
pub struct CompressOptions<'a> {
    /// The compression type, by name or id.
    pub compression_type: Parameter<'a, CompressionType>,
    /// The level; null for Kafka's default.
    pub level: Parameter<'a, Option<i32>>,
    /// The message format, 0 to 2.
    pub magic: Parameter<'a, Option<i8>>,
    /// What happens at a cell with an unknown type, magic or level.
    pub on_bad_cell: OnBadCell,
}

/// Decompresses cells. A cell is accepted if Kafka's streams read it.
///
/// # Errors
/// An argument has a wrong type or length; a cell is bad, unless bad cells become nulls; or the result does not fit into one
/// array.
pub fn decompress(data: &dyn Array, options: DecompressOptions<'_>) -> Result<ArrayRef, CellError> {
    let rows = data.len();
    let cells = binary(data)?;
    let types = Types::of(options.compression_type, rows)?;
    let magics = Numbers::of("magic", options.magic, rows)?;
    let room = room(data);
    // A result that is larger than the pool's buffers grows in steps, with zeroed memory.
    let last = LAST.get();
    let expected = if last > MAX_POOLED_BUFFER { 0 } else { last.max(bytes_of(data)) };
    let storage = BufferPool::shared().take_warm(expected);
    let out = OutputBuffer::with_storage(storage, 0);
    column(data, out, options.on_bad_cell, |row, out: &mut OutputBuffer| {
        let Some(cell) = cells.get(row) else { return Ok(false) };
        let (Some(compression_type), Some(magic)) =
            (types.get(row).map_err(at(row))?, magics.magic(row).map_err(at(row))?)
        else {
            return Ok(false);
        };
        let (left, cap) = (room.saturating_sub(out.len()), options.max_output_size);
        out.set_limit(out.len().saturating_add(left.min(cap)));
        let reading = decode_options(magic, Strictness::Tolerant);
        compress::decompress(compression_type, reading, cell, out).map_err(|error| limited(row, error, left, cap))?;
        LAST.set(out.len());
        Ok(true)
    })
}

/// Compresses cells as Kafka's streams do.
///
/// # Errors
/// As [`decompress`].
pub fn compress(data: &dyn Array, options: CompressOptions<'_>) -> Result<ArrayRef, CellError> {
    let rows = data.len();
    let wanted = "it must hold binary or strings";
    let cells = Bytes::of(data).ok_or_else(|| CellError::ArrayType {
        argument: "data",
        data_type: data.data_type().clone(),
        wanted,
    })?;
    let types = Types::of(options.compression_type, rows)?;
    let magics = Numbers::of("magic", options.magic, rows)?;
    let levels = Numbers::of("level", options.level, rows)?;
    let out = BufferPool::shared().take(bytes_of(data));
    column(data, out, options.on_bad_cell, |row, out: &mut Vec<u8>| {
        let Some(cell) = cells.get(row) else { return Ok(false) };
        let (Some(compression_type), Some(magic)) =
            (types.get(row).map_err(at(row))?, magics.magic(row).map_err(at(row))?)
        else {
            return Ok(false);
        };
        let compression = levels.level(compression_type, row).map_err(at(row))?;
        compress::compress(compression, written_header_checksum(magic), cell, out).map_err(at(row))?;
        Ok(true)
    })
}

/// A column that must be binary: compressed data are not text.
pub(super) fn binary(data: &dyn Array) -> Result<Bytes<'_>, CellError> {
    let element = match data.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    let text = matches!(element, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    Bytes::of(data).filter(|_| !text).ok_or_else(|| CellError::ArrayType {
        argument: "data",
        data_type: data.data_type().clone(),
        wanted: "it must hold binary",
    })
}

/// The error of a row.
pub(super) fn at<F: Into<CellFault>>(row: usize) -> impl FnOnce(F) -> CellError {
    move |fault| CellError::Cell { row, fault: fault.into() }
}

/// The error of a codec that was limited to `left` bytes, or to `cap` if that is less.
fn limited(row: usize, mut error: CodecError, left: usize, cap: usize) -> CellError {
    if let CodecFault::OutputLimit { limit } = &mut error.fault {
        if left < cap {
            return too_large(row);
        }
        *limit = cap as u64;
    }
    at(row)(error)
}

fn too_large(row: usize) -> CellError {
    let advice = "give fewer rows at a time, or large_binary";
    CellError::TooLarge { row, limit: i32::MAX as usize, advice }
}

/// Whether the result has 64-bit offsets, as the cells have.
fn is_large(data: &dyn Array) -> bool {
    matches!(data.data_type(), DataType::LargeBinary | DataType::LargeUtf8)
}

/// The most bytes of the result.
fn room(data: &dyn Array) -> usize {
    if is_large(data) { usize::MAX } else { DEFAULT_MAX_OUTPUT_SIZE }
}

/// An estimate of the size of the result, for the choice of a buffer from the pool: that of the cells.
fn bytes_of(data: &dyn Array) -> usize {
    data.get_buffer_memory_size().min(MAX_POOLED_BUFFER)
}

/// Collects the bytes of all cells.
trait Content {
    fn len(&self) -> usize;
    fn truncate(&mut self, len: usize);
    fn into_vec(self) -> Vec<u8>;
}

impl Content for OutputBuffer {
    fn len(&self) -> usize {
        self.len()
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn into_vec(self) -> Vec<u8> {
        self.into_vec()
    }
}

impl Content for Vec<u8> {
    fn len(&self) -> usize {
        self.len()
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn into_vec(self) -> Vec<u8> {
        self
    }
}

/// Builds a column from `fill`, which appends the bytes of a row at each call; `Ok(false)` is a null.
fn column<C: Content>(
    data: &dyn Array,
    content: C,
    on_bad_cell: OnBadCell,
    fill: impl FnMut(usize, &mut C) -> Result<bool, CellError>,
) -> Result<ArrayRef, CellError> {
    if is_large(data) {
        build::<i64, C>(data.len(), content, on_bad_cell, fill)
    } else {
        build::<i32, C>(data.len(), content, on_bad_cell, fill)
    }
}

fn build<O: OffsetSizeTrait, C: Content>(
    rows: usize,
    mut content: C,
    on_bad_cell: OnBadCell,
    mut fill: impl FnMut(usize, &mut C) -> Result<bool, CellError>,
) -> Result<ArrayRef, CellError> {
    let mut offsets = memory::with_capacity(rows.saturating_add(1))?;
    offsets.push(O::zero());
    let (mut validity, mut out_of_memory) = (Validity::default(), None);
    for row in 0..rows {
        let start = content.len();
        let valid = match fill(row, &mut content) {
            Ok(valid) => valid,
            Err(CellError::Cell { fault, .. }) if on_bad_cell == OnBadCell::Null && fault.is_the_cells() => {
                content.truncate(start);
                false
            }
            Err(error) => return Err(error),
        };
        validity.push(valid, &mut out_of_memory);
        offsets.push(O::from_usize(content.len()).ok_or_else(|| too_large(row))?);
    }
    out_of_memory.map_or(Ok(()), Err)?;
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let bytes = BufferPool::shared().lend(content.into_vec());
    Ok(Arc::new(GenericBinaryArray::<O>::try_new(offsets, bytes, validity.finish())?))
}
