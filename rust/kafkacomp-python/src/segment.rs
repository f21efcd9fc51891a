//! Segments that Python opens: bytes, paths, and file objects of a file system.

use std::path::PathBuf;
use std::sync::Arc;

use kafkacomp_arrow::files::{LocalSegment, MemorySegment};
use kafkacomp_arrow::split_boundaries::{SplitBoundaries, SplitBoundary};
use kafkacomp_arrow::{Checkpoints, Partition, Segment};
use kafkacomp_core::log::{AbortedRange, OpenSegment, TransactionFilter};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyString;

use crate::file_object::{PySegment, Raised};
use crate::gil::Held;
use crate::input::bytes_like;

/// A partition as Python gives it: topic, partition, bounds, segments, context, transactions, checkpoints, what would decide
/// between segments that disagree.
pub type PartitionTuple<'py> = (
    Option<String>,
    Option<i32>,
    Option<i64>,
    Option<i64>,
    Vec<SegmentTuple<'py>>,
    Vec<SegmentTuple<'py>>,
    Known,
    CheckpointsTuple,
    Option<String>,
);

/// Log start offset, high watermark, and the offset up to which the log is compacted.
pub type CheckpointsTuple = (Option<i64>, Option<i64>, Option<i64>);

/// Transactions as they were found before: the first offset that is not stable, and aborted ones by producer id, first
/// and last offset.
pub type Transactions = (Option<i64>, Vec<(i64, i64, i64)>);

/// What is known of a partition's transactions.
pub type Known = Option<Transactions>;

/// A segment as Python gives it: name, base offset, path or bytes or opener, range, boundaries, whether it is active, valid
/// offsets, the offset in its name where that is wrong.
pub type SegmentTuple<'py> =
    (String, Option<i64>, Bound<'py, PyAny>, Option<(u64, u64)>, SeamsTuple, bool, Option<(i64, i64)>, Option<i64>);

/// What a piece's ends are known by: the batch at the beginning and that behind the end by [`SeamTuple`], the segment's
/// length, where the next segment begins.
pub type SeamsTuple = Option<(Option<SeamTuple>, Option<SeamTuple>, u64, Option<i64>)>;

/// A batch's offset field, its size, and its first offset if that is known.
pub type SeamTuple = (i64, u64, Option<i64>);

/// Reads the partitions that a scan is given; `raised` takes the exception of a file object that must end it.
///
/// # Errors
/// `TypeError` for anything else.
pub fn partitions(tuples: Vec<PartitionTuple<'_>>, raised: &Raised) -> PyResult<Vec<Partition>> {
    let segments_of = |tuples: Vec<SegmentTuple<'_>>| -> PyResult<Vec<_>> {
        tuples.into_iter().map(|tuple| segment(tuple, raised)).collect()
    };
    tuples
        .into_iter()
        .map(|(topic, partition, start_offset, end_offset, segments, context, known, checkpoints, deciding)| {
            let (log_start_offset, high_watermark, cleaned_to) = checkpoints;
            Ok(Partition {
                topic: topic.map(Arc::from),
                partition,
                start_offset,
                end_offset,
                segments: segments_of(segments)?,
                context: segments_of(context)?,
                transactions: known.map(|known| Arc::new(filter_of(known))),
                checkpoints: Checkpoints { log_start_offset, high_watermark, cleaned_to },
                deciding: deciding.map(Arc::from),
            })
        })
        .collect()
}

fn filter_of((last_stable_offset, aborted): Transactions) -> TransactionFilter {
    let ranges = aborted
        .into_iter()
        .map(|(producer_id, first_offset, last_offset)| (producer_id, AbortedRange { first_offset, last_offset }));
    TransactionFilter::new(last_stable_offset, ranges)
}

/// Reads one segment.
///
/// # Errors
/// As [`partitions`].
pub fn segment(
    (name, base_offset, source, range, known, active, offsets, named_offset): SegmentTuple<'_>,
    raised: &Raised,
) -> PyResult<Segment> {
    let mut may_be_cut = false;
    let files: Arc<dyn OpenSegment> = if source.is_instance_of::<PyString>() {
        Arc::new(LocalSegment(source.extract::<PathBuf>()?))
    } else if source.hasattr("open_segment")? {
        may_be_cut = source.hasattr("may_be_truncated")?;
        Arc::new(PySegment::new(source.unbind(), raised))
    } else {
        may_be_cut = true;
        Arc::new(MemorySegment(Arc::new(SharedBytes(Held::new(bytes_like(&source)?)))))
    };
    let boundary = |(offset, size, first_offset)| SplitBoundary { offset, size, first_offset };
    let boundaries = known.map_or_else(SplitBoundaries::default, |(begin, end, length, next_base)| SplitBoundaries {
        begin: begin.map(boundary),
        end: end.map(boundary),
        length,
        next_base,
    });
    Ok(Segment {
        name: Arc::from(name),
        base_offset,
        named_offset,
        files,
        range,
        offsets,
        boundaries,
        active,
        may_be_cut,
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
