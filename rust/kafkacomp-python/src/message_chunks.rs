//! The messages of a file of Kafka 0.7, chunk by chunk.

use std::sync::Arc;

use kafkacomp_core::log::{ChunkEnd, EntryChunkReader, ReadAt, ReadError, chunk_bytes};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{read_to_py, to_py};
use crate::file_object::Raised;
use crate::interrupt::interruptible;
use crate::segment::{SegmentFields, segment};

/// Bytes that are read at once; a larger message is read whole.
const CHUNK: usize = 1 << 20;

/// Iterates over a segment of Kafka 0.7 without holding more than a chunk of it: pairs of a position and of the complete
/// top-level messages from there on. A message that the end of the file truncates is left out.
#[pyclass(module = "kafkacomp.message_set")]
pub struct MessageChunks {
    name: String,
    source: Arc<dyn ReadAt>,
    chunks: EntryChunkReader,
    buffer: Vec<u8>,
    /// What follows the last chunk.
    end: ChunkEnd,
    raised: Raised,
}

#[pymethods]
impl MessageChunks {
    #[new]
    fn new(py: Python<'_>, source: SegmentFields<'_>) -> PyResult<Self> {
        let (name, raised) = (source.name().to_owned(), Raised::default());
        let segment = interruptible(segment(source, &raised)?, &raised);
        let opened = py.detach(|| {
            let source = segment.files.open()?;
            let length = source.length()?;
            Ok((source, length))
        });
        let opened = opened.map_err(|error| read_to_py(py, &name, ReadError::Io(error)));
        let (source, length) = raised.or(py, opened)?;
        let chunks = EntryChunkReader::new(0, length, false);
        Ok(Self { name, source, chunks, buffer: Vec::new(), end: ChunkEnd::More, raised })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(u64, Bound<'py, PyBytes>)>> {
        while self.end == ChunkEnd::More {
            let begin = self.chunks.position();
            let (chunks, buffer, source) = (&mut self.chunks, &mut self.buffer, self.source.as_ref());
            let read = py.detach(|| chunks.read(source, buffer, CHUNK, |_| true));
            let read = read.map_err(|error| read_to_py(py, &self.name, error));
            let (length, end) = self.raised.or(py, read)?;
            self.end = end;
            if length > 0 {
                let data = PyBytes::new(py, chunk_bytes(self.source.as_ref(), &self.buffer, begin, length));
                return Ok(Some((begin, data)));
            }
        }
        match std::mem::replace(&mut self.end, ChunkEnd::End) {
            ChunkEnd::Corrupt(error) => Err(to_py(py, &error, Some(&self.name))),
            ChunkEnd::More | ChunkEnd::End | ChunkEnd::Truncated(_) => Ok(None),
        }
    }
}
