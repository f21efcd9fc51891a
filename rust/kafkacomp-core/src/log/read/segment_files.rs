//! A segment, its indexes and the other segments of its partition, wherever they are stored.

use std::fmt::Debug;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::source::{InMemory, ReadAt, open_file};

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
}

impl SideFile {
    /// The file's suffix, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TransactionIndex => "txnindex",
            Self::ProducerSnapshot => "snapshot",
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

    /// The other segments of its partition; `None` if listing them is expensive.
    fn others(&self) -> Option<Box<dyn OtherSegments>> {
        None
    }
}

/// The other segments of a partition.
pub trait OtherSegments: Debug + Sync {
    /// The segment that should have the offset according to its base offset, and a number that identifies it; `None` if that
    /// is the segment itself.
    ///
    /// # Errors
    /// An I/O error.
    fn open(&self, offset: i64) -> io::Result<Option<(u64, Arc<dyn ReadAt>)>>;

    /// The number of the segment itself; `None` if it has none.
    fn own(&self) -> Option<u64>;
}

/// The other segments in the folder of a segment.
#[derive(Debug, Clone)]
pub struct FolderSegments(
    /// The segment itself.
    pub PathBuf,
);

impl OtherSegments for FolderSegments {
    fn open(&self, offset: i64) -> io::Result<Option<(u64, Arc<dyn ReadAt>)>> {
        let Some(folder) = self.0.parent() else { return Ok(None) };
        let folder = if folder.as_os_str().is_empty() { std::path::Path::new(".") } else { folder };
        let mut found: Option<(i64, PathBuf)> = None;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let base = name.strip_suffix(".log").and_then(|stem| stem.get(..20)?.parse::<i64>().ok());
            if let Some(base) =
                base.filter(|&base| base <= offset && found.as_ref().is_none_or(|(most, _)| base > *most))
            {
                found = Some((base, path));
            }
        }
        match found.filter(|(_, path)| path.file_name() != self.0.file_name()) {
            Some((_, path)) => Ok(Some((number_of(&path), Arc::new(open_file(&path)?)))),
            None => Ok(None),
        }
    }

    fn own(&self) -> Option<u64> {
        Some(number_of(&self.0))
    }
}

/// A number for a file of a folder. Files may have the same base offset, so it is a hash of the name.
fn number_of(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.file_name().hash(&mut hasher);
    hasher.finish()
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
