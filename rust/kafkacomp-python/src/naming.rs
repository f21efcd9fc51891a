//! Segments whose names are not where they begin: `kafkacomp._storage.discovery`.

use std::path::PathBuf;
use std::sync::Arc;

use kafkacomp_arrow::files::LocalSegment;
use kafkacomp_core::log::OpenSegment;
use kafkacomp_core::log::continuity::naming;
use pyo3::prelude::*;

/// The segments of a local partition whose names are wrong: index and first offset. They come as path and base offset, in
/// the order of these.
#[pyfunction]
pub fn misnamed_segments(py: Python<'_>, segments: Vec<(PathBuf, i64)>) -> Vec<(usize, i64)> {
    let (paths, base_offsets): (Vec<_>, Vec<_>) = segments.into_iter().unzip();
    let files: Vec<Arc<dyn OpenSegment>> =
        paths.into_iter().map(|path| Arc::new(LocalSegment(path)) as Arc<dyn OpenSegment>).collect();
    let found = py.detach(|| naming::misnamed_segments(&base_offsets, &files));
    found.into_iter().map(|each| (each.index, each.first_offset)).collect()
}
