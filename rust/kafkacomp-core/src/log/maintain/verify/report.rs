//! What a check of a segment reports.

use crate::CompressionType;
use crate::log::continuity::missing::{MissingRanges, MissingReason};

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
    /// The least timestamp that the headers of intact batches state, ms.
    pub first_timestamp: Option<i64>,
    /// The greatest timestamp of intact batches, ms.
    pub last_timestamp: Option<i64>,
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

    /// An error in the log for which offsets may be missing.
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
    /// Compaction explains the gaps.
    pub(super) fn forgive_gaps(&mut self) {
        self.missing.relabel(MissingReason::Gap, MissingReason::Compacted);
        let before = self.findings.len();
        self.findings.retain(|finding| !finding.is_gap);
        self.errors = self.errors.saturating_sub((before - self.findings.len()) as u64);
    }
}
