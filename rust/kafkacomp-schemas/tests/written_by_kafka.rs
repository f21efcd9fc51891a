//! Random messages of every schema and version that Kafka's own classes wrote are printed as Kafka's JSON converters print them.
//!
//! The file in the tree is written by `tests/kafka/livekafka/messages.py`; the variable `KAFKACOMP_MESSAGES` names another one.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::lines;
use kafkacomp_schemas::library::SOURCES;
use kafkacomp_schemas::{Schema, json};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn messages_of_kafkas_classes_are_printed_as_kafka_prints_them() {
    let schemas: HashMap<_, _> = SOURCES
        .iter()
        .flat_map(|(_, texts)| texts.iter())
        .map(|text| Schema::parse(text).unwrap())
        .map(|schema| (schema.name.clone(), schema))
        .collect();
    let in_tree = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/written-by-kafka.tsv.gz");
    let file = std::env::var_os("KAFKACOMP_MESSAGES").map_or(in_tree, PathBuf::from);
    let mut seen = HashSet::new();
    let written = lines(&file);
    for line in &written {
        let mut parts = line.splitn(4, '\t');
        let mut next = || parts.next().unwrap();
        let (name, version, hex, expected) = (next(), next(), next(), next());
        let (bytes, version) = (bytes(hex), version.parse().unwrap());
        let message = schemas[name].read(&bytes, version).unwrap();
        assert_eq!(json::object(&message.fields), expected, "{name} {version} {hex}");
        assert_eq!(message.rest, b"", "{name} {version} {hex}");
        seen.insert((name, version));
    }
    let all: usize = schemas.values().map(|schema| (schema.valid.first..=schema.valid.last).count()).sum();
    assert_eq!(seen.len(), all, "schemas and versions");
    println!("{} messages of {} schemas, {all} versions", written.len(), schemas.len());
}
