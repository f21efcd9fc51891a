//! Uncompressed records of the topic's format: checked, with offsets and timestamps set in place.
//! Source: `LogValidator.assignOffsetsNonCompressed`.

use super::items::{Reading, at, each_record};
use super::record_set::{batch_at, first_batch};
use super::result::{Run, ValidationResult};
use super::rules::{RecordRules, validate_batch};
use kafkacomp_records::CompressionType;
use kafkacomp_records::record::Error;
use kafkacomp_records::record::batch::NO_TIMESTAMP;
use kafkacomp_records::record::{MutableRecordBatch, RecordReader, TimestampType};

/// Checks and changes the headers of `records`, batch by batch. If the set is refused, the headers of earlier batches are already
/// changed.
pub(super) fn assign_offsets(
    run: &Run<'_>,
    reader: &mut RecordReader,
    records: &mut [u8],
    mut offset: i64,
) -> crate::Result<ValidationResult> {
    let config = run.config;
    let first_magic = first_batch(records, CompressionType::None, config.era)?.magic();
    let append_time = config.timestamp_type == TimestampType::LogAppendTime;
    let mut max_timestamp = NO_TIMESTAMP;
    let mut position = 0usize;
    while let Some(batch) = batch_at(records, position)? {
        validate_batch(config, first_magic, &batch)?;
        let mut max_batch_timestamp = NO_TIMESTAMP;
        let mut rules = RecordRules::new(config, &batch, run.now);
        each_record(reader, &batch, Reading::Iterator, |record| {
            rules.passes(record)?;
            offset = offset.wrapping_add(1);
            max_batch_timestamp = max_batch_timestamp.max(record.timestamp().map_err(at(&batch))?);
            Ok(())
        })?;
        rules.finish()?;
        if batch.magic() > 0 {
            max_timestamp = max_timestamp.max(max_batch_timestamp);
        }
        let end = position.saturating_add(batch.size_in_bytes());
        let mut header = writable(records, position, end)?;
        header.set_last_offset(offset.wrapping_sub(1));
        header.set_partition_leader_epoch(config.partition_leader_epoch);
        header.set_max_timestamp(config.timestamp_type, if append_time { run.now } else { max_batch_timestamp })?;
        position = end;
    }
    if append_time {
        max_timestamp = if config.to_magic == 0 { NO_TIMESTAMP } else { run.now };
    }
    Ok(run.in_place(max_timestamp, offset, 0))
}

/// The batch in the bytes from `start` to `end`, for writing.
pub(super) fn writable(
    records: &mut [u8],
    start: usize,
    end: usize,
) -> kafkacomp_records::record::Result<MutableRecordBatch<'_>> {
    let (available, needed) = (records.len() as u64, end as u64);
    let position = start as u64;
    let data = records.get_mut(start..end).ok_or(Error::IncompleteBatch { position, available, needed })?;
    MutableRecordBatch::new(data, position)
}
