//! `kafkacomp.record.open_batches`: the batches of a file, chunk by chunk.

use std::sync::Arc;

use kafkacomp_core::log::{ChunkEnd, ChunkReader, ReadAt, chunk_bytes};
use kafkacomp_core::record::Batches;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::batch::Batch;
use crate::error::{read_to_py, to_py};
use crate::file_object::Raised;
use crate::segment::{SegmentFields, opened};

/// Bytes that are read at once; a larger batch is read whole.
const CHUNK: usize = 1 << 20;

/// Iterates over the batches of a segment without holding more than a chunk of it; made by
/// `kafkacomp.record.open_batches`.
#[pyclass(module = "kafkacomp.record")]
pub struct BatchStream {
    name: String,
    /// `None` once it is closed or at its end.
    source: Option<Arc<dyn ReadAt>>,
    chunks: ChunkReader,
    buffer: Vec<u8>,
    /// The chunk whose batches are being returned, and the byte of the file at which it begins.
    data: Arc<PyBackedBytes>,
    origin: u64,
    next: usize,
    /// What follows the chunk.
    end: ChunkEnd,
    max_output_size: usize,
    verify_crc: bool,
    may_be_truncated: bool,
    partial_bytes: u64,
    raised: Raised,
}

impl BatchStream {
    /// Reads the next chunk.
    fn read(&mut self, py: Python<'_>, source: &Arc<dyn ReadAt>) -> PyResult<()> {
        let (chunks, buffer, verify) = (&mut self.chunks, &mut self.buffer, self.verify_crc);
        let begin = chunks.position();
        let read = py.detach(|| {
            chunks.read(source.as_ref(), buffer, CHUNK, |batch| if verify { batch.ensure_valid() } else { Ok(()) })
        });
        let read = read.map_err(|error| read_to_py(py, &self.name, error));
        let (length, end) = self.raised.or(py, read)?;
        let bytes = PyBytes::new(py, chunk_bytes(source.as_ref(), &self.buffer, begin, length));
        self.data = Arc::new(PyBackedBytes::from(bytes));
        (self.origin, self.next, self.end) = (begin, 0, end);
        Ok(())
    }

    /// The next batch of the chunk.
    fn next_of_chunk(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let rest = &self.data[self.next..];
        let position = self.origin.saturating_add(self.next as u64);
        let Some(batch) = Batches::new(rest, position).next() else {
            return Ok(None);
        };
        let size = batch.map_err(|error| to_py(py, &error, Some(&self.name)))?.size_in_bytes();
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
        let (name, raised) = (source.name().to_owned(), Raised::default());
        let (source, length) = opened(py, source, &raised)?;
        Ok(Self {
            name,
            source: Some(source),
            chunks: ChunkReader::new(position.min(length), length, verify_crc),
            buffer: Vec::new(),
            data: Arc::new(PyBackedBytes::from(PyBytes::new(py, &[]))),
            origin: position,
            next: 0,
            end: ChunkEnd::More,
            max_output_size,
            verify_crc,
            may_be_truncated,
            partial_bytes: 0,
            raised,
        })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        loop {
            let Some(source) = self.source.clone() else {
                return Ok(None);
            };
            if let Some(batch) = self.next_of_chunk(py)? {
                return Ok(Some(batch));
            }
            let ended = std::mem::replace(&mut self.end, ChunkEnd::End);
            self.partial_bytes = self.chunks.partial_bytes(&ended);
            match ended.has_more(self.may_be_truncated) {
                Ok(true) => self.read(py, &source).inspect_err(|_| self.source = None)?,
                ended => {
                    self.source = None;
                    return ended.map(|_| None).map_err(|error| to_py(py, &error, Some(&self.name)));
                }
            }
        }
    }

    /// Where the next batch begins; at the end, the byte where reading stopped.
    #[getter]
    fn position(&self) -> u64 {
        self.origin.saturating_add(self.next as u64)
    }

    /// Bytes after the last complete batch that are the beginning of another one; 0 before the end.
    #[getter]
    fn partial_bytes(&self) -> u64 {
        self.partial_bytes
    }

    /// Closes the file; the iteration ends.
    fn close(&mut self) {
        self.source = None;
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, PyAny>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        format!("<BatchStream {} at byte {}>", self.name, self.position())
    }
}
