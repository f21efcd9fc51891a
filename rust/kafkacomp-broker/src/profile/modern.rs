//! 0.11 and later: the request's rules, the shallow pass, then [`LogValidator`] by the rules of the era.
//! Source: `ProduceRequest.validateRecords`, `UnifiedLog.append`.

use super::message::check_heap;
use super::request::Append;
use super::versions::Broker;
use crate::validator::{
    AnalyzeOptions, Era, LogValidator, MAX_DECOMPRESSED_MESSAGE_BYTES, ValidationFault, ValidatorConfig,
    analyze_and_validate_records, batch_at, trim_invalid_bytes,
};
use kafkacomp_records::CompressionType;
use kafkacomp_records::bytes::field;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::memory;
use kafkacomp_records::record::Error;
use kafkacomp_records::record::batch::{LOG_OVERHEAD, SIZE_LENGTH, SIZE_OFFSET};
use kafkacomp_records::record::{RecordReader, Records};

/// From this version of the request on there must be one batch of magic 2.
const FIRST_WITH_ONE_BATCH: i16 = 3;
/// The version that brought zstd (KIP-110).
const FIRST_WITH_ZSTD: i16 = 7;

pub(super) fn append(broker: Broker, topic: &Append, records: &[u8]) -> crate::Result<Vec<u8>> {
    check_request(broker, topic, records)?;
    let options = AnalyzeOptions {
        max_message_size: Some(topic.max_message_size),
        require_offsets_monotonic: false,
        max_output_size: topic.max_output_size,
        ..AnalyzeOptions::default()
    };
    let info = analyze_and_validate_records(records, &options)?;
    let mut records =
        memory::copy_of(trim_invalid_bytes(records, &info)).map_err(|error| Error::out_of_memory(error, 0))?;
    if records.is_empty() {
        return Ok(records);
    }
    let source = info.source_compression;
    let zstd = |compression_type| compression_type == CompressionType::Zstd;
    if zstd(source) && broker < Broker::V2_8 {
        return Err(Error::UnknownCompressionType { position: 0, id: source.id() }.into());
    }
    check_memory(broker, topic, &records)?;
    let target = topic.compression_type.target_compression_type(source);
    let config = ValidatorConfig {
        compacted: topic.compacted,
        to_magic: broker.to_magic(topic.message_format),
        timestamp_type: topic.timestamp_type,
        timestamp_before_max_ms: topic.timestamp_before_max_ms,
        timestamp_after_max_ms: if broker >= Broker::V3_9 {
            topic.timestamp_after_max_ms
        } else {
            topic.timestamp_before_max_ms
        },
        partition_leader_epoch: topic.partition_leader_epoch,
        max_decompressed_message_bytes: if broker >= Broker::V4_4 {
            topic.max_decompressed_message_bytes
        } else {
            MAX_DECOMPRESSED_MESSAGE_BYTES
        },
        max_output_size: topic.max_output_size,
        era: match broker {
            Broker::V0_11_0 => Era::V0_11,
            Broker::V1_1 => Era::V1_1,
            Broker::V2_8 => Era::V2_8,
            _ => Era::Latest,
        },
        fails_on_skipped: true,
        ..ValidatorConfig::new(source, Compression::of(target))
    };
    let mut rebuilt = Vec::new();
    let mut validator = LogValidator::new(config);
    let result = validator.validate_messages_and_assign_offsets(&mut records, topic.offset, topic.now, &mut rebuilt)?;
    let stored = if result.message_size_maybe_changed { rebuilt } else { records };
    if result.message_size_maybe_changed {
        // Rebuilt records may be larger than the received ones.
        let size = stored.len() as u64;
        if size > topic.max_message_size.max(0) as u64 {
            let fault = ValidationFault::BatchTooLarge { size, limit: topic.max_message_size };
            return Err(crate::Error::Refused { position: 0, fault });
        }
    }
    Ok(stored)
}

/// Checks the rules for a request of this version.
fn check_request(broker: Broker, topic: &Append, records: &[u8]) -> crate::Result<()> {
    // A broker of 4.x refuses older requests (KIP-896).
    let oldest = if broker >= Broker::V4_3 { Some(FIRST_WITH_ONE_BATCH) } else { None };
    let Some(version) = topic.produce_version.or(oldest) else { return Ok(()) };
    if version < FIRST_WITH_ONE_BATCH {
        return Ok(());
    }
    let fail = |position, fault| Err(crate::Error::Refused { position, fault });
    let Some(first) = batch_at(records, 0)? else { return fail(0, ValidationFault::NoBatches) };
    if first.magic() < 2 {
        return fail(0, ValidationFault::ProduceMagic { magic: first.magic() });
    }
    if broker >= Broker::V2_8
        && topic.produce_version.is_some_and(|version| version < FIRST_WITH_ZSTD)
        && first.compression_type()? == CompressionType::Zstd
    {
        return fail(0, ValidationFault::ZstdRequest);
    }
    if batch_at(records, first.size_in_bytes())?.is_some() {
        return fail(first.size_in_bytes() as u64, ValidationFault::MoreThanOneBatch);
    }
    Ok(())
}

/// Kafka allocates memory for a message inside a wrapper according to its size field.
fn check_memory(broker: Broker, topic: &Append, records: &[u8]) -> crate::Result<()> {
    let mut reader = RecordReader::as_broker(topic.max_output_size);
    for batch in kafkacomp_records::record::Batches::new(records, 0) {
        let batch = batch?;
        if batch.magic() >= 2 || batch.compression_type()? == CompressionType::None {
            continue;
        }
        // Other faults are found later, in Kafka's order.
        let _: Option<Records<'_>> = reader.records(&batch).ok();
        let mut rest = reader.payload();
        while let Some((head, body)) = rest.split_first_chunk::<LOG_OVERHEAD>() {
            let size = i32::from_be_bytes(field::<SIZE_OFFSET, SIZE_LENGTH, LOG_OVERHEAD>(head));
            let Ok(size) = usize::try_from(size) else { break };
            let Some(behind) = body.get(size..) else {
                check_heap(broker, size, batch.position())?;
                break;
            };
            rest = behind;
        }
    }
    Ok(())
}
