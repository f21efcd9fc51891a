//! A segment, its indexes and the other segments of its partition, wherever they are stored.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use super::source::{InMemory, ReadAt};

/// An index file next to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideFile {
    /// `.index`: offset to position.
    OffsetIndex,
    /// `.timeindex`: timestamp to offset.
    TimeIndex,
    /// `.txnindex`: aborted transactions.
    TransactionIndex,
    /// `.snapshot`: producers. Next to a segment of a log it is of the segment's beginning, in tiered storage of its end.
    ProducerSnapshot,
    /// `leader-epoch-checkpoint` of the folder. In tiered storage, each segment has its own, `.leader_epoch_checkpoint`.
    LeaderEpochCheckpoint,
}

impl SideFile {
    /// The file's suffix, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TransactionIndex => "txnindex",
            Self::ProducerSnapshot => "snapshot",
            Self::LeaderEpochCheckpoint => "leader_epoch_checkpoint",
        }
    }
}

/// Opens a segment, and reads the indexes next to it.
pub trait OpenSegment: Send + Sync + Debug {
    /// Opens the segment.
    ///
    /// # Errors
    /// An I/O error of the storage.
    fn open(&self) -> io::Result<Arc<dyn ReadAt>>;

    /// Reads a whole index file; `None` if it does not exist.
    ///
    /// # Errors
    /// An I/O error of the storage.
    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>>;

    /// Opens an index file, of which not all bytes need be read; `None` if it does not exist.
    ///
    /// # Errors
    /// An I/O error of the storage.
    fn open_side_file(&self, kind: SideFile) -> io::Result<Option<Arc<dyn ReadAt>>> {
        let data = self.side_file(kind)?;
        Ok(data.map(|data| Arc::new(InMemory(data)) as Arc<dyn ReadAt>))
    }

    /// The content of the offset index. It is empty if there is none or it cannot be read, because it is derived from the segment.
    fn offset_index(&self) -> Vec<u8> {
        self.side_file(SideFile::OffsetIndex).ok().flatten().unwrap_or_default()
    }

    /// Whether the bytes may end within a batch without being corrupt, as a record set in a fetch response does.
    fn may_be_truncated(&self) -> bool {
        false
    }

    /// Whether it is in memory or in a local file system, so that reading it waits neither for a network nor for another program.
    fn is_local(&self) -> bool {
        false
    }

    /// The segments of its partition, with itself, for a reader that has only this one; none if the storage does not list them.
    ///
    /// # Errors
    /// An I/O error of the storage.
    fn siblings(&self) -> io::Result<Vec<Sibling>> {
        Ok(Vec::new())
    }
}

/// A segment of the same partition.
#[derive(Debug, Clone)]
pub struct Sibling {
    /// Its path or name.
    pub name: Arc<str>,
    /// The base offset in its name.
    pub base_offset: i64,
    /// Opens it.
    pub files: Arc<dyn OpenSegment>,
}

/// A record set in memory.
#[derive(Debug, Clone)]
pub struct MemorySegment<T>(pub Arc<T>);

impl<T: AsRef<[u8]> + Send + Sync + Debug + 'static> OpenSegment for MemorySegment<T> {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(InMemory(SharedBytes(Arc::clone(&self.0)))))
    }

    fn side_file(&self, _: SideFile) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn is_local(&self) -> bool {
        true
    }

    /// The bytes may be those of a fetch response, whose last batch may be incomplete (`max.partition.fetch.bytes`).
    fn may_be_truncated(&self) -> bool {
        true
    }
}

struct SharedBytes<T>(Arc<T>);

impl<T: AsRef<[u8]>> AsRef<[u8]> for SharedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}
