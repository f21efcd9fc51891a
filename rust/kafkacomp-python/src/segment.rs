//! Segments that Python opens: bytes, paths, and file objects of a file system.

use std::path::PathBuf;
use std::sync::Arc;

use kafkacomp_arrow::lookup::split_boundaries::{SplitBoundaries, SplitBoundary};
use kafkacomp_arrow::{Checkpoints, Partition, Segment, TransactionsIn};
use kafkacomp_log::LocalSegment;
use kafkacomp_log::map::ReachedOffsets;
use kafkacomp_log::{AbortedRange, MemorySegment, OpenSegment, ReadAt, ReadError, TransactionFilter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyString;

use crate::error::read_to_py;
use crate::file_object::{PySegment, Raised};
use crate::gil::{Held, attribute};
use crate::input::bytes_like;
use crate::inspected::Inspected;
use crate::interrupt::interruptible;

/// A `Partition` of `kafkacomp._storage.partition`.
pub struct PartitionFields<'py> {
    topic: Option<String>,
    partition: Option<i32>,
    begins: Option<i64>,
    segments: Vec<SegmentFields<'py>>,
    context: Vec<SegmentFields<'py>>,
    transactions: Option<Transactions>,
    log_start_offset: Option<i64>,
    high_watermark: Option<i64>,
    cleaned_to: Option<i64>,
    reached: ReachedFields,
    deciding: Option<String>,
    is_misnamed: bool,
}

/// Not derived, because some attributes are properties that read files: see [`attribute`].
impl<'py> FromPyObject<'_, 'py> for PartitionFields<'py> {
    type Error = PyErr;

    fn extract(fields: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            topic: attribute(&fields, "topic")?.extract()?,
            partition: attribute(&fields, "partition")?.extract()?,
            begins: attribute(&fields, "begins")?.extract()?,
            segments: attribute(&fields, "segments")?.extract()?,
            context: attribute(&fields, "context")?.extract()?,
            transactions: attribute(&fields, "transactions")?.extract()?,
            log_start_offset: attribute(&fields, "log_start_offset")?.extract()?,
            high_watermark: attribute(&fields, "high_watermark")?.extract()?,
            cleaned_to: attribute(&fields, "cleaned_to")?.extract()?,
            reached: attribute(&fields, "reached")?.extract()?,
            deciding: attribute(&fields, "deciding")?.extract()?,
            is_misnamed: attribute(&fields, "is_misnamed")?.extract()?,
        })
    }
}

/// A `ReachedOffsets` of `kafkacomp._storage.partition`.
#[derive(Clone, Copy, FromPyObject)]
pub struct ReachedFields {
    recovery_point: Option<i64>,
    high_watermark: Option<i64>,
    snapshot: Option<i64>,
}

impl From<ReachedFields> for ReachedOffsets {
    fn from(fields: ReachedFields) -> Self {
        let ReachedFields { recovery_point, high_watermark, snapshot } = fields;
        Self { recovery_point, high_watermark, snapshot }
    }
}

/// A `BoundedPartition` of `kafkacomp._storage.partition`.
pub struct BoundedPartitionFields<'py> {
    partition: PartitionFields<'py>,
    start_offset: Option<i64>,
    end_offset: Option<i64>,
}

/// Not derived, as that would replace exceptions of the file system from which a partition's checkpoints are read.
impl<'py> FromPyObject<'_, 'py> for BoundedPartitionFields<'py> {
    type Error = PyErr;

    fn extract(fields: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            partition: fields.getattr("partition")?.extract()?,
            start_offset: fields.getattr("start_offset")?.extract()?,
            end_offset: fields.getattr("end_offset")?.extract()?,
        })
    }
}

/// `Transactions` of `kafkacomp._storage.partition`: the last stable offset, and aborted transactions by producer id, first
/// and last offset.
pub type Transactions = (Option<i64>, Vec<(i64, i64, i64)>);

/// A `Segment` of `kafkacomp._storage.partition`.
#[derive(FromPyObject)]
pub struct SegmentFields<'py> {
    name: Name,
    base_offset: Option<i64>,
    size: u64,
    source: Bound<'py, PyAny>,
    range: Option<(u64, u64)>,
    boundaries: Option<BoundariesFields>,
    active: bool,
    offsets: Option<(i64, i64)>,
    transactions_in: String,
    inspected: Option<Py<Inspected>>,
}

impl SegmentFields<'_> {
    /// Its path, URL or name.
    pub fn name(&self) -> &str {
        &self.name.0
    }
}

/// `SplitBoundaries` of `kafkacomp._storage.partition`.
#[derive(FromPyObject)]
struct BoundariesFields {
    begin: Option<BoundaryFields>,
    end: Option<BoundaryFields>,
    length: u64,
    next_base: Option<i64>,
}

/// A `SplitBoundary` of `kafkacomp._storage.partition`.
#[derive(FromPyObject)]
struct BoundaryFields {
    offset: i64,
    size: u64,
    first_offset: Option<i64>,
}

impl BoundaryFields {
    fn boundary(self) -> SplitBoundary {
        let Self { offset, size, first_offset } = self;
        SplitBoundary { offset, size, first_offset }
    }
}

/// A name as messages show it: what is not Unicode is escaped.
pub struct Name(String);

impl Name {
    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl FromPyObject<'_, '_> for Name {
    type Error = PyErr;

    fn extract(name: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(name) = name.extract::<String>() {
            return Ok(Self(name));
        }
        let escaped = name.call_method1("encode", ("utf-8", "backslashreplace"))?;
        escaped.call_method0("decode")?.extract().map(Self)
    }
}

/// The bytes of a segment, and their number. Ctrl-C interrupts reading them; `raised` takes the exception of a file object.
///
/// # Errors
/// `TypeError` for a segment that cannot be opened, or the exception of opening it.
pub fn opened(py: Python<'_>, fields: SegmentFields<'_>, raised: &Raised) -> PyResult<(Arc<dyn ReadAt>, u64)> {
    let segment = interruptible(segment(fields, raised)?, raised);
    let opened = py.detach(|| {
        let source = segment.files.open()?;
        let length = source.length()?;
        Ok((source, length))
    });
    raised.or(py, opened.map_err(|error| read_to_py(py, &segment.name, ReadError::Io(error))))
}

/// The partition to read between two offsets.
///
/// # Errors
/// As [`partition`].
pub fn bounded_partition(fields: BoundedPartitionFields<'_>, raised: &Raised) -> PyResult<Partition> {
    let BoundedPartitionFields { partition: fields, start_offset, end_offset } = fields;
    Ok(partition(fields, raised)?.between(start_offset, end_offset))
}

/// The partition to read; `raised` takes the exception of a file object that must end the work.
///
/// # Errors
/// `TypeError` for a segment that cannot be opened.
pub fn partition(fields: PartitionFields<'_>, raised: &Raised) -> PyResult<Partition> {
    let segments_of = |segments: Vec<SegmentFields<'_>>| -> PyResult<Vec<_>> {
        segments.into_iter().map(|fields| segment(fields, raised)).collect()
    };
    let PartitionFields { log_start_offset, high_watermark, cleaned_to, reached, .. } = fields;
    Ok(Partition {
        topic: fields.topic.map(Arc::from),
        partition: fields.partition,
        start_offset: fields.begins,
        end_offset: None,
        segments: segments_of(fields.segments)?,
        context: segments_of(fields.context)?,
        transactions: fields.transactions.map(|found| Arc::new(filter_of(found))),
        checkpoints: Checkpoints { log_start_offset, high_watermark, cleaned_to, reached: reached.into() },
        deciding: fields.deciding.map(Arc::from),
        is_misnamed: fields.is_misnamed,
    })
}

fn filter_of((last_stable_offset, aborted): Transactions) -> TransactionFilter {
    let ranges = aborted
        .into_iter()
        .map(|(producer_id, first_offset, last_offset)| (producer_id, AbortedRange { first_offset, last_offset }));
    TransactionFilter::new(last_stable_offset, ranges)
}

/// The segment to read.
///
/// # Errors
/// As [`partition`], and `ValueError` for an unknown `transactions_in`.
pub fn segment(fields: SegmentFields<'_>, raised: &Raised) -> PyResult<Segment> {
    let SegmentFields { name, base_offset, size, source, range, boundaries, active, offsets, .. } = fields;
    let files = match fields.inspected {
        Some(inspected) => Arc::clone(&inspected.get().0) as Arc<dyn OpenSegment>,
        None => segment_files(source, raised)?,
    };
    let boundaries = boundaries.map_or_else(SplitBoundaries::default, |known| SplitBoundaries {
        begin: known.begin.map(BoundaryFields::boundary),
        end: known.end.map(BoundaryFields::boundary),
        length: known.length,
        next_base: known.next_base,
    });
    Ok(Segment {
        name: Arc::from(name.0),
        base_offset,
        size,
        files,
        range,
        offsets,
        boundaries,
        active,
        transactions_in: TransactionsIn::for_name(&fields.transactions_in)
            .ok_or_else(|| PyValueError::new_err(format!("unknown transactions_in {:?}", fields.transactions_in)))?,
    })
}

/// The files of a segment: a path, an object with `open_segment`, or bytes.
///
/// # Errors
/// `TypeError` if it is none of these.
pub fn segment_files(source: Bound<'_, PyAny>, raised: &Raised) -> PyResult<Arc<dyn OpenSegment>> {
    Ok(if source.is_instance_of::<PyString>() {
        Arc::new(LocalSegment(source.extract::<PathBuf>()?))
    } else if source.hasattr("open_segment")? {
        Arc::new(PySegment::new(source, raised)?)
    } else {
        Arc::new(MemorySegment(Arc::new(SharedBytes(Held::new(bytes_like("source", &source)?)))))
    })
}

struct SharedBytes(Held<PyBackedBytes>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.get().map_or(&[], |bytes| bytes)
    }
}

impl std::fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.as_ref().len())
    }
}
