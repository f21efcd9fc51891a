//! Verifies a partition: every checksum, every record, which batches belong to the log, missing offsets, and the index files.
//!
//! Corruption does not end the check: it resumes at the next intact batch. What Kafka accepts but other readers may
//! refuse is a warning ([`NonConformity`](kafkacomp_records::record::NonConformity)).
//!
//! | module | what |
//! |---|---|
//! | `partition` | all files: reads them, judges them with [`map`](crate::map), and puts the report together |
//! | `read`, `message_set` | reads one file, of batches or of Kafka 0.7 |
//! | `indexes`, `markers`, `untrimmed` | compares the indexes of a file with its batches |
//! | `findings`, `gaps` | what the map shows, as findings |

mod file_read;
mod findings;
mod gaps;
mod indexes;
mod markers;
mod message_set;
mod options;
mod partition;
mod positions;
mod read;
mod rebuild;
mod report;
mod threads;
mod transactions;
mod untrimmed;

use std::sync::Arc;

pub use gaps::VerifiedPartition;
pub use options::{VerifyError, VerifyOptions};
pub use partition::verify_partition;
pub use report::{CodecCounts, Finding, FindingFile, SegmentReport};

use crate::map::OffsetRange;
use crate::read::log_format::LogFormat;
use crate::read::segment_files::OpenSegment;

/// A file to verify.
#[derive(Debug, Clone)]
pub struct FileToVerify {
    /// The name in messages.
    pub name: Arc<str>,
    /// The base offset in its name, to which the entries of its indexes are relative; `None` for a record set, whose offsets need not increase.
    pub base_offset: Option<i64>,
    /// The file, and its indexes.
    pub files: Arc<dyn OpenSegment>,
    /// Its log format; `None` if its content or its name shows it.
    pub log_format: Option<LogFormat>,
    /// Whether a truncated batch at the end is allowed, as in a fetch response.
    pub may_be_truncated: bool,
    /// The offsets that the leader's epochs allow in a remote segment; `None` if nothing restricts them.
    pub valid: Option<OffsetRange>,
}

impl FileToVerify {
    /// The first offset that it should have by its name and the leader's epochs; `None` for a record set.
    fn start(&self) -> Option<i64> {
        let name = self.base_offset?;
        Some(self.valid.map_or(name, |valid| valid.start().max(name)))
    }
}

#[cfg(test)]
mod tests;
