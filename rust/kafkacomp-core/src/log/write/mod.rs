//! Writing a partition's folder as a broker leaves it: segments, their indexes, and the files beside them.
//!
//! | file | when |
//! |---|---|
//! | `N.log`, `N.index`, `N.timeindex` | every segment; N is its base offset in 20 digits |
//! | `N.txnindex` | a segment with an abort marker of a transaction that had records |
//! | `N.snapshot` | at the base offset of every segment but the first, and at the end of the log |
//! | `leader-epoch-checkpoint` | always |
//! | `partition.metadata` | if the topic's id is given |
//!
//! A broker trusts them after a clean stop, and makes them anew, to the same bytes, when it recovers the log.
//! The folder appears whole or not at all; see [`staging`]. Segments that go on from a folder's end begin with what
//! [`LogEnd`] finds there; batches made elsewhere get their offsets by [`rebase`].
//! Source: `LogSegment.append`, `LogSegment.recover`, `ProducerStateManager`, `ProducerAppendInfo`,
//! `LeaderEpochFileCache`.

mod indexes;
mod producers;
pub mod rebase;
mod resume;
pub mod staging;
mod writer;

use std::io;
use std::path::{Path, PathBuf};

pub use indexes::{DEFAULT_INDEX_INTERVAL_BYTES, SegmentIndexes};
pub use producers::ProducerState;
pub use resume::LogEnd;
pub use staging::Staging;
pub use writer::{LogWriter, WriteOptions, WriteReport};

/// Why a folder could not be written. Nothing is left of it then.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The operating system refused.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The folder is there already.
    #[error("{path} exists already", path = .path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A batch whose offsets are not behind those of the one before, or that no offset could follow.
    #[error("{}", offset_order(*.previous, *.first, *.last))]
    OffsetOrder {
        /// The last offset so far.
        previous: i64,
        /// The batch's first offset.
        first: i64,
        /// Its last offset.
        last: i64,
    },
    /// A batch that one segment cannot hold.
    #[error("a batch of {size} bytes and offsets {first} to {last} does not fit into a segment")]
    BatchTooLarge {
        /// The batch's size in bytes.
        size: u64,
        /// Its first offset.
        first: i64,
        /// Its last offset.
        last: i64,
    },
    /// The bytes given are no batches.
    #[error(transparent)]
    Record(#[from] crate::Error),
    /// A file that is read for what is written is damaged.
    #[error("{path}: {error}", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<crate::Error>,
    },
}

fn offset_order(previous: i64, first: i64, last: i64) -> String {
    if last == i64::MAX {
        return format!("a batch of offsets {first} to {last} would be the log's last: no offset follows");
    }
    format!("a batch of offsets {first} to {last} cannot follow offset {previous}")
}

impl WriteError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    fn damaged(path: &Path, error: crate::Error) -> Self {
        Self::Damaged { path: path.to_owned(), error: Box::new(error) }
    }
}
