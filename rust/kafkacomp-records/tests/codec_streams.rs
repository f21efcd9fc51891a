//! Corrupt data of every codec: the same error as Kafka's streams, after the same bytes.
//!
//! `tests/kafka/make_stream_vectors.py` made the vectors with kafka-clients 4.3.1; `tests/kafka/test_codec_streams.py`
//! compares random data with it.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod common;

use kafkacomp_records::CompressionType;
use std::fs;
use std::path::PathBuf;

#[test]
fn same_as_kafka() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/kafka_streams");
    let cases = fs::read(folder.join("cases.bin")).unwrap();
    let outcomes = fs::read_to_string(folder.join("outcomes.txt")).unwrap();
    let mut rest = cases.as_slice();
    let mut beyond = 0;
    for (number, outcome) in outcomes.lines().enumerate() {
        let ([id, magic, length @ ..], data) = rest.split_first_chunk::<6>().unwrap();
        let (data, after) = data.split_at(u32::from_be_bytes(*length) as usize);
        rest = after;
        let codec = CompressionType::for_id(*id).unwrap();
        let (verdict, content) = common::as_record_set(codec, *magic as i8, data);
        let ours = (verdict.is_ok(), content.len(), crc32fast::hash(&content));
        let [word, length, crc] = outcome.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let theirs = (word == "ok", length.parse::<usize>().unwrap(), crc.parse::<u32>().unwrap());
        if ours != theirs {
            // Kafka does not read linked blocks, skippable frames and second frames of LZ4.
            assert_eq!(codec, CompressionType::Lz4, "case {number}: Kafka {theirs:?}, here {ours:?} {verdict:?}");
            assert!(
                content.len() >= theirs.1 && (ours.0 || !theirs.0),
                "case {number}: Kafka {theirs:?}, here {ours:?}"
            );
            assert_eq!(crc32fast::hash(&content[..theirs.1]), theirs.2, "case {number}");
            beyond += 1;
        }
    }
    assert!(rest.is_empty() && beyond < 80, "{beyond}");
}
