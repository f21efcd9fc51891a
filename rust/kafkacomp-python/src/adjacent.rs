//! The batches next to missing offsets, for the loss file of a partition.

use std::sync::Arc;

use kafkacomp_arrow::Segment;
use kafkacomp_log::continuity::adjacent::{self, Adjacent, SearchedSegment};
use pyo3::prelude::*;

use crate::error::read_to_py;
use crate::file_object::Raised;
use crate::interrupt::interruptible;
use crate::segment::{PartitionFields, partition};
use crate::value::value_methods;

/// A batch before or after missing offsets.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all, eq)]
#[derive(Clone, PartialEq, Eq)]
pub struct AdjacentBatch {
    /// Its last offset.
    pub last_offset: i64,
    /// Its checksum.
    pub crc: u32,
    /// The timestamp of its first record, ms; -1 without timestamps.
    pub first_timestamp: i64,
    /// Its greatest timestamp, ms; -1 without timestamps.
    pub last_timestamp: i64,
}

value_methods!(AdjacentBatch { last_offset, crc, first_timestamp, last_timestamp });

impl From<adjacent::AdjacentBatch> for AdjacentBatch {
    fn from(batch: adjacent::AdjacentBatch) -> Self {
        let adjacent::AdjacentBatch { last_offset, crc, first_timestamp, last_timestamp } = batch;
        Self { last_offset, crc, first_timestamp, last_timestamp }
    }
}

/// The batches before and after each range of missing offsets of a `Partition`; the ranges are in order and do not overlap.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
pub fn adjacent_batches(
    py: Python<'_>,
    source: PartitionFields<'_>,
    ranges: Vec<(i64, i64)>,
) -> PyResult<Vec<(Option<AdjacentBatch>, Option<AdjacentBatch>)>> {
    let raised = Raised::default();
    let found = partition(source, &raised)?;
    let mut segments: Vec<Segment> = found.segments.into_iter().chain(found.context).collect();
    segments.retain(|segment| segment.base_offset.is_some());
    segments.sort_by_key(|segment| segment.base_offset);
    let segments: Vec<_> = segments.into_iter().map(|segment| interruptible(segment, &raised)).collect();
    let searched: Vec<_> = segments
        .iter()
        .map(|segment| SearchedSegment {
            base_offset: segment.base_offset.unwrap_or_default(),
            valid: segment.offsets,
            files: segment.files.as_ref(),
        })
        .collect();
    let found = py.detach(|| adjacent::adjacent_batches(&searched, &ranges));
    let found = found.map_err(|(index, error)| {
        let name = segments.get(index).map_or_else(|| Arc::from(""), |segment| Arc::clone(&segment.name));
        read_to_py(py, &name, error)
    });
    let pair = |Adjacent { before, after }: Adjacent| (before.map(Into::into), after.map(Into::into));
    Ok(raised.or(py, found)?.into_iter().map(pair).collect())
}
