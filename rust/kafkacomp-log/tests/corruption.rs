//! Corrupt data of every kind, passed to every reader of record sets: each reader returns records or an error, never panics or
//! hangs, and never exceeds the output limit; a flipped bit that a checksum covers is always noticed.
//!
//! Each test has a long form, which `make test-all` runs (`cargo test -- --ignored`).

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

use kafkacomp_log::map::ReachedOffsets;
use kafkacomp_log::{Compaction, FileToVerify, LogFormat, MemorySegment, VerifyOptions, verify_partition};
use kafkacomp_records::record::{Batches, ControlRecord, RecordReader};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A limit above the content of every valid batch of these files.
const CAP: usize = 1 << 20;
/// The position of the checksum in a batch, by magic: a flipped bit there, or after it, makes the batch invalid.
const FIRST_COVERED: [usize; 3] = [12, 12, 17];

/// Segments that brokers of many versions wrote, of at most `largest` bytes.
fn segments(largest: u64) -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("tests/vectors"), root.join("examples/data")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let size = entry.metadata().unwrap().len();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|suffix| suffix == "log") && (1..=largest).contains(&size) {
                found.push((entry.path(), std::fs::read(entry.path()).unwrap()));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// Position, size, validity and number of records of each batch that was read.
type Found = Vec<(u64, usize, bool, usize)>;

/// Reads every field of every batch with every reader of this crate.
fn read(reader: &mut RecordReader, data: &[u8]) -> Found {
    let mut found = Found::new();
    let mut batches = Batches::new(data, 0);
    for batch in batches.by_ref().map_while(Result::ok) {
        assert_eq!(batch.is_valid(), batch.ensure_valid().is_ok());
        let _ = (batch.last_offset(), batch.max_timestamp(), batch.delete_horizon_ms(), batch.last_sequence());
        let _ = reader.base_offset(&batch);
        let is_control = batch.is_control_batch();
        let mut count = 0;
        if let Ok(records) = reader.records(&batch) {
            for record in records.map_while(Result::ok) {
                assert_eq!(record.headers.into_iter().count(), record.headers.len());
                if is_control {
                    let _ = ControlRecord::parse(record.key, record.value);
                }
                count += 1;
            }
        }
        assert!(reader.payload().len() <= CAP);
        found.push((batch.position(), batch.size_in_bytes(), batch.is_valid(), count));
    }
    assert!(batches.position() <= data.len() as u64);
    let options = VerifyOptions {
        bounds: &[],
        compaction: Compaction::Unknown,
        leader_epochs: &[],
        reached: ReachedOffsets::default(),
        log_start_offset: i64::MIN,
        max_output_size: CAP,
        threads: 1,
    };
    let file = FileToVerify {
        name: Arc::from("0.log"),
        base_offset: Some(0),
        files: Arc::new(MemorySegment(Arc::new(data.to_vec()))),
        log_format: Some(LogFormat::Records),
        may_be_truncated: false,
        valid: None,
    };
    let progress = &mut |_| ControlFlow::<Infallible>::Continue(());
    assert!(verify_partition(&[file], &options, progress).unwrap().is_continue());
    found
}

/// A truncated segment has the batches of the complete one that end within it.
fn every_prefix(largest: u64) {
    let mut reader = RecordReader::new(CAP);
    for (path, data) in segments(largest) {
        let whole = read(&mut reader, &data);
        for cut in 0..data.len() {
            let found = read(&mut reader, &data[..cut]);
            let ends = whole.iter().take_while(|(position, size, ..)| *position as usize + size <= cut).count();
            assert_eq!(found, whole[..ends], "{} cut at byte {cut}", path.display());
        }
    }
}

/// A flipped bit that a checksum covers makes its batch invalid, and no other batch.
fn every_bit(largest: u64) {
    let mut reader = RecordReader::new(CAP);
    for (path, mut data) in segments(largest) {
        let whole = read(&mut reader, &data);
        for &(position, size, valid, _) in whole.iter().filter(|batch| batch.2) {
            let start = position as usize;
            for place in start..start + size {
                for bit in 0..8 {
                    data[place] ^= 1 << bit;
                    let found = read(&mut reader, &data);
                    let covered = FIRST_COVERED[usize::from(data[start + 16]).min(2)];
                    if place >= start + covered && place != start + 16 {
                        let wanted = whole.iter().map(|batch| (batch.0, batch.1, batch.2 && batch.0 != position));
                        let verdicts = found.iter().map(|batch| (batch.0, batch.1, batch.2));
                        assert!(valid && verdicts.eq(wanted), "{}: bit {bit} of byte {place}", path.display());
                    }
                    data[place] ^= 1 << bit;
                }
            }
        }
    }
}

/// Random bytes, some of them with a size and a magic like those of a batch.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(any::<u8>(), 0..400), any::<[bool; 3]>(), 0..3_u8, 0..8_u8).prop_map(
        |(mut data, [framed, formed, empty], magic, codec)| {
            let size = data.len().saturating_sub(12) as u32;
            if let (true, Some(place)) = (framed, data.get_mut(8..12)) {
                place.copy_from_slice(&size.to_be_bytes());
            }
            if let (true, Some(place)) = (formed, data.get_mut(16)) {
                *place = magic;
            }
            let attributes = if magic == 2 { 22 } else { 17 };
            if let (true, Some(place)) = (formed, data.get_mut(attributes)) {
                *place = codec;
            }
            if let (true, Some(place)) = (formed && !empty, data.get_mut(57..61)) {
                place.copy_from_slice(&[0, 0, 0, codec]);
            }
            data
        },
    )
}

fn random_bytes(cases: u32) {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(&any_bytes(), |data| {
            read(&mut RecordReader::new(CAP), &data);
            Ok(())
        })
        .unwrap();
}

/// Changes a segment by one of four kinds: a byte is replaced, a range removed, repeated or zeroed.
fn change(data: &mut Vec<u8>, kind: u8, place: Index, length: usize, byte: u8) {
    if data.is_empty() {
        return;
    }
    let at = place.index(data.len());
    let end = data.len().min(at + length);
    match kind % 4 {
        0 => data[at] = byte,
        1 => drop(data.drain(at..end)),
        2 => {
            let piece = data[at..end].to_vec();
            data.splice(at..at, piece);
        }
        _ => data[at..end].fill(0),
    }
}

fn changed_segments(cases: u32) {
    let all = segments(6_000);
    let changes = prop::collection::vec((any::<u8>(), any::<Index>(), 1..200_usize, any::<u8>()), 1..6);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(&(any::<Index>(), changes), |(which, changes)| {
            let mut data = which.get(&all).1.clone();
            for (kind, place, length, byte) in changes {
                change(&mut data, kind, place, length, byte);
            }
            read(&mut RecordReader::new(CAP), &data);
            Ok(())
        })
        .unwrap();
}

#[test]
fn every_prefix_of_small_segments() {
    every_prefix(700);
}

#[test]
#[ignore = "takes a minute"]
fn every_prefix_of_all_segments() {
    every_prefix(40_000);
}

#[test]
fn every_bit_of_small_segments() {
    every_bit(300);
}

#[test]
#[ignore = "takes minutes"]
fn every_bit_of_more_segments() {
    every_bit(5_000);
}

#[test]
fn some_random_bytes() {
    random_bytes(20_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_random_bytes() {
    random_bytes(1_000_000);
}

#[test]
fn some_changed_segments() {
    changed_segments(2_000);
}

#[test]
#[ignore = "takes minutes"]
fn half_a_million_changed_segments() {
    changed_segments(500_000);
}
