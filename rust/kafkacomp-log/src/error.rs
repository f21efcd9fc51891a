//! Why a log cannot be read or written.
//!
//! [`ContentError`] is about the content of a segment or an index file, and is used in reports. [`ReadError`] is about reading
//! a segment. [`Error`] is either of them, or that a folder cannot be written.

use std::io;
use std::path::{Path, PathBuf};

use super::index::IndexFault;
use kafkacomp_records::error_kind::{Category, ErrorKind};
use kafkacomp_records::memory::OutOfMemory;
use kafkacomp_records::{message_set, record};

/// What is wrong with the content of a log. `position` is the byte of the file at which the failing batch, entry or field
/// begins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// A batch, or its records.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// An entry of a message set of Kafka 0.7.
    #[error(transparent)]
    MessageSet(#[from] message_set::Error),
    /// The offset field of a batch contradicts the batches around it. No checksum covers it.
    #[error(
        "offset field {stored} of the batch at byte {position} cannot be right: offset {expected} is expected there"
    )]
    OffsetField {
        /// The position of the batch.
        position: u64,
        /// The offset field found.
        stored: i64,
        /// The offset at which the log continues.
        expected: i64,
    },
    /// The leader epoch of a batch contradicts the batches around it. No checksum covers it.
    #[error("leader epoch {stored} of the batch at byte {position} cannot be right: leader epochs do not decrease")]
    LeaderEpoch {
        /// The position of the batch.
        position: u64,
        /// The leader epoch found.
        stored: i32,
    },
    /// A segment ends before the position of an entry of its offset index.
    #[error("the segment ends at byte {position}, and its offset index has an entry for offset {indexed} after that")]
    TruncatedSegment {
        /// The length of the segment.
        position: u64,
        /// The offset of the first entry after that.
        indexed: i64,
    },
    /// An index, snapshot or checkpoint file that breaks a rule of its format.
    #[error("{fault} at byte {position}")]
    IndexFile {
        /// The byte of the file at which the failing entry or field begins.
        position: u64,
        /// The rule.
        fault: IndexFault,
    },
}

impl ContentError {
    /// The kind, which decides the category, Kafka's error code and Python's exception.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Record(error) => error.kind(),
            Self::MessageSet(error) => error.kind(),
            Self::IndexFile { fault: IndexFault::OutOfMemory { .. }, .. } => ErrorKind::OutOfMemory,
            Self::OffsetField { .. }
            | Self::LeaderEpoch { .. }
            | Self::TruncatedSegment { .. }
            | Self::IndexFile { .. } => ErrorKind::CorruptRecord,
        }
    }

    /// The category: what a reader of the log may do after the error.
    pub fn category(&self) -> Category {
        self.kind().category()
    }

    /// The position in the file.
    pub fn position(&self) -> u64 {
        match self {
            Self::Record(error) => error.position(),
            Self::MessageSet(error) => error.position,
            Self::OffsetField { position, .. }
            | Self::LeaderEpoch { position, .. }
            | Self::TruncatedSegment { position, .. }
            | Self::IndexFile { position, .. } => *position,
        }
    }

    /// The limit that was reached, for [`ErrorKind::OutputLimit`].
    pub fn output_limit(&self) -> Option<u64> {
        match self {
            Self::Record(error) => error.output_limit(),
            Self::MessageSet(error) => error.fault.output_limit(),
            Self::OffsetField { .. }
            | Self::LeaderEpoch { .. }
            | Self::TruncatedSegment { .. }
            | Self::IndexFile { .. } => None,
        }
    }
}

impl From<OutOfMemory> for ContentError {
    /// There is not enough memory for the entries of an index file.
    fn from(error: OutOfMemory) -> Self {
        Self::IndexFile { position: 0, fault: IndexFault::OutOfMemory { bytes: error.bytes as u64 } }
    }
}

/// The error of an index file for `fault` at byte `position`.
pub(super) fn fail<T>(position: usize, fault: IndexFault) -> Result<T, ContentError> {
    Err(ContentError::IndexFile { position: position as u64, fault })
}

/// Why the bytes of a segment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An I/O error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The segment is shorter than it was when the scan began.
    #[error("the file was truncated during the scan: {length} bytes, {expected} were there")]
    Shrunk {
        /// The length now.
        length: u64,
        /// The length before.
        expected: u64,
    },
}

/// Why a log cannot be read or written. A folder that could not be written is removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The segment that is being read cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The content of the segment that is being read, or of the bytes that are to be written.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// An I/O error of a file or folder.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The folder exists already.
    #[error("{path} exists already", path = .path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A batch whose offsets do not follow those of the batch before, or after which no offset is left.
    #[error("{}", offset_order(*.previous, *.first, *.last))]
    OffsetOrder {
        /// The last offset so far.
        previous: i64,
        /// The batch's first offset.
        first: i64,
        /// Its last offset.
        last: i64,
    },
    /// A batch that does not fit into a segment.
    #[error("a batch of {size} bytes and offsets {first} to {last} does not fit into a segment")]
    BatchTooLarge {
        /// The batch's size in bytes.
        size: u64,
        /// Its first offset.
        first: i64,
        /// Its last offset.
        last: i64,
    },
    /// A file that is read in order to write the log is corrupt.
    #[error("{path}: {error}", path = .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<ContentError>,
    },
}

fn offset_order(previous: i64, first: i64, last: i64) -> String {
    if last == i64::MAX {
        return format!("a batch of offsets {first} to {last} would be the log's last: no offset follows");
    }
    format!("a batch of offsets {first} to {last} cannot follow offset {previous}")
}

impl Error {
    /// An I/O error of `path`.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// The file at `path` is corrupt.
    pub(super) fn corrupt(path: &Path, error: impl Into<ContentError>) -> Self {
        Self::Corrupt { path: path.to_owned(), error: Box::new(error.into()) }
    }

    /// The same error of the file at `path`.
    pub(super) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Read(ReadError::Io(error)) => Self::io(path, error),
            Self::Read(error @ ReadError::Shrunk { .. }) => Self::io(path, io::Error::other(error.to_string())),
            Self::Content(error) => Self::corrupt(path, error),
            other => other,
        }
    }

    /// The kind, which decides the category, Kafka's error code and Python's exception.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Content(error) => error.kind(),
            Self::Corrupt { error, .. } => error.kind(),
            Self::Read(ReadError::Io(error)) | Self::Io { source: error, .. } => {
                if error.kind() == io::ErrorKind::OutOfMemory { ErrorKind::OutOfMemory } else { ErrorKind::Io }
            }
            Self::Read(ReadError::Shrunk { .. }) => ErrorKind::CorruptRecord,
            Self::Exists { .. } => ErrorKind::Exists,
            Self::OffsetOrder { .. } => ErrorKind::OffsetsOutOfOrder,
            Self::BatchTooLarge { .. } => ErrorKind::RecordTooLarge,
        }
    }

    /// The category: what a reader or writer of the log may do after the error.
    pub fn category(&self) -> Category {
        self.kind().category()
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Read(error.into())
    }
}

impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Self {
        io::Error::from(error).into()
    }
}

impl From<record::Error> for Error {
    fn from(error: record::Error) -> Self {
        Self::Content(error.into())
    }
}

impl From<message_set::Error> for Error {
    fn from(error: message_set::Error) -> Self {
        Self::Content(error.into())
    }
}
