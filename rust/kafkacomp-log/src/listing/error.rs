//! Why a path cannot be listed.

use std::io;
use std::path::{Path, PathBuf};

/// Why a path cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The storage reports an error.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A file is not a segment.
    #[error("{}: {reason}", path.display())]
    NotASegment {
        /// The file.
        path: PathBuf,
        /// What it is, and what to do.
        reason: String,
    },
    /// A folder has no segments.
    #[error("{}: no Kafka log segments in this folder", path.display())]
    Nothing {
        /// The folder.
        path: PathBuf,
    },
}

impl ListError {
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }
}
