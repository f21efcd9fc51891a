//! The records of a partition's folder, compared with those of its batches.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use kafkacomp_log::write::{LogWriter, WriteOptions};
use kafkacomp_log::{LogReader, LogReaderError, MissingReason};
use kafkacomp_records::limits::Limits;
use kafkacomp_records::record::{BatchSettings, Batches, Headers, OwnedRecord, RecordBatchBuilder, RecordBatches};

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("log-reader-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
    paths.sort();
    paths
}

/// The partitions of the repository that brokers wrote, without the corrupt ones.
fn partitions() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/modern");
    let topics = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let intact = topics.filter(|path| path.is_dir() && !path.to_string_lossy().contains("damaged"));
    let folders = intact.flat_map(|topic| fs::read_dir(topic).unwrap().map(|entry| entry.unwrap().path()));
    folders.filter(|path| path.is_dir() && !segments(path).is_empty()).collect()
}

#[test]
fn the_records_of_a_broker() {
    let mut compared = 0;
    for partition in partitions() {
        let expected: Vec<OwnedRecord> = segments(&partition)
            .iter()
            .flat_map(|path| RecordBatches::new(fs::read(path).unwrap(), Limits::default()).map(Result::unwrap))
            .collect();
        let found: Vec<OwnedRecord> = LogReader::open(&partition).unwrap().map(Result::unwrap).collect();
        assert!(found == expected, "{}", partition.display());
        compared += found.len();
    }
    assert!(compared > 100, "{compared} records");
}

/// A batch of ten records.
fn batch(base_offset: i64) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new(BatchSettings { base_offset, ..BatchSettings::default() }).unwrap();
    for offset in base_offset..base_offset + 10 {
        builder.append(offset, 5, None, Some(b"value"), Headers::EMPTY).unwrap();
    }
    let mut out = Vec::new();
    builder.build(&mut out).unwrap();
    out
}

/// A folder of five batches in two segments.
fn log(name: &str) -> PathBuf {
    let folder = scratch(name).join("topic-0");
    let data: Vec<u8> = (0..5).flat_map(|index| batch(index * 10)).collect();
    let length = Batches::new(&data, 0).next().unwrap().unwrap().size_in_bytes() as u32;
    let options = WriteOptions { segment_bytes: 3 * length, ..WriteOptions::default() };
    let mut writer = LogWriter::create(&folder, 0, options).unwrap();
    writer.append(&data).unwrap();
    writer.close().unwrap().publish().unwrap();
    assert_eq!(segments(&folder).len(), 2);
    folder
}

/// The offsets that are returned, and the ranges that are missing.
fn read(folder: &Path) -> (Vec<i64>, Vec<(i64, i64, MissingReason)>) {
    let (mut offsets, mut missing) = (Vec::new(), Vec::new());
    for item in LogReader::open(folder).unwrap() {
        match item {
            Ok(record) => offsets.push(record.offset),
            Err(LogReaderError::Missing(range)) => missing.push((range.first_offset, range.last_offset, range.reason)),
            Err(LogReaderError::Log(error)) => panic!("{error}"),
        }
    }
    (offsets, missing)
}

#[test]
fn what_a_corrupt_batch_had_is_an_error_in_its_place() {
    let folder = log("corrupt");
    let segment = &segments(&folder)[0];
    let mut data = fs::read(segment).unwrap();
    let second = data.len() / 3;
    data[second + 70] ^= 1;
    fs::write(segment, data).unwrap();
    let (offsets, missing) = read(&folder);
    assert_eq!(offsets, (0..10).chain(20..50).collect::<Vec<i64>>());
    assert_eq!(missing, [(10, 19, MissingReason::Corrupt)]);
}

#[test]
fn an_altered_base_offset_is_restored() {
    let folder = log("restored");
    let segment = &segments(&folder)[0];
    let mut data = fs::read(segment).unwrap();
    let second = data.len() / 3;
    data[second + 5] ^= 1;
    fs::write(segment, data).unwrap();
    assert_eq!(read(&folder), ((0..50).collect(), Vec::new()));
}

#[test]
fn a_folder_without_a_segment_is_an_error() {
    let folder = scratch("empty");
    let error = LogReader::open(&folder).unwrap_err().to_string();
    assert!(error.ends_with("the folder has no segment"), "{error}");
}
