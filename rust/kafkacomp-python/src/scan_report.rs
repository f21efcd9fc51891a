//! The report of a scan as `kafkacomp.arrow.ScanReport`.

use kafkacomp_arrow::{Missing, ScanReport};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::job::missing_range;
use crate::value::PackageClass;

static SCAN_REPORT: PackageClass = PackageClass::new("kafkacomp.arrow._report", "ScanReport");
static SKIPPED_RANGE: PackageClass = PackageClass::new("kafkacomp.arrow._report", "SkippedRange");

/// The report as `kafkacomp.arrow.ScanReport`.
pub fn to_python<'py>(py: Python<'py>, report: &ScanReport) -> PyResult<Bound<'py, PyAny>> {
    let skipped = report.skipped.iter().map(|s| {
        let (file, reason) = (&*s.segment, s.reason.name());
        SKIPPED_RANGE.make(py, (file, s.position, s.length, reason, &*s.message, s.first_offset, s.last_offset))
    });
    let skipped = PyTuple::new(py, skipped.collect::<PyResult<Vec<_>>>()?)?;
    let ranges = report.missing.ranges();
    let missing = ranges.iter().map(|Missing { topic, partition, segment, range }| {
        missing_range(py, (topic.as_deref(), *partition), &**segment, *range)
    });
    let missing = PyTuple::new(py, missing.collect::<PyResult<Vec<_>>>()?)?;
    let fields = PyDict::new(py);
    fields.set_item("batches", report.batches)?;
    fields.set_item("records", report.records)?;
    fields.set_item("bytes_in", report.bytes_in)?;
    fields.set_item("bytes_out", report.bytes_out)?;
    fields.set_item("skipped", skipped)?;
    fields.set_item("warnings", PyTuple::new(py, &report.warnings)?)?;
    fields.set_item("missing", missing)?;
    fields.set_item("more_missing", report.missing.more())?;
    fields.set_item("records_below_log_start", report.records_below_log_start)?;
    fields.set_item("records_above_high_watermark", report.records_above_high_watermark)?;
    fields.set_item("clamped_timestamps", report.clamped_timestamps)?;
    SCAN_REPORT.make_with(&fields)
}
