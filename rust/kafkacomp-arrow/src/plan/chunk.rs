//! Complete batches of one segment, which the planner reads and a worker decodes.

use std::sync::Arc;

use kafkacomp_log::{ChunkBuffer, MissingRange, chunk_bytes};

use crate::columns::pool::BufferPool;
use crate::columns::view_buffers::SharedBytes;
use crate::plan::context::Context;
use crate::plan::continuity::Note;
use crate::plan::segment_reader::SharedSource;
use crate::report::ScanError;

/// Complete batches of one segment.
#[derive(Debug)]
pub struct Chunk {
    /// The position of the bytes in the segment.
    pub position: u64,
    /// The number of bytes.
    pub(crate) length: usize,
    /// The position up to which the planner has verified the checksums; `u64::MAX` if the worker verifies none.
    pub(crate) verified_to: u64,
    /// The segment; `None` before the first one.
    pub(crate) source: Option<SharedSource>,
    /// The context of all its batches.
    pub context: Arc<Context>,
    /// Whether offsets increase from batch to batch.
    pub ordered: bool,
    /// Whether a batch of the segment comes before it.
    pub started: bool,
    /// The expected first offset of its first batch, if that is known.
    pub expected: Option<i64>,
    /// Notes about its batches, in the order of their positions.
    pub notes: Vec<(u64, Note)>,
    /// Missing offsets, and the segment that should have them.
    pub missing: Vec<(Arc<str>, MissingRange)>,
    /// The error after the records of the chunk, if there is one.
    pub error: Option<ScanError>,
    /// Shared by the chunks of a partition that are not decoded yet; the planner counts them.
    #[expect(dead_code, reason = "its reference count is read")]
    pub(crate) in_flight: Arc<()>,
}

impl Chunk {
    /// The bytes: in the buffer that the planner was given, or in the segment if it is in memory.
    pub fn bytes<'c>(&'c self, buffer: &'c ChunkBuffer) -> &'c [u8] {
        let source = self.source.as_ref();
        source.map_or(&[], |source| chunk_bytes(source.0.as_ref(), buffer, self.position, self.length))
    }

    /// The bytes with a reference count; they are taken out of `buffer`.
    pub fn share(&self, buffer: &mut ChunkBuffer, pool: &Arc<BufferPool>) -> SharedBytes {
        if let Some(source) = self.source.as_ref().filter(|_| self.is_in_memory()) {
            let part = SourcePart { source: source.clone(), position: self.position, length: self.length };
            return SharedBytes { bytes: bytes::Bytes::from_owner(part).into(), pinned: self.length };
        }
        // The buffer may have more batches than the chunk: those after an error, or that are read again.
        let length = self.length.min(buffer.len());
        let (data, read) = std::mem::take(buffer).into_parts();
        let pinned = data.capacity();
        SharedBytes { pinned, bytes: pool.lend(data).slice_with_length(read.start, length) }
    }

    /// Whether the bytes lie where the segment has them, and not in a buffer.
    pub fn is_in_memory(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.0.traits().bytes.is_some())
    }

    /// A chunk that has an error and no batches.
    pub fn failed(context: Arc<Context>, error: ScanError) -> Self {
        Self {
            position: 0,
            length: 0,
            verified_to: u64::MAX,
            source: None,
            context,
            ordered: false,
            started: false,
            expected: None,
            notes: Vec::new(),
            missing: Vec::new(),
            error: Some(error),
            in_flight: Arc::default(),
        }
    }
}

/// A part of a source in memory.
struct SourcePart {
    source: SharedSource,
    position: u64,
    length: usize,
}

impl AsRef<[u8]> for SourcePart {
    fn as_ref(&self) -> &[u8] {
        chunk_bytes(self.source.0.as_ref(), &[], self.position, self.length)
    }
}
