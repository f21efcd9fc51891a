//! Random values of every schema and version are decoded to the values that were written; damaged bytes never panic.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::random::{Random, Writer};
use common::{pairs, records, topic};
use kafkacomp_schemas::consumer_protocol::{assignment, subscription};
use kafkacomp_schemas::groups::Groups;
use kafkacomp_schemas::library::SOURCES;
use kafkacomp_schemas::share_groups::ShareGroups;
use kafkacomp_schemas::transactions::Transactions;
use kafkacomp_schemas::{Decoded, Schema, Topic, decode_control, json};
use proptest::prelude::*;
use std::sync::LazyLock;

static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    SOURCES.iter().flat_map(|(_, texts)| texts.iter()).map(|text| Schema::parse(text).unwrap()).collect()
});

/// Decodes and prints a record as one of every topic, and as a control record. Nothing may panic, and nothing may be lost.
fn read_as_everything(key: Option<&[u8]>, value: Option<&[u8]>) {
    let mut all: Vec<_> = Topic::ALL.iter().map(|topic| topic.decode(key, value)).collect();
    all.push(decode_control(key, value));
    for decoded in all {
        let printed = json::line(json::Origin { offset: 0, timestamp: 0, producer: None }, &decoded);
        assert!(printed.ends_with('}'));
        if let Decoded::Unknown { key: kept_key, value: kept_value, reason } = decoded {
            assert_eq!((kept_key, kept_value), (key, value));
            assert!(!reason.to_string().is_empty());
        }
    }
    for bytes in [key, value].into_iter().flatten() {
        let _ = (subscription(bytes), assignment(bytes));
        for schema in SCHEMAS.iter() {
            for version in schema.valid.first..=schema.valid.last {
                if let Ok(message) = schema.read(bytes, version) {
                    json::object(&message.fields);
                }
            }
        }
    }
}

/// Changes a few bytes, or cuts, or repeats a part.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = [0x00, 0x7f, 0x80, 0xff][random.below(4)],
            3 => bytes.truncate(at),
            4 => bytes.extend_from_within(at..),
            _ => drop(bytes.splice(at..at, [0xff, 0xff, 0xff, 0xff, 0x07])),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The reader of every version reads exactly what was written, whatever follows it.
    #[test]
    fn what_was_written_is_read(seed: u64, rest in prop::collection::vec(any::<u8>(), 0..4)) {
        let mut random = Random(seed);
        let schema = &SCHEMAS[random.below(SCHEMAS.len())];
        for version in schema.valid.first..=schema.valid.last {
            let (mut bytes, plain) = Writer::message(schema, version, &mut random);
            let length = bytes.len();
            bytes.extend(&rest);
            let message = schema.read(&bytes, version).unwrap();
            prop_assert!(plain.are(&message.fields), "{} {version}: {plain:?} {message:?}", schema.name);
            prop_assert_eq!(message.rest, &rest[..]);
            // Without an end, the message is none.
            for end in 0..length {
                prop_assert!(schema.read(&bytes[..end], version).is_err(), "{} {version}: {end}", schema.name);
            }
        }
    }

    #[test]
    fn random_bytes_are_read_without_a_panic(
        key in prop::option::of(prop::collection::vec(any::<u8>(), 0..64)),
        value in prop::option::of(prop::collection::vec(any::<u8>(), 0..1024)),
    ) {
        read_as_everything(key.as_deref(), value.as_deref());
    }

    #[test]
    fn damaged_messages_are_read_without_a_panic(seed: u64) {
        let mut random = Random(seed);
        let schema = &SCHEMAS[random.below(SCHEMAS.len())];
        let (mut bytes, _) = Writer::message(schema, schema.valid.last, &mut random);
        damage(&mut bytes, &mut random);
        for version in schema.valid.first..=schema.valid.last {
            if let Ok(message) = schema.read(&bytes, version) {
                json::object(&message.fields);
            }
        }
    }
}

#[test]
fn damaged_records_of_brokers_are_read_without_a_panic() {
    let mut random = Random(55);
    for (segment, _) in pairs() {
        let (mut groups, mut transactions) = (Groups::default(), Transactions::default());
        let mut share_groups = ShareGroups::default();
        let topic = Topic::from_name(&topic(&segment)).unwrap();
        for record in records(&segment) {
            for _ in 0..5 {
                let (mut key, mut value) = (record.key.clone(), record.value.clone());
                let part = if random.below(4) == 0 { &mut key } else { &mut value };
                if let Some(bytes) = part.as_mut() {
                    damage(bytes, &mut random);
                }
                let (key, value) = (key.as_deref(), value.as_deref());
                for decoded in [topic.decode(key, value), decode_control(key, value)] {
                    json::line(record.origin, &decoded);
                    groups.apply(record.origin, &decoded);
                    transactions.apply(record.origin, &decoded);
                    share_groups.apply(record.origin, &decoded);
                }
            }
        }
    }
}
