//! What the segments of a partition contain, by the headers of their batches: `kafkacomp.log._info`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use kafkacomp_arrow::lookup::summary::{self, Summarized};
use kafkacomp_arrow::{OnError, ScanOptions};
use kafkacomp_log::{BatchCounts, BatchFormat, Certainty, Compaction, LogFormat, OpenTransaction};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::scan_to_py;
use crate::file_object::Raised;
use crate::gil::call;
use crate::interrupt::interruptible;
use crate::job::missing_range;
use crate::process::must_leave;
use crate::segment::{PartitionFields, partition};
use crate::value::PackageClass;

static SUMMARY: PackageClass = PackageClass::new("kafkacomp.log._info", "SegmentSummary");
static COUNTS: PackageClass = PackageClass::new("kafkacomp.log._info", "BatchCounts");
static TRANSACTION: PackageClass = PackageClass::new("kafkacomp.log._info", "OpenTransaction");

/// Objects of Python.
type Objects = Vec<Py<PyAny>>;
/// The first and last offset, the missing ranges, and the number of further ones.
type Judged = (Option<i64>, Option<i64>, Objects, u64);

/// Summarizes each segment of a partition, in order: `SegmentSummary` objects, or the exception of a segment that cannot be read;
/// the transactions that are open at the end; and whether the end of a segment is gone, as its offset index shows.
/// `progress(bytes)` is called after each segment with its length.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted to values")]
pub fn summarize_partition(
    py: Python<'_>,
    source: PartitionFields<'_>,
    log_format: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Objects, Objects, bool)> {
    let raised = Raised::default();
    let found = partition(source, &raised)?;
    let owner = (found.topic.clone(), found.partition);
    let compaction = Compaction::of(found.topic.as_deref(), found.checkpoints.cleaned_to);
    let options = ScanOptions { log_format: LogFormat::for_name(log_format), ..ScanOptions::default() };
    let segments: Vec<_> = found.segments.into_iter().map(|segment| interruptible(segment, &raised)).collect();
    let (mut summaries, mut is_cut) = (Vec::new(), false);
    let open = py.detach(|| {
        summary::summarize_partition(&segments, compaction, &options, &mut |segment, summarized| {
            let made = Python::attach(|py| match summarized {
                Ok(summarized) => {
                    is_cut |= summarized.is_cut;
                    let made = summary_to_py(py, &segment.name, &owner, &summarized)?.unbind();
                    if let Some(progress) = &progress {
                        call(progress.bind(py), (summarized.summary.length,))?;
                    }
                    Ok(made)
                }
                Err(error) => {
                    let ends = !error.is_about_segment() || must_leave();
                    // An interrupt ends the work, too.
                    raised.or(py, Ok(()))?;
                    let exception = scan_to_py(py, error);
                    if ends { Err(exception) } else { Ok(exception.into_value(py).into_any()) }
                }
            });
            made.map_or_else(ControlFlow::Break, |made| {
                summaries.push(made);
                ControlFlow::Continue(())
            })
        })
    });
    let open = match open {
        ControlFlow::Continue(open) => open,
        ControlFlow::Break(error) => return Err(error),
    };
    Ok((summaries, open_to_py(py, open)?.into_iter().map(Bound::unbind).collect(), is_cut))
}

/// The first and last offset of a partition that a scan delivers, and the missing ones: `MissingRange` objects, and the number of
/// further ranges. `None` if headers in an object store do not show it.
#[pyfunction]
pub fn judged_offsets(py: Python<'_>, source: PartitionFields<'_>) -> PyResult<Option<Judged>> {
    let raised = Raised::default();
    let mut found = partition(source, &raised)?;
    found.segments = found.segments.into_iter().map(|segment| interruptible(segment, &raised)).collect();
    let options = ScanOptions { on_error: OnError::Skip, ..ScanOptions::default() };
    let judged = py.detach(|| summary::judged_offsets(&found, &options));
    let Some(judged) = raised.or(py, judged.map_err(|error| scan_to_py(py, error)))? else { return Ok(None) };
    let missing = judged.missing.ranges().into_iter().map(|each| {
        let owner = (each.topic.as_deref(), each.partition);
        missing_range(py, owner, &*each.segment, each.range).map(Bound::unbind)
    });
    let (first, last) = judged.span.map_or((None, None), |(first, end)| (Some(first), Some(end.saturating_sub(1))));
    Ok(Some((first, last, missing.collect::<PyResult<_>>()?, judged.missing.more())))
}

fn summary_to_py<'py>(
    py: Python<'py>,
    name: &str,
    (topic, partition): &(Option<Arc<str>>, Option<i32>),
    Summarized { summary, bytes_read, .. }: &Summarized,
) -> PyResult<Bound<'py, PyAny>> {
    let missing = summary.missing.ranges().iter();
    let missing: Vec<_> = missing
        .map(|range| missing_range(py, (topic.as_deref(), *partition), name, *range))
        .collect::<PyResult<_>>()?;
    let counts = counts_to_py(py, &summary.counts)?;
    let fields = PyDict::new(py);
    fields.set_item("length", summary.length)?;
    fields.set_item("bytes_read", bytes_read)?;
    fields.set_item("counts", counts)?;
    fields.set_item("control_records", summary.control_records)?;
    fields.set_item("is_exact", summary.certainty == Certainty::Exact)?;
    fields.set_item("is_minimum", summary.certainty >= Certainty::Minimum)?;
    fields.set_item("first_offset", summary.first_offset)?;
    fields.set_item("last_offset", summary.last_offset)?;
    fields.set_item("first_timestamp", summary.times.first())?;
    fields.set_item("last_timestamp", summary.times.last())?;
    fields.set_item("missing", missing)?;
    fields.set_item("more_missing", summary.missing.more())?;
    fields.set_item("is_compacted", summary.is_compacted)?;
    fields.set_item("repeated_batches", summary.repeated_batches)?;
    fields.set_item("corrupt_bytes", summary.corrupt_bytes)?;
    fields.set_item("is_truncated", summary.is_truncated)?;
    fields.set_item("zero_tail_bytes", summary.zero_tail_bytes)?;
    SUMMARY.make_with(&fields)
}

/// `OpenTransaction` objects of Python, of transactions with their producer ids.
pub fn open_to_py(py: Python<'_>, open: Vec<(i64, OpenTransaction)>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let made = open.into_iter().map(|(producer_id, each)| {
        let OpenTransaction { producer_epoch, first_offset, last_offset, first_timestamp, records } = each;
        let fields = (producer_id, producer_epoch, first_offset, last_offset, first_timestamp, records);
        TRANSACTION.make(py, fields)
    });
    made.collect()
}

/// `BatchCounts` objects of Python.
pub fn counts_to_py<'py>(
    py: Python<'py>,
    counts: &BTreeMap<BatchFormat, BatchCounts>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let made = counts.iter().map(|(format, counts)| {
        let BatchCounts { batches, records, stored_bytes, records_bytes } = *counts;
        let names = (format.message_format(), format.compression_name());
        COUNTS.make(py, (names.0, names.1, batches, records, stored_bytes, records_bytes))
    });
    made.collect()
}
