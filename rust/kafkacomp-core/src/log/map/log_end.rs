//! Rule 11: the end of a log.
//!
//! Nothing in a batch shows that others followed it. Other files of the partition and of its log folder do, because each of them
//! has an offset that the log had reached when it was written:
//!
//! | source | offset | the log has reached |
//! |---|---|---|
//! | `recovery-point-offset-checkpoint` | all below it was flushed | this offset |
//! | `replication-offset-checkpoint` | the high watermark | this offset |
//! | `.snapshot` | in its name: the state of the producers before it | this offset |
//! | `leader-epoch-checkpoint` | the start of an epoch, in which nothing need have been appended | this offset |
//! | `.index` | the last offset of a batch | the offset after it |
//! | `.timeindex` | the offset with the greatest timestamp | the offset after it |
//!
//! A broker that truncates a log truncates these too. None of them has a checksum that would show that it is of this log: an index
//! that contradicts the batches of its segment is no witness. Nor is any of them while the log is being written, because they may be
//! read after its end was.

use super::last_file::LastFile;
use crate::log::error::ReadError;

/// A file that has an offset which the log had reached, the most reliable one last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndSource {
    /// An entry of the time index of the last segment.
    TimeIndex,
    /// An entry of the offset index of the last segment.
    OffsetIndex,
    /// The start offset of a leader epoch.
    LeaderEpoch,
    /// The name of a producer snapshot.
    ProducerSnapshot,
    /// The high watermark.
    HighWatermark,
    /// The recovery point.
    RecoveryPoint,
}

/// An offset that a log had reached, and what has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndWitness {
    end: i64,
    source: EndSource,
}

impl EndWitness {
    /// The offset that a source has.
    pub const fn new(source: EndSource, offset: i64) -> Self {
        let end = match source {
            EndSource::TimeIndex | EndSource::OffsetIndex => offset.saturating_add(1),
            _ => offset,
        };
        Self { end, source }
    }

    /// The end offset that the log had.
    pub const fn end(&self) -> i64 {
        self.end
    }

    /// What has it.
    pub const fn source(&self) -> EndSource {
        self.source
    }
}

/// The offsets that a partition's other files show its log had reached, if they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReachedOffsets {
    /// The recovery point.
    pub recovery_point: Option<i64>,
    /// The high watermark.
    pub high_watermark: Option<i64>,
    /// The greatest offset in the name of a producer snapshot.
    pub snapshot: Option<i64>,
}

impl ReachedOffsets {
    /// What shows that the log had reached an offset above `end`: of several files the one with the greatest offset, of equals the most
    /// reliable one. `None` if nothing does, or if the log is being written. The indexes and the leader epochs of a remote segment are
    /// not read, as that would take requests.
    ///
    /// # Errors
    /// An I/O error of the segment.
    pub fn beyond(&self, end: i64, last: &LastFile<'_>) -> Result<Option<EndWitness>, ReadError> {
        let known = [
            (EndSource::RecoveryPoint, self.recovery_point),
            (EndSource::HighWatermark, self.high_watermark),
            (EndSource::ProducerSnapshot, self.snapshot),
        ];
        let known = known.into_iter().filter_map(|(source, offset)| Some(EndWitness::new(source, offset?)));
        let local = if last.source.is_remote() { [None; 3] } else { last.witnesses(end)? };
        let beyond = known.chain(local.into_iter().flatten()).filter(|witness| witness.end > end).max();
        match beyond {
            Some(witness) if !last.is_being_written()? => Ok(Some(witness)),
            _ => Ok(None),
        }
    }
}
