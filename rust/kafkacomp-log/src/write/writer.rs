//! Writes batches into a partition's folder.

use std::mem;
use std::path::Path;

use super::staging::StagedFile;
use super::{DEFAULT_INDEX_INTERVAL_BYTES, ProducerState, SegmentIndexes, Staging};
use crate::continuity::missing::{MissingRange, MissingReason};
use crate::continuity::missing_ranges::MissingRanges;
use crate::error::Error;
use crate::index::checkpoint::{LeaderEpochEntry, encode_leader_epoch_checkpoint};
use crate::index::partition_metadata::PartitionMetadata;
use kafkacomp_records::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_records::record::{self, Batches, RecordBatch, RecordReader};
use kafkacomp_records::uuid::Uuid;

/// Kafka's default of `segment.bytes`.
pub const DEFAULT_SEGMENT_BYTES: u32 = 1 << 30;

/// Options for writing a partition's folder.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// The most bytes of a segment, unless a single batch is larger (`segment.bytes`).
    pub segment_bytes: u32,
    /// The number of bytes of the log between two index entries (`index.interval.bytes`).
    pub index_interval_bytes: u32,
    /// The topic's id, for `partition.metadata`.
    pub topic_id: Option<Uuid>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            index_interval_bytes: DEFAULT_INDEX_INTERVAL_BYTES,
            topic_id: None,
        }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteReport {
    /// The number of segments.
    pub segments: u64,
    /// The number of batches.
    pub batches: u64,
    /// The size of all `.log` files in bytes.
    pub bytes: u64,
    /// The base offset of the first segment.
    pub log_start_offset: i64,
    /// One more than the last offset.
    pub log_end_offset: i64,
}

/// Writes one partition's folder; see [`super`].
#[derive(Debug)]
pub struct LogWriter {
    staging: Staging,
    options: WriteOptions,
    log: StagedFile,
    indexes: SegmentIndexes,
    producers: ProducerState,
    epochs: Vec<LeaderEpochEntry>,
    reader: RecordReader,
    report: WriteReport,
    /// The base offset of the segment that the next batch begins.
    next_segment: Option<i64>,
    /// The offset after the last batch, or the start of the log.
    expected: i64,
    gaps: MissingRanges,
}

impl LogWriter {
    /// A writer of the new folder `target`, whose first segment begins at `base_offset`.
    ///
    /// # Errors
    /// `target` exists, or an I/O error.
    pub fn create(target: &Path, base_offset: i64, options: WriteOptions) -> Result<Self, Error> {
        let staging = Staging::new(target)?;
        let log = staging.create(&segment_name(base_offset, "log"))?;
        let report = WriteReport {
            segments: 1,
            log_start_offset: base_offset,
            log_end_offset: base_offset,
            ..Default::default()
        };
        Ok(Self {
            staging,
            options,
            log,
            indexes: SegmentIndexes::new(base_offset, options.index_interval_bytes),
            producers: ProducerState::new(),
            epochs: Vec::new(),
            reader: RecordReader::new(DEFAULT_MAX_OUTPUT_SIZE),
            report,
            next_segment: None,
            expected: base_offset,
            gaps: MissingRanges::default(),
        })
    }

    /// Sets the state of the partition before the first batch: producers and leader epochs. It must be called before a batch
    /// is appended. Epochs that begin after the end of the log are dropped, as by a broker.
    ///
    /// # Errors
    /// An I/O error.
    pub fn set_history(&mut self, producers: ProducerState, epochs: Vec<LeaderEpochEntry>) -> Result<(), Error> {
        if !producers.is_empty() {
            let name = segment_name(self.report.log_start_offset, "snapshot");
            self.staging.write(&name, &producers.snapshot())?;
        }
        self.resume(producers, epochs);
        Ok(())
    }

    /// As [`set_history`](Self::set_history), for a log that already has the snapshot.
    pub(super) fn resume(&mut self, producers: ProducerState, epochs: Vec<LeaderEpochEntry>) {
        self.producers = producers;
        self.epochs = epochs;
    }

    /// The temporary folder, for other files.
    pub fn staging(&self) -> &Staging {
        &self.staging
    }

    /// One more than the last offset so far.
    pub fn log_end_offset(&self) -> i64 {
        self.report.log_end_offset
    }

    /// The state of the partition's producers so far.
    pub fn producers(&self) -> &ProducerState {
        &self.producers
    }

    /// Appends complete batches of any magic, whose offsets are set.
    ///
    /// # Errors
    /// Offsets that are not greater than the ones before, bytes that are not batches, or an I/O error.
    pub fn append(&mut self, batches: &[u8]) -> Result<(), Error> {
        let mut complete = Batches::new(batches, 0);
        for batch in complete.by_ref() {
            self.append_batch(&batch?)?;
        }
        let position = complete.position();
        if position < batches.len() as u64 {
            let (available, needed) = ((batches.len() as u64).saturating_sub(position), 0);
            return Err(record::Error::IncompleteBatch { position, available, needed }.into());
        }
        Ok(())
    }

    /// Appends one batch.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_batch(&mut self, batch: &RecordBatch<'_>) -> Result<(), Error> {
        let first = match batch.base_offset() {
            Some(offset) => offset,
            None => self.reader.base_offset(batch)?,
        };
        let (last, size) = (batch.last_offset(), batch.size_in_bytes());
        if first < self.report.log_end_offset || last < first || last == i64::MAX {
            return Err(Error::OffsetOrder { previous: self.report.log_end_offset.saturating_sub(1), first, last });
        }
        if let Some(base_offset) = self.next_segment.take() {
            self.roll(base_offset.min(first).max(self.report.log_end_offset))?;
        }
        if self.is_full(last, size) {
            self.roll(first)?;
        }
        if !self.indexes.can_hold(last, size) {
            return Err(Error::BatchTooLarge { size: size as u64, first, last });
        }
        let aborted = self.producers.append(batch, &mut self.reader)?;
        self.note_epoch(batch, first);
        self.log.append(batch.data())?;
        self.indexes.append(batch);
        if let Some(transaction) = aborted {
            self.indexes.add_aborted(transaction);
        }
        self.report.batches = self.report.batches.saturating_add(1);
        self.report.bytes = self.report.bytes.saturating_add(size as u64);
        if let Some(gap) = MissingRange::between(self.expected, first, MissingReason::Gap) {
            self.gaps.push(gap);
        }
        self.expected = last.saturating_add(1);
        self.report.log_end_offset = self.expected;
        Ok(())
    }

    /// Begins a segment with the next batch: at `base_offset`, but not before the end of the log or after the first offset of
    /// the batch. Without a next batch, the segment is empty.
    ///
    /// # Errors
    /// An I/O error.
    pub fn begin_segment(&mut self, base_offset: i64) -> Result<(), Error> {
        self.end_segment()?;
        self.next_segment = Some(base_offset);
        Ok(())
    }

    /// Writes the segment for which no batch was appended.
    fn end_segment(&mut self) -> Result<(), Error> {
        match self.next_segment.take().filter(|&base_offset| base_offset >= self.report.log_end_offset) {
            Some(base_offset) => self.roll(base_offset),
            None => Ok(()),
        }
    }

    fn is_full(&self, last_offset: i64, size: usize) -> bool {
        let grown = self.indexes.position().saturating_add(size as u64);
        self.indexes.position() > 0
            && (grown > u64::from(self.options.segment_bytes) || !self.indexes.can_hold(last_offset, size))
    }

    /// Closes the segment and begins the next one at `base_offset`. Does nothing if the segment begins there.
    ///
    /// # Errors
    /// The offset is less than the end of the log, or an I/O error.
    pub fn roll(&mut self, base_offset: i64) -> Result<(), Error> {
        if base_offset == self.indexes.base_offset() {
            return Ok(());
        }
        if base_offset < self.report.log_end_offset {
            let previous = self.report.log_end_offset.saturating_sub(1);
            return Err(Error::OffsetOrder { previous, first: base_offset, last: base_offset });
        }
        let log = self.staging.create(&segment_name(base_offset, "log"))?;
        let indexes = SegmentIndexes::new(base_offset, self.options.index_interval_bytes);
        close(&self.staging, mem::replace(&mut self.log, log), mem::replace(&mut self.indexes, indexes))?;
        self.staging.write(&segment_name(base_offset, "snapshot"), &self.producers.snapshot())?;
        self.report.segments = self.report.segments.saturating_add(1);
        self.report.log_end_offset = base_offset;
        Ok(())
    }

    fn note_epoch(&mut self, batch: &RecordBatch<'_>, start_offset: i64) {
        let epoch = batch.partition_leader_epoch();
        if batch.magic() >= 2 && epoch >= 0 && self.epochs.last().is_none_or(|latest| latest.epoch < epoch) {
            self.epochs.push(LeaderEpochEntry { epoch, start_offset });
        }
    }

    /// Closes the last segment and publishes the folder.
    ///
    /// # Errors
    /// The target was created in the meantime, or an I/O error.
    pub fn finish(self) -> Result<WriteReport, Error> {
        self.close()?.publish()
    }

    /// Closes the last segment and writes all other files of the folder, which is not published yet.
    ///
    /// # Errors
    /// An I/O error.
    pub fn close(mut self) -> Result<ClosedLog, Error> {
        self.end_segment()?;
        let Self { staging, options, log, indexes, producers, mut epochs, report, mut gaps, expected, .. } = self;
        let last_base_offset = indexes.base_offset();
        close(&staging, log, indexes)?;
        if report.log_end_offset > last_base_offset {
            staging.write(&segment_name(report.log_end_offset, "snapshot"), &producers.snapshot())?;
        }
        epochs.retain(|entry| entry.start_offset < report.log_end_offset.max(1));
        staging.write("leader-epoch-checkpoint", encode_leader_epoch_checkpoint(&epochs).as_bytes())?;
        if let Some(topic_id) = options.topic_id {
            let metadata = PartitionMetadata { version: 0, topic_id };
            staging.write("partition.metadata", metadata.to_string().as_bytes())?;
        }
        // Segments without a batch follow the last one.
        if let Some(gap) = MissingRange::between(expected, report.log_end_offset, MissingReason::Gap) {
            gaps.push(gap);
        }
        Ok(ClosedLog { staging, report, gaps })
    }
}

/// A partition's folder that is complete, but not published.
#[derive(Debug)]
pub struct ClosedLog {
    staging: Staging,
    report: WriteReport,
    gaps: MissingRanges,
}

impl ClosedLog {
    /// The temporary folder, for other files.
    pub fn staging(&self) -> &Staging {
        &self.staging
    }

    /// What was written.
    pub fn report(&self) -> WriteReport {
        self.report
    }

    /// Offsets between two batches that no batch has.
    pub fn gaps(&self) -> &MissingRanges {
        &self.gaps
    }

    /// Publishes the folder.
    ///
    /// # Errors
    /// The target was created in the meantime, or an I/O error.
    pub fn publish(self) -> Result<WriteReport, Error> {
        self.staging.publish()?;
        Ok(self.report)
    }
}

fn close(staging: &Staging, log: StagedFile, indexes: SegmentIndexes) -> Result<(), Error> {
    log.finish()?;
    let base_offset = indexes.base_offset();
    let [offsets, times, transactions] = indexes.finish();
    staging.write(&segment_name(base_offset, "index"), &offsets)?;
    staging.write(&segment_name(base_offset, "timeindex"), &times)?;
    if !transactions.is_empty() {
        staging.write(&segment_name(base_offset, "txnindex"), &transactions)?;
    }
    Ok(())
}

/// The name of a file of a segment.
pub fn segment_name(base_offset: i64, extension: &str) -> String {
    format!("{base_offset:020}.{extension}")
}
