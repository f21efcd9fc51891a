//! Segments with a wrong offset in their names: `kafkacomp._storage.discovery`.

use std::path::PathBuf;
use std::sync::Arc;

use kafkacomp_arrow::source::files::LocalSegment;
use kafkacomp_core::log::OpenSegment;
use kafkacomp_core::log::continuity::naming;
use pyo3::prelude::*;

use crate::value::value_methods;

/// A segment that does not begin at the offset in its name.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all, eq)]
#[derive(Clone, PartialEq, Eq)]
pub struct MisnamedSegment {
    /// Its index among the segments.
    index: usize,
    /// The offset at which it begins.
    first_offset: i64,
}

value_methods!(MisnamedSegment { index, first_offset });

/// A `LocalSegment` of `kafkacomp._storage.partition`.
#[derive(FromPyObject)]
pub struct LocalSegmentFields {
    path: PathBuf,
    base_offset: i64,
}

/// The segments of a local partition whose names are wrong. They come in the order of their base offsets.
#[pyfunction]
pub fn misnamed_segments(py: Python<'_>, segments: Vec<LocalSegmentFields>) -> Vec<MisnamedSegment> {
    let base_offsets: Vec<_> = segments.iter().map(|segment| segment.base_offset).collect();
    let file = |segment: LocalSegmentFields| Arc::new(LocalSegment(segment.path)) as Arc<dyn OpenSegment>;
    let files: Vec<_> = segments.into_iter().map(file).collect();
    let found = py.detach(|| naming::misnamed_segments(&base_offsets, &files));
    found.into_iter().map(|each| MisnamedSegment { index: each.index, first_offset: each.first_offset }).collect()
}
