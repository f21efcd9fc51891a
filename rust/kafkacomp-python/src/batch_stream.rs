//! `kafkacomp.record.open_batches`: the batches of a file, chunk by chunk.

use std::sync::Arc;

use kafkacomp_log::{BatchLayout, ChunkReader};
use kafkacomp_records::record::{Batches, RecordBatch};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::batch::Batch;
use crate::chunked_file::{Chunk, ChunkedFile};
use crate::error::to_py;
use crate::segment::SegmentFields;

/// An iterator over the batches of a file, read chunk by chunk: see `kafkacomp.record.open_batches`.
#[pyclass(module = "kafkacomp.record")]
pub struct BatchStream {
    file: ChunkedFile<BatchLayout>,
    /// The chunk whose batches are being returned, and the byte of the file at which it begins.
    data: Arc<PyBackedBytes>,
    origin: u64,
    next: usize,
    max_output_size: usize,
    verify_crc: bool,
    may_be_truncated: bool,
    partial_bytes: u64,
}

impl BatchStream {
    /// The next batch of the chunk.
    fn next_of_chunk(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let rest = &self.data[self.next..];
        let position = self.origin.saturating_add(self.next as u64);
        let Some(batch) = Batches::new(rest, position).next() else {
            return Ok(None);
        };
        let size = batch.map_err(|error| to_py(py, &error, Some(self.file.name())))?.size_in_bytes();
        let start = self.next;
        self.next = start.saturating_add(size);
        let data = Arc::clone(&self.data);
        Ok(Some(Batch::new(data, self.origin, (start, self.next), self.max_output_size)))
    }
}

#[pymethods]
impl BatchStream {
    #[new]
    #[pyo3(signature = (source, max_output_size, *, verify_crc, may_be_truncated, position=0))]
    fn new(
        py: Python<'_>,
        source: SegmentFields<'_>,
        max_output_size: usize,
        verify_crc: bool,
        may_be_truncated: bool,
        position: u64,
    ) -> PyResult<Self> {
        let file = ChunkedFile::open(py, source, |length| {
            ChunkReader::new(position.min(length), length, verify_crc).with_record_set(may_be_truncated)
        })?;
        Ok(Self {
            file,
            data: Arc::new(PyBackedBytes::from(PyBytes::new(py, &[]))),
            origin: position,
            next: 0,
            max_output_size,
            verify_crc,
            may_be_truncated,
            partial_bytes: 0,
        })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let (verify, may_be_truncated) = (self.verify_crc, self.may_be_truncated);
        while !self.file.is_closed() {
            if let Some(batch) = self.next_of_chunk(py)? {
                return Ok(Some(batch));
            }
            self.partial_bytes = self.file.partial_bytes();
            let chunk = self.file.next_chunk(py, may_be_truncated, |batches, source, buffer, target| {
                let check = |batch: &RecordBatch<'_>| if verify { batch.ensure_valid() } else { Ok(()) };
                let (length, end) = batches.read(source, buffer, target, check)?;
                let end = if may_be_truncated { batches.truncated_or_corrupt(source, end)? } else { end };
                Ok((length, end))
            })?;
            if let Some(Chunk { position, data }) = chunk {
                (self.data, self.origin, self.next) = (Arc::new(PyBackedBytes::from(data)), position, 0);
            }
        }
        Ok(None)
    }

    /// The byte at which the next batch begins; at the end, the byte at which reading stopped.
    #[getter]
    fn position(&self) -> u64 {
        self.origin.saturating_add(self.next as u64)
    }

    /// The number of bytes of a truncated batch at the end; 0 before the end, and without such a batch.
    #[getter]
    fn partial_bytes(&self) -> u64 {
        self.partial_bytes
    }

    /// Close the file, which ends the iteration.
    fn close(&mut self) {
        self.file.close();
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, PyAny>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        format!("<BatchStream {} at byte {}>", self.file.name(), self.position())
    }
}
