//! The options and inputs of a scan.

use std::sync::Arc;

use arrow_schema::TimeUnit;
use kafkacomp_log::map::ReachedOffsets;
use kafkacomp_log::read::segment_files::Sibling;
use kafkacomp_log::read::source::UNKNOWN_WORTH_READING;
use kafkacomp_log::{Compaction, LogFormat, OpenSegment, TransactionFilter};
use kafkacomp_records::limits::DEFAULT_MAX_OUTPUT_SIZE;

use crate::columns::binary_type::BinaryType;
use crate::columns::schema::Column;
use crate::lookup::split_boundaries::SplitBoundaries;
use crate::report::ScanError;

/// The largest `arrow_batch_bytes`: a column with 32-bit offsets has at most 2^31 - 1 bytes, and half of that leaves room for one more
/// record.
pub const MAX_BATCH_BYTES: usize = 1 << 30;

/// The isolation level: which records are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// All records.
    #[default]
    ReadUncommitted,
    /// Not those of aborted transactions, and none from the first open transaction on.
    ReadCommitted,
}

/// What happens at corruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The scan ends with an error.
    #[default]
    Raise,
    /// The scan continues at the next intact batch and reports what it skipped.
    Skip,
}

/// The unit of timestamps with this name: `s`, `ms`, `us` or `ns`; `None` for any other, such as `int64`.
pub fn time_unit(name: &str) -> Option<TimeUnit> {
    match name {
        "s" => Some(TimeUnit::Second),
        "ms" => Some(TimeUnit::Millisecond),
        "us" => Some(TimeUnit::Microsecond),
        "ns" => Some(TimeUnit::Nanosecond),
        _ => None,
    }
}

/// The options of a scan; bounds of offsets belong to a [`Partition`].
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// First timestamp, ms, inclusive.
    pub start_time: Option<i64>,
    /// Last timestamp, ms, exclusive.
    pub end_time: Option<i64>,
    /// The isolation level: which records are returned.
    pub isolation_level: IsolationLevel,
    /// What happens at corruption.
    pub on_error: OnError,
    /// Whether control records are rows.
    pub include_control: bool,
    /// The most rows of an Arrow batch.
    pub batch_rows: usize,
    /// The most bytes of column data of an Arrow batch.
    pub arrow_batch_bytes: usize,
    /// The threads that decode, at least 1: workers and, if all segments are local, the consumer.
    pub threads: usize,
    /// The unit of the timestamp column.
    pub timestamp_unit: Option<TimeUnit>,
    /// The type of keys, values and header values.
    pub binary_type: BinaryType,
    /// Whether checksums are verified.
    pub verify_crc: bool,
    /// The most bytes that one batch may decompress to.
    pub max_output_size: usize,
    /// Whether records that consumers do not see are left out: those below the log start offset, and those from the high
    /// watermark on.
    pub visible_only: bool,
    /// The log format of all segments; `None` to detect it from the content of each segment, or else from its name.
    pub log_format: Option<LogFormat>,
    /// A partition in an object store is judged at a gap or at corrupt bytes only if its segments together have at most so many bytes;
    /// `None` for any number.
    pub horizon: Option<u64>,
}

impl ScanOptions {
    /// Whether only records with timestamps within bounds are returned.
    pub(crate) fn has_time_bound(&self) -> bool {
        self.start_time.is_some() || self.end_time.is_some()
    }

    /// Whether the planner verifies the checksums of all chunks when it divides the segment, and not the worker that builds the
    /// columns. It must do so to skip corruption, and with one thread nobody waits for it.
    pub(crate) fn planner_verifies(&self) -> bool {
        self.verify_crc && (self.on_error == OnError::Skip || self.threads <= 1)
    }
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            columns: Column::DEFAULT.to_vec(),
            start_time: None,
            end_time: None,
            isolation_level: IsolationLevel::default(),
            on_error: OnError::default(),
            include_control: false,
            batch_rows: 65_536,
            arrow_batch_bytes: 8 << 20,
            threads: 1,
            timestamp_unit: Some(TimeUnit::Millisecond),
            binary_type: BinaryType::default(),
            verify_crc: true,
            max_output_size: DEFAULT_MAX_OUTPUT_SIZE,
            visible_only: false,
            log_format: None,
            horizon: Some(DEFAULT_HORIZON),
        }
    }
}

/// Where the aborted transactions of a segment, and those that are open after it, are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransactionsIn {
    /// The batch headers and markers, and `.txnindex`.
    #[default]
    Batches,
    /// `.txnindex` and `.snapshot`, which a broker has copied to tiered storage with the segment. All of the segment is read, and
    /// the next one begins where it ends.
    Indexes,
    /// Only `.snapshot`: as `Indexes`, but it is known that no transaction was aborted in the segment.
    Snapshot,
}

impl TransactionsIn {
    /// The place with this name: `batches`, `indexes` or `snapshot`.
    pub fn for_name(name: &str) -> Option<Self> {
        match name {
            "batches" => Some(Self::Batches),
            "indexes" => Some(Self::Indexes),
            "snapshot" => Some(Self::Snapshot),
            _ => None,
        }
    }
}

/// The default of [`ScanOptions::horizon`]: the bytes whose transfer takes about as long as a request.
pub const DEFAULT_HORIZON: u64 = UNKNOWN_WORTH_READING as u64;

/// A segment of a partition, or bytes that are read like one.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Its path or name, for messages and the `segment` column.
    pub name: Arc<str>,
    /// The offset in its name; `None` for bytes, whose offsets need not increase.
    pub base_offset: Option<i64>,
    /// Its length in bytes when it was listed; 0 if that is not known.
    pub size: u64,
    /// Opens it.
    pub files: Arc<dyn OpenSegment>,
    /// Only the batches that begin in these bytes; `None` for all.
    pub range: Option<(u64, u64)>,
    /// The offsets of it that belong to the log: the first, and the one after the last. With `None`, these are all that earlier
    /// segments do not have. Tiered storage has segments of which only a part is valid, and others with the same offsets. If this
    /// is given, the segments of the partition are read in their order and not compared.
    pub offsets: Option<(i64, i64)>,
    /// The batches that identify the range if the file was replaced.
    pub boundaries: SplitBoundaries,
    /// Whether a broker may be writing it, so that an incomplete batch at its end may become complete.
    pub active: bool,
    /// Where its transactions are read from.
    pub transactions_in: TransactionsIn,
}

impl Segment {
    /// The first offset that is read from it, if that is known before it is opened.
    pub fn first_offset(&self) -> Option<i64> {
        self.offsets.map_or(self.base_offset, |(first, _)| Some(first))
    }

    /// Whether the partition was divided for tasks, of which one reads this segment or a split of it.
    pub(crate) fn is_of_task(&self) -> bool {
        self.range.is_some() || self.boundaries.length > 0
    }

    /// Whether an offset of the segment belongs to the log.
    pub(crate) fn has_offset(&self, offset: i64) -> bool {
        self.offsets.is_none_or(|(first, end)| (first..end).contains(&offset))
    }

    /// The base offset, or 0 if the name has none: offsets of Kafka 0.7 are then positions in the file.
    pub fn base_offset_or_zero(&self) -> i64 {
        self.base_offset.unwrap_or(0)
    }
}

/// The segments of one partition in offset order.
#[derive(Debug, Clone, Default)]
pub struct Partition {
    /// The topic, if known.
    pub topic: Option<Arc<str>>,
    /// The partition's number, if known.
    pub partition: Option<i32>,
    /// First offset, inclusive.
    pub start_offset: Option<i64>,
    /// Last offset, exclusive.
    pub end_offset: Option<i64>,
    /// The segments that are read.
    pub segments: Vec<Segment>,
    /// Further segments that are read only for their transactions, if a split of the partition is read.
    pub context: Vec<Segment>,
    /// The transactions, if they were found before; otherwise they are read from the segments.
    pub transactions: Option<Arc<TransactionFilter>>,
    /// Its offsets in the checkpoints of the log directory.
    pub checkpoints: Checkpoints,
    /// What would decide between segments with different records at the same offset, for the message of the error.
    pub deciding: Option<Arc<str>>,
    /// Whether the first batch of a segment has offsets that it should not have by its name, so that all files are judged before one is
    /// read.
    pub is_misnamed: bool,
}

impl Partition {
    /// Whether its segments together have at most `horizon` bytes, so that all of them may be read to judge it.
    pub(crate) fn is_within(&self, horizon: Option<u64>) -> bool {
        let sizes = || self.segments.iter().chain(&self.context).map(|segment| segment.size);
        horizon.is_none_or(|horizon| sizes().fold(0, u64::saturating_add) <= horizon)
    }

    /// What is known of its compaction without reading it.
    pub fn compaction(&self) -> Compaction {
        Compaction::of(self.topic.as_deref(), self.checkpoints.cleaned_to)
    }

    /// The segment with this index, first those that are read, then those of the context.
    pub fn segment(&self, index: usize) -> Option<&Segment> {
        self.segments.iter().chain(&self.context).nth(index)
    }

    /// Sets the context to the other segments, if this is a part of the partition that was divided for tasks and its folder can be listed: a
    /// broker may have merged or deleted some since then.
    ///
    /// # Errors
    /// The storage cannot list them.
    pub(crate) fn add_siblings(&mut self) -> Result<(), ScanError> {
        let Some(first) = self.segments.first().filter(|segment| segment.is_of_task()) else { return Ok(()) };
        let siblings = first.files.siblings().map_err(|error| ScanError::io(&first.name, error))?;
        if siblings.is_empty() {
            return Ok(());
        }
        let like = Segment { range: None, boundaries: SplitBoundaries::default(), active: false, ..first.clone() };
        let own: Vec<&Arc<str>> = self.segments.iter().map(|segment| &segment.name).collect();
        let others = siblings.into_iter().filter(|sibling| !own.contains(&&sibling.name));
        let segment = |Sibling { name, base_offset, files }| Segment {
            name,
            base_offset: Some(base_offset),
            size: 0,
            files,
            ..like.clone()
        };
        self.context = others.map(segment).collect();
        Ok(())
    }

    /// Only the offsets from `start_offset` to `end_offset`, exclusive; earlier bounds stay.
    #[must_use]
    pub fn between(self, start_offset: Option<i64>, end_offset: Option<i64>) -> Self {
        let end_offset = [self.end_offset, end_offset].into_iter().flatten().min();
        Self { start_offset: self.start_offset.max(start_offset), end_offset, ..self }
    }
}

/// The offsets of a partition in the checkpoint files of a log directory, if they have it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checkpoints {
    /// Consumers do not see records before this offset.
    pub log_start_offset: Option<i64>,
    /// Consumers do not see records from this offset on.
    pub high_watermark: Option<i64>,
    /// Compaction has removed records before this offset.
    pub cleaned_to: Option<i64>,
    /// What shows how far the log reached.
    pub reached: ReachedOffsets,
}
