//! `kafkacomp.record.RecordBatchBuilder`.

use std::sync::MutexGuard;

use kafkacomp_arrow::build::RowAppender;
use kafkacomp_records::record::{BuildFault, ControlRecordType, RecordBatchBuilder};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch_settings::Settings;
use crate::bytes::bytes;
use crate::enums::compression_type;
use crate::error::{arrow_build_to_py, build_to_py};
use crate::input::bytes_like;
use crate::record_fields::{Int64, Row};
use crate::rows::{Rows, rows_to_py};
use crate::shared::Shared;

struct Inner {
    builder: RecordBatchBuilder,
    built: Option<Py<PyBytes>>,
}

/// Whether an argument that nothing accepts was given. It is refused with a text of our own; `*args` would cost a tuple for each
/// call.
#[derive(Clone, Copy)]
struct IsGiven(bool);

impl FromPyObject<'_, '_> for IsGiven {
    type Error = PyErr;

    fn extract(_: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        Ok(Self(true))
    }
}

/// Builds one batch. Usable from several threads, one after another.
#[pyclass(module = "kafkacomp._kafkacomp", name = "RecordBatchBuilder", frozen, subclass)]
pub struct Builder(Shared<Inner>);

impl Builder {
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Inner>> {
        self.0.lock_attached(py)
    }

    /// Changes the builder; the second argument of `change` is the next offset.
    fn change<R>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut RecordBatchBuilder, i64) -> Result<R, BuildFault>,
    ) -> PyResult<R> {
        let builder = &mut self.lock(py)?.builder;
        let next_offset = builder.next_offset();
        change(builder, next_offset).map_err(|fault| build_to_py(py, fault))
    }
}

#[pymethods]
impl Builder {
    #[new]
    fn new(py: Python<'_>, settings: Settings) -> PyResult<Self> {
        let builder = RecordBatchBuilder::new(settings.settings()?).map_err(|fault| build_to_py(py, fault))?;
        Ok(Self(Shared::new(Inner { builder, built: None })))
    }

    /// Append a record at the next offset, or at `offset`; `timestamp` is in milliseconds, -1 without one.
    ///
    /// Raises `ValueError` for an offset that does not increase or is more than 2^31 - 1 above the base offset, for a
    /// negative timestamp other than -1, for headers before magic 2, for a control batch, and after the batch was
    /// built; `TypeError` if the value or key is not bytes-like; `RecordTooLargeError` if the record or the batch would
    /// be larger than 2^31 - 1 bytes. The builder does not change in these cases.
    #[pyo3(signature = (value, second=IsGiven(false), *, key=None, timestamp=Int64(-1), headers=None, offset=None), text_signature = "($self, value, *, key=None, timestamp=-1, headers=None, offset=None)")]
    fn append(
        &self,
        value: &Bound<'_, PyAny>,
        second: IsGiven,
        key: Option<&Bound<'_, PyAny>>,
        timestamp: Int64,
        headers: Option<&Bound<'_, PyAny>>,
        offset: Option<Int64>,
    ) -> PyResult<()> {
        if second.0 {
            return Err(PyTypeError::new_err("only the value is positional: write append(value, key=key)"));
        }
        let Row { value: fields, key, headers } = Row::of(value, key, headers)?;
        self.change(value.py(), |builder, next| {
            let offset = offset.map_or(next, |offset| offset.0);
            builder.append(offset, timestamp.0, key.get(), fields.get(), headers.as_headers())
        })
    }

    /// Append a control record of this type (0 abort, 1 commit, 2 leader change, ...) to a control batch.
    #[pyo3(signature = (control_type, value, *, timestamp=Int64(-1), offset=None), text_signature = "($self, control_type, value, *, timestamp=-1, offset=None)")]
    fn append_control_record(
        &self,
        control_type: i16,
        value: &Bound<'_, PyAny>,
        timestamp: Int64,
        offset: Option<Int64>,
    ) -> PyResult<()> {
        let content = bytes_like("value", value)?;
        self.change(value.py(), |builder, next| {
            let offset = offset.map_or(next, |offset| offset.0);
            builder.append_control_record(offset, timestamp.0, ControlRecordType::for_id(control_type), &content)
        })
    }

    /// Append the marker that ends the producer's transaction; the batch must be a transactional control batch.
    #[pyo3(signature = (is_commit, *, coordinator_epoch=0, timestamp=Int64(-1), offset=None), text_signature = "($self, is_commit, *, coordinator_epoch=0, timestamp=-1, offset=None)")]
    fn append_end_txn_marker(
        &self,
        py: Python<'_>,
        is_commit: bool,
        coordinator_epoch: i32,
        timestamp: Int64,
        offset: Option<Int64>,
    ) -> PyResult<()> {
        self.change(py, |builder, next| {
            let offset = offset.map_or(next, |offset| offset.0);
            builder.append_end_txn_marker(offset, timestamp.0, is_commit, coordinator_epoch)
        })
    }

    /// Append rows of Arrow columns, as for `build_batches`, until the batch is full; return their number.
    fn append_arrow(&self, py: Python<'_>, rows: Rows) -> PyResult<usize> {
        py.detach(|| {
            let mut appender = RowAppender::default();
            for rows in rows {
                // The stream may be implemented in Python by the caller, so it runs without the lock.
                let rows = rows.map_err(rows_to_py)?;
                if appender.push(&rows, &mut self.0.lock()?.builder).map_err(arrow_build_to_py)?.is_break() {
                    break;
                }
            }
            Ok(appender.appended())
        })
    }

    /// Build the batch; without records the result is empty. No records can be appended afterwards.
    ///
    /// Raises `ValueError` for a transactional batch without a producer id, for a producer id without an epoch or
    /// sequence or before magic 2, and after `abort`. Further calls return the same bytes.
    fn build(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        if let Some(built) = &self.lock(py)?.built {
            return Ok(built.clone_ref(py));
        }
        let built = py.detach(|| PyResult::Ok(self.0.lock()?.builder.build_bytes()))?;
        let built = bytes(py, &built.map_err(|fault| build_to_py(py, fault))?)?.unbind();
        self.lock(py)?.built = Some(built.clone_ref(py));
        Ok(built)
    }

    /// Discard the records.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        inner.builder.abort();
        inner.built = None;
        Ok(())
    }

    /// Set the batch's last offset, as in a batch whose last records were removed by compaction.
    fn override_last_offset(&self, py: Python<'_>, last_offset: Int64) -> PyResult<()> {
        self.change(py, |builder, _| builder.override_last_offset(last_offset.0))
    }

    /// Set the producer state, which may be unknown at first; raises `ValueError` after the batch was built.
    fn set_producer_state(
        &self,
        py: Python<'_>,
        producer_id: Int64,
        producer_epoch: i16,
        base_sequence: i32,
        is_transactional: bool,
    ) -> PyResult<()> {
        self.change(py, |builder, _| {
            builder.set_producer_state(producer_id.0, producer_epoch, base_sequence, is_transactional)
        })
    }

    /// Set the producer state of a batch that was built, as a producer does before it resends the batch.
    fn reopen_and_rewrite_producer_state(
        &self,
        py: Python<'_>,
        producer_id: Int64,
        producer_epoch: i16,
        base_sequence: i32,
        is_transactional: bool,
    ) -> PyResult<()> {
        self.change(py, |builder, _| {
            builder.reopen_and_rewrite_producer_state(producer_id.0, producer_epoch, base_sequence, is_transactional)
        })?;
        self.lock(py)?.built = None;
        Ok(())
    }

    /// Whether the batch would stay within `write_limit` with this record at its uncompressed size.
    #[pyo3(signature = (value, *, key=None, timestamp=Int64(-1), headers=None), text_signature = "($self, value, *, key=None, timestamp=-1, headers=None)")]
    fn has_room_for(
        &self,
        value: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        timestamp: Int64,
        headers: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let Row { value: fields, key, headers } = Row::of(value, key, headers)?;
        let builder = &self.lock(value.py())?.builder;
        Ok(builder.has_room_for(timestamp.0, key.get(), fields.get(), headers.as_headers()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let builder = &self.lock(py)?.builder;
        let settings = builder.settings();
        let (compression_type, records) = (settings.compression.compression_type().name(), builder.records_count());
        let (magic, base_offset) = (settings.magic, settings.base_offset);
        Ok(format!(
            "RecordBatchBuilder(magic={magic}, compression_type='{compression_type}', base_offset={base_offset}, records_count={records})"
        ))
    }

    /// Whether the batch would stay within `write_limit` with this many more bytes.
    fn has_room_for_bytes(&self, py: Python<'_>, size: u64) -> PyResult<bool> {
        Ok(self.lock(py)?.builder.has_room_for_bytes(size))
    }

    /// The message format.
    #[getter]
    fn magic(&self, py: Python<'_>) -> PyResult<i8> {
        Ok(self.lock(py)?.builder.settings().magic)
    }

    /// The compression type.
    #[getter]
    fn compression_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        compression_type(py, self.lock(py)?.builder.settings().compression.compression_type())
    }

    /// The offset of the first record.
    #[getter]
    fn base_offset(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.lock(py)?.builder.settings().base_offset)
    }

    /// The offset that follows the last record.
    #[getter]
    fn next_offset(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.lock(py)?.builder.next_offset())
    }

    /// The producer id; -1 without one.
    #[getter]
    fn producer_id(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.lock(py)?.builder.settings().producer_id)
    }

    /// The producer epoch; -1 without one.
    #[getter]
    fn producer_epoch(&self, py: Python<'_>) -> PyResult<i16> {
        Ok(self.lock(py)?.builder.settings().producer_epoch)
    }

    /// The sequence number of the first record; -1 without one.
    #[getter]
    fn base_sequence(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(self.lock(py)?.builder.settings().base_sequence)
    }

    /// Whether the batch belongs to a transaction.
    #[getter]
    fn is_transactional(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.builder.settings().is_transactional)
    }

    /// Whether the batch is a control batch, which contains only control records.
    #[getter]
    fn is_control_batch(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.builder.settings().is_control_batch)
    }

    /// The number of records appended so far.
    #[getter]
    fn records_count(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(self.lock(py)?.builder.records_count())
    }

    /// The largest timestamp so far in milliseconds; -1 in magic 0.
    #[getter]
    fn max_timestamp(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.lock(py)?.builder.info().max_timestamp)
    }

    /// The offset of the largest timestamp, or the last one if all records form one batch; -1 without timestamps.
    #[getter]
    fn shallow_offset_of_max_timestamp(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.lock(py)?.builder.info().shallow_offset_of_max_timestamp)
    }

    /// Compressed divided by uncompressed bytes, without the header; 1.0 before the batch is built.
    #[getter]
    fn compression_ratio(&self, py: Python<'_>) -> PyResult<f32> {
        Ok(self.lock(py)?.builder.compression_ratio())
    }

    /// Set the ratio for size estimates, at first 1; raises `ValueError` if it is not finite or negative.
    fn set_estimated_compression_ratio(&self, py: Python<'_>, ratio: f32) -> PyResult<()> {
        self.change(py, |builder, _| builder.set_estimated_compression_ratio(ratio))
    }

    /// The size of the batch: exact if it is built or not compressed, otherwise estimated by the ratio, plus 5%.
    #[getter]
    fn estimated_size_in_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.builder.estimated_size_in_bytes())
    }

    /// The size of the header and of the records before compression, in bytes.
    #[getter]
    fn uncompressed_bytes_written(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.builder.uncompressed_bytes_written())
    }

    /// The most bytes that records may take within `write_limit`.
    #[getter]
    fn max_allowed_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.builder.max_allowed_bytes())
    }

    /// Whether `write_limit` is reached, or the batch was built or aborted.
    #[getter]
    fn is_full(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.builder.is_full())
    }

    /// Whether the batch is built.
    #[getter]
    fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.builder.is_closed())
    }
}
