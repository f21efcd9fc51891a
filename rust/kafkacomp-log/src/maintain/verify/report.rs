//! The report of a check of a segment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::continuity::missing::MissingRange;
use crate::error::Error;
use crate::map::wording::missing_text;
use crate::map::{BatchFact, Fact, OffsetRange, Survey};
use crate::read::open_transactions::OpenTransactions;
use crate::read::segment_files::{OpenSegment, SideFile};
use crate::read::summary::{BatchCounts, BatchFormat};
use crate::read::time_range::TimeRange;
use kafkacomp_records::CompressionType;

/// The most findings that are kept; further ones are only counted. Otherwise a file of noise would fill the memory.
const MAX_FINDINGS: usize = 10_000;

/// The file that a finding is about.
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
    /// The file.
    pub file: FindingFile,
    /// The position in that file.
    pub position: u64,
    /// Whether it is an error; a warning otherwise.
    pub is_error: bool,
    /// The fault and its position.
    pub message: String,
    /// The first and last offset that are missing because of it, if the batches around it determine them.
    pub missing: Option<(i64, i64)>,
    /// Whether it is a gap: offsets are missing although nothing is corrupt.
    pub is_gap: bool,
}

/// The counts of one compression type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodecCounts {
    /// Batches whose checksum and records are right.
    pub batches: u64,
    /// The records of these batches.
    pub records: u64,
    /// The stored bytes of these batches, including headers.
    pub stored_bytes: u64,
    /// The uncompressed size of their records in bytes.
    pub records_bytes: u64,
}

/// The result of a check of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentReport {
    /// Counts by the id of the compression type.
    pub by_compression_type: [CodecCounts; CompressionType::ALL.len()],
    /// Counts of the batches that belong to the log and have offsets to count
    /// ([`VerifyOptions::log_start_offset`](super::VerifyOptions::log_start_offset)).
    pub counts: BTreeMap<BatchFormat, BatchCounts>,
    /// Control records with these offsets.
    pub control_records: u64,
    /// Whether every intact batch is in its place, so that every reader delivers the records that were counted.
    pub is_exact: bool,
    /// Corrupt batches; a range without a batch counts as one.
    pub corrupt_batches: u64,
    /// Repeated batches.
    pub repeated_batches: u64,
    /// Bytes of batches whose checksum is wrong, and bytes that are not batches.
    pub unreadable_bytes: u64,
    /// Zero bytes after the last batch; in the last segment, a preallocated file.
    pub zero_tail_bytes: u64,
    /// The segment's length.
    pub length: u64,
    /// The first offset of its batches that belong to the log.
    pub first_offset: Option<i64>,
    /// The last one.
    pub last_offset: Option<i64>,
    /// The offsets that it should have, and that no file of the partition has.
    pub missing: Vec<MissingRange>,
    /// The number of further ranges.
    pub more_missing: u64,
    /// Whether compaction has removed records from its batches.
    pub is_compacted: bool,
    /// The leader epoch of the first batch that has one.
    pub first_leader_epoch: Option<i32>,
    /// The leader epoch of the last batch that has one.
    pub last_leader_epoch: Option<i32>,
    /// The timestamps of the records that were counted.
    pub times: TimeRange,
    /// The transactions that the segment leaves open.
    pub open_transactions: OpenTransactions,
    /// Whether the last batch is truncated.
    pub is_truncated: bool,
    /// The offset of the last message in a log of Kafka 0.7.
    pub last_message: Option<i64>,
    /// What the comparison with other segments needs to know of its transactions.
    pub(super) transactions: SegmentTransactions,
    /// The findings, those of the log first, in the order of positions.
    pub findings: Vec<Finding>,
    /// The number of findings that were not kept.
    pub more_findings: u64,
    /// The number of errors among all findings.
    pub errors: u64,
    /// The number of warnings among all findings.
    pub warnings: u64,
}

/// What the check of a partition needs to know of the transactions of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SegmentTransactions {
    /// Producers with records in a transaction that is open at the end of the segment.
    pub(super) open: BTreeSet<i64>,
    /// Producers with a marker in the segment.
    pub(super) ended: BTreeSet<i64>,
    /// Whether batches are missing in the segment.
    pub(super) is_interrupted: bool,
    /// Abort markers without an entry, before which the segment has no batch of the transaction: offset and producer.
    pub(super) unlisted: Vec<(i64, i64)>,
}

impl SegmentReport {
    /// The report of a segment of this length before it is read.
    pub(super) fn new(length: u64) -> Self {
        Self { length, is_exact: true, ..Self::default() }
    }

    /// Counts an intact batch, and its records that count.
    pub(super) fn count(&mut self, format: BatchFormat, counted: CodecCounts, records: Option<u64>) {
        if let Some(sums) = self.by_compression_type.get_mut(usize::from(format.compression_id)) {
            sums.batches += counted.batches;
            sums.records += counted.records;
            sums.stored_bytes += counted.stored_bytes;
            sums.records_bytes += counted.records_bytes;
        }
        if let Some(records) = records {
            let sums = self.counts.entry(format).or_default();
            sums.batches += counted.batches;
            sums.records += records;
            sums.stored_bytes += counted.stored_bytes;
            sums.records_bytes = Some(sums.records_bytes.unwrap_or_default() + counted.records_bytes);
        }
    }

    pub(super) fn add(&mut self, file: FindingFile, position: u64, is_error: bool, message: String) {
        self.push(Finding { file, position, is_error, message, missing: None, is_gap: false });
    }

    fn push(&mut self, finding: Finding) {
        if finding.is_error {
            self.errors += 1;
        } else {
            self.warnings += 1;
        }
        // Without the first error, the segment would seem to be intact.
        if self.findings.len() < MAX_FINDINGS || (finding.is_error && self.errors == 1) {
            self.findings.push(finding);
        } else {
            self.more_findings += 1;
        }
    }

    /// Adds the offsets of a batch that belongs to the log.
    pub(super) fn extend(&mut self, (first, last): (i64, i64)) {
        self.first_offset = Some(self.first_offset.map_or(first, |known| known.min(first)));
        self.last_offset = Some(self.last_offset.map_or(last, |known| known.max(last)));
    }

    /// Adds what the survey shows: whether records were removed, and the leader epochs.
    pub(super) fn describe(&mut self, survey: &Survey) {
        let batches = || survey.facts().iter().filter_map(Fact::batch);
        self.is_compacted = batches().any(BatchFact::is_thinned);
        self.first_leader_epoch = batches().find_map(BatchFact::leader_epoch);
        self.last_leader_epoch = batches().rev().find_map(BatchFact::leader_epoch);
    }

    /// Sorts the findings: those of the log first, each file in the order of positions.
    pub(super) fn sort(&mut self) {
        self.findings.sort_by_key(|finding| {
            (finding.file != FindingFile::Log, finding.file.suffix(), finding.position, !finding.is_gap)
        });
    }

    /// Adds an error in the log, because of which offsets may be missing.
    pub(super) fn add_error(&mut self, position: u64, mut message: String, missing: Option<OffsetRange>) {
        if let Some(offsets) = missing {
            message = format!("{message}; {}", missing_text(offsets));
        }
        self.add_missing(position, message, missing, false);
    }

    /// Adds an error in the log, whose message names the offsets that are missing; with `is_gap` nothing is corrupt.
    pub(super) fn add_missing(&mut self, position: u64, message: String, missing: Option<OffsetRange>, is_gap: bool) {
        let missing = missing.map(|offsets| (offsets.start(), offsets.end() - 1));
        self.push(Finding { file: FindingFile::Log, position, is_error: true, message, missing, is_gap });
    }
}

/// The index files of a segment that exist.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_field_names, reason = "the names of the files")]
pub(super) struct SideFiles {
    pub(super) offset_index: Option<Vec<u8>>,
    pub(super) time_index: Option<Vec<u8>>,
    pub(super) transaction_index: Option<Vec<u8>>,
}

impl SideFiles {
    /// Reads those of the segment `name`. One that is too large is not read, which is an error in the report.
    pub(super) fn read(files: &dyn OpenSegment, name: &str, report: &mut SegmentReport) -> Result<Self, Error> {
        let mut read = |kind, file: FindingFile| match files.side_file(kind) {
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                report.add(file, 0, true, error.to_string());
                Ok(None)
            }
            read => read.map_err(|source| Error::Io { path: Path::new(name).with_extension(file.suffix()), source }),
        };
        Ok(Self {
            offset_index: read(SideFile::OffsetIndex, FindingFile::OffsetIndex)?,
            time_index: read(SideFile::TimeIndex, FindingFile::TimeIndex)?,
            transaction_index: read(SideFile::TransactionIndex, FindingFile::TransactionIndex)?,
        })
    }
}
