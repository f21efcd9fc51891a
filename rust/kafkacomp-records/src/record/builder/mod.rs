//! Building batches of every magic: one by [`RecordBatchBuilder`], those of a stream by [`PairedBuilder`].
//!
//! | magic | uncompressed | compressed |
//! |---|---|---|
//! | 0 | one message a record | a wrapper with the last offset; inner offsets absolute |
//! | 1 | one message a record | the same, with the largest timestamp; inner offsets count from the base offset |
//! | 2 | one batch | one batch, the records compressed as one stream |
//!
//! Records are serialized when they are appended and compressed when the batch is built. Kafka's builder compresses each record
//! when it is appended, with the same framing. Its estimates do not depend on the output of the codec so far, so they are the same
//! here.
//! Sources: `MemoryRecordsBuilder`, `DefaultRecordBatch`, `LegacyRecord`, `EndTransactionMarker`.

mod headers;
mod output;
mod pair;
mod settings;
mod size;
#[doc(hidden)]
pub mod v0_v1;
mod v2;

pub use headers::HeadersBuffer;
pub use pair::PairedBuilder;
pub use settings::BatchSettings;
pub use size::estimate_size_upper_bound;

use super::TimestampType;
use super::batch::NO_TIMESTAMP;
use super::build_fault::{BuildFault, Feature};
use super::control::{ControlRecordType, end_txn_marker_value};
use super::layout::v2::RECORD_BATCH_OVERHEAD;
use super::record::{Headers, Record};
use crate::CompressionType;
use crate::limits::MAX_POOLED_BUFFER;
use crate::memory::OutOfMemory;

/// Whether records can still be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The batch is built and has this number of bytes.
    Built(usize),
    /// The same, and the buffer with the records was returned.
    Finished(usize),
    Aborted,
}

/// What is appended, and whether it may be refused for lack of room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Appending {
    Data,
    DataIfRoom,
    Control,
}

/// The largest timestamp of what was built, as Kafka's `RecordsInfo` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordsInfo {
    /// The largest timestamp, ms; -1 in magic 0.
    pub max_timestamp: i64,
    /// The last offset of the first batch that has it; -1 where no record has a timestamp.
    pub shallow_offset_of_max_timestamp: i64,
}

/// Builds batches; the memory for records is reused. See the module.
#[derive(Debug)]
pub struct RecordBatchBuilder {
    settings: BatchSettings,
    /// The serialized records, uncompressed; in magic 2 after room for the header.
    buffer: Vec<u8>,
    records_count: i32,
    last_offset: Option<i64>,
    base_timestamp: Option<i64>,
    max_timestamp: i64,
    offset_of_max_timestamp: i64,
    estimated_compression_ratio: f32,
    compression_ratio: f32,
    state: State,
}

impl Default for RecordBatchBuilder {
    /// A builder with the default settings, which are valid.
    fn default() -> Self {
        Self::unchecked(BatchSettings::default())
    }
}

impl RecordBatchBuilder {
    /// A builder for a batch of this appending.
    ///
    /// # Errors
    /// What the magic does not have ([`BatchSettings::check`]).
    pub fn new(settings: BatchSettings) -> Result<Self, BuildFault> {
        settings.check()?;
        Ok(Self::unchecked(settings))
    }

    fn unchecked(settings: BatchSettings) -> Self {
        Self {
            settings,
            buffer: Vec::new(),
            records_count: 0,
            last_offset: None,
            base_timestamp: settings.delete_horizon_ms,
            max_timestamp: NO_TIMESTAMP,
            offset_of_max_timestamp: -1,
            estimated_compression_ratio: 1.0,
            compression_ratio: 1.0,
            state: State::Open,
        }
    }

    /// Drops the records and begins another batch, with the same estimate of the compression ratio. The memory is reused, up to
    /// [`MAX_POOLED_BUFFER`].
    ///
    /// # Errors
    /// As [`new`](Self::new); the builder is unchanged then.
    pub fn reset(&mut self, settings: BatchSettings) -> Result<(), BuildFault> {
        settings.check()?;
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.capacity() > MAX_POOLED_BUFFER {
            buffer = Vec::new();
        }
        buffer.clear();
        let estimated_compression_ratio = self.estimated_compression_ratio;
        *self = Self { buffer, estimated_compression_ratio, ..Self::unchecked(settings) };
        Ok(())
    }

    /// The settings of the batch.
    pub fn settings(&self) -> &BatchSettings {
        &self.settings
    }

    /// The offset that follows the last record; the base offset before the first.
    pub fn next_offset(&self) -> i64 {
        self.last_offset.map_or(self.settings.base_offset, |last| last.wrapping_add(1))
    }

    /// Appends a record. [`append_record`](Self::append_record) does the same for a [`Record`].
    ///
    /// # Errors
    /// An offset that does not increase, a negative timestamp other than -1, headers before magic 2, a record or
    /// batch above the limit of 2^31 - 1 bytes, a control batch. The builder is unchanged then.
    #[inline]
    pub fn append(
        &mut self,
        offset: i64,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: Headers<'_>,
    ) -> Result<(), BuildFault> {
        self.append_any(Appending::Data, offset, timestamp, key, value, headers).map(drop)
    }

    /// Appends a record if the batch stays within its write limit and the offset is not too far from the base offset. Returns
    /// whether the record was appended. The first record of a batch always fits. It combines [`has_room_for`](Self::has_room_for)
    /// and [`append`](Self::append) and computes the size once.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    #[inline]
    pub fn append_if_room(
        &mut self,
        offset: i64,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: Headers<'_>,
    ) -> Result<bool, BuildFault> {
        let delta = offset.checked_sub(self.settings.base_offset);
        let too_far = self.records_count > 0 && delta.is_none_or(|delta| delta > i64::from(i32::MAX));
        if too_far || self.is_full() {
            return Ok(false);
        }
        self.append_any(Appending::DataIfRoom, offset, timestamp, key, value, headers)
    }

    /// Appends a record with its own offset and timestamp, as a control record to a control batch.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_record(&mut self, record: &Record<'_>) -> Result<(), BuildFault> {
        let Record { offset, timestamp, key, value, headers, .. } = *record;
        let appending = if self.settings.is_control_batch { Appending::Control } else { Appending::Data };
        self.append_any(appending, offset, timestamp, key, value, headers).map(drop)
    }

    /// Appends a control record, whose key follows from its type.
    ///
    /// # Errors
    /// As [`append`](Self::append), and a batch that is not a control batch; a leader change without a leader epoch.
    pub fn append_control_record(
        &mut self,
        offset: i64,
        timestamp: i64,
        record_type: ControlRecordType,
        value: &[u8],
    ) -> Result<(), BuildFault> {
        if let ControlRecordType::Unknown(type_id) = record_type {
            return Err(BuildFault::UnknownControlType { type_id });
        }
        if record_type == ControlRecordType::LeaderChange
            && self.settings.partition_leader_epoch == super::batch::NO_PARTITION_LEADER_EPOCH
        {
            return Err(BuildFault::NoLeaderEpoch);
        }
        self.append_any(Appending::Control, offset, timestamp, Some(&record_type.key()), Some(value), Headers::EMPTY)
            .map(drop)
    }

    /// Appends the marker that ends the producer's transaction (KIP-98).
    ///
    /// # Errors
    /// As [`append_control_record`](Self::append_control_record), and a batch without producer id or transaction.
    pub fn append_end_txn_marker(
        &mut self,
        offset: i64,
        timestamp: i64,
        is_commit: bool,
        coordinator_epoch: i32,
    ) -> Result<(), BuildFault> {
        if self.settings.producer_id == super::batch::NO_PRODUCER_ID {
            return Err(BuildFault::TransactionWithoutProducerId);
        }
        if !self.settings.is_transactional {
            return Err(BuildFault::MarkerOutsideTransaction);
        }
        let record_type = if is_commit { ControlRecordType::Commit } else { ControlRecordType::Abort };
        self.append_control_record(offset, timestamp, record_type, &end_txn_marker_value(coordinator_epoch))
    }

    /// Appends a record, except an [`Appending::DataIfRoom`] that does not fit. Returns whether it was appended.
    #[inline]
    fn append_any(
        &mut self,
        appending: Appending,
        offset: i64,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: Headers<'_>,
    ) -> Result<bool, BuildFault> {
        self.check_record(appending == Appending::Control, offset, timestamp, &headers)?;
        let timestamp = if self.settings.magic >= 2 {
            let fields = self.fields(offset, timestamp, key, value, headers);
            let body_size = fields.body_size();
            let size = v2::record_size(body_size);
            if appending == Appending::DataIfRoom && !self.fits(size) {
                return Ok(false);
            }
            self.check_size(size)?;
            self.put_v2(&fields, body_size as i32)?;
            self.base_timestamp.get_or_insert(timestamp);
            timestamp
        } else {
            let size = v0_v1::entry_size(self.settings.magic, key, value);
            if appending == Appending::DataIfRoom && !self.fits(size) {
                return Ok(false);
            }
            self.check_size(size)?;
            self.put_v0_v1(offset, timestamp, key, value)?
        };
        self.records_count = self.records_count.saturating_add(1);
        self.last_offset = Some(offset);
        if self.settings.magic > 0 && timestamp > self.max_timestamp {
            self.max_timestamp = timestamp;
            self.offset_of_max_timestamp = offset;
        }
        Ok(true)
    }

    #[inline]
    fn check_record(
        &self,
        is_control: bool,
        offset: i64,
        timestamp: i64,
        headers: &Headers<'_>,
    ) -> Result<(), BuildFault> {
        let BatchSettings { magic, base_offset, is_control_batch, .. } = self.settings;
        match self.state {
            State::Open => {}
            State::Built(_) | State::Finished(_) => return Err(BuildFault::Closed),
            State::Aborted => return Err(BuildFault::Aborted),
        }
        if is_control != is_control_batch {
            return Err(BuildFault::ControlMismatch { is_control_batch });
        }
        if let Some(previous) = self.last_offset.filter(|&previous| offset <= previous) {
            return Err(BuildFault::OffsetOrder { offset, previous });
        }
        if offset < base_offset {
            return Err(BuildFault::OffsetBeforeBase { offset, base_offset });
        }
        if offset.checked_sub(base_offset).is_none_or(|delta| delta > i64::from(i32::MAX)) {
            return Err(BuildFault::OffsetDelta { offset, base_offset });
        }
        settings::check_timestamp(timestamp)?;
        if magic < 2 && !headers.is_empty() {
            return Err(BuildFault::Unsupported { magic, feature: Feature::Headers });
        }
        Ok(())
    }

    /// The serialized records so far.
    fn records(&self) -> &[u8] {
        // Before the first record the buffer is empty: there is no room for the header yet.
        if self.buffer.is_empty() { &[] } else { &self.buffer[self.header_room()..] }
    }

    /// The fields of a record of magic 2.
    #[inline]
    fn fields<'r>(
        &self,
        offset: i64,
        timestamp: i64,
        key: Option<&'r [u8]>,
        value: Option<&'r [u8]>,
        headers: Headers<'r>,
    ) -> v2::Fields<'r> {
        v2::Fields {
            offset_delta: offset.wrapping_sub(self.settings.base_offset) as i32,
            timestamp_delta: timestamp.wrapping_sub(self.base_timestamp.unwrap_or(timestamp)),
            key,
            value,
            headers,
        }
    }

    #[inline]
    fn put_v2(&mut self, fields: &v2::Fields<'_>, body_size: i32) -> Result<(), OutOfMemory> {
        if self.buffer.is_empty() {
            self.buffer.resize(RECORD_BATCH_OVERHEAD, 0);
        }
        v2::put_record(&mut self.buffer, fields, body_size)
    }

    /// Writes a message and returns its timestamp.
    fn put_v0_v1(
        &mut self,
        offset: i64,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<i64, OutOfMemory> {
        let BatchSettings { magic, timestamp_type, base_offset, log_append_time, .. } = self.settings;
        let relative = magic > 0 && self.settings.is_compressed();
        let timestamp = if timestamp_type == TimestampType::LogAppendTime { log_append_time } else { timestamp };
        let head = v0_v1::Head { magic, compression_type: CompressionType::None, timestamp_type, timestamp };
        let offset = if relative { offset.wrapping_sub(base_offset) } else { offset };
        v0_v1::put_entry(&mut self.buffer, offset, &head, key, value)?;
        Ok(timestamp)
    }

    /// Sets the producer state.
    ///
    /// # Errors
    /// The batch is built, or the magic has no producer ids.
    pub fn set_producer_state(
        &mut self,
        producer_id: i64,
        producer_epoch: i16,
        base_sequence: i32,
        is_transactional: bool,
    ) -> Result<(), BuildFault> {
        if self.is_closed() {
            return Err(BuildFault::Closed);
        }
        self.reopen_and_rewrite_producer_state(producer_id, producer_epoch, base_sequence, is_transactional)
    }

    /// Sets the producer state, also of a batch that is built, which can be built again with it.
    ///
    /// # Errors
    /// The magic has no producer ids.
    pub fn reopen_and_rewrite_producer_state(
        &mut self,
        producer_id: i64,
        producer_epoch: i16,
        base_sequence: i32,
        is_transactional: bool,
    ) -> Result<(), BuildFault> {
        let settings = BatchSettings { producer_id, producer_epoch, base_sequence, is_transactional, ..self.settings };
        settings.check()?;
        self.settings = settings;
        Ok(())
    }

    /// Sets the last offset of the batch, for a last record that compaction removed.
    ///
    /// # Errors
    /// The offset is below that of the last record or too far from the base offset, or the batch is built.
    pub fn override_last_offset(&mut self, offset: i64) -> Result<(), BuildFault> {
        let previous = self.last_offset.unwrap_or(offset);
        if offset == previous && self.last_offset.is_some() {
            return Ok(());
        }
        self.check_record(self.settings.is_control_batch, offset, NO_TIMESTAMP, &Headers::EMPTY)?;
        self.last_offset = Some(offset);
        Ok(())
    }

    /// Drops the records; nothing can be appended or built until [`reset`](Self::reset).
    pub fn abort(&mut self) {
        self.buffer.clear();
        self.records_count = 0;
        self.state = State::Aborted;
    }

    /// The largest timestamp and its offset, as in Kafka: if the result is one batch, the last offset of the batch.
    pub fn info(&self) -> RecordsInfo {
        let BatchSettings { magic, timestamp_type, base_offset, log_append_time, .. } = self.settings;
        let one_batch = magic >= 2 || self.settings.is_compressed();
        let last_offset = self.last_offset.unwrap_or(-1);
        let (max_timestamp, own_offset) = match timestamp_type {
            TimestampType::LogAppendTime => (log_append_time, base_offset),
            _ if self.max_timestamp == NO_TIMESTAMP => {
                return RecordsInfo { max_timestamp: NO_TIMESTAMP, shallow_offset_of_max_timestamp: -1 };
            }
            _ => (self.max_timestamp, self.offset_of_max_timestamp),
        };
        RecordsInfo { max_timestamp, shallow_offset_of_max_timestamp: if one_batch { last_offset } else { own_offset } }
    }

    /// The number of records appended so far.
    pub fn records_count(&self) -> i32 {
        self.records_count
    }

    /// The ratio of compressed to uncompressed bytes, without the header; 1 before the batch is built.
    pub fn compression_ratio(&self) -> f32 {
        self.compression_ratio
    }

    /// Whether the batch is built.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Built(_) | State::Finished(_))
    }
}
