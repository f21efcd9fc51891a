//! Batches in one call: from Arrow columns, in another message format, and the size of a batch of one record.

use std::cell::RefCell;

use kafkacomp_arrow::build::Batcher;
use kafkacomp_log::ensure_truncated_set;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::limits::MAX_POOLED_BUFFER;
use kafkacomp_records::record::builder::estimate_size_upper_bound;
use kafkacomp_records::record::{self, BatchSettings, ConvertOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch_settings::Settings;
use crate::bytes::bytes;
use crate::enums::compression_type_for_id;
use crate::error::{build_to_py, to_py};
use crate::input::detached;
use crate::record_fields::{Int64, Row};
use crate::rows::Rows;
use crate::write::write_to_py;

thread_local! {
    static BATCHES: RefCell<Batches> = RefCell::default();
}

/// The state of building from columns that is reused by the next call.
#[derive(Default)]
struct Batches {
    batcher: Batcher,
    out: Vec<u8>,
}

/// Builds batches of all rows, within the write limit of the settings.
#[pyfunction]
pub fn build_batches(py: Python<'_>, rows: Rows, settings: Settings) -> PyResult<Bound<'_, PyBytes>> {
    let settings = settings.settings()?;
    let (built, mut kept) = py.detach(|| {
        let mut kept = BATCHES.take();
        let Batches { batcher, out } = &mut kept;
        out.clear();
        (batcher.build(rows, settings, out), kept)
    });
    let result = built.map_err(|error| write_to_py(py, error)).and_then(|()| bytes(py, &kept.out));
    if kept.out.capacity() > MAX_POOLED_BUFFER {
        kept.out = Vec::new();
    }
    BATCHES.set(kept);
    result
}

/// Kafka's upper bound of the size of a batch with only this record.
#[pyfunction]
pub fn estimate_batch_size_upper_bound(
    magic: i8,
    compression_type: u8,
    value: &Bound<'_, PyAny>,
    key: Option<&Bound<'_, PyAny>>,
    headers: Option<&Bound<'_, PyAny>>,
) -> PyResult<u64> {
    let row = Row::of(value, key, headers)?;
    let settings = BatchSettings {
        magic,
        compression: Compression::of(compression_type_for_id(compression_type)?),
        ..Default::default()
    };
    settings.check().map_err(|fault| build_to_py(value.py(), fault))?;
    Ok(estimate_size_upper_bound(&settings, row.key.get(), row.value.get(), row.headers.as_headers()))
}

/// Converts a record set to another message format.
#[pyfunction]
pub fn convert<'py>(
    data: &Bound<'py, PyAny>,
    to_magic: i8,
    first_offset: Int64,
    upgrade: bool,
    batch_bytes: i32,
    max_output_size: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = ConvertOptions { to_magic, first_offset: first_offset.0, upgrade, batch_bytes, max_output_size };
    let converted = detached("data", data, |data| {
        // Without it, the function is Kafka's, which ends at any incomplete batch.
        if upgrade {
            ensure_truncated_set(data)?;
        }
        record::convert(data, options)
    })?;
    bytes(data.py(), &converted.map_err(|error| to_py(data.py(), &error, None))?)
}
