//! Partition folders written from batches, compared with those that brokers wrote.

#![expect(clippy::unwrap_used, reason = "a test")]

use kafkacomp_log::write::{LogWriter, WriteOptions};
use kafkacomp_log::{ContentError, Error, ProducerSnapshot, read_leader_epoch_checkpoint};
use kafkacomp_records::record;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of partitions that Kafka 4.3.1 wrote: the small ones of the repository, and the full set if it is available.
fn partitions() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for place in [root.join("tests/vectors/modern"), root.join("../shared/vectors/modern")] {
        let Ok(topics) = fs::read_dir(&place) else { continue };
        for topic in topics {
            let topic = topic.unwrap().path();
            // Corrupt logs are not what a broker wrote, and the log cleaner adds index entries at other positions.
            let name = topic.file_name().unwrap().to_string_lossy().into_owned();
            if !topic.is_dir() || name.starts_with("damaged-") || name.starts_with("compact") {
                continue;
            }
            let folders = fs::read_dir(&topic).unwrap().map(|entry| entry.unwrap().path());
            found.extend(folders.filter(|path| path.is_dir() && !segments(path).is_empty()));
        }
    }
    assert!(!found.is_empty());
    found
}

/// A folder's segments by base offset.
fn segments(folder: &Path) -> BTreeMap<i64, PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.map(|path| (path.file_stem().unwrap().to_string_lossy().parse().unwrap(), path)).collect()
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("log-writer-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn without_zero_tail(mut data: Vec<u8>, entry: usize) -> Vec<u8> {
    while data.len() >= entry && data[data.len() - entry..].iter().all(|&byte| byte == 0) {
        data.truncate(data.len() - entry);
    }
    data
}

/// Logs whose broker was restarted while their first segment was active.
const RESTARTED: [&str; 5] = ["cluster-metadata", "restarts", "transaction-state", "txn-open", "txn-zstd"];

#[test]
fn side_files_of_a_broker_are_rebuilt() {
    let scratch = scratch("golden");
    let mut compared = 0;
    for (index, source) in partitions().iter().enumerate() {
        let target = scratch.join(format!("p-{index}"));
        let logs = segments(source);
        let mut writer: Option<LogWriter> = None;
        for (&base_offset, path) in &logs {
            match &mut writer {
                None => writer = Some(LogWriter::create(&target, base_offset, WriteOptions::default()).unwrap()),
                Some(writer) => writer.roll(base_offset).unwrap(),
            }
            let data = fs::read(path).unwrap();
            let end = data.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            let mut batches = kafkacomp_records::record::Batches::new(&data, 0);
            for batch in batches.by_ref() {
                writer.as_mut().unwrap().append_batch(&batch.unwrap()).unwrap();
            }
            assert!(batches.position() as usize >= end, "{}", path.display());
        }
        let report = writer.unwrap().finish().unwrap();
        assert_eq!(report.segments as usize, logs.len());
        let last = logs.keys().next_back().unwrap();
        for (base_offset, path) in &logs {
            for (extension, entry) in [("index", 8), ("timeindex", 12), ("txnindex", 34)] {
                let read = |folder: &Path| fs::read(folder.join(path.file_name().unwrap()).with_extension(extension));
                let theirs = without_zero_tail(read(source).unwrap_or_default(), entry);
                let ours = without_zero_tail(read(&target).unwrap_or_default(), entry);
                // The time index of an active segment has other entries, also if the segment was active when the broker was
                // restarted: a broker then counts the bytes since the last entry from 0.
                let restarted = RESTARTED.iter().any(|name| source.to_string_lossy().contains(name));
                let open = extension == "timeindex" && base_offset == last;
                compared += usize::from(!restarted && !open);
                assert!(ours == theirs || restarted || open, "{} {extension}", path.display());
            }
        }
        for file in fs::read_dir(source).unwrap() {
            let path = file.unwrap().path();
            let ours = target.join(path.file_name().unwrap());
            if path.extension().is_some_and(|extension| extension == "snapshot") && ours.exists() {
                let read = |path: &Path| ProducerSnapshot::parse(&fs::read(path).unwrap()).unwrap().producers;
                // A broker removes producers whose last record is older than a day; the log does not show when it checks.
                let ours = read(&ours);
                assert!(read(&path).iter().all(|producer| ours.contains(producer)), "{}", path.display());
            } else if path.ends_with("leader-epoch-checkpoint") {
                let read = |path: &Path| read_leader_epoch_checkpoint(&fs::read(path).unwrap()).unwrap();
                // The log does not show the epochs of leaders that wrote nothing.
                let theirs = read(&path);
                assert!(read(&ours).iter().all(|entry| theirs.contains(entry)), "{}", path.display());
            }
        }
    }
    assert!(compared > 40, "{compared}");
    fs::remove_dir_all(scratch).unwrap();
}

fn some_batches() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/modern/restarts/restarts-0");
    fs::read(root.join("00000000000000000000.log")).unwrap()
}

#[test]
fn segments_are_rolled_by_size() {
    let folder = scratch("roll");
    let data = some_batches();
    let target = folder.join("t-0");
    let options = WriteOptions { segment_bytes: 2000, ..WriteOptions::default() };
    let mut writer = LogWriter::create(&target, 0, options).unwrap();
    writer.append(&data).unwrap();
    let report = writer.finish().unwrap();
    let logs = segments(&target);
    assert_eq!(report.segments as usize, logs.len());
    assert!(logs.len() > 1);
    let mut all = Vec::new();
    for (base_offset, path) in &logs {
        let segment = fs::read(path).unwrap();
        let first = kafkacomp_records::record::Batches::new(&segment, 0).next().unwrap().unwrap();
        assert_eq!(first.base_offset(), Some(*base_offset));
        assert!(segment.len() <= 2000 || first.size_in_bytes() == segment.len());
        all.extend(segment);
    }
    assert_eq!(all, data);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn nothing_is_left_of_what_is_not_finished() {
    let folder = scratch("unfinished");
    let target = folder.join("t-0");
    let mut writer = LogWriter::create(&target, 0, WriteOptions::default()).unwrap();
    writer.append(&some_batches()).unwrap();
    assert!(!target.exists());
    drop(writer);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_there_stays() {
    let folder = scratch("exists");
    let target = folder.join("t-0");
    fs::create_dir(&target).unwrap();
    let refused = LogWriter::create(&target, 0, WriteOptions::default()).err();
    assert!(matches!(refused, Some(Error::Exists { .. })));
    fs::remove_dir(&target).unwrap();
    let writer = LogWriter::create(&target, 0, WriteOptions::default()).unwrap();
    fs::write(&target, b"meanwhile").unwrap();
    assert!(matches!(writer.finish(), Err(Error::Exists { .. })));
    assert_eq!(fs::read(&target).unwrap(), b"meanwhile");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn wrong_batches_are_refused() {
    let folder = scratch("wrong");
    let data = some_batches();
    let mut writer = LogWriter::create(&folder.join("t-0"), 0, WriteOptions::default()).unwrap();
    writer.append(&data).unwrap();
    assert!(matches!(writer.append(&data), Err(Error::OffsetOrder { first: 0, .. })));
    assert!(matches!(writer.roll(1), Err(Error::OffsetOrder { .. })));
    assert!(matches!(
        writer.append(&data[..50]),
        Err(Error::Content(ContentError::Record(record::Error::IncompleteBatch { .. })))
    ));
    let mut far = data[..usize::try_from(i32::from_be_bytes(data[8..12].try_into().unwrap())).unwrap() + 12].to_vec();
    far[..8].copy_from_slice(&i64::MAX.to_be_bytes());
    assert!(matches!(writer.append(&far), Err(Error::OffsetOrder { .. })));
    drop(writer);
    fs::remove_dir_all(folder).unwrap();
}
