//! Any bytes as the record set of a produce request: with any topic settings and broker version, the validator neither panics
//! nor exceeds the output limit.

#![no_main]

use kafkacomp_broker::profile::{Append, Broker, append};
use kafkacomp_broker::validator::{
    AnalyzeOptions, AppendOrigin, LogValidator, ValidatorConfig, analyze_and_validate_records,
};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::TimestampType;
use libfuzzer_sys::fuzz_target;

const CAP: usize = 1 << 20;
const ORIGINS: [AppendOrigin; 4] =
    [AppendOrigin::Replication, AppendOrigin::Coordinator, AppendOrigin::Client, AppendOrigin::RaftLeader];

fuzz_target!(|input: (u8, u8, u8, u8, bool, bool, i64, i64, &[u8])| {
    let (source, target, magic, chosen, compacted, append_time, offset, now, records) = input;
    let codec = |id: u8| CompressionType::for_id(id % 5).unwrap_or(CompressionType::None);
    let timestamp_type = if append_time { TimestampType::LogAppendTime } else { TimestampType::CreateTime };
    let origin = ORIGINS[usize::from(chosen) % ORIGINS.len()];
    let config = ValidatorConfig {
        compacted,
        to_magic: (magic % 3) as i8,
        timestamp_type,
        origin,
        max_output_size: CAP,
        ..ValidatorConfig::new(codec(source), Compression::of(codec(target)))
    };
    let mut out = Vec::new();
    let validated =
        LogValidator::new(config).validate_messages_and_assign_offsets(&mut records.to_vec(), offset, now, &mut out);
    drop(validated);
    let options = AnalyzeOptions { origin, max_output_size: CAP, ..AnalyzeOptions::default() };
    drop(analyze_and_validate_records(records, &options));
    let topic = Append { compacted, timestamp_type, offset, now, max_output_size: CAP, ..Append::default() };
    drop(append(Broker::ALL[usize::from(chosen) % Broker::ALL.len()], &topic, records));
});
