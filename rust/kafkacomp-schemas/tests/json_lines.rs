//! Every record of the vectors is printed as Kafka's own JSON converters print it.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{lines, pairs, records, topic};
use kafkacomp_schemas::{Decoded, Topic, decode_control, json};
use std::collections::BTreeMap;

/// The name of the class in front of Kafka's messages about unknown records.
const EXCEPTION: &str = "org.apache.kafka.coordinator.common.runtime.Deserializer$UnknownRecordTypeException: ";

#[test]
fn every_record_of_the_vectors_is_printed_as_kafka_prints_it() {
    let (mut count, mut differences) = (0, Vec::new());
    let mut kinds = BTreeMap::new();
    for (segment, expected) in pairs() {
        let topic = Topic::from_name(&topic(&segment)).unwrap();
        let (records, expected) = (records(&segment), lines(&expected));
        assert_eq!(records.len(), expected.len(), "{}", segment.display());
        for (record, expected) in records.iter().zip(&expected) {
            let (key, value) = (record.key.as_deref(), record.value.as_deref());
            let decoded = if record.is_control { decode_control(key, value) } else { topic.decode(key, value) };
            let printed = json::line(record.origin, &decoded);
            let expected = expected.replacen(EXCEPTION, "", 1);
            if printed != expected {
                differences.push(format!("{}\n  ours  {printed}\n  Kafka {expected}", segment.display()));
            }
            *kinds.entry(kind(&decoded)).or_insert(0_u32) += 1;
            count += 1;
        }
    }
    println!("{count} records of {} types and versions, {} differences", kinds.len(), differences.len());
    let first = differences.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} of {count} records differ:\n{first}", differences.len());
}

fn kind(decoded: &Decoded<'_>) -> String {
    match decoded {
        Decoded::Keyed { kind, value: Some(value), .. } | Decoded::Framed { kind, value } => {
            format!("{} {}", kind.name, value.version)
        }
        Decoded::Keyed { kind, .. } => format!("{} tombstone", kind.name),
        Decoded::Control { name, .. } => (*name).to_owned(),
        Decoded::Unknown { reason, .. } => reason.to_string(),
    }
}
