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
//! that does not agree with the batches of its segment is no witness. Nor is any of them while the log is being written, because they may be
//! read after its end was.

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
