//! Compressed cells to their contents, and back.

use std::cell::Cell;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, GenericBinaryArray, OffsetSizeTrait};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use kafkacomp_core::CompressionType;
use kafkacomp_core::buffer::OutputBuffer;
use kafkacomp_core::compress::{self, CodecError, CodecFault, Strictness};
use kafkacomp_core::limits::{DEFAULT_MAX_OUTPUT_SIZE, MAX_POOLED_BUFFER};
use kafkacomp_core::memory;
use kafkacomp_core::record::lz4_checksum::{decode_options, written_header_checksum};

use super::fault::{CellError, CellFault, OnBadCell};
use super::parameter::{Numbers, Parameter, Types};
use crate::build::bytes::Bytes;
use crate::pool::BufferPool;
use crate::validity::Validity;

thread_local! {
    /// What the last call gave, bytes: the next one, of the next rows, will give about as much.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// How cells are decompressed.
#[derive(Debug, Clone, Copy)]
pub struct DecompressOptions<'a> {
    /// By name or id.
    pub compression_type: Parameter<'a, CompressionType>,
    /// The message format, 0 to 2: magic 0 has any LZ4 header checksum (KIP-57).
    pub magic: Parameter<'a, Option<i8>>,
    /// What a bad cell does.
    pub on_bad_cell: OnBadCell,
    /// The most bytes that one cell may give.
    pub max_output_size: usize,
}

/// How cells are compressed.
#[derive(Debug, Clone, Copy)]
pub struct CompressOptions<'a> {
    /// By name or id.
    pub compression_type: Parameter<'a, CompressionType>,
    /// The level; null is Kafka's default.
    pub level: Parameter<'a, Option<i32>>,
    /// The message format, 0 to 2.
    pub magic: Parameter<'a, Option<i8>>,
    /// What a cell of an unknown type, magic or level does.
    pub on_bad_cell: OnBadCell,
}

/// The contents of compressed cells, each read wherever Kafka's own streams read it.
///
/// # Errors
/// An argument of a wrong type or length; the first bad cell, unless bad cells become nulls; more than one array holds.
pub fn decompress(data: &dyn Array, options: DecompressOptions<'_>) -> Result<ArrayRef, CellError> {
    let rows = data.len();
    let cells = binary(data)?;
    let types = Types::of(options.compression_type, rows)?;
    let magics = Numbers::of("magic", options.magic, rows)?;
    let room = room(data);
    // What is larger than the pool's buffers comes zeroed from the allocator, piece by piece.
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

/// Cells as Kafka's own streams compress them.
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

/// A column that must hold binary: what is compressed is no text.
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

/// What a codec said that was allowed `left` bytes, or `cap` where that is less.
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

/// The most bytes that all cells together may become.
fn room(data: &dyn Array) -> usize {
    if is_large(data) { usize::MAX } else { DEFAULT_MAX_OUTPUT_SIZE }
}

/// A guess of what the result takes, so that a buffer of about that size is taken from the pool: as much as the cells.
fn bytes_of(data: &dyn Array) -> usize {
    data.get_buffer_memory_size().min(MAX_POOLED_BUFFER)
}

/// Where the bytes of all cells are collected.
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

/// The column that `fill` makes, appending a row's bytes at each call; `Ok(false)` is a null.
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
    let mut validity = Validity::default();
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
        validity.push(valid);
        offsets.push(O::from_usize(content.len()).ok_or_else(|| too_large(row))?);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let bytes = BufferPool::shared().lend(content.into_vec());
    Ok(Arc::new(GenericBinaryArray::<O>::try_new(offsets, bytes, validity.finish())?))
}
