//! A file of a log that is read chunk by chunk.

use std::sync::Arc;

use kafkacomp_log::{ChunkBuffer, ChunkEnd, Chunks, ReadAt, ReadError, chunk_bytes};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::error::{read_to_py, to_py};
use crate::file_object::Raised;
use crate::segment::{SegmentFields, opened};

/// The number of bytes that are read at once; a larger batch or message is read whole.
const CHUNK: usize = 1 << 20;

/// A file of which at most a chunk is in memory; `F` is the layout of its batches or messages.
pub struct ChunkedFile<F> {
    name: String,
    /// `None` once the file is closed.
    source: Option<Arc<dyn ReadAt>>,
    reader: Chunks<F>,
    buffer: ChunkBuffer,
    /// What follows the last chunk.
    end: ChunkEnd,
    raised: Raised,
}

/// Complete batches or messages, and the position of the first one.
pub struct Chunk<'py> {
    pub position: u64,
    pub data: Bound<'py, PyBytes>,
}

impl<F: Send> ChunkedFile<F> {
    /// Opens the file; `reader` gets its length.
    ///
    /// # Errors
    /// As [`opened`].
    pub fn open(py: Python<'_>, fields: SegmentFields<'_>, reader: impl FnOnce(u64) -> Chunks<F>) -> PyResult<Self> {
        let (name, raised) = (fields.name().to_owned(), Raised::default());
        let (source, length) = opened(py, fields, &raised)?;
        let reader = reader(length);
        Ok(Self { name, source: Some(source), reader, buffer: ChunkBuffer::default(), end: ChunkEnd::More, raised })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_closed(&self) -> bool {
        self.source.is_none()
    }

    pub fn close(&mut self) {
        self.source = None;
    }

    /// The number of bytes of the truncated batch or message that follows the last chunk; 0 if none does.
    pub fn partial_bytes(&self) -> u64 {
        self.reader.partial_bytes(&self.end)
    }

    /// The next chunk; `None` at the end. `read` reads about the given number of bytes. The end and any error close the file.
    ///
    /// # Errors
    /// The file cannot be read, or what follows the last chunk is corrupt or, without `may_be_truncated`, truncated.
    pub fn next_chunk<'py>(
        &mut self,
        py: Python<'py>,
        may_be_truncated: bool,
        read: impl FnOnce(&mut Chunks<F>, &dyn ReadAt, &mut ChunkBuffer, usize) -> Result<(usize, ChunkEnd), ReadError>
        + Send,
    ) -> PyResult<Option<Chunk<'py>>> {
        let Some(source) = self.source.take() else { return Ok(None) };
        let ended = std::mem::replace(&mut self.end, ChunkEnd::End);
        if !ended.has_more(may_be_truncated).map_err(|error| to_py(py, &error, Some(&self.name)))? {
            return Ok(None);
        }
        let position = self.reader.position();
        let (reader, buffer) = (&mut self.reader, &mut self.buffer);
        let done = py.detach(|| read(reader, source.as_ref(), buffer, CHUNK));
        let done = done.map_err(|error| read_to_py(py, &self.name, error));
        let (length, end) = self.raised.or(py, done)?;
        let data = bytes(py, chunk_bytes(source.as_ref(), &self.buffer, position, length))?;
        (self.end, self.source) = (end, Some(source));
        Ok(Some(Chunk { position, data }))
    }
}
