//! Each large allocation is refused in turn while a broker appends: the result is the right data or an error of
//! [`Category::Resource`], and the process does not abort.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]
#![allow(dead_code, reason = "the crates' tests each use a part of the allocator")]

#[path = "../../kafkacomp-records/tests/failing_allocator/allocator.rs"]
mod allocator;
#[path = "../../kafkacomp-records/tests/failing_allocator/withstands.rs"]
mod withstands;

use allocator::Failing;
use kafkacomp_broker::profile::{Append, Broker, append};
use kafkacomp_broker::validator::BrokerCompressionType;
use kafkacomp_records::record::TimestampType;
use kafkacomp_records::{Category, CompressionType};
use withstands::{Ended, batch, plain, withstands};

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// What brokers of each version store for produce requests of each message format.
#[test]
fn lack_of_memory_is_an_error_of_its_own() {
    let content = plain(3 << 20);
    let values: Vec<&[u8]> = content.chunks(1_300_000).collect();
    for broker in &Broker::ALL {
        for magic in 0..=1 {
            for source_type in [CompressionType::None, CompressionType::Gzip, CompressionType::Lz4] {
                let records = batch(source_type, magic, 0, &values).unwrap();
                for compression_type in ["producer", "uncompressed", "snappy"] {
                    let topic = Append {
                        compression_type: BrokerCompressionType::for_config(compression_type).unwrap(),
                        max_message_size: i32::MAX,
                        timestamp_type: TimestampType::LogAppendTime,
                        ..Append::default()
                    };
                    // Older versions refuse newer formats.
                    if append(*broker, &topic, &records).is_ok() {
                        let name = format!(
                            "{} with {compression_type} and {} of magic {magic}",
                            broker.name(),
                            source_type.name()
                        );
                        withstands(&name, || match append(*broker, &topic, &records) {
                            Ok(stored) => Ok(stored),
                            Err(refusal) if refusal.error.category() == Category::Resource => Err(Ended::OutOfMemory),
                            Err(refusal) => Err(Ended::Other(refusal.error.to_string())),
                        });
                    }
                }
            }
        }
    }
}
