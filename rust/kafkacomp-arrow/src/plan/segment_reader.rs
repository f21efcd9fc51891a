//! Divides a segment of either log format into chunks.

use std::sync::Arc;

use kafkacomp_log::{ChunkEnd, ChunkReader, EntryChunkReader, ReadAt, ReadError};

/// A source with a name for `Debug`.
#[derive(Clone)]
pub struct SharedSource(pub Arc<dyn ReadAt>);

impl std::fmt::Debug for SharedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReadAt")
    }
}

/// Divides a segment of either log format into chunks.
#[derive(Debug)]
pub enum Reader {
    /// Batches, since Kafka 0.8.
    Records(ChunkReader),
    /// Message sets of Kafka 0.7.
    MessageSet(EntryChunkReader),
}

impl Reader {
    pub fn position(&self) -> u64 {
        match self {
            Self::Records(reader) => reader.position(),
            Self::MessageSet(reader) => reader.position(),
        }
    }

    /// The position up to which the segment was read.
    pub fn read_to(&self) -> u64 {
        match self {
            Self::Records(reader) => reader.read_to(),
            Self::MessageSet(reader) => reader.read_to(),
        }
    }

    /// The number of bytes of the last chunk that were read to complete its last batch.
    pub fn completed(&self) -> usize {
        match self {
            Self::Records(reader) => reader.completed(),
            Self::MessageSet(reader) => reader.completed(),
        }
    }

    pub fn end(&self) -> u64 {
        match self {
            Self::Records(reader) => reader.end(),
            Self::MessageSet(reader) => reader.end(),
        }
    }

    pub fn seek(&mut self, position: u64) {
        match self {
            Self::Records(reader) => reader.seek(position),
            Self::MessageSet(reader) => reader.seek(position),
        }
    }

    /// The offset after the last batch that was read; `None` in Kafka 0.7, and before the first batch.
    pub fn end_offset(&self) -> Option<i64> {
        match self {
            Self::Records(reader) => reader.end_offset(),
            Self::MessageSet(_) => None,
        }
    }

    /// What ended a chunk of a source whose last batch may be truncated.
    pub fn truncated_or_corrupt(&mut self, source: &dyn ReadAt, ended: ChunkEnd) -> Result<ChunkEnd, ReadError> {
        match self {
            Self::Records(reader) => reader.truncated_or_corrupt(source, ended),
            Self::MessageSet(_) => Ok(ended),
        }
    }

    /// Continues at the first intact batch or entry after the corrupt one, and returns its position.
    pub fn resync(&mut self, source: &dyn ReadAt) -> Result<u64, ReadError> {
        match self {
            Self::Records(reader) => reader.resync(source),
            Self::MessageSet(reader) => reader.resync(source),
        }
    }
}
