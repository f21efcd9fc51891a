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
//! A broker that truncates a log truncates these too. None of them has a checksum that would show that it is of this log: entries
//! of an index that contradicts the batches of its segment are no witnesses, and must be left out.

use super::facts::{BatchId, Fact};
use super::missing::MissingOffsets;
use super::partition::LogMap;
use super::ranges::OffsetRange;
use super::segment::Use;
use crate::log::continuity::missing::MissingReason;

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
}

/// What a log ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogTail {
    /// The number of the last file.
    pub file: usize,
    /// The end offset: that after the last batch, or the name of the last file if it is greater.
    pub end: i64,
    /// Whether corrupt bytes, or batches that are not delivered, are after the last batch of the last file.
    pub is_corrupt: bool,
    /// The number of zeros at the end of the last file.
    pub zeros: u64,
    /// Whether the last file was preallocated: it is exactly as long as the topic's `segment.bytes`, or its offset index ends with
    /// zeros too.
    pub is_preallocated: bool,
}

/// The judgement of the end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEnd {
    /// Nothing shows that anything is missing.
    Intact,
    /// The log was longer.
    Missing {
        /// The offsets up to the greatest one that it had reached.
        missing: MissingOffsets,
        /// What has this offset; of several, the most reliable one.
        source: EndSource,
    },
    /// Zeros at the end, where batches may have been, or which were preallocated.
    Zeros {
        /// Their number.
        bytes: u64,
    },
}

impl LogTail {
    /// The tail of a log; `None` if it has no files.
    pub fn of(map: &LogMap<'_>, is_preallocated: bool) -> Option<Self> {
        let last = map.files().last()?;
        let file = map.files().len().checked_sub(1)?;
        let is_placed = |index| map.use_of(BatchId { file, index }).is_some_and(Use::is_delivered);
        let delivered = (0..last.facts.len()).rev().find(|&index| is_placed(index));
        let after = last.facts.get(delivered.map_or(0, |index| index + 1)..).unwrap_or_default();
        let zeros = after.iter().filter(|fact| matches!(fact, Fact::Zeros(_))).map(|fact| fact.bytes().len()).sum();
        let is_corrupt = after.iter().any(|fact| !matches!(fact, Fact::Zeros(_)));
        let end = map.end()?;
        Some(Self { file, end, is_corrupt, zeros, is_preallocated })
    }

    /// Judges the end of a log by the offsets that it had reached.
    pub fn judge(&self, witnesses: impl IntoIterator<Item = EndWitness>) -> LogEnd {
        let greatest = witnesses.into_iter().max();
        let beyond = greatest.and_then(|witness| Some((OffsetRange::new(self.end, witness.end)?, witness.source)));
        match beyond.filter(|(offsets, _)| !offsets.is_empty()) {
            Some((offsets, source)) => {
                let has_bytes = self.is_corrupt || self.zeros > 0;
                let reason = if has_bytes { MissingReason::Corrupt } else { MissingReason::Truncated };
                LogEnd::Missing { missing: MissingOffsets { offsets, reason, file: self.file }, source }
            }
            None if self.zeros > 0 && !self.is_preallocated => LogEnd::Zeros { bytes: self.zeros },
            None => LogEnd::Intact,
        }
    }
}
