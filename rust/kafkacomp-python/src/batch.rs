//! `kafkacomp.record`: batches and records as frozen views.

use std::cell::RefCell;
use std::sync::Arc;

use kafkacomp_arrow::decode::batch_records::{BatchRecordsError, batch_records};
use kafkacomp_log::ensure_truncated;
use kafkacomp_records::record::reader::records_as_stored;
use kafkacomp_records::record::{Batches, Error, RecordBatch, RecordReader, Tail};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple, PyType};
use pyo3_arrow::PyRecordBatch;

use crate::bytes::bytes;
use crate::enums::{compression_type, timestamp_type};
use crate::error::{scan_to_py, to_py};
use crate::gil::call;
use crate::memory::out_of_memory;
use crate::record::{Backing, Records, columns};
use crate::scan::extra;

static RECORD_COLUMNS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

thread_local! {
    /// Contexts and the output buffer are kept from batch to batch.
    static READER: RefCell<RecordReader> = RefCell::new(RecordReader::new(0));
}

/// An iterator over the batches of a buffer: see `kafkacomp.record.read_batches`.
#[pyclass(module = "kafkacomp.record")]
pub struct BatchReader {
    data: Arc<PyBackedBytes>,
    /// The byte of the file at which `data` begins.
    origin: u64,
    position: usize,
    /// Where in `data` the last batch begins.
    last: usize,
    max_output_size: usize,
    verify_crc: bool,
    finished: bool,
    /// What stopped the iteration; `None` before the end and after an error.
    tail: Option<Tail>,
}

#[pymethods]
impl BatchReader {
    #[new]
    #[pyo3(signature = (data, max_output_size, verify_crc, origin=0))]
    fn new(data: &Bound<'_, PyAny>, max_output_size: usize, verify_crc: bool, origin: u64) -> PyResult<Self> {
        let data = Arc::new(crate::input::bytes_like("data", data)?);
        Ok(Self { data, origin, position: 0, last: 0, max_output_size, verify_crc, finished: false, tail: None })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        if self.finished {
            return Ok(None);
        }
        let rest = &self.data[self.position..];
        let mut batches = Batches::new(rest, self.origin.saturating_add(self.position as u64));
        let Some(next) = batches.next() else {
            self.finished = true;
            let tail = batches.tail();
            let last = self.data.get(self.last..self.position).and_then(|last| RecordBatch::new(last, 0).ok());
            py.detach(|| ensure_truncated(&self.data, self.origin, tail, last.as_ref()))
                .map_err(|error| to_py(py, &error, None))?;
            self.tail = tail;
            return Ok(None);
        };
        let verify = self.verify_crc;
        let checked = next.and_then(|batch| {
            if verify {
                py.detach(|| batch.ensure_valid())?;
            }
            Ok(batch)
        });
        let batch = checked.map_err(|error| {
            self.finished = true;
            to_py(py, &error, None)
        })?;
        let start = self.position;
        (self.last, self.position) = (start, start.saturating_add(batch.size_in_bytes()));
        let data = Arc::clone(&self.data);
        Ok(Some(Batch { data, origin: self.origin, start, end: self.position, max_output_size: self.max_output_size }))
    }

    /// The byte at which the next batch begins; at the end, the byte at which reading stopped.
    #[getter]
    fn position(&self) -> u64 {
        self.origin.saturating_add(self.position as u64)
    }

    /// The number of bytes of a truncated batch at the end; 0 before the end, and without such a batch.
    #[getter]
    fn partial_bytes(&self) -> u64 {
        match self.tail {
            Some(Tail::Partial { available, .. }) => available,
            _ => 0,
        }
    }

    /// The number of zero bytes after the last batch, as in a preallocated file; 0 before the end.
    #[getter]
    fn zero_bytes(&self) -> u64 {
        match self.tail {
            Some(Tail::Zeros { length, .. }) => length,
            _ => 0,
        }
    }
}

/// A batch of magic 2, or a message of magic 0 or 1 (a wrapper if it is compressed).
///
/// A read-only view of the buffer that it was read from. Iterating over it decompresses it and returns its records. An
/// invalid record raises an error where Kafka's own iterator throws, after the records before it: `InvalidRecordError`
/// (87), `CorruptRecordError` (2; with the codec's `DecompressionError` as its cause), `OutputLimitError`,
/// `UnknownServerError` (-1).
#[pyclass(module = "kafkacomp.record", name = "RecordBatch", frozen)]
pub struct Batch {
    data: Arc<PyBackedBytes>,
    origin: u64,
    start: usize,
    end: usize,
    max_output_size: usize,
}

impl Batch {
    /// The batch in `span` of `data`, which begins at the byte `origin` of a file.
    pub fn new(data: Arc<PyBackedBytes>, origin: u64, (start, end): (usize, usize), max_output_size: usize) -> Self {
        Self { data, origin, start, end, max_output_size }
    }

    fn view(&self, py: Python<'_>) -> PyResult<RecordBatch<'_>> {
        RecordBatch::new(&self.data[self.start..self.end], self.origin.saturating_add(self.start as u64))
            .map_err(|error| to_py(py, &error, None))
    }

    fn read(&self, py: Python<'_>) -> PyResult<Records> {
        let batch = self.view(py)?;
        py.detach(|| {
            READER.with_borrow_mut(|reader| {
                reader.set_max_output_size(self.max_output_size);
                let input = Backing::Input(Arc::clone(&self.data));
                let paused = match reader.records(&batch) {
                    Ok(records) => records.pause(),
                    Err(error) => return Ok(Records::failed(input, error)),
                };
                if reader.payload().is_empty() {
                    return Ok(Records::new(input, (self.start, self.end), paused));
                }
                let payload = reader.owned_payload()?;
                let span = (0, payload.len());
                Ok(Records::new(Backing::Decompressed(Arc::new(payload)), span, paused))
            })
        })
        .map_err(out_of_memory)
    }
}

#[pymethods]
impl Batch {
    /// Decompresses the batch and iterates over its records. An error is raised where Kafka's own iterator throws it:
    /// after the records before it.
    fn __iter__(&self, py: Python<'_>) -> PyResult<Records> {
        self.read(py)
    }

    /// The message format: 0, 1 or 2.
    #[getter]
    fn magic(&self, py: Python<'_>) -> PyResult<i8> {
        Ok(self.view(py)?.magic())
    }

    /// The byte of the buffer at which the batch begins.
    #[getter]
    fn position(&self) -> u64 {
        self.origin.saturating_add(self.start as u64)
    }

    /// The size of the batch, including the offset and size fields.
    #[getter]
    fn size_in_bytes(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// The records as stored: compressed if the batch is compressed.
    ///
    /// In magic 2 they follow the header. In magic 0 and 1 they are the value of a wrapper; an uncompressed message is
    /// a record itself.
    #[getter]
    fn stored_records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let batch = self.view(py)?;
        bytes(py, records_as_stored(&batch).map_err(|error| to_py(py, &error, None))?)
    }

    /// The first offset. A wrapper of magic 0 or 1 is decompressed to determine the offset of its first message.
    #[getter]
    fn base_offset(&self, py: Python<'_>) -> PyResult<i64> {
        let batch = self.view(py)?;
        py.detach(|| {
            READER.with_borrow_mut(|reader| {
                reader.set_max_output_size(self.max_output_size);
                reader.base_offset(&batch)
            })
        })
        .map_err(|error| to_py(py, &error, None))
    }

    /// The last offset according to the header, which compaction does not change.
    #[getter]
    fn last_offset(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.view(py)?.last_offset())
    }

    /// The checksum as stored.
    #[getter]
    fn crc(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.view(py)?.crc())
    }

    /// The attributes as stored: 16 bits in magic 2, 8 bits in magic 0 and 1.
    #[getter]
    fn attributes(&self, py: Python<'_>) -> PyResult<i16> {
        Ok(self.view(py)?.raw_attributes())
    }

    /// The compression type; raises `UnknownServerError` for an id that Kafka does not know.
    #[getter]
    fn compression_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.view(py)?.compression_type().map_err(|error| to_py(py, &error, None))?;
        compression_type(py, found)
    }

    /// The timestamp type; `NO_TIMESTAMP_TYPE` for magic 0.
    #[getter]
    fn timestamp_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        timestamp_type(py, self.view(py)?.timestamp_type())
    }

    /// The base of the timestamps, ms, or the delete horizon. Magic 1: the message's timestamp; magic 0: -1.
    #[getter]
    fn base_timestamp(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.view(py)?.base_timestamp())
    }

    /// The largest timestamp according to the header in milliseconds; -1 without one.
    #[getter]
    fn max_timestamp(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.view(py)?.max_timestamp())
    }

    /// The number of records that the header declares; None in magic 0 and 1, whose headers do not have it.
    #[getter]
    fn records_count(&self, py: Python<'_>) -> PyResult<Option<i32>> {
        Ok(self.view(py)?.records_count())
    }

    /// The leader epoch of the partition; -1 without one.
    #[getter]
    fn partition_leader_epoch(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(self.view(py)?.partition_leader_epoch())
    }

    /// The producer id; -1 without one.
    #[getter]
    fn producer_id(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.view(py)?.producer_id())
    }

    /// The producer epoch; -1 without one.
    #[getter]
    fn producer_epoch(&self, py: Python<'_>) -> PyResult<i16> {
        Ok(self.view(py)?.producer_epoch())
    }

    /// The sequence number of the first record; -1 without one.
    #[getter]
    fn base_sequence(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(self.view(py)?.base_sequence())
    }

    /// The sequence number of the last record; -1 without one.
    #[getter]
    fn last_sequence(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(self.view(py)?.last_sequence())
    }

    /// Whether the batch belongs to a transaction (KIP-98).
    #[getter]
    fn is_transactional(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.view(py)?.is_transactional())
    }

    /// Whether its records are control records, which consumers do not see.
    #[getter]
    fn is_control_batch(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.view(py)?.is_control_batch())
    }

    /// The time from which compaction may remove tombstones and markers, ms (KIP-534); None without one.
    #[getter]
    fn delete_horizon_ms(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        Ok(self.view(py)?.delete_horizon_ms())
    }

    /// Whether the checksum is correct: CRC-32C from the attributes (magic 2), CRC-32 from the magic (0, 1).
    #[getter]
    fn is_valid(&self, py: Python<'_>) -> PyResult<bool> {
        let batch = self.view(py)?;
        Ok(py.detach(|| batch.is_valid()))
    }

    /// Decompress the batch and return offsets, timestamps, keys and values of all records as lists.
    ///
    /// For records of up to a few hundred bytes this is two to four times as fast as iterating; for larger records,
    /// both spend most of their time on decompression and copying: see `to_arrow`. For many batches, use
    /// `kafkacomp.scan`. Raises the same errors as iterating.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let batch = self.view(py)?;
        let (paused, length, payload) = py
            .detach(|| {
                READER.with_borrow_mut(|reader| {
                    reader.set_max_output_size(self.max_output_size);
                    let paused = reader.records(&batch)?.pause();
                    let length = reader.payload().len();
                    Ok::<_, Error>((paused, length, reader.replace_storage(Vec::new())))
                })
            })
            .map_err(|error| to_py(py, &error, None))?;
        let content = if length == 0 { batch.data() } else { &payload[..length] };
        let lists = columns(py, paused.resume(content));
        // The reader was without it meanwhile: Python may run other code, and read batches, while it creates objects.
        READER.with_borrow_mut(|reader| reader.reuse_storage(payload));
        call(RECORD_COLUMNS.import(py, "kafkacomp._types", "RecordColumns")?, PyTuple::new(py, lists?)?)
    }

    /// Decompress the batch and return all records as a `pyarrow.RecordBatch`.
    ///
    /// Its columns are offset (int64), timestamp (milliseconds, UTC; null if a record has none), key and value
    /// (`binary_view`). Keys and values are not copied out of the decompressed bytes, so this is at least twice as fast as
    /// iterating, also for large records. Raises the same errors as iterating, and an error that names the extra if pyarrow is
    /// not installed.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let batch = self.view(py)?;
        let built = py.detach(|| {
            READER.with_borrow_mut(|reader| {
                reader.set_max_output_size(self.max_output_size);
                batch_records(reader, &batch)
            })
        });
        let built = built.map_err(|error| match error {
            BatchRecordsError::Content(error) => to_py(py, &error, None),
            BatchRecordsError::Columns(error) => scan_to_py(py, error.into()),
        })?;
        PyRecordBatch::new(built).into_pyarrow(py).map_err(|error| extra(py, error))
    }

    /// Raise `CorruptRecordError` if the checksum is wrong.
    fn ensure_valid(&self, py: Python<'_>) -> PyResult<()> {
        let batch = self.view(py)?;
        py.detach(|| batch.ensure_valid()).map_err(|error| to_py(py, &error, None))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, &self.data[self.start..self.end])
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let batch = self.view(py)?;
        Ok(format!(
            "RecordBatch(magic={}, position={}, size_in_bytes={}, last_offset={}, compression_id={})",
            batch.magic(),
            batch.position(),
            batch.size_in_bytes(),
            batch.last_offset(),
            batch.attributes().compression_id()
        ))
    }
}
