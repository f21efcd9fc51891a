//! Rewriting whole partitions: overlapping files, callbacks that end the work, and panics.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::convert::Infallible;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kafkacomp_log::maintain::partition::{
    MigrateOptions, PartitionError, PartitionHistory, PartitionJob, SourceSegment,
};
use kafkacomp_log::maintain::rewrite::{ParallelRecompressor, Rewrite};
use kafkacomp_log::{InMemory, LogFormat, MissingReason, OpenSegment, ReadAt, SideFile};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::message_set::writer::{Content, write_message_set};
use kafkacomp_records::record::{BatchSettings, Batches, Headers, RecordBatchBuilder, RecordReader};

const CAP: usize = 1 << 20;

#[derive(Debug)]
struct Files {
    data: Vec<u8>,
    panics: bool,
}

impl OpenSegment for Files {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        assert!(!self.panics, "injected");
        Ok(Arc::new(InMemory(self.data.clone())))
    }

    fn side_file(&self, _: SideFile) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

fn segment(name: &str, base_offset: i64, data: Vec<u8>) -> SourceSegment {
    SourceSegment {
        name: Arc::from(name),
        base_offset: Some(base_offset),
        files: Arc::new(Files { data, panics: false }),
    }
}

/// Batches of ten records.
fn batches(offsets: std::ops::Range<i64>, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for base_offset in offsets.step_by(10) {
        let mut builder = RecordBatchBuilder::new(BatchSettings { base_offset, ..BatchSettings::default() }).unwrap();
        for offset in base_offset..base_offset + 10 {
            builder.append(offset, 7, None, Some(value.as_bytes()), Headers::EMPTY).unwrap();
        }
        builder.build(&mut out).unwrap();
    }
    out
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("partition-job-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn job(target: PathBuf, segments: Vec<SourceSegment>) -> PartitionJob {
    PartitionJob { segments, history: PartitionHistory::default(), target, segment_bytes: None, max_output_size: CAP }
}

fn recompress() -> Rewrite {
    Rewrite::Recompress(ParallelRecompressor::new(Compression::of(CompressionType::Zstd), CAP, 1))
}

fn onwards(_: u64) -> ControlFlow<Infallible> {
    ControlFlow::Continue(())
}

/// The offsets in all segments of a folder.
fn offsets(folder: &Path) -> Vec<i64> {
    let mut logs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.sort();
    let mut reader = RecordReader::new(CAP);
    let mut found = Vec::new();
    for path in logs {
        let data = fs::read(path).unwrap();
        for batch in Batches::new(&data, 0) {
            found.extend(reader.records(&batch.unwrap()).unwrap().map(|record| record.unwrap().offset));
        }
    }
    found
}

#[test]
fn offsets_of_several_files_are_written_once() {
    let folder = scratch("overlap");
    let long = segment("long", 0, batches(0..60, "v"));
    let short = segment("short", 0, batches(0..20, "v"));
    let next = segment("next", 40, batches(40..90, "v"));
    for (index, segments) in
        [vec![long.clone(), short.clone(), next.clone()], vec![short, long, next]].into_iter().enumerate()
    {
        let target = folder.join(format!("t-{index}"));
        let done = job(target.clone(), segments).rewrite(&mut recompress(), &mut onwards).unwrap();
        let ControlFlow::Continue((closed, findings)) = done;
        let report = closed.publish().unwrap();
        assert_eq!((report.log_start_offset, report.log_end_offset), (0, 90));
        assert_eq!(offsets(&target), (0..90).collect::<Vec<_>>());
        assert_eq!(findings.missing, []);
        assert!(findings.warnings.iter().all(|warning| warning.contains("they are written once")), "{findings:?}");
        assert_eq!(findings.warnings.len(), 2, "{findings:?}");
    }
}

#[test]
fn missing_offsets_name_the_segment_that_should_have_them() {
    let folder = scratch("missing");
    let segments = vec![segment("first", 0, batches(0..20, "v")), segment("second", 50, batches(50..60, "v"))];
    let done = job(folder.join("t-0"), segments).repair(None, &mut onwards).unwrap();
    let ControlFlow::Continue(repaired) = done;
    let [(index, range)] = repaired.findings.missing.as_slice() else { panic!("{:?}", repaired.findings) };
    assert_eq!((*index, range.first_offset, range.last_offset, range.reason), (0, 20, 49, MissingReason::Gap));
    repaired.log.publish().unwrap();
    assert_eq!(offsets(&folder.join("t-0")), (0..20).chain(50..60).collect::<Vec<_>>());
}

#[test]
fn files_that_disagree_are_both_named() {
    let folder = scratch("disagreement");
    let segments = vec![segment("first", 0, batches(0..60, "v")), segment("second", 40, batches(40..60, "w"))];
    let error = job(folder.join("t-0"), segments).rewrite(&mut recompress(), &mut onwards).unwrap_err();
    let PartitionError::Disagreement { earlier, later, offset } = &error else { panic!("{error}") };
    assert_eq!((&**earlier, &**later, *offset), ("first", "second", 40));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_callback_ends_the_work() {
    let folder = scratch("callback");
    let work = job(folder.join("t-0"), vec![segment("first", 0, batches(0..60, "v"))]);
    let done = work.rewrite(&mut recompress(), &mut |done| ControlFlow::Break(done)).unwrap();
    assert!(matches!(done, ControlFlow::Break(done) if done > 0));
    assert!(work.repair(None, &mut ControlFlow::Break).unwrap().is_break());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_panic_names_the_segment() {
    let folder = scratch("panic");
    let broken = SourceSegment {
        name: Arc::from("second"),
        base_offset: Some(20),
        files: Arc::new(Files { data: Vec::new(), panics: true }),
    };
    let work = job(folder.join("t-0"), vec![segment("first", 0, batches(0..20, "v")), broken]);
    let error = work.rewrite(&mut recompress(), &mut onwards).unwrap_err();
    assert_eq!(error.to_string(), "second: internal error: injected");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_log_of_kafka_0_7_gets_offsets_of_its_own() {
    let folder = scratch("migrate");
    let mut set = Vec::new();
    write_message_set([b"a", b"b", b"c"].map(|payload| Content::Payload(payload)), None, &mut set).unwrap();
    let length = set.len() as i64;
    let work = job(folder.join("t-0"), vec![segment("0.kafka", 0, set)]);
    assert_eq!(work.log_format().unwrap(), Some(LogFormat::MessageSet));
    let mut mappings = Vec::new();
    let options = MigrateOptions { to_magic: 2, first_offset: 5, batch_bytes: 1 << 14 };
    let done = work.migrate(options, &mut |found, _| {
        mappings.extend(found.iter().map(|each| (each.position, each.offset)));
        onwards(0)
    });
    let ControlFlow::Continue((closed, findings)) = done.unwrap();
    let report = closed.publish().unwrap();
    assert_eq!((findings.missing.len(), findings.warnings.len()), (0, 0));
    assert_eq!((report.log_start_offset, report.log_end_offset), (5, 8));
    assert_eq!(mappings, [(0, 5), (length / 3, 6), (2 * length / 3, 7), (length, 8)]);
    assert_eq!(offsets(&folder.join("t-0")), [5, 6, 7]);
}
