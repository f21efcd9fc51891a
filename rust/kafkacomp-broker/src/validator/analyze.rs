//! The shallow pass over a record set before validation: sizes, checksums, the order of offsets, and the fields of the headers.
//! Nothing is decompressed, unless offsets are out of order: then Kafka lists them all for its message, and if a batch cannot be
//! read, that is the error instead.
//! Source: `UnifiedLog.analyzeAndValidateRecords`, `LogAppendInfo`.

use super::config::AppendOrigin;
use super::fault::ValidationFault;
use super::items::{Reading, each_record};
use super::record_set::batches;
use kafkacomp_records::CompressionType;
use kafkacomp_records::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_records::record::batch::{NO_PARTITION_LEADER_EPOCH, NO_TIMESTAMP};
use kafkacomp_records::record::{RecordBatch, RecordReader};

/// No offset known.
const UNKNOWN_OFFSET: i64 = -1;

/// Kafka's default of `max.message.bytes`.
pub const DEFAULT_MAX_MESSAGE_SIZE: i32 = (1 << 20) + 12;

/// The arguments of the pass.
#[derive(Debug, Clone)]
pub struct AnalyzeOptions {
    /// Who appends.
    pub origin: AppendOrigin,
    /// Whether each batch's last offset must be above the one before.
    pub require_offsets_monotonic: bool,
    /// The replica's own leader epoch.
    pub leader_epoch: i32,
    /// `max.message.bytes`; with `None` batches may have any size.
    pub max_message_size: Option<i32>,
    /// The most bytes that one batch may decompress to if the offsets have to be listed.
    pub max_output_size: usize,
}

impl Default for AnalyzeOptions {
    /// A producer's set on a topic with default settings.
    fn default() -> Self {
        Self {
            origin: AppendOrigin::Client,
            require_offsets_monotonic: true,
            leader_epoch: 0,
            max_message_size: Some(DEFAULT_MAX_MESSAGE_SIZE),
            max_output_size: DEFAULT_MAX_OUTPUT_SIZE,
        }
    }
}

/// The result of the pass, from the headers of a record set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogAppendInfo {
    /// The base offset of the first batch; -1 if its header does not contain it (magic 0 and 1), and without batches.
    pub first_offset: i64,
    /// The last batch's last offset, -1 without batches.
    pub last_offset: i64,
    /// The first batch's last offset, -1 without batches.
    pub last_offset_of_first_batch: i64,
    /// The leader epoch of the last batch, `None` if it has none.
    pub last_leader_epoch: Option<i32>,
    /// The greatest max timestamp of a header, ms; -1 without.
    pub max_timestamp: i64,
    /// The compression type of the last compressed batch; none if no batch is compressed.
    pub source_compression: CompressionType,
    /// Bytes of the whole batches to append.
    pub valid_bytes: usize,
}

impl LogAppendInfo {
    const EMPTY: Self = Self {
        first_offset: UNKNOWN_OFFSET,
        last_offset: -1,
        last_offset_of_first_batch: -1,
        last_leader_epoch: None,
        max_timestamp: NO_TIMESTAMP,
        source_compression: CompressionType::None,
        valid_bytes: 0,
    };

    /// The first offset or, if it is unknown, the last offset of the first batch.
    pub fn first_or_last_offset_of_first_batch(&self) -> i64 {
        if self.first_offset >= 0 { self.first_offset } else { self.last_offset_of_first_batch }
    }
}

/// Checks `records` as a broker does before it appends them.
///
/// # Errors
/// A wrong epoch or base offset (87), offsets out of order (-1), a batch that is too large (10), a wrong size,
/// magic or checksum (2), an unknown codec (-1).
pub fn analyze_and_validate_records(records: &[u8], options: &AnalyzeOptions) -> crate::Result<LogAppendInfo> {
    let mut info = LogAppendInfo::EMPTY;
    let mut seen = false;
    let mut skipping = false;
    for batch in batches(records) {
        let batch = batch?;
        let fail = |fault| Err(crate::Error::Refused { position: batch.position(), fault });
        let epoch = batch.partition_leader_epoch();
        if options.origin == AppendOrigin::RaftLeader && epoch != options.leader_epoch {
            return fail(ValidationFault::LeaderEpoch { expected: options.leader_epoch, found: epoch });
        }
        if batch.magic() >= 2 && options.origin == AppendOrigin::Client && batch.offset_field() != 0 {
            return fail(ValidationFault::BaseOffset { found: batch.offset_field() });
        }
        // A follower that has not yet seen the epoch of a new leader appends none of its batches.
        skipping |= options.origin == AppendOrigin::Replication
            && epoch != NO_PARTITION_LEADER_EPOCH
            && epoch > options.leader_epoch;
        if skipping {
            continue;
        }
        let previous = info.last_offset;
        info.add_offsets(&batch, !seen);
        seen = true;
        let in_order = previous < info.last_offset;
        let size = batch.size_in_bytes();
        if let Some(limit) = options.max_message_size.filter(|&limit| size as u64 > limit.max(0) as u64) {
            return fail(ValidationFault::BatchTooLarge { size: size as u64, limit });
        }
        batch.ensure_valid()?;
        info.max_timestamp = info.max_timestamp.max(batch.max_timestamp());
        info.valid_bytes = info.valid_bytes.saturating_add(size);
        let compression_type = batch.compression_type()?;
        if compression_type != CompressionType::None {
            info.source_compression = compression_type;
        }
        if options.require_offsets_monotonic && !in_order {
            list_offsets(records, options.max_output_size)?;
            return fail(ValidationFault::OffsetsOutOfOrder { previous, found: info.last_offset });
        }
    }
    Ok(info)
}

impl LogAppendInfo {
    fn add_offsets(&mut self, batch: &RecordBatch<'_>, first: bool) {
        if first {
            if batch.magic() >= 2 {
                self.first_offset = batch.offset_field();
            }
            self.last_offset_of_first_batch = batch.last_offset();
        }
        self.last_offset = batch.last_offset();
        let epoch = batch.partition_leader_epoch();
        self.last_leader_epoch = (epoch != NO_PARTITION_LEADER_EPOCH).then_some(epoch);
    }
}

/// Reads all records, as Kafka does for its message about offsets out of order.
fn list_offsets(records: &[u8], max_output_size: usize) -> crate::Result<()> {
    let mut reader = RecordReader::as_broker(max_output_size);
    for batch in batches(records) {
        each_record(&mut reader, &batch?, Reading::Iterator, |_| Ok(()))?;
    }
    Ok(())
}

/// The bytes of `records` to append according to `info`. The rest is a truncated batch, or has an unknown epoch.
///
/// # Panics
/// `info` is about a longer record set.
pub fn trim_invalid_bytes<'a>(records: &'a [u8], info: &LogAppendInfo) -> &'a [u8] {
    &records[..info.valid_bytes]
}
