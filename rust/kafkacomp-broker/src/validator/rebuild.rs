//! Rebuilding the records of a set as one batch of the topic's format and codec.
//!
//! Kafka checks all records before it writes the first one, except if uncompressed records change their format: then it stops at
//! the first fault of either kind. Here the records are checked and written in one pass in both cases; if Kafka checks first, a
//! fault of the writing is kept until the checks are done, so that the same fault is reported. Header keys are decoded and encoded
//! as strings, so that malformed UTF-8 becomes U+FFFD.
//! Source: `LogValidator.buildRecordsAndAssignOffsets`, `convertAndAssignOffsetsNonCompressed`.

use super::fault::ValidationFault;
use super::items::{Item, Reading, at, each_record};
use super::record_set::{batches, first_batch};
use super::result::{RecordValidationStats, Run, ValidationResult};
use super::rules::{RecordRules, validate_batch};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::BuildFault;
use kafkacomp_records::record::Error;
use kafkacomp_records::record::batch::NO_TIMESTAMP;
use kafkacomp_records::record::builder::{BatchSettings, HeadersBuffer, RecordBatchBuilder};
use kafkacomp_records::record::java_string::decode_utf8;
use kafkacomp_records::record::{RecordBatch, RecordReader, TimestampType};

/// Reader and builder, reused between calls.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) reader: RecordReader,
    pub(super) writer: Writer,
}

/// The builder of rebuilt batches, made for the first one.
#[derive(Debug, Default)]
pub(super) struct Writer {
    builder: Option<RecordBatchBuilder>,
    headers: HeadersBuffer,
}

/// A batch that is being built.
#[derive(Debug)]
pub(super) struct Rebuild<'c> {
    run: Run<'c>,
    writer: &'c mut Writer,
    settings: BatchSettings,
    /// Where the first batch begins.
    position: u64,
    next_offset: i64,
    /// The first fault of the writing.
    failure: Option<Error>,
}

impl<'c> Rebuild<'c> {
    /// Begins a batch with the producer state of `first`; a control batch becomes a data batch.
    pub(super) fn new(
        run: Run<'c>,
        writer: &'c mut Writer,
        compression: Compression,
        first: &RecordBatch<'_>,
        offset: i64,
    ) -> Self {
        let append_time = run.config.timestamp_type == TimestampType::LogAppendTime;
        let settings = BatchSettings {
            magic: run.config.to_magic,
            compression,
            timestamp_type: run.config.timestamp_type,
            base_offset: offset,
            log_append_time: if append_time { run.now } else { NO_TIMESTAMP },
            producer_id: first.producer_id(),
            producer_epoch: first.producer_epoch(),
            base_sequence: first.base_sequence(),
            is_transactional: first.is_transactional(),
            partition_leader_epoch: run.config.partition_leader_epoch,
            ..BatchSettings::default()
        };
        let position = first.position();
        let started = match &mut writer.builder {
            Some(builder) => builder.reset(settings),
            none => RecordBatchBuilder::new(settings).map(|builder| *none = Some(builder)),
        };
        let failure = started.err().map(|fault| Error::Rebuild { position, fault });
        Self { run, writer, settings, position, next_offset: offset, failure }
    }

    /// Appends a record unless one has failed before; a failure is kept for [`finish`](Self::finish).
    #[inline]
    pub(super) fn append_unless_failed(&mut self, record: &Item<'_, '_>, batch: &RecordBatch<'_>) {
        if self.failure.is_none() {
            self.failure = self.append(record, batch).err();
        }
    }

    #[inline]
    fn append(&mut self, record: &Item<'_, '_>, batch: &RecordBatch<'_>) -> kafkacomp_records::record::Result<()> {
        let (key, value, headers) = record.fields().map_err(at(batch))?;
        let Writer { builder: Some(builder), headers: buffer } = &mut *self.writer else { return Ok(()) };
        let headers = if headers.is_empty() {
            headers
        } else {
            buffer.clear();
            for (key, value) in headers {
                let pushed = decode_utf8(key).and_then(|key| buffer.push(&key, value));
                pushed.map_err(|error| Error::out_of_memory(error, batch.position()))?;
            }
            buffer.as_headers()
        };
        let timestamp = record.timestamp().map_err(at(batch))?;
        let appended = builder.append(self.next_offset, timestamp, key, value, headers);
        appended.map_err(|fault| rebuild_error(batch.position(), fault))?;
        self.next_offset = self.next_offset.wrapping_add(1);
        Ok(())
    }

    /// The fault so far.
    fn check(&mut self) -> kafkacomp_records::record::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Compresses the records and appends the batch to `out`; `read` is the number of bytes that Kafka counts for reading.
    pub(super) fn finish(mut self, read: i32, out: &mut Vec<u8>) -> crate::Result<ValidationResult> {
        self.check()?;
        let Self { run, writer, settings, position, next_offset, .. } = self;
        let Some(builder) = &mut writer.builder else {
            return Err(rebuild_error(position, BuildFault::Closed).into());
        };
        builder.build(out).map_err(|fault| rebuild_error(position, fault))?;
        let one_batch = settings.magic >= 2 || settings.compression.compression_type() != CompressionType::None;
        if builder.records_count() == 0 && one_batch && settings.timestamp_type == TimestampType::LogAppendTime {
            // Kafka reads the last offset of a batch without records, and fails.
            return Err(crate::Error::Refused { position, fault: ValidationFault::NoRecords });
        }
        let written = builder.uncompressed_bytes_written() as i32;
        Ok(ValidationResult {
            log_append_time_ms: run.now,
            max_timestamp_ms: builder.info().max_timestamp,
            next_offset,
            message_size_maybe_changed: true,
            record_validation_stats: RecordValidationStats {
                temporary_memory_bytes: i64::from(read.wrapping_add(written)),
                num_records_converted: builder.records_count(),
            },
        })
    }
}

fn rebuild_error(position: u64, fault: BuildFault) -> Error {
    Error::Rebuild { position, fault }
}

/// Converts uncompressed records to the topic's format.
pub(super) fn convert(
    run: Run<'_>,
    tools: &mut Tools,
    records: &[u8],
    offset: i64,
    out: &mut Vec<u8>,
) -> crate::Result<ValidationResult> {
    let Tools { reader, writer } = tools;
    // Kafka reads every field of every record once for an estimate of the size, before it checks anything.
    for batch in batches(records) {
        let batch = batch?;
        each_record(reader, &batch, Reading::Iterator, |record| Ok(record.fields().map(drop).map_err(at(&batch))?))?;
    }
    let first = first_batch(records, CompressionType::None, run.config.era)?;
    let mut rebuild = Rebuild::new(run, writer, Compression::of(CompressionType::None), &first, offset);
    rebuild.check()?;
    for batch in batches(records) {
        let batch = batch?;
        validate_batch(run.config, first.magic(), &batch)?;
        let mut rules = RecordRules::new(run.config, &batch, run.now);
        each_record(reader, &batch, Reading::Iterator, |record| {
            if rules.passes(record)? && rules.all_passed() {
                rebuild.append(record, &batch)?;
            }
            Ok(())
        })?;
        rules.finish()?;
    }
    rebuild.finish(0, out)
}
