//! Which offsets a partition lacks, and which of its segment files overlap.

use kafkacomp_core::log::continuity::coverage::{FileOffsets, listed, missing_offsets, overlaps};
use kafkacomp_core::log::{MissingRange, MissingReason};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A segment file as Python gives it: base offset, first and last offset, missing ranges, whether it is compacted.
type FileTuple = (i64, Option<i64>, Option<i64>, Vec<(i64, i64, String)>, bool);

/// Segment files that overlap: the indexes of both, and the first and last offset.
type OverlapTuple = (usize, usize, i64, i64);

/// A missing range as Python takes it: file, first and last offset, reason.
type MissingTuple = (usize, i64, i64, &'static str);

/// The offsets that a partition lacks, by file, first and last offset and reason; how many further ranges; which files
/// overlap.
#[pyfunction]
pub fn partition_offsets(
    files: Vec<FileTuple>,
    cleaned_to: Option<i64>,
) -> PyResult<(Vec<MissingTuple>, u64, Vec<OverlapTuple>)> {
    let files = files.into_iter().map(file).collect::<PyResult<Vec<_>>>()?;
    let (missing, more) = listed(missing_offsets(&files, cleaned_to));
    let missing =
        missing.into_iter().map(|(at, range)| (at, range.first_offset, range.last_offset, range.reason.name()));
    let both = overlaps(&files).into_iter().map(|each| (each.earlier, each.later, each.first_offset, each.last_offset));
    Ok((missing.collect(), more, both.collect()))
}

fn file((base_offset, first_offset, last_offset, missing, is_compacted): FileTuple) -> PyResult<FileOffsets> {
    let missing = missing.into_iter().map(range).collect::<PyResult<_>>()?;
    Ok(FileOffsets { base_offset, first_offset, last_offset, missing, is_compacted })
}

fn range((first_offset, last_offset, reason): (i64, i64, String)) -> PyResult<MissingRange> {
    let reason = MissingReason::for_name(&reason)
        .ok_or_else(|| PyValueError::new_err(format!("unknown reason of missing offsets: {reason:?}")))?;
    Ok(MissingRange { first_offset, last_offset, reason })
}
