//! Every side file of the vectors against what Kafka's own `DumpLogSegments` prints for it.
//!
//! The vectors are those of `tests/vectors/modern`, or of the folder that `KAFKACOMP_VECTORS` names.

#![allow(clippy::format_collect, reason = "clarity before speed in a test")]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use kafkacomp_log::{
    OffsetIndex, PartitionMetadata, ProducerSnapshot, TimeIndex, TransactionIndex, read_leader_epoch_checkpoint,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn vectors() -> PathBuf {
    std::env::var_os("KAFKACOMP_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/modern"),
        |folder| PathBuf::from(folder).join("modern"),
    )
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// The files whose names end with `ending`, each with its bytes and, if there is one, Kafka's dump of it.
fn with_expectation(ending: &str) -> Vec<(PathBuf, Vec<u8>, Option<String>)> {
    let mut found = Vec::new();
    files(&vectors(), &mut found);
    found.sort();
    let named = |path: &PathBuf| path.to_string_lossy().ends_with(ending);
    let read = |path: PathBuf| {
        let data = std::fs::read(&path).unwrap();
        let folder = path.parent().unwrap().with_extension("expect");
        let expect = folder.join(format!("{}.txt", path.file_name().unwrap().to_string_lossy()));
        // The first line names the file. The dump of an active log ends with an error about the zeros at its end.
        let printed = std::fs::read_to_string(expect).ok().map(|text| {
            let lines = text.lines().skip(1).filter(|line| !line.starts_with("DumpLogSegments threw"));
            lines.map(str::trim_end).collect::<Vec<_>>().join("\n")
        });
        (path, data, printed)
    };
    found.into_iter().filter(named).map(read).collect()
}

fn base_offset(path: &Path) -> i64 {
    path.file_stem().unwrap().to_string_lossy().parse().unwrap()
}

#[test]
fn offset_indexes() {
    let mut entries = 0;
    for (path, data, printed) in with_expectation(".index") {
        let index = OffsetIndex::parse(&data, base_offset(&path)).unwrap();
        let mut ours = String::new();
        for entry in index.iter() {
            writeln!(ours, "offset: {} position: {}", entry.offset, entry.position).unwrap();
            assert_eq!(index.lookup(entry.offset), entry);
        }
        assert_eq!(ours.trim_end(), printed.unwrap_or_default(), "{}", path.display());
        entries += index.len();
    }
    assert!(entries > 50, "{entries}");
}

#[test]
fn time_indexes() {
    let mut entries = 0;
    for (path, data, printed) in with_expectation(".timeindex") {
        let index = TimeIndex::parse(&data, base_offset(&path)).unwrap();
        // Kafka compares each entry with the log; if the log is corrupt, its findings follow the entries.
        let printed = printed.unwrap_or_default();
        let mut ours = String::new();
        for entry in index.iter() {
            writeln!(ours, "timestamp: {} offset: {}", entry.timestamp, entry.offset).unwrap();
            assert_eq!(index.lookup(entry.timestamp), entry);
        }
        if !printed.is_empty() {
            assert_eq!(ours.trim_end(), printed, "{}", path.display());
        }
        entries += index.len();
    }
    assert!(entries > 50, "{entries}");
}

#[test]
fn transaction_indexes() {
    let mut entries = 0;
    for (path, data, printed) in with_expectation(".txnindex") {
        let index = TransactionIndex::parse(&data, base_offset(&path)).unwrap();
        let mut ours = String::new();
        for txn in index.iter() {
            writeln!(
                ours,
                "version: {} producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}",
                txn.version, txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset
            )
            .unwrap();
        }
        assert_eq!(ours.trim_end(), printed.unwrap_or_default(), "{}", path.display());
        assert_eq!(index.trailing_bytes(), 0);
        entries += index.len();
    }
    assert!(entries > 10, "{entries}");
}

#[test]
fn producer_snapshots() {
    let mut producers = 0;
    for (path, data, printed) in with_expectation(".snapshot") {
        let snapshot = ProducerSnapshot::parse(&data).unwrap();
        let mut ours = String::new();
        for p in &snapshot.producers {
            let open = match p.current_txn_first_offset {
                offset if offset >= 0 => format!("OptionalLong[{offset}]"),
                _ => "OptionalLong.empty".to_owned(),
            };
            write!(
                ours,
                "producerId: {} producerEpoch: {} coordinatorEpoch: {} currentTxnFirstOffset: {open} lastTimestamp: {}",
                p.producer_id, p.epoch, p.coordinator_epoch, p.timestamp
            )
            .unwrap();
            if p.last_offset >= 0 {
                write!(
                    ours,
                    " firstSequence: {} lastSequence: {} lastOffset: {} offsetDelta: {} timestamp: {}",
                    p.first_sequence(),
                    p.last_sequence,
                    p.last_offset,
                    p.offset_delta,
                    p.timestamp
                )
                .unwrap();
            }
            ours.push('\n');
        }
        assert_eq!(ours.trim_end(), printed.unwrap_or_default(), "{}", path.display());
        producers += snapshot.producers.len();
    }
    assert!(producers > 10, "{producers}");
}

#[test]
fn text_files() {
    let mut read = 0;
    for (path, data, _) in with_expectation("/leader-epoch-checkpoint") {
        let entries = read_leader_epoch_checkpoint(&data).unwrap();
        let sorted = entries.is_sorted_by(|a, b| a.epoch < b.epoch && a.start_offset <= b.start_offset);
        assert!(sorted, "{}", path.display());
        let lines = String::from_utf8(data).unwrap();
        assert_eq!(entries.len() + 2, lines.lines().count(), "{}", path.display());
        read += entries.len();
    }
    for (path, data, _) in with_expectation("/partition.metadata") {
        let metadata = PartitionMetadata::parse(&data).unwrap();
        let written = format!("version: {}\ntopic_id: {}", metadata.version, metadata.topic_id);
        assert_eq!(written.as_bytes(), data, "{}", path.display());
        read += 1;
    }
    assert!(read > 20, "{read}");
}
