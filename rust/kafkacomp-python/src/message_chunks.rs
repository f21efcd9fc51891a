//! The messages of a file of Kafka 0.7, chunk by chunk.

use std::sync::Arc;

use kafkacomp_core::log::{ChunkEnd, EntryChunkReader, ReadAt, chunk_bytes};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::error::{read_to_py, to_py};
use crate::file_object::Raised;
use crate::segment::{SegmentFields, opened};
use crate::value::value_methods;

/// Bytes that are read at once; a larger message is read whole.
const CHUNK: usize = 1 << 20;

/// Complete top-level messages of a segment.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all)]
pub struct MessageChunk {
    /// The position of the first one.
    position: u64,
    /// Their bytes.
    data: Py<PyBytes>,
}

value_methods!(MessageChunk { position, data });

/// Iterates over a segment of Kafka 0.7 without holding more than a chunk of it. A message that the end of the file truncates is
/// left out.
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
        let (source, length) = opened(py, source, &raised)?;
        let chunks = EntryChunkReader::new(0, length, false);
        Ok(Self { name, source, chunks, buffer: Vec::new(), end: ChunkEnd::More, raised })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<MessageChunk>> {
        // A truncated message at the end is left out.
        while std::mem::replace(&mut self.end, ChunkEnd::End)
            .has_more(true)
            .map_err(|error| to_py(py, &error, Some(&self.name)))?
        {
            let position = self.chunks.position();
            let (chunks, buffer, source) = (&mut self.chunks, &mut self.buffer, self.source.as_ref());
            let read = py.detach(|| chunks.read(source, buffer, CHUNK, |_| true));
            let read = read.map_err(|error| read_to_py(py, &self.name, error));
            let (length, end) = self.raised.or(py, read)?;
            self.end = end;
            if length > 0 {
                let data = bytes(py, chunk_bytes(self.source.as_ref(), &self.buffer, position, length))?.unbind();
                return Ok(Some(MessageChunk { position, data }));
            }
        }
        Ok(None)
    }
}
