//! The offsets that a partition lacks, and the segment files that overlap.

use kafkacomp_log::continuity::coverage::{FileOffsets, covered, listed, missing_offsets, overlaps};
use kafkacomp_log::{Compaction, MissingRange, MissingReason};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::results::{MissingOffsets, Overlap, PartitionOffsets};

/// A `FileOffsets` of `kafkacomp.log._verify`.
#[derive(FromPyObject)]
pub struct FileFields {
    base_offset: i64,
    first_offset: Option<i64>,
    last_offset: Option<i64>,
    missing: Vec<MissingFields>,
    is_compacted: bool,
}

/// The offsets of a `kafkacomp.arrow.MissingRange`.
#[derive(FromPyObject)]
struct MissingFields {
    first_offset: i64,
    last_offset: i64,
    reason: String,
}

/// Finds the offsets that the segment files of a partition lack, and those that several have. The files are in the order of their
/// base offsets; `cleaned_to` is the offset in the cleaner's checkpoint, `reached` the one that the log had
/// reached.
#[pyfunction]
pub fn partition_offsets(
    files: Vec<FileFields>,
    topic: Option<&str>,
    cleaned_to: Option<i64>,
    reached: Option<i64>,
) -> PyResult<PartitionOffsets> {
    let files = files.into_iter().map(file).collect::<PyResult<Vec<_>>>()?;
    let (missing, more_missing) = listed(missing_offsets(&files, Compaction::of(topic, cleaned_to), reached));
    let missing = missing.into_iter().map(|(file, range)| MissingOffsets {
        file,
        first_offset: range.first_offset,
        last_offset: range.last_offset,
        reason: range.reason.name(),
    });
    let covered = covered(&files).into_iter().map(|(from, to)| to.abs_diff(from).saturating_add(1));
    let covered = covered.fold(0, u64::saturating_add);
    let overlaps = overlaps(&files).into_iter().map(|each| Overlap {
        earlier: each.earlier,
        later: each.later,
        first_offset: each.first_offset,
        last_offset: each.last_offset,
    });
    Ok(PartitionOffsets { missing: missing.collect(), more_missing, covered, overlaps: overlaps.collect() })
}

fn file(fields: FileFields) -> PyResult<FileOffsets> {
    let FileFields { base_offset, first_offset, last_offset, missing, is_compacted } = fields;
    let missing = missing.into_iter().map(range).collect::<PyResult<_>>()?;
    Ok(FileOffsets { base_offset, first_offset, last_offset, missing, is_compacted })
}

fn range(fields: MissingFields) -> PyResult<MissingRange> {
    let MissingFields { first_offset, last_offset, reason } = fields;
    let reason = MissingReason::for_name(&reason)
        .ok_or_else(|| PyValueError::new_err(format!("unknown reason of missing offsets: {reason:?}")))?;
    Ok(MissingRange { first_offset, last_offset, reason })
}
