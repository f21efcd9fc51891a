//! What a walk through a segment is given, and what it hands out.

use std::ops::ControlFlow;

use super::epochs::EpochFault;
use crate::log::LeaderEpochEntry;
use crate::log::continuity::missing::MissingRanges;
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
}

/// Where a batch belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where it stands.
    InOrder,
    /// Where it stands, although the segment's name says a greater base offset.
    BelowBaseOffset {
        /// The offset in the name.
        base_offset: i64,
    },
    /// The log has it already.
    Repeated,
    /// The log has its first offsets already, up to this one, exclusive.
    PartlyRepeated {
        /// The offset at which the log continues.
        expected: i64,
    },
    /// Where it stands: its offset field was altered and is restored.
    Restored {
        /// The offset field that it had.
        stored: i64,
        /// The one that its neighbours determine.
        offset_field: i64,
    },
    /// In the place of another batch, with which it was swapped. The visitor gets such batches in order of offsets.
    Reordered {
        /// The first offset of the batch in whose place it stands.
        expected: i64,
    },
    /// Unknown: its offset field cannot be right.
    Misplaced {
        /// The offset that was expected.
        expected: i64,
    },
}

/// What is said about a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// Where it belongs.
    pub place: Place,
    /// Its offsets.
    pub span: Span,
    /// What is wrong with its leader epoch.
    pub epoch: Option<EpochFault>,
    /// The offsets that are missing if the batch is not used.
    pub missing: Option<(i64, i64)>,
}

/// What a visitor read from a batch.
#[derive(Debug, Clone, Copy)]
pub struct Content<C> {
    /// The offsets, those of a wrapper from its messages.
    pub span: Span,
    /// Whether its records cannot be read.
    pub is_corrupt: bool,
    /// How many records it has, if they were counted.
    pub records: Option<u64>,
    /// Whatever the visitor needs again.
    pub detail: C,
}

/// Who walks through a segment.
pub trait Visitor {
    /// What [`progress`](Self::progress) ends the walk with.
    type Break;
    /// What is kept of a batch until it is judged.
    type Detail;

    /// Reads a batch whose checksum is right, in file order. A batch that is restored or reordered is read a second time.
    ///
    /// # Errors
    /// Ends the walk.
    fn read(&mut self, batch: &RecordBatch<'_>) -> Result<Content<Self::Detail>, Error>;

    /// Takes a batch that was read, with what its neighbours say about it.
    ///
    /// # Errors
    /// Ends the walk.
    fn batch(
        &mut self,
        batch: &RecordBatch<'_>,
        content: Content<Self::Detail>,
        judgement: &Judgement,
    ) -> Result<(), Error>;

    /// Takes a range without intact batches, and the offsets that are missing there.
    ///
    /// # Errors
    /// Ends the walk.
    fn corrupt(&mut self, source: &dyn ReadAt, range: &CorruptRange, missing: Option<(i64, i64)>) -> Result<(), Error>;

    /// Takes offsets that are missing although nothing at `position` is corrupt.
    ///
    /// # Errors
    /// Ends the walk.
    fn gap(&mut self, position: u64, missing: (i64, i64)) -> Result<(), Error>;

    /// Takes offsets that are missing at the end, where the offset index shows that the segment was longer.
    ///
    /// # Errors
    /// Ends the walk.
    fn truncated(&mut self, error: &ContentError, missing: (i64, i64)) -> Result<(), Error>;

    /// Takes the zero bytes at the end, and the offsets that are missing there: `None` in the last segment.
    ///
    /// # Errors
    /// Ends the walk.
    fn zero_tail(&mut self, position: u64, length: u64, missing: Option<(i64, i64)>) -> Result<(), Error>;

    /// Is called now and then, with the position up to which the segment was read; [`ControlFlow::Break`] ends the walk.
    fn progress(&mut self, position: u64) -> ControlFlow<Self::Break>;
}

/// What a walk has found out about the segment's offsets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SequenceReport {
    /// The first offset of a batch in order.
    pub first_offset: Option<i64>,
    /// The last one.
    pub last_offset: Option<i64>,
    /// The offsets that are missing; [`MissingReason::Gap`](super::super::missing::MissingReason::Gap) where nothing is corrupt.
    pub missing: MissingRanges,
    /// Whether compaction has removed records from batches.
    pub is_compacted: bool,
    /// The leader epoch of the first batch in order that has one.
    pub first_leader_epoch: Option<i32>,
    /// The leader epoch of the last one.
    pub last_leader_epoch: Option<i32>,
}
