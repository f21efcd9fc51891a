//! The messages of a file of Kafka 0.7, chunk by chunk.

use kafkacomp_log::{EntryChunkReader, EntryLayout};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::chunked_file::{Chunk, ChunkedFile};
use crate::segment::SegmentFields;
use crate::value::value_methods;

/// Complete top-level messages of a segment.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all)]
pub struct MessageChunk {
    /// The position of the first one.
    position: u64,
    /// Their bytes.
    data: Py<PyBytes>,
}

value_methods!(MessageChunk { position, data });

/// Iterates over a segment of Kafka 0.7 without holding more than a chunk of it. A message that the end of the file truncates
/// is left out.
#[pyclass(module = "kafkacomp.message_set")]
pub struct MessageChunks(ChunkedFile<EntryLayout>);

#[pymethods]
impl MessageChunks {
    #[new]
    fn new(py: Python<'_>, source: SegmentFields<'_>) -> PyResult<Self> {
        ChunkedFile::open(py, source, |length| EntryChunkReader::new(0, length, false)).map(Self)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<MessageChunk>> {
        while let Some(Chunk { position, data }) = self
            .0
            .next_chunk(py, true, |entries, source, buffer, target| entries.read(source, buffer, target, |_| true))?
        {
            if !data.as_bytes().is_empty() {
                return Ok(Some(MessageChunk { position, data: data.unbind() }));
            }
        }
        Ok(None)
    }
}
