//! LZ4 frames compared with what Kafka's `Lz4BlockInputStream` reads of them, and frames of Kafka's old writers.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

mod common;

use common::{as_record_set, one_shot, sha256, vectors};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::lz4::{self, HeaderChecksum, HeaderChecksumCheck, HeaderChecksumFound};
use kafkacomp_records::compress::{DecodeOptions, decompress};
use serde_json::Value;
use std::fs;
use std::io::Read;

const FRAME_DESCRIPTOR: HeaderChecksumCheck = HeaderChecksumCheck::Require(HeaderChecksum::FrameDescriptor);
const WITH_MAGIC: HeaderChecksumCheck = HeaderChecksumCheck::Require(HeaderChecksum::WithMagic);

/// Kinds of frames that are read differently from Java on purpose.
const DIFFERENT: [&str; 3] = ["linked", "second frame", "skippable before"];

#[test]
fn frames_of_the_oracle() {
    let Some(folder) = vectors("oracle/lz4") else { return };
    let cases = fs::read(folder.join("cases.bin")).unwrap();
    let mut lines = String::new();
    let expected = fs::File::open(folder.join("expected.jsonl.gz")).unwrap();
    flate2::read::GzDecoder::new(expected).read_to_string(&mut lines).unwrap();
    let (mut judged, mut beyond) = (0, Vec::new());
    for case in lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let at = usize::try_from(case["at"].as_u64().unwrap()).unwrap();
        let length = usize::try_from(case["len"].as_u64().unwrap()).unwrap();
        let frame = &cases[at..at + length];
        let what = case["what"].to_string();
        for (rule, magic) in [("strict", 2), ("ignore", 0)] {
            let theirs = &case["out"][rule];
            // A flipped bit can also turn the blocks into linked ones.
            let linked = theirs["err"]["m"] == "Dependent block stream is unsupported";
            let intended = linked || DIFFERENT.iter().any(|word| what.contains(word));
            let (verdict, content) = as_record_set(CompressionType::Lz4, magic, frame);
            let ok = theirs["ok"].as_bool().unwrap();
            let same = if ok {
                verdict.is_ok() && Some(sha256(&content).as_str()) == theirs["sha"].as_str()
            } else {
                verdict.is_err() && Some(content.len() as u64) == theirs["before"].as_u64()
            };
            if same {
                judged += 1;
            } else {
                assert!(
                    intended,
                    "case {} {rule} {what}: Kafka {theirs}, here {verdict:?}, {} bytes",
                    case["n"],
                    content.len()
                );
                // The difference is that more is read: where Kafka fails, or after the point at which it stops.
                assert!(verdict.is_ok() || !ok, "case {} {rule} {what}: {verdict:?}", case["n"]);
                beyond.push(what.clone());
            }
        }
    }
    assert!(judged > 0);
    assert!(beyond.len() * 10 < judged, "{} intended differences: {beyond:?}", beyond.len());
}

#[test]
fn frames_of_old_writers() {
    let Some(folder) = vectors("legacy/class") else { return };
    let list = fs::read_to_string(folder.join("lz4.jsonl")).unwrap();
    let mut read = 0;
    for line in list.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let name = line["file"].as_str().unwrap().trim_start_matches("class/");
        let data = fs::read(folder.join(name)).unwrap();
        let info = lz4::frame_info(&data).unwrap();
        let hex = |byte: u8| format!("{byte:02x}");
        assert_eq!(line["lz4"]["flg"], hex(info.flg.byte()), "{name}");
        assert_eq!(line["lz4"]["bd"], hex(info.bd.byte()), "{name}");
        assert_eq!(line["lz4"]["hc"], hex(info.header_checksum), "{name}");
        assert_eq!(line["lz4"]["hc_right"], hex(info.checksum_of_descriptor), "{name}");
        assert_eq!(line["lz4"]["hc_broken"], hex(info.checksum_with_magic), "{name}");
        let (own, other) = match line["lz4"]["hc_rule"].as_str() {
            Some("right") => (FRAME_DESCRIPTOR, WITH_MAGIC),
            Some("broken") => (WITH_MAGIC, FRAME_DESCRIPTOR),
            rule => panic!("{name}: {rule:?}"),
        };
        assert_ne!(info.header_checksum_found(), HeaderChecksumFound::Neither, "{name}");
        let decode = |header_checksum| {
            let options = DecodeOptions { lz4_header_checksum: header_checksum, ..DecodeOptions::default() };
            one_shot(|data, out| decompress(CompressionType::Lz4, options, data, out), &data, common::ROOMY)
        };
        for checksum in [own, HeaderChecksumCheck::Either, HeaderChecksumCheck::Ignore] {
            let content = decode(checksum).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(line["holds"], content.len(), "{name}");
            if line["holds"] == line["plain_size"] {
                assert_eq!(line["plain_sha256"], sha256(&content), "{name}");
            }
        }
        assert!(decode(other).is_err(), "{name}");
        assert!(as_record_set(CompressionType::Lz4, 0, &data).0.is_ok(), "{name}");
        assert_eq!(as_record_set(CompressionType::Lz4, 2, &data).0.is_ok(), own == FRAME_DESCRIPTOR, "{name}");
        read += 1;
    }
    assert!(read > 0);
}
