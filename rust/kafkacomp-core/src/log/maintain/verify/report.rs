//! The report of a check of a segment.

use crate::CompressionType;
use crate::log::continuity::missing::MissingReason;
use crate::log::continuity::sequence::SequenceReport;

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
    /// The least timestamp in the headers of intact batches, ms.
    pub first_timestamp: Option<i64>,
    /// The greatest timestamp in the headers of intact batches, ms.
    pub last_timestamp: Option<i64>,
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
    pub(in crate::log::maintain) fn add(&mut self, file: FindingFile, position: u64, is_error: bool, message: String) {
        self.push(Finding { file, position, is_error, message, missing: None, is_gap: false });
    }

    pub(super) fn push(&mut self, finding: Finding) {
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

impl SegmentReport {
    /// Drops the findings of gaps, because compaction explains them.
    pub(super) fn forgive_gaps(&mut self) {
        self.sequence.missing.relabel(MissingReason::Gap, MissingReason::Compacted);
        let before = self.findings.len();
        self.findings.retain(|finding| !finding.is_gap);
        self.errors = self.errors.saturating_sub((before - self.findings.len()) as u64);
    }
}
