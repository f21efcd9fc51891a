//! Segments that were opened to see what they are.

#![expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use kafkacomp_log::listing::{self, InspectedSegment};
use pyo3::prelude::*;

/// A local segment that was opened and is kept open for the first reader.
#[pyclass(module = "kafkacomp._kafkacomp", frozen)]
pub struct Inspected(pub Arc<InspectedSegment>);

#[pymethods]
impl Inspected {
    /// What the file is, if it is an archive or a compressed file, and what to do.
    fn container(&self) -> Option<String> {
        self.0.container().map(|found| found.to_string())
    }
}

/// Opens local segments of a partition and reads their first bytes.
#[pyfunction]
pub fn inspect(py: Python<'_>, paths: Vec<OsString>) -> Vec<Inspected> {
    let inspected = |path: OsString| Inspected(Arc::new(InspectedSegment::open(Path::new(&path))));
    py.detach(|| paths.into_iter().map(inspected).collect())
}

/// Whether the first batch of one of the segments has offsets that it should not have by its name.
#[pyfunction]
pub fn are_misnamed(segments: Vec<(Option<i64>, Py<Inspected>)>) -> bool {
    let segments: Vec<_> = segments.iter().map(|(base, segment)| (*base, segment.get().0.as_ref())).collect();
    listing::are_misnamed(&segments)
}
