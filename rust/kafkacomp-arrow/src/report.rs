//! The report of a scan: counts, skipped bytes, missing offsets and warnings; and its errors.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

use kafkacomp_log::{ContentError, MissingReason, ReadError, is_unreadable};
use kafkacomp_records::Category;
use kafkacomp_records::memory::OutOfMemory;

use crate::columns::builder::ColumnError;
use crate::missing::MissingOffsets;

/// Bytes that a scan skipped.
#[derive(Debug, Clone)]
pub struct SkippedRange {
    /// The segment.
    pub segment: Arc<str>,
    /// The position of the range.
    pub position: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The reason: corrupt, over a limit, unreadable or vanished.
    pub reason: MissingReason,
    /// The message of the error of a scan with `on_error="raise"`.
    pub message: String,
    /// The first offset that is missing because of it; `None` if the neighbours do not determine it, or none is missing.
    pub first_offset: Option<i64>,
    /// The last offset that is missing because of it.
    pub last_offset: Option<i64>,
}

impl SkippedRange {
    /// A range of bytes that was skipped because of `error`, with unknown offsets.
    pub(crate) fn of(segment: &Arc<str>, position: u64, length: u64, error: &ScanError) -> Self {
        Self {
            segment: Arc::clone(segment),
            position,
            length,
            reason: error.skip_reason().unwrap_or(MissingReason::Corrupt),
            message: error.message(),
            first_offset: None,
            last_offset: None,
        }
    }

    /// Sets the offsets `expected..found`, if both are known.
    pub(crate) fn between(self, expected: Option<i64>, found: Option<i64>) -> Self {
        let (Some(first), Some(end)) = (expected, found) else { return self };
        if first >= end {
            return self;
        }
        Self { first_offset: Some(first), last_offset: Some(end.saturating_sub(1)), ..self }
    }
}

/// The counts of a scan so far.
#[derive(Debug, Clone, Default)]
pub struct ScanReport {
    /// Kafka batches that were read.
    pub batches: u64,
    /// Rows returned.
    pub records: u64,
    /// Bytes of segments read.
    pub bytes_in: u64,
    /// Bytes of column data returned.
    pub bytes_out: u64,
    /// Skipped bytes, in the order of the files.
    pub skipped: Vec<SkippedRange>,
    /// Anomalies that did not end the scan.
    pub warnings: Vec<String>,
    /// Missing offsets.
    pub missing: MissingOffsets,
    /// Records read whose offset is below the log start offset.
    pub records_below_log_start: u64,
    /// Records read whose offset is at the high watermark or above.
    pub records_above_high_watermark: u64,
    /// Timestamps that are out of range in the unit of the column, and were replaced by the nearest one in range.
    pub clamped_timestamps: u64,
}

impl ScanReport {
    /// Ends the report: sorts the findings of the threads.
    pub(crate) fn complete(&mut self) {
        self.skipped.sort_by(|a, b| (&a.segment, a.position).cmp(&(&b.segment, b.position)));
    }
}

/// Why a scan ended.
#[derive(Debug)]
pub enum ScanError {
    /// Corruption in a segment.
    Record {
        /// The segment.
        segment: Arc<str>,
        /// What is wrong, with the byte position.
        error: ContentError,
    },
    /// An I/O error.
    Io {
        /// The segment.
        segment: Arc<str>,
        /// The error.
        error: io::Error,
    },
    /// The segment became shorter while it was read.
    Shrunk {
        /// The segment.
        segment: Arc<str>,
        /// The current length.
        length: u64,
        /// The length before.
        expected: u64,
    },
    /// Neither the content nor the name of a file determines its log format.
    Undecided {
        /// The segment.
        segment: Arc<str>,
    },
    /// A broker replaced the file since its splits were planned, and the log format does not show which records belong to which.
    Replaced {
        /// The segment.
        segment: Arc<str>,
    },
    /// The offsets in the header of a batch cannot be right.
    Misplaced {
        /// The segment.
        segment: Arc<str>,
        /// The position of the batch.
        position: u64,
        /// The first offset in its header; `None` for a wrapper.
        first: Option<i64>,
        /// The last offset in its header.
        last: i64,
        /// The offset after the batch before it.
        expected: i64,
        /// The first offset after it, if that is known.
        resumes: Option<i64>,
    },
    /// Zeros at the end of a segment in place of batches.
    ZeroTail {
        /// The segment.
        segment: Arc<str>,
        /// The position of the zeros.
        position: u64,
        /// The number of zeros.
        length: u64,
        /// The first offset that is missing.
        expected: i64,
        /// The base offset of the next segment, or the offset that the log had reached.
        resumes: i64,
    },
    /// Two files of a partition have different records for an offset.
    Conflict {
        /// The file that is read first.
        earlier: Arc<str>,
        /// The other file.
        later: Arc<str>,
        /// The first offset at which they differ.
        offset: i64,
        /// What would decide between them, if that is known.
        deciding: Option<Arc<str>>,
    },
    /// Memory ran out for the columns.
    OutOfMemory(OutOfMemory),
    /// A worker thread could not be started.
    Thread(String),
    /// A worker thread panicked: a bug in this library.
    Panicked {
        /// The segment.
        segment: Arc<str>,
        /// The message of the panic.
        message: String,
    },
    /// A [`Closer`](crate::scan::Closer) closed the scan.
    Closed,
}

impl From<ColumnError> for ScanError {
    fn from(error: ColumnError) -> Self {
        match error {
            ColumnError::OutOfMemory(error) => Self::OutOfMemory(error),
            ColumnError::Arrow(error) => Self::Thread(error.to_string()),
        }
    }
}

impl ScanError {
    pub(crate) fn record(segment: &Arc<str>, error: impl Into<ContentError>) -> Self {
        Self::Record { segment: Arc::clone(segment), error: error.into() }
    }

    /// The error of reading `segment`.
    pub(crate) fn log(segment: &Arc<str>, error: kafkacomp_log::Error) -> Self {
        match error {
            kafkacomp_log::Error::Content(error) => Self::record(segment, error),
            kafkacomp_log::Error::Read(error) => Self::chunk(segment, error),
            other => Self::io(segment, io::Error::other(other.to_string())),
        }
    }

    pub(crate) fn io(segment: &Arc<str>, error: io::Error) -> Self {
        Self::Io { segment: Arc::clone(segment), error }
    }

    pub(crate) fn chunk(segment: &Arc<str>, error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => Self::io(segment, error),
            ReadError::Shrunk { length, expected } => Self::Shrunk { segment: Arc::clone(segment), length, expected },
        }
    }

    /// The reason with which a scan with `on_error="skip"` reports the bytes as skipped; `None` if it ends, too.
    pub fn skip_reason(&self) -> Option<MissingReason> {
        match self {
            Self::Record { error, .. } => match error.category() {
                Category::Corrupt => Some(MissingReason::Corrupt),
                Category::Limit => Some(MissingReason::Limit),
                _ => None,
            },
            Self::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => Some(MissingReason::Vanished),
            Self::Io { error, .. } if is_unreadable(error) => Some(MissingReason::Unreadable),
            // The bytes belong to neither log format, or are missing.
            Self::Undecided { .. } | Self::Shrunk { .. } | Self::Misplaced { .. } | Self::ZeroTail { .. } => {
                Some(MissingReason::Corrupt)
            }
            _ => None,
        }
    }

    /// The error for a panic that was caught while `segment` was being read.
    pub fn panicked(segment: &Arc<str>, panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Self::Panicked { segment: Arc::clone(segment), message: text.unwrap_or_else(|| "panic".to_owned()) }
    }

    /// Whether the error is about the content or the storage of one segment, so that others may be read.
    pub fn is_about_segment(&self) -> bool {
        self.category() != Category::Resource
    }

    /// The category: what a reader of the log may do after the error.
    pub fn category(&self) -> Category {
        match self {
            Self::Record { error, .. } => error.category(),
            Self::Io { error, .. } if error.kind() == io::ErrorKind::OutOfMemory => Category::Resource,
            Self::Io { .. } | Self::Shrunk { .. } | Self::Replaced { .. } => Category::Io,
            Self::Undecided { .. } | Self::Closed => Category::Argument,
            Self::Misplaced { .. } | Self::ZeroTail { .. } | Self::Conflict { .. } => Category::Corrupt,
            Self::OutOfMemory(_) | Self::Thread(_) | Self::Panicked { .. } => Category::Resource,
        }
    }

    /// The message with the segment's name.
    pub fn message(&self) -> String {
        match self {
            Self::Record { segment, error } => format!("{segment}: {error}"),
            Self::Io { segment, error } => format!("{segment}: {error}"),
            Self::Shrunk { segment, length, expected } => {
                format!("{segment}: truncated during the scan at byte {length}, {expected} bytes were there")
            }
            Self::Undecided { segment } => format!(
                "{segment}: byte 0: the content does not tell whether this is a log of Kafka 0.7 or of 0.8 and later: \
                 give log_format=\"0.7\" or log_format=\"0.8+\""
            ),
            Self::Replaced { segment } => format!(
                "{segment}: the file was replaced, as compaction does, between the plan and the reading, and the offsets \
                 of compressed messages of magic 0 and 1 do not tell which records are whose: read again"
            ),
            Self::Misplaced { segment, position, first, last, expected, resumes } => {
                let stated = match first {
                    Some(first) => format!("offsets {first} to {last}"),
                    None => format!("{last} as its last offset"),
                };
                let room = match resumes {
                    Some(resumes) => {
                        let end = resumes.saturating_sub(1);
                        format!("the batches around it leave room for offsets {expected} to {end}")
                    }
                    None => format!("the batch before it ends before offset {expected}"),
                };
                format!("{segment}: the batch at byte {position} states {stated}, but {room}")
            }
            Self::ZeroTail { segment, position, length, expected, resumes } => format!(
                "{segment}: {length} zero bytes from byte {position} to the end, where offsets {expected} to {} should be",
                resumes.saturating_sub(1)
            ),
            Self::Conflict { earlier, later, offset, deciding: None } => format!(
                "{later}: offset {offset} has another record than in {earlier}: remove the file that is not valid, or \
                 read with on_error=\"skip\", which takes the records of the file with the later name"
            ),
            Self::Conflict { earlier, later, offset, deciding: Some(deciding) } => {
                format!("{later}: offset {offset} has another record than in {earlier}: {deciding}")
            }
            Self::OutOfMemory(error) => error.to_string(),
            Self::Thread(what) => format!("scan thread: {what}"),
            Self::Panicked { segment, message } => format!("{segment}: internal error: {message}"),
            Self::Closed => "the scan was closed".to_owned(),
        }
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for ScanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Record { error, .. } => Some(error),
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
