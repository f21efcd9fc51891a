//! The segment files of a partition one after another: their order, overlaps and missing offsets.

use std::cmp::Reverse;
use std::sync::Arc;

use kafkacomp_core::log::continuity::coverage::{FileOffsets, missing_offsets, overlaps};
use kafkacomp_core::log::continuity::sequence::OtherSegments;
use kafkacomp_core::log::maintain::rewrite::SegmentRewritten;
use kafkacomp_core::log::{
    HeaderWalk, Hop, LeaderEpochEntry, MAX_MISSING_RANGES, MissingRange, MissingReason, OffsetIndex, OffsetPosition,
    OverlapError, ReadAt, ReadError, SegmentBounds, SequenceReport, SideFile, compare_overlap,
};
use pyo3::prelude::*;

use crate::job::{Job, JobError};

/// What is known about a segment that is to be worked on.
pub struct SegmentJob<'a> {
    /// Its bytes.
    pub source: &'a dyn ReadAt,
    /// Its place in the partition.
    pub bounds: SegmentBounds<'a>,
    /// The offset below which other segments have its records.
    pub from: i64,
    /// Its index among the partition's segments.
    pub index: usize,
}

/// What was found in the segments of a partition.
#[derive(Debug, Default)]
pub struct Found {
    missing: Vec<(usize, MissingRange)>,
    warnings: Vec<String>,
}

impl Found {
    /// As Python takes it.
    pub fn to_tuple(&self) -> FoundTuple {
        let listed = self
            .missing
            .iter()
            .take(MAX_MISSING_RANGES)
            .map(|&(index, range)| (index, range.first_offset, range.last_offset, range.reason.name()));
        let more = self.missing.len().saturating_sub(MAX_MISSING_RANGES) as u64;
        (listed.collect(), more, self.warnings.clone())
    }
}

/// Goes through the segments of a partition.
pub struct Tracker<'a> {
    job: &'a Job,
    /// The indexes of the segments: by base offset; of two with the same one, the one that reaches further comes first.
    order: Vec<usize>,
    at: usize,
    /// What the segments before have.
    files: Vec<FileOffsets>,
    /// The offset after the last one.
    end: i64,
    leader_epoch: Option<i32>,
    leader_epochs: Vec<LeaderEpochEntry>,
    offset_index: Vec<OffsetPosition>,
    others: Others<'a>,
    warnings: Vec<String>,
}

/// The segments but for the one that is worked on.
struct Others<'a> {
    job: &'a Job,
    current: usize,
}

impl std::fmt::Debug for Others<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "all segments but {}", self.current)
    }
}

impl OtherSegments for Others<'_> {
    fn open(&self, offset: i64) -> std::io::Result<Option<(usize, Arc<dyn ReadAt>)>> {
        let bases =
            self.job.segments.iter().enumerate().filter_map(|(index, segment)| Some((segment.base_offset?, index)));
        let found = bases.filter(|&(base, _)| base <= offset).max().filter(|&(_, index)| index != self.current);
        let Some((index, segment)) = found.and_then(|(_, index)| Some((index, self.job.segments.get(index)?))) else {
            return Ok(None);
        };
        Ok(Some((index, segment.files.open()?)))
    }
}

impl<'a> Tracker<'a> {
    /// At the first segment.
    ///
    /// # Errors
    /// A segment cannot be read.
    pub fn new(job: &'a Job, leader_epochs: Vec<LeaderEpochEntry>) -> Result<Self, JobError> {
        let mut order: Vec<usize> = (0..job.segments.len()).collect();
        let base_of = |index: usize| job.segments.get(index).and_then(|segment| segment.base_offset);
        let is_shared =
            order.windows(2).any(|pair| matches!(pair, &[a, b] if base_of(a).is_some() && base_of(a) == base_of(b)));
        if is_shared {
            let mut keys = Vec::new();
            for &index in &order {
                let source = job.open(index)?;
                let last = last_offset(source.as_ref())?;
                keys.push((base_of(index), Reverse((last, source.length().map_err(ReadError::Io)?))));
            }
            order.sort_by_key(|&index| keys.get(index).copied());
        }
        Ok(Self {
            job,
            order,
            at: 0,
            files: Vec::new(),
            end: i64::MIN,
            leader_epoch: None,
            leader_epochs,
            offset_index: Vec::new(),
            others: Others { job, current: 0 },
            warnings: Vec::new(),
        })
    }

    /// The next segment to work on.
    pub fn next(&self) -> Option<usize> {
        self.order.get(self.at).copied()
    }

    fn name(&self, at: usize) -> &str {
        let segment = self.order.get(at).and_then(|&index| self.job.segments.get(index));
        segment.map_or("", |segment| &segment.name)
    }

    fn base_of(&self, at: usize) -> Option<i64> {
        self.order.get(at).and_then(|&index| self.job.segments.get(index)?.base_offset)
    }

    /// The base offset of the segment.
    pub fn base_offset(&self) -> Option<i64> {
        self.base_of(self.at)
    }

    /// Compares the segment with those before that have some of its offsets.
    ///
    /// # Errors
    /// They disagree, or cannot be read.
    pub fn compare(&mut self, source: &dyn ReadAt) -> Result<(), JobError> {
        let Some(base) = self.base_offset() else { return Ok(()) };
        for (at, file) in self.files.iter().enumerate() {
            let Some(last) = file.last_offset.filter(|&last| last >= base) else { continue };
            let earlier = self.order.get(at).copied().unwrap_or_default();
            let before = self.job.open(earlier)?;
            let found = compare_overlap(before.as_ref(), source, base, last, self.job.max_output_size);
            match found {
                Ok(None) => {}
                Ok(Some(offset)) => return Err(JobError::Disagreement { earlier, offset }),
                Err(OverlapError::Earlier(fault) | OverlapError::Later(fault)) => return Err(fault.into()),
            }
        }
        Ok(())
    }

    /// The segment as it is to be worked on.
    pub fn job<'s>(&'s mut self, source: &'s dyn ReadAt) -> SegmentJob<'s> {
        let base_offset = self.base_offset();
        let end_offset = base_offset
            .and_then(|base| (self.at..self.order.len()).filter_map(|at| self.base_of(at)).find(|&next| next > base));
        let index = self.next().unwrap_or_default();
        self.others.current = index;
        let segment = self.job.segments.get(index);
        let data = segment.and_then(|segment| segment.files.side_file(SideFile::OffsetIndex).ok().flatten());
        let entries = data.as_deref().zip(base_offset).and_then(|(data, base)| OffsetIndex::parse(data, base).ok());
        self.offset_index = entries.map(|index| index.iter().collect()).unwrap_or_default();
        let follows = base_offset.is_some_and(|base| base >= self.end);
        let bounds = SegmentBounds {
            base_offset,
            end_offset,
            offset_index: &self.offset_index,
            leader_epochs: &self.leader_epochs,
            leader_epoch: self.leader_epoch.filter(|_| follows),
            others: Some(&self.others),
        };
        SegmentJob { source, bounds, from: self.end, index }
    }

    /// Warns of a name that does not say where the segment begins.
    fn check_name(&mut self, name: &str, found: &SequenceReport) {
        let (Some(base), Some(first)) = (self.base_offset(), found.first_offset) else { return };
        if first < base {
            self.warnings.push(format!("{name}: the segment begins at offset {first}, below the {base} of its name"));
        } else if base < self.end && first >= self.end {
            let before = self.end.saturating_sub(1);
            self.warnings.push(format!(
                "{name}: the segment begins at offset {first}, and those before it have offset {before}: {base}, the offset of \
                 its name, is not where it begins"
            ));
        }
    }

    /// Goes on after a segment that was worked on.
    pub fn add(&mut self, found: SegmentRewritten) {
        let SegmentRewritten { sequence, warnings, more_warnings } = found;
        let name = self.name(self.at).to_owned();
        self.check_name(&name, &sequence);
        self.warnings.extend(warnings.into_iter().map(|warning| format!("{name}: {warning}")));
        if more_warnings > 0 {
            self.warnings.push(format!("{name}: {more_warnings} more warnings"));
        }
        self.files.push(FileOffsets {
            base_offset: self.base_offset().unwrap_or_default(),
            first_offset: sequence.first_offset,
            last_offset: sequence.last_offset,
            missing: sequence.missing.ranges().to_vec(),
            is_compacted: sequence.is_compacted,
        });
        if let Some(last) = sequence.last_offset.filter(|_| self.base_offset().is_some()) {
            self.end = self.end.max(last.saturating_add(1));
        }
        self.leader_epoch = sequence.last_leader_epoch.or(self.leader_epoch);
        self.at = self.at.saturating_add(1);
    }

    /// What was found in all segments.
    pub fn finish(mut self, cleaned_to: Option<i64>) -> Found {
        if self.job.segments.iter().any(|segment| segment.base_offset.is_none()) {
            return Found { missing: Vec::new(), warnings: self.warnings };
        }
        for overlap in overlaps(&self.files) {
            let (earlier, later) = (self.name(overlap.earlier), self.name(overlap.later));
            let (first, last) = (overlap.first_offset, overlap.last_offset);
            let warning = format!("{earlier} and {later} both have offsets {first} to {last}; they are written once");
            self.warnings.push(warning);
        }
        let missing = missing_offsets(&self.files, cleaned_to);
        let missing =
            missing.into_iter().map(|(at, range)| (self.order.get(at).copied().unwrap_or(at), range)).collect();
        Found { missing, warnings: self.warnings }
    }
}

/// The last offset of the batches that headers lead to.
fn last_offset(source: &dyn ReadAt) -> Result<Option<i64>, ReadError> {
    let mut walk = HeaderWalk::new(source, 0, source.length()?);
    let mut last = None;
    while let Hop::Batch(header) = walk.next_batch()? {
        last = last.max(Some(header.last_offset));
    }
    Ok(last)
}

/// What is missing in the source by segment, first and last offset and reason; how many further ranges; warnings.
pub(crate) type FoundTuple = (Vec<(usize, i64, i64, &'static str)>, u64, Vec<String>);

/// A segment file as Python gives it: base offset, first and last offset, missing ranges, whether it is compacted.
type FileTuple = (i64, Option<i64>, Option<i64>, Vec<(i64, i64, String)>, bool);

/// Segment files that overlap: the indexes of both, and the first and last offset.
type OverlapTuple = (usize, usize, i64, i64);

/// A missing range as Python takes it: file, first and last offset, reason.
type MissingTuple = (usize, i64, i64, &'static str);

/// The offsets that a partition lacks, by file, first and last offset and reason; how many further ranges; which files
/// overlap.
#[pyfunction]
pub fn partition_offsets(
    files: Vec<FileTuple>,
    cleaned_to: Option<i64>,
) -> (Vec<MissingTuple>, u64, Vec<OverlapTuple>) {
    let reason = |name: &str| {
        let all = [
            MissingReason::Corrupt,
            MissingReason::Gap,
            MissingReason::Compacted,
            MissingReason::Limit,
            MissingReason::Unreadable,
        ];
        all.into_iter().find(|reason| reason.name() == name).unwrap_or(MissingReason::Vanished)
    };
    let range = |(first_offset, last_offset, name): (i64, i64, String)| MissingRange {
        first_offset,
        last_offset,
        reason: reason(&name),
    };
    let files: Vec<_> = files
        .into_iter()
        .map(|(base_offset, first_offset, last_offset, missing, is_compacted)| {
            let missing = missing.into_iter().map(range).collect();
            FileOffsets { base_offset, first_offset, last_offset, missing, is_compacted }
        })
        .collect();
    let found = Found { missing: missing_offsets(&files, cleaned_to), warnings: Vec::new() };
    let (missing, more, _) = found.to_tuple();
    let both = overlaps(&files).into_iter().map(|each| (each.earlier, each.later, each.first_offset, each.last_offset));
    (missing, more, both.collect())
}
