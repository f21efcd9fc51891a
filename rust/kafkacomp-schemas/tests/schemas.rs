//! The schemas in the tree: they are the pinned files, all of them are compiled in, and what the decoder relies on is true of each.
#![allow(clippy::unwrap_used, reason = "a test")]

use kafkacomp_schemas::library::{Library, SOURCES};
use kafkacomp_schemas::schema::{StructType, Type};
use kafkacomp_schemas::{Schema, Topic};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

fn parsed() -> Vec<Schema> {
    SOURCES.iter().flat_map(|(_, texts)| texts.iter()).map(|text| Schema::parse(text).unwrap()).collect()
}

#[test]
fn the_schemas_are_the_pinned_files() {
    let sums = fs::read_to_string(folder().join("SHA256SUMS")).unwrap();
    for line in sums.lines() {
        let (expected, name) = line.split_once("  ").unwrap();
        let sum = Sha256::digest(fs::read(folder().join(name)).unwrap()).iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        });
        assert_eq!(sum, expected, "{name}");
    }
    let pinned: BTreeSet<_> = sums.lines().filter_map(|line| line.strip_suffix(".json")).collect();
    let compiled: usize = SOURCES.iter().map(|(_, texts)| texts.len()).sum();
    assert_eq!(pinned.len(), compiled);
    let files = SOURCES.iter().map(|(name, _)| fs::read_dir(folder().join(name)).unwrap().count()).sum::<usize>();
    assert_eq!(files, compiled);
}

#[test]
fn every_schema_is_parsed_and_found_by_its_number_or_name() {
    let library = Library::kafka();
    let types: usize = Topic::ALL.iter().map(|topic| library.record_types(*topic).len()).sum();
    let keys: usize = Topic::ALL
        .iter()
        .map(|topic| library.record_types(*topic).iter().filter(|each| each.key.is_some()).count())
        .sum();
    let data = parsed().iter().filter(|schema| schema.api_key.is_none()).count();
    assert_eq!(types + keys + data, parsed().len());
    for topic in Topic::ALL {
        for each in library.record_types(topic) {
            assert!(std::ptr::eq(library.record_type(topic, each.id).unwrap(), each));
        }
        assert_eq!(Topic::from_name(topic.name()), Some(topic));
    }
    for schema in parsed().iter().filter(|schema| schema.api_key.is_none()) {
        assert!(library.data(&schema.name).is_some(), "{}", schema.name);
    }
    assert_eq!(library.record_type(Topic::ConsumerOffsets, 1).unwrap().name, "OffsetCommit");
    assert_eq!(library.record_type(Topic::ClusterMetadata, 2).unwrap().name, "TOPIC_RECORD");
    assert!(library.record_type(Topic::ShareGroupState, 99).is_none());
}

/// Kafka reads each key in its only version.
#[test]
fn keys_have_one_version() {
    for topic in Topic::ALL {
        for key in Library::kafka().record_types(topic).iter().filter_map(|each| each.key.as_ref()) {
            assert_eq!(key.valid.first, key.valid.last, "{}", key.name);
        }
    }
}

/// The limit on counts bounds memory only if no element is empty.
#[test]
fn every_element_of_an_array_has_a_byte() {
    fn check(schema: &Schema, kind: &StructType, version: i16) {
        for field in kind.fields.iter().filter(|field| field.versions.contains(version)) {
            match &field.kind {
                Type::Struct(inner) => check(schema, inner, version),
                Type::Array(element) => {
                    if let Type::Struct(inner) = &**element {
                        let flexible = schema.flexible.contains(version);
                        let is_there = |field: &kafkacomp_schemas::schema::Field| {
                            field.versions.contains(version) && !field.tagged.contains(version)
                        };
                        assert!(flexible || inner.fields.iter().any(is_there), "{} {}", schema.name, field.name);
                        check(schema, inner, version);
                    }
                }
                _ => {}
            }
        }
    }
    for schema in parsed() {
        for version in schema.valid.first..=schema.valid.last {
            check(&schema, &schema.root, version);
        }
    }
}

#[test]
fn what_is_no_schema_is_a_fault() {
    let with = |fields: &str| {
        let head = r#""type": "data", "name": "X", "validVersions": "0", "flexibleVersions": "0+""#;
        Schema::parse(&format!("{{{head}, \"fields\": [{fields}\n]}}"))
    };
    assert!(with(r#"{ "name": "A", "type": "string", "versions": "0+", "about": "http://x" } // "comment"#).is_ok());
    let faulty = [
        r#"{ "name": "A", "type": "records", "versions": "0+" }"#,
        r#"{ "name": "A", "type": "[][]int8", "versions": "0+" }"#,
        r#"{ "name": "A", "type": "B", "versions": "0+" }"#,
        r#"{ "name": "A", "type": "int8" }"#,
        r#"{ "name": "A", "type": "int8", "versions": "0+", "taggedVersions": "0+" }"#,
        r#"{ "name": "A", "type": "int8", "versions": "0+", "flexibleVersions": "1+" }"#,
        r#"{ "name": "A", "type": "int8", "versions": "0+", "default": "x" }"#,
        r#"{ "type": "int8", "versions": "0+" }"#,
    ];
    for fields in faulty {
        assert!(with(fields).is_err(), "{fields}");
    }
    let own = r#"{"type": "data", "name": "X", "validVersions": "0", "flexibleVersions": "0+",
        "fields": [{ "name": "A", "type": "B", "versions": "0+" }],
        "commonStructs": [{ "name": "B", "versions": "0+", "fields": [{ "name": "C", "type": "[]B", "versions": "0+" }] }]}"#;
    assert_eq!(Schema::parse(own).unwrap_err(), kafkacomp_schemas::schema::SchemaFault::Depth);
}
