//! The judgement of one segment file by itself, and what a batch is used for.

use super::facts::{BatchId, SegmentFacts};
use super::ranges::OffsetRange;
use super::runs::{Run, increasing};

/// Which batches of a file are in place in its window, whatever the other files of the partition have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentMap {
    /// The offsets that the file should have; `None` if its name is not believed.
    pub(super) window: Option<OffsetRange>,
    pub(super) home: Home,
    /// The other intact batches, in stretches. They are in place nowhere yet.
    pub(super) others: Vec<Run>,
    /// Whether it has so many runs that they were judged in parts.
    pub(super) is_in_parts: bool,
}

/// The batches that are in place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Home {
    /// All batches: their offsets increase.
    All,
    /// These runs, in the order of positions and of offsets.
    Runs(Vec<Run>),
}

impl SegmentMap {
    /// The offsets that the file should have; `None` if its name is not believed.
    pub fn window(&self) -> Option<OffsetRange> {
        self.window
    }

    /// Whether all batches of the file are in place.
    pub fn is_in_order(&self) -> bool {
        self.home == Home::All
    }

    /// The batches in place, as stretches without other facts between them.
    pub(super) fn stretches_in_place(&self, file: &SegmentFacts<'_>) -> Vec<Run> {
        match &self.home {
            Home::All => increasing(file.batches()),
            Home::Runs(runs) => runs.clone(),
        }
    }
}

/// What is done with an intact batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It is delivered from its place.
    InPlace,
    /// It is delivered at its own offsets, which are not those of its place: its file has it elsewhere than between its
    /// neighbours, or it fills a hole in another file.
    Displaced,
    /// It is delivered at the offsets of its place: its base offset was altered.
    Restored {
        /// The right base offset.
        first: i64,
    },
    /// Its records are delivered from another batch.
    Repeat {
        /// A batch that has them.
        of: BatchId,
    },
    /// It is not delivered: nothing confirms that it belongs to the log.
    OutOfPlace {
        /// A delivered batch with other records at the same offsets, if there is one.
        contradicts: Option<BatchId>,
    },
}

impl Use {
    /// Whether a batch with this use is delivered.
    pub const fn is_delivered(self) -> bool {
        matches!(self, Self::InPlace | Self::Displaced | Self::Restored { .. })
    }
}
