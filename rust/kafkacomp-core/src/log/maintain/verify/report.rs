//! The report of a check of a segment.

use std::collections::BTreeMap;

use super::transactions::SegmentTransactions;
use crate::CompressionType;
use crate::log::continuity::compaction::Compaction;
use crate::log::continuity::missing::{MissingRange, MissingReason};
use crate::log::continuity::sequence::SequenceReport;
use crate::log::read::open_transactions::OpenTransactions;
use crate::log::read::summary::{BatchCounts, BatchFormat};
use crate::log::read::time_range::TimeRange;

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

/// The gaps of a segment that compaction may not explain. Whether it does is known once all batches were read.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    findings: Vec<Finding>,
    more: u64,
}

impl Gaps {
    /// Adds the part of a gap before `position` that what is known of the compaction does not explain.
    pub(super) fn add(&mut self, position: u64, (first_offset, last_offset): (i64, i64), compaction: Compaction) {
        let range = MissingRange { first_offset, last_offset, reason: MissingReason::Gap };
        let Some(gap) = compaction.parts(range).find(|part| part.reason == MissingReason::Gap) else { return };
        if self.findings.len() >= MAX_FINDINGS {
            self.more += 1;
            return;
        }
        let (first, last) = (gap.first_offset, gap.last_offset);
        let message = format!("{} missing before byte {position}, where nothing is corrupt", offsets(first, last));
        let (file, missing) = (FindingFile::Log, Some((first, last)));
        self.findings.push(Finding { file, position, is_error: true, message, missing, is_gap: true });
    }
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
    /// Counts of the intact batches with offsets to count ([`VerifyOptions::counted`](super::VerifyOptions::counted)).
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
    /// The offsets of the intact batches in order. Offsets are missing from the base offset on, up to the base offset of the
    /// next segment if it is given.
    pub sequence: SequenceReport,
    /// The timestamps of the records that were counted.
    pub times: TimeRange,
    /// The transactions that the segment leaves open.
    pub open_transactions: OpenTransactions,
    /// Whether the last batch is truncated.
    pub is_truncated: bool,
    /// The offset of the last message in a log of Kafka 0.7.
    pub last_message: Option<i64>,
    /// What the check of the partition needs to know of its transactions.
    pub transactions: SegmentTransactions,
    /// The findings in the order in which they were found.
    pub findings: Vec<Finding>,
    /// The number of findings that were not kept.
    pub more_findings: u64,
    /// The number of errors among all findings.
    pub errors: u64,
    /// The number of warnings among all findings.
    pub warnings: u64,
}

impl SegmentReport {
    /// The report of a segment of this length before it is read.
    pub(in crate::log::maintain) fn new(length: u64) -> Self {
        Self { length, is_exact: true, ..Self::default() }
    }

    /// Counts an intact batch, and its records that count.
    pub(in crate::log::maintain) fn count(&mut self, format: BatchFormat, counted: CodecCounts, records: Option<u64>) {
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

    pub(in crate::log::maintain) fn add(&mut self, file: FindingFile, position: u64, is_error: bool, message: String) {
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

    /// Adds the gaps, unless batches show that compaction has removed records.
    pub(super) fn add_gaps(&mut self, gaps: Gaps, compaction: Compaction) {
        let found = compaction.or_thinned(self.sequence.is_compacted);
        if found != compaction {
            self.sequence.missing = self.sequence.missing.explained(found);
            return;
        }
        gaps.findings.into_iter().for_each(|gap| self.push(gap));
        self.errors += gaps.more;
        self.more_findings += gaps.more;
    }

    /// Adds an error in the log, because of which offsets may be missing.
    pub(in crate::log::maintain) fn add_error(
        &mut self,
        position: u64,
        mut message: String,
        missing: Option<(i64, i64)>,
    ) {
        if let Some((first, last)) = missing {
            message = format!("{message}; {} missing", offsets(first, last));
        }
        let (file, is_error) = (FindingFile::Log, true);
        self.push(Finding { file, position, is_error, message, missing, is_gap: false });
    }
}

/// A range of offsets, for messages.
pub(super) fn offsets(first: i64, last: i64) -> String {
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
