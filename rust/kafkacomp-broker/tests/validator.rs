//! The validator returns a result for any bytes, and the batches that it accepts can be read.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use kafkacomp_broker::profile::{Append, Broker, append};
use kafkacomp_broker::validator::{
    AnalyzeOptions, AppendOrigin, LogValidator, ValidatorConfig, analyze_and_validate_records,
};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{BatchSettings, Batches, Headers, RecordBatchBuilder, RecordReader, TimestampType};
use proptest::collection::vec;
use proptest::prelude::*;

/// A limit that no valid record set of these tests reaches.
const CAP: usize = 1 << 20;
const NOW: i64 = 1_700_000_000_000;

fn codec(id: u8) -> CompressionType {
    CompressionType::for_id(id % 5).unwrap()
}

fn batch(magic: i8, id: u8, values: &[Vec<u8>], base_offset: i64) -> Vec<u8> {
    let compression_type = codec(if magic < 2 { id % 4 } else { id });
    let compression = Compression::of(compression_type);
    let settings = BatchSettings { magic, compression, base_offset, ..BatchSettings::default() };
    let mut builder = RecordBatchBuilder::new(settings).unwrap();
    for (index, value) in values.iter().enumerate() {
        let key = (index % 3 > 0).then_some(value.as_slice());
        builder.append(base_offset + index as i64, NOW, key, Some(value), Headers::EMPTY).unwrap();
    }
    let mut out = Vec::new();
    builder.build(&mut out).unwrap();
    out
}

fn config() -> impl Strategy<Value = ValidatorConfig> {
    (0..5_u8, 0..5_u8, 0..3_i8, any::<bool>(), any::<bool>(), 0..4_usize, 0..3_usize).prop_map(
        |(source, target, to_magic, compacted, append_time, origin, limit)| ValidatorConfig {
            to_magic,
            compacted,
            timestamp_type: if append_time { TimestampType::LogAppendTime } else { TimestampType::CreateTime },
            timestamp_before_max_ms: [i64::MAX, 0, 1000][limit],
            origin: [
                AppendOrigin::Client,
                AppendOrigin::Coordinator,
                AppendOrigin::Replication,
                AppendOrigin::RaftLeader,
            ][origin],
            max_output_size: CAP,
            ..ValidatorConfig::new(codec(source), Compression::of(codec(target)))
        },
    )
}

fn numbers() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..1_i64 << 40, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => any::<i64>()]
}

fn corrupt() -> impl Strategy<Value = Vec<u8>> {
    let values = vec(vec(any::<u8>(), 0..40), 0..12);
    let changes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (0..3_i8, 0..5_u8, values, changes, any::<prop::sample::Index>(), 0..4_u8, 1..3_usize).prop_map(
        |(magic, id, values, changes, cut, cuts, times)| {
            let mut data = batch(magic, id, &values, 0).repeat(times);
            for (at, byte) in changes {
                if !data.is_empty() {
                    let at = at.index(data.len());
                    data[at] = byte;
                }
            }
            if cuts == 0 && !data.is_empty() {
                data.truncate(cut.index(data.len()));
            }
            data
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn corrupt_record_sets_have_a_result(data in corrupt(), config in config(), offset in numbers(), now in numbers()) {
        let compacted = config.compacted;
        let timestamp_type = config.timestamp_type;
        let options = AnalyzeOptions { origin: config.origin, max_output_size: CAP, ..AnalyzeOptions::default() };
        drop(analyze_and_validate_records(&data, &options));
        let mut out = Vec::new();
        let mut records = data.clone();
        let validated = LogValidator::new(config).validate_messages_and_assign_offsets(&mut records, offset, now, &mut out);
        prop_assert_eq!(records.len(), data.len());
        prop_assert!(validated.is_ok_and(|result| result.message_size_maybe_changed) || out.is_empty() || out.len() < CAP);
        for broker in Broker::ALL {
            let topic = Append { compacted, timestamp_type, offset, now, max_output_size: CAP, ..Append::default() };
            drop(append(broker, &topic, &data));
        }
    }

    #[test]
    fn random_bytes_have_a_result(data in vec(any::<u8>(), 0..200), config in config()) {
        let mut out = Vec::new();
        drop(LogValidator::new(config).validate_messages_and_assign_offsets(&mut data.clone(), 0, NOW, &mut out));
        for broker in Broker::ALL {
            drop(append(broker, &Append { max_output_size: CAP, ..Append::default() }, &data));
        }
    }

    #[test]
    fn what_is_stored_can_be_read(
        magic in 0..3_i8, source in 0..5_u8, target in 0..5_u8, to_magic in 0..3_i8, append_time in any::<bool>(),
        values in vec(vec(any::<u8>(), 0..40), 1..12), offset in 0..1_i64 << 40,
    ) {
        let source = if magic < 2 { source % 4 } else { source };
        let target = if to_magic < 2 { target % 4 } else { target };
        let timestamp_type = if append_time { TimestampType::LogAppendTime } else { TimestampType::CreateTime };
        let config = ValidatorConfig {
            to_magic,
            timestamp_type,
            ..ValidatorConfig::new(codec(source), Compression::of(codec(target)))
        };
        let sent = batch(magic, source, &values, 0);
        let (mut records, mut rebuilt) = (sent.clone(), Vec::new());
        let mut validator = LogValidator::new(config);
        let result = validator.validate_messages_and_assign_offsets(&mut records, offset, NOW + 5, &mut rebuilt).unwrap();
        let in_place = source == target && magic == to_magic && (to_magic > 0 || source == 0);
        prop_assert_eq!(result.message_size_maybe_changed, !in_place);
        prop_assert_eq!(result.next_offset, offset + values.len() as i64);
        let stored = if in_place { &records } else { &rebuilt };
        let mut reader = RecordReader::new(CAP);
        let mut next = offset;
        for batch in Batches::new(stored, 0) {
            let batch = batch.unwrap();
            batch.ensure_valid().unwrap();
            prop_assert_eq!(batch.magic(), to_magic);
            prop_assert_eq!(batch.compression_type().unwrap(), codec(target));
            for record in reader.records(&batch).unwrap() {
                let record = record.unwrap();
                let index = usize::try_from(next - offset).unwrap();
                prop_assert_eq!(record.offset, next);
                prop_assert_eq!(record.value, Some(values[index].as_slice()));
                prop_assert_eq!(record.key.is_some(), index % 3 > 0);
                next += 1;
            }
        }
        prop_assert_eq!(next, result.next_offset);
    }
}
