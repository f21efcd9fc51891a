//! Records that are or must be compressed: stored in place if only their header has to change, rebuilt otherwise.
//!
//! They are stored in place if source and target codec are the same, the batch has the topic's format, that format is not 0
//! (whose inner offsets are absolute), and the inner offsets are 0 to n-1. Uncompressed control batches are always stored in
//! place.
//! Source: `LogValidator.validateMessagesAndAssignOffsetsCompressed`.

use super::config::{MAX_DECOMPRESSED_MESSAGE_BYTES, ValidatorConfig};
use super::fault::ValidationFault;
use super::in_place::writable;
use super::items::{Item, Reading, at, each_record};
use super::rebuild::{Rebuild, Tools};
use super::record_set::{batches, first_batch};
use super::result::{Run, ValidationResult};
use super::rules::{RecordRules, validate_batch};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::batch::LOG_OVERHEAD;
use kafkacomp_records::record::batch::NO_TIMESTAMP;
use kafkacomp_records::record::builder::BatchSettings;
use kafkacomp_records::record::{RecordBatch, RecordReader, TimestampType};
use kafkacomp_records::varint::size_of_varint;

/// The most elements of an array in the JVM: `Integer.MAX_VALUE` minus a header.
const MAX_JAVA_ARRAY: i32 = i32::MAX - 2;

/// The result of one pass over the records.
struct Pass {
    /// Whether the records can be stored in place.
    in_place: bool,
    max_timestamp: i64,
    validated: i64,
    /// Kafka's count of uncompressed bytes, an `int` that wraps.
    uncompressed: i32,
}

/// Checks `records` and either changes the header of their batch or rebuilds them in `out`.
pub(super) fn validate_and_assign_offsets(
    run: &Run<'_>,
    tools: &mut Tools,
    records: &mut [u8],
    offset: i64,
    out: &mut Vec<u8>,
) -> crate::Result<ValidationResult> {
    let config = run.config;
    let target = config.target_compression.compression_type();
    if let Some(version) = config.inter_broker_protocol_version
        && target == CompressionType::Zstd
        && !version.allows_zstd()
    {
        return Err(crate::Error::Refused { position: 0, fault: ValidationFault::ZstdTooNew { version } });
    }
    let first = first_batch(records, config.source_compression_type, config.era)?;
    if stays(config, &first) {
        let pass = validate(run, &mut tools.reader, records, &first, None)?;
        if pass.in_place {
            let end = first.size_in_bytes();
            return change_header(run, records, end, offset, &pass);
        }
        // An inner offset was not the expected one, so the keys and values are needed.
        if config.fails_on_skipped && first.magic() >= 2 && config.era.requires_one_batch() {
            return Err(crate::Error::Refused { position: 0, fault: ValidationFault::SkippedRecords });
        }
    }
    let Tools { reader, writer } = tools;
    let mut rebuild = Rebuild::new(*run, writer, config.target_compression, &first, offset);
    let pass = validate(run, reader, records, &first, Some(&mut rebuild))?;
    rebuild.finish(pass.uncompressed, out)
}

/// Whether the records can be stored in place, as far as the headers show.
fn stays(config: &ValidatorConfig, first: &RecordBatch<'_>) -> bool {
    let same_codec = config.source_compression_type == config.target_compression.compression_type();
    if !config.era.requires_one_batch() {
        // In these versions the magic of the records decides, when they are read.
        return same_codec && config.to_magic > 0 || uncompressed_control(config, first);
    }
    (same_codec && first.magic() == config.to_magic && config.to_magic != 0) || uncompressed_control(config, first)
}

fn uncompressed_control(config: &ValidatorConfig, first: &RecordBatch<'_>) -> bool {
    config.source_compression_type == CompressionType::None && first.is_control_batch()
}

/// Checks all batches, and appends their records to `rebuild` if there is one.
fn validate(
    run: &Run<'_>,
    reader: &mut RecordReader,
    records: &[u8],
    first: &RecordBatch<'_>,
    mut rebuild: Option<&mut Rebuild<'_>>,
) -> crate::Result<Pass> {
    let config = run.config;
    let skips = rebuild.is_none() && first.magic() >= 2 && config.era.ignores_record_length();
    let reading = match (skips, config.era.requires_one_batch()) {
        (true, _) => Reading::Partial,
        (false, true) => Reading::Streaming,
        (false, false) => Reading::Iterator,
    };
    let mut pass = Pass { in_place: true, max_timestamp: NO_TIMESTAMP, validated: 0, uncompressed: 0 };
    let mut expected_offset = 0_i64;
    for batch in batches(records) {
        let batch = batch?;
        validate_batch(config, first.magic(), &batch)?;
        let compression = Compression::of(batch.compression_type()?);
        let settings = BatchSettings { magic: config.to_magic, compression, ..BatchSettings::default() };
        let header = settings.batch_header_size_in_bytes();
        pass.uncompressed = pass.uncompressed.wrapping_add(header as i32);
        if reading == Reading::Iterator {
            check_array(&batch)?;
        }
        let relative_offsets = batch.magic() > 0 && config.to_magic > 0;
        let mut rules = RecordRules::new(config, &batch, run.now);
        let limit = SizeLimit::of(config, &batch);
        if batch.magic() < 2
            && let Some(limit) = &limit
        {
            // Kafka reads all messages of a wrapper before it returns the first.
            each_record(reader, &batch, Reading::Iterator, |record| limit.check(record))?;
        }
        each_record(reader, &batch, reading, |record| {
            if let Some(limit) = &limit {
                limit.check(record)?;
            }
            let expected = expected_offset;
            expected_offset = expected.wrapping_add(1);
            if !rules.passes(record)? {
                return Ok(());
            }
            if relative_offsets {
                pass.max_timestamp = pass.max_timestamp.max(record.timestamp().map_err(at(&batch))?);
                pass.in_place &= record.offset == expected;
            }
            pass.in_place &= config.era.requires_one_batch() || batch.magic() == config.to_magic;
            pass.validated = pass.validated.wrapping_add(1);
            pass.uncompressed = pass.uncompressed.wrapping_add(record.size_in_bytes);
            if let Some(rebuild) = &mut rebuild
                && rules.all_passed()
            {
                rebuild.append_unless_failed(record, &batch);
            }
            Ok(())
        })?;
        rules.finish()?;
    }
    Ok(pass)
}

/// Checks `max.decompressed.message.bytes`, if it is set, for the records of a compressed batch.
struct SizeLimit {
    most: i32,
    magic: i8,
    position: u64,
}

impl SizeLimit {
    fn of(config: &ValidatorConfig, batch: &RecordBatch<'_>) -> Option<Self> {
        let most = config.max_decompressed_message_bytes;
        let compressed = batch.compression_type().is_ok_and(|found| found != CompressionType::None);
        (compressed && most < MAX_DECOMPRESSED_MESSAGE_BYTES).then(|| Self {
            most,
            magic: batch.magic(),
            position: batch.position(),
        })
    }

    fn check(&self, record: &Item<'_, '_>) -> crate::Result<()> {
        let size = match self.magic {
            0 | 1 => record.size_in_bytes.wrapping_sub(LOG_OVERHEAD as i32),
            _ => body_of(record.size_in_bytes),
        };
        if size <= self.most {
            return Ok(());
        }
        let fault = ValidationFault::RecordSize { size, limit: self.most };
        Err(crate::Error::Refused { position: self.position, fault })
    }
}

/// The size of a record of magic 2 without its length field.
fn body_of(size_in_bytes: i32) -> i32 {
    (1..=5)
        .map(|field| size_in_bytes.wrapping_sub(field))
        .find(|body| size_of_varint(*body) as i32 == size_in_bytes.wrapping_sub(*body))
        .unwrap_or(size_in_bytes)
}

/// Before 2.8 Kafka allocates an array for the declared number of records of a compressed batch, and fails if it is larger than
/// the JVM allows.
fn check_array(batch: &RecordBatch<'_>) -> crate::Result<()> {
    let compressed = batch.compression_type()? != CompressionType::None;
    match batch.records_count() {
        Some(count) if compressed && count >= MAX_JAVA_ARRAY => {
            Err(crate::Error::Refused { position: batch.position(), fault: ValidationFault::JavaMemory })
        }
        _ => Ok(()),
    }
}

/// Sets offset and timestamp of the one batch, which ends at byte `end`.
fn change_header(
    run: &Run<'_>,
    records: &mut [u8],
    end: usize,
    offset: i64,
    pass: &Pass,
) -> crate::Result<ValidationResult> {
    let config = run.config;
    let next_offset = offset.wrapping_add(pass.validated);
    let append_time = config.timestamp_type == TimestampType::LogAppendTime;
    let max_timestamp = if append_time { run.now } else { pass.max_timestamp };
    let mut header = writable(records, 0, end)?;
    header.set_last_offset(next_offset.wrapping_sub(1));
    if config.to_magic >= 1 {
        header.set_max_timestamp(config.timestamp_type, max_timestamp)?;
    }
    if config.to_magic >= 2 {
        header.set_partition_leader_epoch(config.partition_leader_epoch);
    }
    Ok(run.in_place(max_timestamp, next_offset, pass.uncompressed))
}
