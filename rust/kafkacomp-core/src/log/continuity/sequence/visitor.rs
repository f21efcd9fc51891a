//! The input and the results of a walk through a segment.

use std::ops::ControlFlow;

use super::epochs::EpochFault;
use super::known_batches::KnownBatches;
use crate::log::LeaderEpochEntry;
use crate::log::continuity::compaction::Compaction;
use crate::log::continuity::missing_ranges::MissingRanges;
use crate::log::error::{ContentError, Error};
use crate::log::index::offset::OffsetPosition;
use crate::log::index::time::TimestampOffset;
use crate::log::read::placement::Span;
use crate::log::read::segment_files::OtherSegments;
use crate::log::read::source::ReadAt;
use crate::log::read::walk::CorruptRange;
use crate::record::RecordBatch;

/// What is known about a segment before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct SegmentBounds<'a> {
    /// The offset in its name; `None` for a captured record set, whose offsets are not judged.
    pub base_offset: Option<i64>,
    /// The base offset of the next segment; `None` for the last one.
    pub end_offset: Option<i64>,
    /// What is known of the partition's compaction.
    pub compaction: Compaction,
    /// The entries of its offset index.
    pub offset_index: &'a [OffsetPosition],
    /// The entries of its time index.
    pub time_index: &'a [TimestampOffset],
    /// The entries of the partition's leader epoch checkpoint.
    pub leader_epochs: &'a [LeaderEpochEntry],
    /// The leader epoch of the last batch before the segment, if known.
    pub leader_epoch: Option<i32>,
    /// The other segments of the partition, of which batches may be copies.
    pub others: Option<&'a dyn OtherSegments>,
    /// The batches of the partition's segments that were searched before.
    pub known: Option<&'a KnownBatches>,
}

/// How a batch fits its place in the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It continues the log.
    InOrder,
    /// It continues the log, although the name of the segment has a greater base offset.
    BelowBaseOffset {
        /// The offset in the name.
        base_offset: i64,
    },
    /// It is a copy of a batch before it.
    Repeated,
    /// The log already has its first offsets.
    PartlyRepeated {
        /// The offset at which the log continues.
        expected: i64,
    },
    /// Its offset field was altered; with the restored one, it continues the log.
    Restored {
        /// The offset field that it had.
        stored: i64,
        /// The offset field that its neighbours determine.
        offset_field: i64,
    },
    /// It is in the place of another batch. The visitor gets such batches in the order of their offsets.
    Reordered {
        /// The first offset of the batch that belongs there.
        expected: i64,
    },
    /// Its offset field cannot be right, and the right one is unknown.
    Misplaced {
        /// The offset that was expected.
        expected: i64,
    },
}

/// The result of judging a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// How it fits its place.
    pub place: Place,
    /// Its offsets.
    pub span: Span,
    /// The fault of its leader epoch, if there is one.
    pub epoch: Option<EpochFault>,
    /// The offsets that are missing if the batch is not used.
    pub missing: Option<(i64, i64)>,
}

/// What a visitor has read from a batch.
#[derive(Debug, Clone, Copy)]
pub struct Content<C> {
    /// The offsets; those of a wrapper are the offsets of its messages.
    pub span: Span,
    /// Whether its records cannot be read.
    pub is_corrupt: bool,
    /// The number of records, if they were counted.
    pub records: Option<u64>,
    /// Data that the visitor keeps until the batch is judged.
    pub detail: C,
}

/// Receives the parts of a segment during a walk.
pub trait Visitor {
    /// The value with which [`progress`](Self::progress) ends the walk.
    type Break;
    /// The data that are kept for a batch until it is judged.
    type Detail;

    /// Reads a batch whose checksum is right, in the order of the file. A batch that is restored or reordered is read again.
    ///
    /// # Errors
    /// An error ends the walk.
    fn read(&mut self, batch: &RecordBatch<'_>) -> Result<Content<Self::Detail>, Error>;

    /// Receives a batch after it was judged by its neighbours.
    ///
    /// # Errors
    /// An error ends the walk.
    fn batch(
        &mut self,
        batch: &RecordBatch<'_>,
        content: Content<Self::Detail>,
        judgement: &Judgement,
    ) -> Result<(), Error>;

    /// Receives a corrupt range and the offsets that are missing there.
    ///
    /// # Errors
    /// An error ends the walk.
    fn corrupt(&mut self, source: &dyn ReadAt, range: &CorruptRange, missing: Option<(i64, i64)>) -> Result<(), Error>;

    /// Receives a gap: offsets that are missing although nothing at `position` is corrupt.
    ///
    /// # Errors
    /// An error ends the walk.
    fn gap(&mut self, position: u64, missing: (i64, i64)) -> Result<(), Error>;

    /// Receives offsets that are missing at the end of a segment that was longer, as its offset index shows.
    ///
    /// # Errors
    /// An error ends the walk.
    fn truncated(&mut self, error: &ContentError, missing: (i64, i64)) -> Result<(), Error>;

    /// Receives the zeros at the end and the offsets that are missing there; in the last segment, these are `None`.
    ///
    /// # Errors
    /// An error ends the walk.
    fn zero_tail(&mut self, position: u64, length: u64, missing: Option<(i64, i64)>) -> Result<(), Error>;

    /// Called repeatedly with the position up to which the segment was read; [`ControlFlow::Break`] ends the walk.
    fn progress(&mut self, position: u64) -> ControlFlow<Self::Break>;
}

/// The offsets that a walk has found in a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SequenceReport {
    /// The first offset of a batch in order.
    pub first_offset: Option<i64>,
    /// The last offset of a batch in order.
    pub last_offset: Option<i64>,
    /// Missing offsets, with the reasons that are known before all batches were read.
    pub missing: MissingRanges,
    /// Whether compaction has removed records from batches.
    pub is_compacted: bool,
    /// The leader epoch of the first batch in order that has one.
    pub first_leader_epoch: Option<i32>,
    /// The leader epoch of the last batch in order that has one.
    pub last_leader_epoch: Option<i32>,
}
