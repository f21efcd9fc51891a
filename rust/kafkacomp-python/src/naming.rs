//! Segments whose names are not where they begin: `kafkacomp._storage.discovery`.

use std::path::PathBuf;
use std::sync::Arc;

use kafkacomp_arrow::files::LocalSegment;
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

/// The segments of a local partition whose names are wrong. They come as path and base offset, in the order of these.
#[pyfunction]
pub fn misnamed_segments(py: Python<'_>, segments: Vec<(PathBuf, i64)>) -> Vec<MisnamedSegment> {
    let (paths, base_offsets): (Vec<_>, Vec<_>) = segments.into_iter().unzip();
    let files: Vec<Arc<dyn OpenSegment>> =
        paths.into_iter().map(|path| Arc::new(LocalSegment(path)) as Arc<dyn OpenSegment>).collect();
    let found = py.detach(|| naming::misnamed_segments(&base_offsets, &files));
    found.into_iter().map(|each| MisnamedSegment { index: each.index, first_offset: each.first_offset }).collect()
}
