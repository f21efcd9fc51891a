//! The order in which the segments of a partition are rewritten, with their overlaps and missing offsets.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;

use super::error::PartitionError;
use super::job::{PartitionJob, SourceSegment};
use crate::log::LeaderEpochEntry;
use crate::log::continuity::compaction::Compaction;
use crate::log::continuity::coverage::{FileOffsets, listed, missing_offsets, overlaps};
use crate::log::continuity::missing::MissingRange;
use crate::log::continuity::overlap::{ComparedFiles, OverlapError, PartitionFile, position_before};
use crate::log::continuity::sequence::{KnownBatches, SegmentBounds, SequenceReport};
use crate::log::error::ReadError;
use crate::log::index::offset::{OffsetIndex, OffsetPosition};
use crate::log::index::time::{TimeIndex, TimestampOffset};
use crate::log::maintain::rewrite::SegmentRewritten;
use crate::log::read::batch_headers::{HeaderWalk, Hop};
use crate::log::read::segment_files::{OtherSegments, SideFile};
use crate::log::read::source::ReadAt;
use crate::memory::{self, OutOfMemory};

/// A segment that is to be rewritten, with what is known about it.
pub struct SegmentTask<'a> {
    /// Its bytes.
    pub source: &'a dyn ReadAt,
    /// Its bounds in the partition.
    pub bounds: SegmentBounds<'a>,
    /// Other segments have its records with offsets below this one.
    pub from: i64,
    /// Its index among the partition's segments.
    pub index: usize,
}

/// The findings in the segments of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionFindings {
    /// Missing offsets, each range with the index of the segment that should have it; at most
    /// [`MAX_MISSING_RANGES`](crate::log::MAX_MISSING_RANGES).
    pub missing: Vec<(usize, MissingRange)>,
    /// The number of further ranges.
    pub more_missing: u64,
    /// The offset up to which compaction explains missing offsets, if it has removed records.
    pub compacted_to: Option<i64>,
    /// Repeated batches, wrong names and overlapping files.
    pub warnings: Vec<String>,
}

/// The segments of a partition in the order in which they are rewritten, which depends on their content alone.
#[derive(Debug)]
pub struct SegmentsInOrder<'a> {
    job: &'a PartitionJob,
    /// The indexes of the segments, sorted by base offset. Of two with the same one, the one with the greater end is first.
    order: Vec<usize>,
    at: usize,
    /// The offsets of the earlier segments.
    files: Vec<FileOffsets>,
    /// The offsets of them that are written: those at or after the end of the segments before.
    written: Vec<FileOffsets>,
    /// The number of their missing ranges that they do not list.
    more_missing: u64,
    /// The offset after the last one.
    end: i64,
    leader_epoch: Option<i32>,
    leader_epochs: Vec<LeaderEpochEntry>,
    offset_index: Vec<OffsetPosition>,
    time_index: Vec<TimestampOffset>,
    others: OtherFiles<'a>,
    /// The batches of the segments that were searched for copies.
    known: KnownBatches,
    /// What was read of the segments that overlap.
    compared: ComparedFiles,
    warnings: Vec<String>,
}

/// The segments except the one that is being rewritten.
#[derive(Debug)]
struct OtherFiles<'a> {
    segments: &'a [SourceSegment],
    current: usize,
}

impl OtherSegments for OtherFiles<'_> {
    fn open(&self, offset: i64) -> io::Result<Option<(u64, Arc<dyn ReadAt>)>> {
        let bases = self.segments.iter().enumerate().filter_map(|(index, segment)| Some((segment.base_offset?, index)));
        let found = bases.filter(|&(base, _)| base <= offset).max().filter(|&(_, index)| index != self.current);
        let Some((index, segment)) = found.and_then(|(_, index)| Some((index, self.segments.get(index)?))) else {
            return Ok(None);
        };
        Ok(Some((index as u64, segment.files.open()?)))
    }

    fn own(&self) -> Option<u64> {
        Some(self.current as u64)
    }
}

impl<'a> SegmentsInOrder<'a> {
    /// Sorts the segments and begins at the first one.
    ///
    /// # Errors
    /// A segment or the leader epoch checkpoint cannot be read.
    pub fn new(job: &'a PartitionJob) -> Result<Self, PartitionError> {
        let mut order: Vec<usize> = (0..job.segments.len()).collect();
        let is_shared = order.windows(2).any(
            |pair| matches!(pair, &[a, b] if job.base_offset(a).is_some() && job.base_offset(a) == job.base_offset(b)),
        );
        if is_shared {
            let mut keys = Vec::new();
            for &index in &order {
                let source = job.open(index)?;
                let extent = extent(source.as_ref()).map_err(|error| job.at(index, error))?;
                keys.push((job.base_offset(index), Reverse(extent)));
            }
            order.sort_by_key(|&index| keys.get(index).copied());
        }
        let leader_epochs = job.history.leader_epochs().map_err(|error| job.at(0, error))?;
        Ok(Self {
            job,
            order,
            at: 0,
            files: Vec::new(),
            written: Vec::new(),
            more_missing: 0,
            end: i64::MIN,
            leader_epoch: None,
            leader_epochs,
            offset_index: Vec::new(),
            time_index: Vec::new(),
            others: OtherFiles { segments: &job.segments, current: 0 },
            known: KnownBatches::default(),
            compared: ComparedFiles::default(),
            warnings: Vec::new(),
        })
    }

    /// The index of the current segment; `None` at the end.
    pub fn next_index(&self) -> Option<usize> {
        self.order.get(self.at).copied()
    }

    fn name(&self, at: usize) -> Arc<str> {
        self.job.name(self.order[at])
    }

    fn base_of(&self, at: usize) -> Option<i64> {
        self.job.base_offset(*self.order.get(at)?)
    }

    /// The base offset of the current segment.
    pub fn base_offset(&self) -> Option<i64> {
        self.base_of(self.at)
    }

    /// Compares the current segment with earlier ones that have some of its offsets.
    ///
    /// # Errors
    /// The segments have different records, or cannot be read.
    pub fn compare(&mut self, source: &dyn ReadAt) -> Result<(), PartitionError> {
        let (Some(base), Some(index)) = (self.base_offset(), self.next_index()) else { return Ok(()) };
        let max_output_size = self.job.max_output_size;
        // Each offset is compared with the segment of which it is written.
        for (&earlier, file) in self.order.iter().zip(&self.written) {
            let Some(last) = file.last_offset.filter(|&last| last >= base) else { continue };
            let first = file.first_offset.unwrap_or(base).max(base);
            let before = self.job.open(earlier)?;
            let start = |number: usize, source: &dyn ReadAt, offset: i64| {
                position_before(self.job.segments[number].files.as_ref(), source, offset)
            };
            let starts = (|offset| start(earlier, before.as_ref(), offset), |offset| start(index, source, offset));
            let one = PartitionFile { number: earlier, source: before.as_ref(), start: &starts.0 };
            let other = PartitionFile { number: index, source, start: &starts.1 };
            let found = self.compared.disagreement(one, other, (first, last), max_output_size);
            let found = found.map_err(|error| match error {
                OverlapError::Earlier(error) => self.job.at(earlier, error),
                OverlapError::Later(error) => self.job.at(index, error),
            })?;
            if let Some(offset) = found {
                let (earlier, later) = (self.job.name(earlier), self.job.name(index));
                return Err(PartitionError::Disagreement { earlier, later, offset });
            }
        }
        Ok(())
    }

    /// The current segment, whose bytes are `source`, as a task.
    ///
    /// # Errors
    /// There is not enough memory for its indexes.
    ///
    /// # Panics
    /// After the last segment.
    pub fn task<'s>(&'s mut self, source: &'s dyn ReadAt) -> Result<SegmentTask<'s>, OutOfMemory> {
        let base_offset = self.base_offset();
        let end_offset = base_offset
            .and_then(|base| (self.at..self.order.len()).filter_map(|at| self.base_of(at)).find(|&next| next > base));
        let index = self.order[self.at];
        self.others.current = index;
        let segment = &self.job.segments[index];
        // An index that cannot be read is ignored, because it is derived from the segment.
        let side_file = |kind| segment.files.side_file(kind).ok().flatten();
        let (offsets, times) = (side_file(SideFile::OffsetIndex), side_file(SideFile::TimeIndex));
        let offsets = offsets.as_deref().zip(base_offset).and_then(|(data, base)| OffsetIndex::parse(data, base).ok());
        let times = times.as_deref().zip(base_offset).and_then(|(data, base)| TimeIndex::parse(data, base).ok());
        self.offset_index = offsets.map(|index| memory::collect(index.iter())).transpose()?.unwrap_or_default();
        self.time_index = times.map(|index| memory::collect(index.iter())).transpose()?.unwrap_or_default();
        let follows = base_offset.is_some_and(|base| base >= self.end);
        let bounds = SegmentBounds {
            base_offset,
            end_offset,
            compaction: self.job.history.compaction,
            offset_index: &self.offset_index,
            time_index: &self.time_index,
            leader_epochs: &self.leader_epochs,
            leader_epoch: self.leader_epoch.filter(|_| follows),
            others: Some(&self.others),
            known: Some(&self.known),
        };
        Ok(SegmentTask { source, bounds, from: self.end, index })
    }

    /// Warns if the offset in the name is not the first offset of the segment.
    fn check_name(&mut self, name: &str, found: &SequenceReport) {
        let (Some(base), Some(first)) = (self.base_offset(), found.first_offset) else { return };
        let named = self.next_index().and_then(|index| self.job.segments.get(index)?.named_offset);
        if let Some(named) = named {
            self.warnings.push(format!("{name}: the segment begins at offset {first}, but its name is {named}"));
        } else if first < base {
            self.warnings.push(format!("{name}: the segment begins at offset {first}, but its name is {base}"));
        } else if base < self.end && first >= self.end {
            let before = self.end.saturating_sub(1);
            self.warnings.push(format!(
                "{name}: the segment begins at offset {first}, but its name is {base}, and the segments before it end at \
                 offset {before}"
            ));
        }
    }

    /// Adds the findings of the current segment and continues with the next one.
    pub fn add(&mut self, found: SegmentRewritten) {
        let SegmentRewritten { sequence, warnings, more_warnings } = found;
        let name = self.name(self.at);
        self.check_name(&name, &sequence);
        self.warnings.extend(warnings.into_iter().map(|warning| format!("{name}: {warning}")));
        if more_warnings > 0 {
            self.warnings.push(format!("{name}: {more_warnings} more warnings"));
        }
        let file = FileOffsets {
            // If one of the segments has no base offset, `finish` compares none of them.
            base_offset: self.base_offset().unwrap_or_default(),
            first_offset: sequence.first_offset,
            last_offset: sequence.last_offset,
            missing: sequence.missing.ranges().to_vec(),
            is_compacted: sequence.is_compacted,
        };
        self.more_missing = self.more_missing.saturating_add(sequence.missing.more());
        self.written.push(file.since(self.end));
        self.files.push(file);
        if let Some(last) = sequence.last_offset.filter(|_| self.base_offset().is_some()) {
            self.end = self.end.max(last.saturating_add(1));
        }
        self.leader_epoch = sequence.last_leader_epoch.or(self.leader_epoch);
        self.at = self.at.saturating_add(1);
    }

    /// The findings of all segments.
    pub fn finish(mut self) -> PartitionFindings {
        if self.job.segments.iter().any(|segment| segment.base_offset.is_none()) {
            return PartitionFindings { warnings: self.warnings, ..PartitionFindings::default() };
        }
        for overlap in overlaps(&self.files) {
            let (earlier, later) = (self.name(overlap.earlier), self.name(overlap.later));
            let (first, last) = (overlap.first_offset, overlap.last_offset);
            let warning = format!("{earlier} and {later} both have offsets {first} to {last}; they are written once");
            self.warnings.push(warning);
        }
        let compaction = self.job.history.compaction;
        let is_thinned = self.written.iter().any(|file| file.is_compacted);
        let (mut missing, more) = listed(missing_offsets(&self.written, compaction));
        for (at, _) in &mut missing {
            *at = self.order.get(*at).copied().unwrap_or(*at);
        }
        let compacted_to = match compaction.or_thinned(is_thinned) {
            Compaction::To(offset) => Some(offset),
            Compaction::Somewhere => Some(self.end),
            Compaction::Unknown => None,
        };
        PartitionFindings {
            missing,
            more_missing: self.more_missing.saturating_add(more),
            compacted_to,
            warnings: self.warnings,
        }
    }
}

/// The last offset that is reached by batch headers, and the length of the segment.
fn extent(source: &dyn ReadAt) -> Result<(Option<i64>, u64), ReadError> {
    let length = source.length()?;
    let mut walk = HeaderWalk::new(source, 0, length);
    let mut last = None;
    while let Hop::Batch(header) = walk.next_batch()? {
        last = last.max(Some(header.last_offset));
    }
    Ok((last, length))
}
