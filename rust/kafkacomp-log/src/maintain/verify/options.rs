//! How a partition is verified, and why it cannot be.

use crate::continuity::compaction::Compaction;
use crate::error::{Error, ReadError};
use crate::index::checkpoint::LeaderEpochEntry;
use crate::map::ReachedOffsets;

/// Options for verifying a partition.
#[derive(Debug, Clone, Copy)]
pub struct VerifyOptions<'a> {
    /// Base offsets of further files, which are not read, but begin where others end.
    pub bounds: &'a [i64],
    /// What is known of the partition's compaction.
    pub compaction: Compaction,
    /// The entries of the partition's leader epoch checkpoint.
    pub leader_epochs: &'a [LeaderEpochEntry],
    /// What shows how far the log reached, besides the leader epochs and the indexes.
    pub reached: ReachedOffsets,
    /// The offset below which records are not counted, and not missing.
    pub log_start_offset: i64,
    /// The most bytes that one batch's records may decompress to.
    pub max_output_size: usize,
    /// The number of threads.
    pub threads: usize,
}

/// Why a partition cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A file cannot be read, or memory ran out.
    #[error(transparent)]
    Log(#[from] Error),
    /// Neither the content of a file nor its name shows its log format.
    #[error("the log format is not known")]
    UndecidedFormat,
}

impl From<ReadError> for VerifyError {
    fn from(error: ReadError) -> Self {
        Self::Log(error.into())
    }
}

/// Where a file is in its partition.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds {
    /// The number of the file.
    pub(super) number: usize,
    /// The base offset of the next file; `None` for the last one, and for one of which only some offsets are valid.
    pub(super) next: Option<i64>,
}

/// A file in the map: the index among the files that are verified; `None` for one that is not.
pub(super) type Numbered = (i64, Option<usize>);
