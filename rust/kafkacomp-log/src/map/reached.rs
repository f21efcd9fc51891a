//! The offsets that a log had reached.

use super::last_file::LastFile;
use super::log_end::{EndSource, EndWitness};
use crate::error::ReadError;

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
    /// reliable one. `None` if nothing does, or if the log is being written.
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
        let local = if last.reads_indexes { last.witnesses(end)? } else { [None; 3] };
        let beyond = known.chain(local.into_iter().flatten()).filter(|witness| witness.end() > end).max();
        match beyond {
            Some(witness) if !last.is_being_written()? => Ok(Some(witness)),
            _ => Ok(None),
        }
    }
}
