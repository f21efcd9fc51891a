//! Checks one segment as a whole: every checksum, every record, the order of offsets, which offsets are missing, and
//! whether the indexes next to it are right.
//!
//! Corruption does not end the check: it resumes at the next intact batch. What Kafka accepts but other readers may
//! refuse is a warning ([`NonConformity`](crate::record::NonConformity)).

mod indexes;

use std::ops::ControlFlow;

use indexes::IndexChecks;

use super::check_batch::{BatchChecker, Counted};
use crate::CompressionType;
use crate::buffer::OutputBuffer;
use crate::error_kind::Category;
use crate::log::continuity::missing::{MissingRanges, MissingReason};
use crate::log::continuity::sequence::{
    Content, EpochFault, Judgement, OtherSegments, Place, SegmentBounds, Visitor, walk_in_order,
};
use crate::log::error::{ContentError, Error};
use crate::log::index::checkpoint::LeaderEpochEntry;
use crate::log::index::offset::{OffsetIndex, OffsetPosition};
use crate::log::read::placement::Span;
use crate::log::read::source::ReadAt;
use crate::log::read::walk::Damage;
use crate::record::{self, RecordBatch, non_conformity};

/// The most findings that are kept; a file of noise would otherwise fill the memory with them. More are
/// counted.
const MAX_FINDINGS: usize = 10_000;

/// Which file a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingFile {
    /// The segment.
    Log,
    /// `.index`.
    OffsetIndex,
    /// `.timeindex`.
    TimeIndex,
    /// `.txnindex`.
    TransactionIndex,
}

impl FindingFile {
    /// The file's suffix, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TransactionIndex => "txnindex",
        }
    }
}

/// An error or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file that it is in.
    pub file: FindingFile,
    /// The byte of that file.
    pub position: u64,
    /// Whether it is an error; a warning otherwise.
    pub is_error: bool,
    /// What it is, with the byte.
    pub message: String,
    /// The first and last offset that are missing for it, if the batches around it determine them.
    pub missing: Option<(i64, i64)>,
    /// Whether offsets are missing where nothing is corrupt.
    pub is_gap: bool,
}

/// The counts of one compression type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodecCounts {
    /// Batches whose checksum and records are right.
    pub batches: u64,
    /// Their records.
    pub records: u64,
    /// Their bytes as stored, with headers.
    pub stored_bytes: u64,
    /// The bytes that their records decompress to; as stored where they are not compressed.
    pub records_bytes: u64,
}

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentReport {
    /// By compression type's id.
    pub by_compression_type: [CodecCounts; CompressionType::ALL.len()],
    /// Corrupt batches; a range in which no batch is found counts as one.
    pub corrupt_batches: u64,
    /// Batches that are there a second time.
    pub repeated_batches: u64,
    /// Bytes of batches whose checksum is wrong, and bytes in which no batch can be found.
    pub unreadable_bytes: u64,
    /// Zero bytes after the last batch; in the last segment, a preallocated file.
    pub zero_tail_bytes: u64,
    /// The segment's length.
    pub length: u64,
    /// The first offset of an intact batch in order.
    pub first_offset: Option<i64>,
    /// The last one.
    pub last_offset: Option<i64>,
    /// The offsets that are missing: from the base offset on, and up to the next segment's if that is given.
    pub missing: MissingRanges,
    /// Whether compaction has removed records from batches of the segment.
    pub is_compacted: bool,
    /// The leader epoch of the first batch that has one.
    pub first_leader_epoch: Option<i32>,
    /// The leader epoch of the last batch that has one.
    pub last_leader_epoch: Option<i32>,
    /// The findings in the order in which they were met.
    pub findings: Vec<Finding>,
    /// Findings beyond those kept.
    pub more_findings: u64,
    /// Errors among all findings.
    pub errors: u64,
    /// Warnings among all findings.
    pub warnings: u64,
}

impl SegmentReport {
    pub(super) fn add(&mut self, file: FindingFile, position: u64, is_error: bool, message: String) {
        self.push(Finding { file, position, is_error, message, missing: None, is_gap: false });
    }

    fn push(&mut self, finding: Finding) {
        if finding.is_error {
            self.errors += 1;
        } else {
            self.warnings += 1;
        }
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            self.more_findings += 1;
        }
    }

    /// An error in the log for which offsets may be missing.
    fn add_error(&mut self, position: u64, mut message: String, missing: Option<(i64, i64)>) {
        if let Some((first, last)) = missing {
            message = format!("{message}; {} missing", offsets(first, last));
        }
        let (file, is_error) = (FindingFile::Log, true);
        self.push(Finding { file, position, is_error, message, missing, is_gap: false });
    }
}

/// A range of offsets, for messages.
pub fn offsets(first: i64, last: i64) -> String {
    if first == last { format!("offset {first} is") } else { format!("offsets {first} to {last} are") }
}

/// The index files of the segment that exist.
#[derive(Debug, Clone, Copy, Default)]
pub struct SideFiles<'a> {
    /// `.index`.
    pub offset_index: Option<&'a [u8]>,
    /// `.timeindex`.
    pub time_index: Option<&'a [u8]>,
    /// `.txnindex`.
    pub transaction_index: Option<&'a [u8]>,
}

/// What a check is given.
#[derive(Debug, Clone, Copy)]
pub struct VerifyOptions<'a> {
    /// The offset in the segment's name; `None` for a record set, whose offsets need not rise.
    pub base_offset: Option<i64>,
    /// The base offset of the next segment, up to which nothing may be missing; `None` for the last segment.
    pub next_base_offset: Option<i64>,
    /// The entries of the partition's leader epoch checkpoint.
    pub leader_epochs: &'a [LeaderEpochEntry],
    /// The most bytes that one batch's records may decompress to.
    pub max_output_size: usize,
    /// Whether an incomplete batch at the end is no error, as in a fetch response.
    pub may_be_truncated: bool,
    /// The other segments of the partition, of which batches may be copies.
    pub others: Option<&'a dyn OtherSegments>,
}

/// Checks a segment. `progress` is called with the bytes done, now and then; [`ControlFlow::Break`] ends the check.
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
    let mut report = SegmentReport { length: end, ..SegmentReport::default() };
    let base_offset = options.base_offset.unwrap_or_default();
    let indexes = IndexChecks::new(side_files, base_offset, &mut report);
    let offset_index: Vec<OffsetPosition> = side_files
        .offset_index
        .and_then(|data| OffsetIndex::parse(data, base_offset).ok())
        .map(|index| index.iter().collect())
        .unwrap_or_default();
    let bounds = SegmentBounds {
        base_offset: options.base_offset,
        end_offset: options.next_base_offset,
        offset_index: &offset_index,
        leader_epochs: options.leader_epochs,
        leader_epoch: None,
        others: options.others,
    };
    let mut check = Check {
        report,
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
    let Check { mut report, indexes, progress, .. } = check;
    if let ControlFlow::Break(ended) = progress(end) {
        return Ok(ControlFlow::Break(ended));
    }
    report.first_offset = found.first_offset;
    report.last_offset = found.last_offset;
    report.missing = found.missing;
    report.is_compacted = found.is_compacted;
    report.first_leader_epoch = found.first_leader_epoch;
    report.last_leader_epoch = found.last_leader_epoch;
    if report.is_compacted {
        report.forgive_gaps();
    }
    indexes.finish(&mut report);
    report.findings.sort_by_key(|finding| (finding.file != FindingFile::Log, finding.file.suffix(), finding.position));
    Ok(ControlFlow::Continue(report))
}

impl SegmentReport {
    /// Compaction explains the gaps.
    fn forgive_gaps(&mut self) {
        self.missing.relabel(MissingReason::Gap, MissingReason::Compacted);
        let before = self.findings.len();
        self.findings.retain(|finding| !finding.is_gap);
        self.errors = self.errors.saturating_sub((before - self.findings.len()) as u64);
    }
}

/// The state of a check between two batches.
struct Check<'a, 'p, B> {
    report: SegmentReport,
    indexes: IndexChecks<'a>,
    checker: BatchChecker,
    scratch: OutputBuffer,
    /// The last offset of the batches so far.
    last_offset: Option<i64>,
    options: VerifyOptions<'a>,
    progress: &'p mut dyn FnMut(u64) -> ControlFlow<B>,
}

/// What is kept of a batch until it is judged.
type Detail = Result<(u64, usize), record::Error>;

impl<B> Visitor for Check<'_, '_, B> {
    type Break = B;
    type Detail = Detail;

    fn read(&mut self, batch: &RecordBatch<'_>) -> Result<Content<Detail>, Error> {
        match self.checker.count(batch) {
            Ok(Counted { span, records, wrong_inner_checksums: wrong }) => {
                let decompressed = self.checker.payload().len();
                let at = batch.position();
                if wrong > 0 {
                    let warning = format!("wrong checksums of {wrong} messages inside the wrapper at byte {at}");
                    self.report.add(FindingFile::Log, at, false, warning);
                }
                if let Some(found) = non_conformity(batch, &mut self.scratch) {
                    self.report.add(FindingFile::Log, at, false, format!("the batch at byte {at} is {found}"));
                }
                Ok(Content { span, is_corrupt: false, records: Some(records), detail: Ok((records, decompressed)) })
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
        match content.detail {
            Err(error) => {
                self.report.corrupt_batches += u64::from(content.is_corrupt);
                let missing = judgement.missing.filter(|_| content.is_corrupt);
                self.report.add_error(at, error.to_string(), missing);
            }
            Ok((records, decompressed)) if is_used => self.count(batch, records, decompressed),
            Ok(_) => {}
        }
        if !is_used || content.is_corrupt {
            self.indexes.lost(at, batch.size_in_bytes() as u64);
        } else {
            let first = judgement.span.first.unwrap_or(judgement.span.last);
            self.indexes.batch(batch, (first, judgement.span.last), self.last_offset, &mut self.report);
            self.last_offset = Some(self.last_offset.map_or(judgement.span.last, |last| last.max(judgement.span.last)));
        }
        Ok(())
    }

    fn corrupt(&mut self, _: &dyn ReadAt, range: &Damage, missing: Option<(i64, i64)>) -> Result<(), Error> {
        let Damage { position, length, error, .. } = range;
        let (end, tolerated) = (position + length, self.options.may_be_truncated && range.is_cut);
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

    fn gap(&mut self, position: u64, (first, last): (i64, i64)) -> Result<(), Error> {
        let message = format!("{} missing before byte {position}, where nothing is corrupt", offsets(first, last));
        let (file, missing) = (FindingFile::Log, Some((first, last)));
        self.report.push(Finding { file, position, is_error: true, message, missing, is_gap: true });
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
    fn count(&mut self, batch: &RecordBatch<'_>, records: u64, decompressed: usize) {
        if let Ok(kind) = batch.compression_type()
            && let Some(counts) = self.report.by_compression_type.get_mut(usize::from(kind.id()))
        {
            counts.batches += 1;
            counts.records += records;
            counts.stored_bytes += batch.size_in_bytes() as u64;
            counts.records_bytes += if decompressed == 0 { batch.size_in_bytes() } else { decompressed } as u64;
        }
    }

    /// Reports what is wrong with the fields that no checksum covers.
    fn placement(&mut self, batch: &RecordBatch<'_>, judgement: &Judgement) {
        let at = batch.position();
        let first = judgement.span.first.unwrap_or(judgement.span.last);
        match judgement.place {
            Place::InOrder => {}
            Place::BelowBaseOffset { base_offset } => {
                let message = format!("the segment begins at offset {first}, below the {base_offset} of its name");
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
