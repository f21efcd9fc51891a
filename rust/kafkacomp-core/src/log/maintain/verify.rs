//! Verifies a segment: every checksum, every record, the order of offsets, missing offsets, and the index files.
//!
//! Corruption does not end the check: it resumes at the next intact batch. What Kafka accepts but other readers may
//! refuse is a warning ([`NonConformity`](crate::record::NonConformity)).

mod indexes;
mod markers;
mod rebuild;
mod report;
mod transactions;
mod untrimmed;

use std::ops::ControlFlow;

use indexes::IndexChecks;
use report::Gaps;
pub use report::{CodecCounts, Finding, FindingFile, SegmentReport, SideFiles};
pub use transactions::{SegmentTransactions, TransactionalSegment, unlisted_aborts};

use super::check_batch::BatchChecker;
use crate::buffer::OutputBuffer;
use crate::error_kind::Category;
use crate::log::continuity::compaction::Compaction;
use crate::log::continuity::sequence::{
    Content, EpochFault, Judgement, KnownBatches, Place, SegmentBounds, Visitor, walk_in_order,
};
use crate::log::error::{ContentError, Error};
use crate::log::index::MAX_RELATIVE_OFFSET;
use crate::log::index::checkpoint::LeaderEpochEntry;
use crate::log::index::offset::{OffsetIndex, OffsetPosition};
use crate::log::index::time::{TimeIndex, TimestampOffset};
use crate::log::read::batch_headers::BatchHeader;
use crate::log::read::placement::Span;
use crate::log::read::segment_files::OtherSegments;
use crate::log::read::source::ReadAt;
use crate::log::read::summary::BatchFormat;
use crate::log::read::time_range::TimeRange;
use crate::log::read::walk::CorruptRange;
use crate::memory;
use crate::record::{self, RecordBatch, non_conformity};

/// Options for verifying a segment.
#[derive(Debug, Clone, Copy)]
pub struct VerifyOptions<'a> {
    /// The offset in the segment's name; `None` for a record set, whose offsets need not increase.
    pub base_offset: Option<i64>,
    /// The base offset of the next segment, up to which nothing may be missing; `None` for the last segment.
    pub next_base_offset: Option<i64>,
    /// What is known of the partition's compaction.
    pub compaction: Compaction,
    /// The entries of the partition's leader epoch checkpoint.
    pub leader_epochs: &'a [LeaderEpochEntry],
    /// The most bytes that one batch's records may decompress to.
    pub max_output_size: usize,
    /// The offsets of the records to count, the first one and the one after the last; `None` for all. Further ones do not
    /// belong to the log, or are in the segments before.
    pub counted: Option<(i64, i64)>,
    /// Whether a truncated batch at the end is allowed, as in a fetch response.
    pub may_be_truncated: bool,
    /// The other segments of the partition, of which batches may be copies; not used for a record set.
    pub others: Option<&'a dyn OtherSegments>,
    /// The batches of the partition's segments that were searched before.
    pub known: Option<&'a KnownBatches>,
}

/// Verifies a segment. `progress` is called repeatedly with the number of bytes done; [`ControlFlow::Break`] ends the check.
///
/// # Errors
/// The file cannot be read, or memory ran out. Corruption is not an error but a finding.
pub fn verify_segment<B>(
    source: &dyn ReadAt,
    side_files: SideFiles<'_>,
    options: VerifyOptions<'_>,
    progress: &mut dyn FnMut(u64) -> ControlFlow<B>,
) -> Result<ControlFlow<B, SegmentReport>, Error> {
    let end = source.length()?;
    let mut report = SegmentReport::new(end);
    let base_offset = options.base_offset.unwrap_or_default();
    let segment = (base_offset, options.next_base_offset);
    let indexes = IndexChecks::new(side_files, segment, options.max_output_size, &mut report)?;
    let offset_index: Vec<OffsetPosition> = side_files
        .offset_index
        .and_then(|data| OffsetIndex::parse(data, base_offset).ok())
        .map(|index| memory::collect(index.iter()))
        .transpose()?
        .unwrap_or_default();
    let time_index: Vec<TimestampOffset> = side_files
        .time_index
        .and_then(|data| TimeIndex::parse(data, base_offset).ok())
        .map(|index| memory::collect(index.iter()))
        .transpose()?
        .unwrap_or_default();
    let bounds = SegmentBounds {
        base_offset: options.base_offset,
        end_offset: options.next_base_offset,
        compaction: options.compaction,
        offset_index: &offset_index,
        time_index: &time_index,
        leader_epochs: options.leader_epochs,
        leader_epoch: None,
        others: options.others.filter(|_| options.base_offset.is_some()),
        known: options.known,
    };
    let mut check = Check {
        report,
        gaps: Gaps::default(),
        indexes,
        checker: BatchChecker::new(options.max_output_size),
        scratch: OutputBuffer::new(options.max_output_size),
        last_offset: None,
        options,
        progress,
    };
    let found = match walk_in_order(source, bounds, &mut check)? {
        ControlFlow::Continue(found) => found,
        ControlFlow::Break(ended) => return Ok(ControlFlow::Break(ended)),
    };
    let Check { mut report, gaps, indexes, progress, last_offset, .. } = check;
    if let (Some(base), Some(last)) = (options.base_offset, last_offset)
        && last.saturating_sub(base) > MAX_RELATIVE_OFFSET
    {
        let message = format!(
            "offset {last} is more than 2^31 - 1 above the base offset: a broker of Kafka 2.0 or later splits the segment"
        );
        report.add(FindingFile::Log, 0, false, message);
    }
    if let ControlFlow::Break(ended) = progress(end) {
        return Ok(ControlFlow::Break(ended));
    }
    report.sequence = found;
    report.add_gaps(gaps, options.compaction);
    indexes.finish(&mut report);
    report.findings.sort_by_key(|finding| {
        (finding.file != FindingFile::Log, finding.file.suffix(), finding.position, !finding.is_gap)
    });
    Ok(ControlFlow::Continue(report))
}

/// The state of a check between two batches.
struct Check<'a, 'p, B> {
    report: SegmentReport,
    gaps: Gaps,
    indexes: IndexChecks<'a>,
    checker: BatchChecker,
    scratch: OutputBuffer,
    /// The last offset of the batches so far.
    last_offset: Option<i64>,
    options: VerifyOptions<'a>,
    progress: &'p mut dyn FnMut(u64) -> ControlFlow<B>,
}

/// What was read of a batch, or its error, kept until its placement is judged.
type Detail = Result<Records, record::Error>;

/// The records of a batch.
struct Records {
    count: u64,
    /// Their size; 0 if they are not compressed.
    decompressed: usize,
    /// The number of those that count, and their timestamps; `None` if the batch has no offset that counts.
    counted: Option<(u64, TimeRange)>,
}

impl<B> Visitor for Check<'_, '_, B> {
    type Break = B;
    type Detail = Detail;

    fn read(&mut self, batch: &RecordBatch<'_>) -> Result<Content<Detail>, Error> {
        match self.checker.count(batch) {
            Ok(found) => {
                let (span, records, wrong) = (found.span, found.records, found.wrong_inner_checksums);
                let decompressed = self.checker.payload().len();
                let at = batch.position();
                let (first, end) = self.options.counted.unwrap_or((i64::MIN, i64::MAX));
                let counted = match span.first.unwrap_or(span.last) {
                    begin if begin >= first && span.last < end => Some((records, found.times)),
                    begin if begin >= end || span.last < first => None,
                    _ => Some(self.checker.count_within(batch, (first, end))?),
                };
                if wrong > 0 {
                    let warning = format!("wrong checksums of {wrong} messages inside the wrapper at byte {at}");
                    self.report.add(FindingFile::Log, at, false, warning);
                }
                if let Some(found) = non_conformity(batch, &mut self.scratch) {
                    self.report.add(FindingFile::Log, at, false, format!("the batch at byte {at} is {found}"));
                }
                let detail = Ok(Records { count: records, decompressed, counted });
                Ok(Content { span, is_corrupt: false, records: Some(records), detail })
            }
            Err(error) if error.category() == Category::Resource => Err(error.into()),
            Err(error) => {
                let is_corrupt = error.category() == Category::Corrupt;
                Ok(Content { span: Span::of(batch), is_corrupt, records: None, detail: Err(error) })
            }
        }
    }

    fn batch(&mut self, batch: &RecordBatch<'_>, content: Content<Detail>, judgement: &Judgement) -> Result<(), Error> {
        let at = batch.position();
        let is_used = !matches!(judgement.place, Place::Repeated | Place::Misplaced { .. });
        self.placement(batch, judgement);
        self.report.is_exact &= judgement.place == Place::InOrder && judgement.epoch.is_none();
        match content.detail {
            Err(error) => {
                self.report.is_exact &= content.is_corrupt;
                self.report.corrupt_batches += u64::from(content.is_corrupt);
                let missing = judgement.missing.filter(|_| content.is_corrupt);
                self.report.add_error(at, error.to_string(), missing);
            }
            Ok(records) if is_used => self.count(batch, &records),
            Ok(_) => {}
        }
        if !is_used || content.is_corrupt || matches!(judgement.place, Place::Reordered { .. }) {
            self.indexes.lost(at, batch.size_in_bytes() as u64);
        } else {
            let first = judgement.span.first.unwrap_or(judgement.span.last);
            self.indexes.batch(batch, (first, judgement.span.last), self.last_offset, &mut self.report);
            self.last_offset = Some(self.last_offset.map_or(judgement.span.last, |last| last.max(judgement.span.last)));
        }
        Ok(())
    }

    fn corrupt(&mut self, _: &dyn ReadAt, range: &CorruptRange, missing: Option<(i64, i64)>) -> Result<(), Error> {
        let CorruptRange { position, length, error, .. } = range;
        let (end, tolerated) = (position + length, self.options.may_be_truncated && range.is_truncated);
        self.report.is_truncated = range.is_truncated;
        self.report.corrupt_batches += u64::from(!tolerated);
        self.report.unreadable_bytes += length;
        let message = format!("{error}; no intact batch in the {length} bytes up to byte {end}");
        if tolerated {
            self.report.add(FindingFile::Log, *position, false, message);
        } else {
            self.report.add_error(*position, message, missing);
        }
        self.indexes.lost(*position, *length);
        Ok(())
    }

    fn gap(&mut self, position: u64, missing: (i64, i64)) -> Result<(), Error> {
        self.gaps.add(position, missing, self.options.compaction);
        self.indexes.interrupted();
        Ok(())
    }

    fn truncated(&mut self, error: &ContentError, missing: (i64, i64)) -> Result<(), Error> {
        self.report.add_error(error.position(), error.to_string(), Some(missing));
        // Index entries after the end belong to this finding.
        self.indexes.lost(error.position(), u64::MAX);
        Ok(())
    }

    fn zero_tail(&mut self, position: u64, length: u64, missing: Option<(i64, i64)>) -> Result<(), Error> {
        self.report.zero_tail_bytes = length;
        if self.options.next_base_offset.is_some() {
            let message = format!("{length} zero bytes at the end of a closed segment, from byte {position} on");
            if missing.is_some() {
                self.report.corrupt_batches += 1;
                self.report.unreadable_bytes += length;
                self.report.add_error(position, message, missing);
                self.indexes.lost(position, length);
            } else {
                self.report.add(FindingFile::Log, position, false, message);
            }
        }
        Ok(())
    }

    fn progress(&mut self, position: u64) -> ControlFlow<B> {
        (self.progress)(position)
    }
}

impl<B> Check<'_, '_, B> {
    fn count(&mut self, batch: &RecordBatch<'_>, found: &Records) {
        if found.counted.is_some() {
            self.report.open_transactions.add(&BatchHeader::of(batch), found.count);
        }
        let format = BatchFormat { magic: Some(batch.magic()), compression_id: batch.attributes().compression_id() };
        let stored = batch.size_in_bytes();
        let plain = if found.decompressed == 0 { stored } else { found.decompressed };
        let counts =
            CodecCounts { batches: 1, records: found.count, stored_bytes: stored as u64, records_bytes: plain as u64 };
        let mut counted = found.counted.map(|(records, _)| records);
        if batch.is_control_batch() {
            self.report.control_records += counted.unwrap_or_default();
            counted = counted.map(|_| 0);
        } else if let Some((_, times)) = found.counted {
            self.report.times.merge(times);
        }
        self.report.count(format, counts, counted);
    }

    /// Reports faults in the fields that no checksum covers.
    fn placement(&mut self, batch: &RecordBatch<'_>, judgement: &Judgement) {
        let at = batch.position();
        let first = judgement.span.first.unwrap_or(judgement.span.last);
        match judgement.place {
            Place::InOrder => {}
            Place::BelowBaseOffset { base_offset } => {
                let message = format!("the segment begins at offset {first}, but its name is {base_offset}");
                self.report.add_error(at, message, None);
            }
            Place::Repeated => {
                self.report.repeated_batches += 1;
                let last = judgement.span.last;
                self.report.add_error(at, format!("the batch at byte {at} repeats offsets {first} to {last}"), None);
            }
            Place::PartlyRepeated { expected } => {
                let last = expected.saturating_sub(1);
                self.report.add_error(at, format!("the batch at byte {at} repeats offsets {first} to {last}"), None);
            }
            Place::Restored { stored, offset_field } => {
                let message = format!(
                    "offset field {stored} of the batch at byte {at} was altered: its neighbours determine {offset_field}"
                );
                self.report.add_error(at, message, None);
            }
            Place::Reordered { expected } => {
                let last = judgement.span.last;
                let message = format!(
                    "the batch at byte {at}, offsets {first} to {last}, stands in the place of the one of offset {expected}"
                );
                self.report.add_error(at, message, None);
            }
            Place::Misplaced { expected } => {
                self.report.corrupt_batches += 1;
                let error = ContentError::OffsetField { position: at, stored: batch.offset_field(), expected };
                self.report.add_error(at, error.to_string(), judgement.missing);
            }
        }
        match judgement.epoch {
            None => {}
            Some(EpochFault { stored, restored: Some(restored) }) => {
                let message = format!(
                    "leader epoch {stored} of the batch at byte {at} was altered: its neighbours determine {restored}"
                );
                self.report.add_error(at, message, None);
            }
            Some(EpochFault { stored, restored: None }) => {
                self.report.add_error(at, ContentError::LeaderEpoch { position: at, stored }.to_string(), None);
            }
        }
    }
}

#[cfg(test)]
mod tests;
