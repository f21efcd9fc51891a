//! Decodes one chunk after the other, on a worker's thread or on the consumer's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use kafkacomp_log::ChunkBuffer;

use crate::columns::binary_type::BinaryType;
use crate::columns::pool::BufferPool;
use crate::columns::view_buffers::SharedBytes;
use crate::decode::rows::Sink;
use crate::decode::worker::{Decoded, Progress, Worker};
use crate::options::ScanOptions;
use crate::plan::chunk::Chunk;
use crate::report::{ScanError, ScanReport};

/// Buffers above this size are returned to the pool after the chunk that needed them.
const MAX_KEPT_BUFFER: usize = 8 << 20;

/// A worker and the chunk that it decodes.
#[derive(Debug)]
pub struct Decoder {
    worker: Worker,
    pool: Arc<BufferPool>,
    views: bool,
    /// Whether the last rows of a chunk are returned with those of the next one.
    joins_chunks: bool,
    buffer: ChunkBuffer,
    /// The size of a buffer for the next chunk, if the last one was given away with its views.
    next_size: usize,
    chunk: Option<Current>,
    /// The segment of the last chunk.
    segment: Arc<str>,
}

impl Drop for Decoder {
    /// Returns the buffer to the pool. glibc would return the memory of a thread that ends to the system.
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.buffer).into_parts().0);
    }
}

/// The chunk that is being decoded.
#[derive(Debug)]
struct Current {
    chunk: Chunk,
    /// Its bytes with a reference count, if there are views of them.
    shared: Option<SharedBytes>,
    is_in_memory: bool,
    progress: Option<Progress>,
}

impl Decoder {
    /// A decoder of a scan. If it is the only one, an Arrow batch has the rows of several chunks.
    pub fn new(
        options: &Arc<ScanOptions>,
        report: &Arc<Mutex<ScanReport>>,
        pool: &Arc<BufferPool>,
        is_alone: bool,
    ) -> Self {
        let worker = Worker::new(Arc::clone(options), Arc::clone(report), pool);
        let views = options.binary_type == BinaryType::BinaryView;
        // Views would retain all of it.
        let memory = if views { Vec::new() } else { pool.take_largest() };
        Self {
            worker,
            pool: Arc::clone(pool),
            views,
            joins_chunks: is_alone,
            buffer: ChunkBuffer::new(memory, 0..0),
            next_size: 0,
            chunk: None,
            segment: Arc::from(""),
        }
    }

    /// The buffer that the planner reads the next chunk into.
    pub fn buffer(&mut self) -> &mut ChunkBuffer {
        &mut self.buffer
    }

    /// Takes returned memory for the next chunk, if the buffer has none. Otherwise memory is allocated where the chunk is read, whose
    /// size is known there.
    pub fn renew_buffer(&mut self) {
        if self.buffer.capacity() == 0
            && self.next_size > 0
            && let Some(returned) = self.pool.take_returned(self.next_size)
        {
            self.buffer = ChunkBuffer::new(returned, 0..0);
        }
    }

    /// Begins a chunk, which the planner has read into the [buffer](Self::buffer).
    pub fn begin(&mut self, chunk: Chunk) {
        self.segment = Arc::clone(&chunk.context.place.segment);
        self.chunk = Some(Current { chunk, shared: None, is_in_memory: false, progress: None });
    }

    /// Decodes the chunk up to its end, or as far as `sink` wants.
    ///
    /// # Errors
    /// That of the chunk, after the rows before it; a panic is one that names the segment. [`ScanError::Closed`] if the sink
    /// ends the scan.
    pub fn decode(&mut self, sink: Sink<'_>) -> Result<Decoded, ScanError> {
        let decoded = match self.guarded(|decoder| decoder.decode_chunk(sink)) {
            Ok(Decoded::Complete) => self.chunk.take().and_then(|current| self.end(current)).map_or(Ok(()), Err),
            Ok(unfinished) => return Ok(unfinished),
            Err(error) => Err(error),
        };
        let Err(error) = decoded else {
            return if self.joins_chunks { Ok(()) } else { self.flush(sink) }.map(|()| Decoded::Complete);
        };
        // Return the rows before the error first. After a panic, the state of the columns is unknown.
        if !matches!(error, ScanError::Panicked { .. } | ScanError::Closed)
            && matches!(self.flush(sink), Err(ScanError::Closed))
        {
            return Err(ScanError::Closed);
        }
        Err(error)
    }

    /// Returns the rows that are left.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn flush(&mut self, sink: Sink<'_>) -> Result<(), ScanError> {
        self.guarded(|decoder| decoder.worker.flush(sink))
    }

    fn decode_chunk(&mut self, sink: Sink<'_>) -> Result<Decoded, ScanError> {
        let Some(Current { chunk, shared, is_in_memory, progress }) = &mut self.chunk else {
            return Ok(Decoded::Complete);
        };
        if self.views && shared.is_none() {
            *is_in_memory = chunk.is_in_memory();
            *shared = Some(chunk.share(&mut self.buffer, &self.pool));
        }
        let data = shared.as_ref().map_or_else(|| chunk.bytes(&self.buffer), |shared| shared.bytes.as_slice());
        self.worker.chunk(chunk, (data, shared.as_ref()), progress, sink)
    }

    /// Ends a chunk, and returns the error after its records.
    fn end(&mut self, Current { chunk, shared, is_in_memory, .. }: Current) -> Option<ScanError> {
        if self.buffer.capacity() > MAX_KEPT_BUFFER {
            self.pool.give(std::mem::take(&mut self.buffer).into_parts().0);
        }
        if let Some(shared) = shared {
            // A source in memory took nothing out of the buffer. Not larger and larger buffers: views retain them.
            let length = shared.bytes.len();
            self.next_size = if is_in_memory { 0 } else { shared.pinned.min(length.saturating_add(length / 4)) };
            // A buffer to which no row refers returns to the pool at once.
            drop(shared);
        }
        chunk.error
    }

    /// Runs `step`; a panic becomes an error that names the segment.
    fn guarded<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, ScanError>) -> Result<T, ScanError> {
        let segment = Arc::clone(&self.segment);
        catch_unwind(AssertUnwindSafe(|| step(self)))
            .unwrap_or_else(|panic| Err(ScanError::panicked(&segment, panic.as_ref())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_chunks_is_returned_with_the_decoder() {
        const COLUMN: usize = 1 << 20;
        const CHUNK: usize = COLUMN / 2;
        let (options, report, pool) = (Arc::default(), Arc::default(), Arc::new(BufferPool::default()));
        pool.give(vec![0_u8; COLUMN]);
        pool.give(vec![0_u8; CHUNK]);
        let mut decoder = Decoder::new(&options, &report, &pool, true);
        assert_eq!((decoder.buffer().capacity(), decoder.buffer().len()), (CHUNK, 0));
        assert_eq!(pool.take_largest().capacity(), 0);
        drop(decoder);
        assert_eq!([COLUMN, CHUNK].map(|_| pool.take_largest().capacity()), [COLUMN, CHUNK]);
    }
}
