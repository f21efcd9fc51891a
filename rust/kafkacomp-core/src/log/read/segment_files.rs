//! A segment and its indexes, wherever they are stored.

use std::io;
use std::sync::Arc;

use super::source::ReadAt;

/// An index file next to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideFile {
    /// `.index`: offset to position.
    OffsetIndex,
    /// `.timeindex`: timestamp to offset.
    TimeIndex,
    /// `.txnindex`: aborted transactions.
    TransactionIndex,
}

impl SideFile {
    /// The file's suffix, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TransactionIndex => "txnindex",
        }
    }
}

/// Opens a segment, and reads the indexes next to it.
pub trait OpenSegment: Send + Sync + std::fmt::Debug {
    /// Opens the segment.
    ///
    /// # Errors
    /// The storage's.
    fn open(&self) -> io::Result<Arc<dyn ReadAt>>;

    /// Reads a whole index file; `None` if it does not exist.
    ///
    /// # Errors
    /// The storage's.
    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>>;
}
