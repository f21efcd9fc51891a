//! Tests that a panic at any point of a rewrite becomes an error that names the segment, and that no target remains.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{MigrateOptions, PartitionError, PartitionHistory, PartitionJob, SourceSegment};
use crate::maintain::rewrite::{ParallelRecompressor, Rewrite};
use crate::write::ClosedLog;
use crate::{OpenSegment, ReadAt, SideFile};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::message_set::writer::{Content, write_message_set};
use kafkacomp_records::record::{BatchSettings, ConvertOptions, Converter, Headers, Merger, RecordBatchBuilder};

const CAP: usize = 8 << 20;

/// Counts the calls on a segment's files, and panics at one of them.
#[derive(Debug)]
struct Panicking {
    data: Vec<u8>,
    calls: AtomicUsize,
    at: usize,
}

impl Panicking {
    fn call(&self) {
        assert!(self.calls.fetch_add(1, Ordering::SeqCst) != self.at, "injected");
    }
}

#[derive(Debug, Clone)]
struct Files(Arc<Panicking>);

impl OpenSegment for Files {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        self.0.call();
        Ok(Arc::new(self.clone()))
    }

    fn side_file(&self, _: SideFile) -> io::Result<Option<Vec<u8>>> {
        self.0.call();
        Ok(None)
    }
}

impl ReadAt for Files {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.0.call();
        crate::InMemory(&self.0.data).read_at(buffer, position)
    }

    fn length(&self) -> io::Result<u64> {
        self.0.call();
        Ok(self.0.data.len() as u64)
    }
}

/// Batches of ten records of noise, so large that every worker has a share.
fn batches(offsets: std::ops::Range<i64>) -> Vec<u8> {
    let mut state = 7_u32;
    let mut noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let mut out = Vec::new();
    for base_offset in offsets.step_by(10) {
        let mut builder = RecordBatchBuilder::new(BatchSettings { base_offset, ..BatchSettings::default() }).unwrap();
        for offset in base_offset..base_offset + 10 {
            let value: Vec<u8> = noise.by_ref().take(40_000).collect();
            builder.append(offset, 7, None, Some(&value), Headers::EMPTY).unwrap();
        }
        builder.build(&mut out).unwrap();
    }
    out
}

fn segment(name: &str, base_offset: i64, data: &[u8], at: usize) -> SourceSegment {
    let files = Files(Arc::new(Panicking { data: data.to_vec(), calls: AtomicUsize::new(0), at }));
    SourceSegment { name: Arc::from(name), base_offset: Some(base_offset), files: Arc::new(files) }
}

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("kafkacomp-panics-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn job(folder: &Path, segments: Vec<SourceSegment>) -> PartitionJob {
    let target = folder.join("t-0");
    PartitionJob { segments, history: PartitionHistory::default(), target, segment_bytes: None, max_output_size: CAP }
}

fn onwards(_: u64) -> ControlFlow<Infallible> {
    ControlFlow::Continue(())
}

fn published<F>(done: ControlFlow<Infallible, (ClosedLog, F)>) {
    let ControlFlow::Continue((log, _)) = done;
    log.publish().unwrap();
}

/// Repeats `work` with a panic at each call about the second of two segments.
fn each_call(name: &str, data: [&[u8]; 2], base: i64, work: impl Fn(&PartitionJob) -> Result<(), PartitionError>) {
    let folder = scratch(name);
    for at in 0..10_000 {
        let job = job(&folder, vec![segment("first", 0, data[0], usize::MAX), segment("second", base, data[1], at)]);
        match work(&job) {
            Ok(()) => {
                assert!(at > 3, "{name}: {at} calls");
                assert!(folder.join("t-0").exists(), "{name}");
                fs::remove_dir_all(&folder).unwrap();
                return;
            }
            Err(error) => assert_eq!(error.to_string(), "second: internal error: injected", "{name}: call {at}"),
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{name}: call {at}");
    }
    panic!("{name}: it never ends");
}

#[test]
fn panics_of_files() {
    let data = [batches(0..40), batches(40..80)];
    let data = [&data[0][..], &data[1]];
    let zstd = Compression::of(CompressionType::Zstd);
    each_call("recompress", data, 40, |job| {
        let mut rewrite = Rewrite::Recompress(ParallelRecompressor::new(zstd, CAP, 3));
        job.rewrite(&mut rewrite, &mut onwards).map(published)
    });
    each_call("merge", data, 40, |job| {
        let mut rewrite = Rewrite::Merge(Merger::new(zstd, 1 << 20, CAP));
        job.rewrite(&mut rewrite, &mut onwards).map(published)
    });
    each_call("convert", data, 40, |job| {
        let mut rewrite = Rewrite::Convert(Converter::new(ConvertOptions { to_magic: 1, ..ConvertOptions::default() }));
        job.rewrite(&mut rewrite, &mut onwards).map(published)
    });
    each_call("repair", data, 40, |job| {
        let ControlFlow::Continue(repaired) = job.repair(Some("quarantine"), &mut onwards)?;
        repaired.log.publish().unwrap();
        Ok(())
    });
    let mut set = Vec::new();
    write_message_set([b"a", b"b", b"c"].map(|payload| Content::Payload(payload)), None, &mut set).unwrap();
    each_call("migrate", [&set, &set], set.len() as i64, |job| {
        let options = MigrateOptions { to_magic: 2, first_offset: 5, batch_bytes: 1 << 14 };
        job.migrate(options, &mut |_, _| onwards(0)).map(published)
    });
}

#[test]
fn panics_of_workers() {
    let folder = scratch("workers");
    let data = [batches(0..80), batches(80..160)];
    for worker in 0..3 {
        let job =
            job(&folder, vec![segment("first", 0, &data[0], usize::MAX), segment("second", 80, &data[1], usize::MAX)]);
        let recompressor = ParallelRecompressor::new(Compression::of(CompressionType::Zstd), CAP, 3);
        let mut rewrite = Rewrite::Recompress(recompressor.panicking(worker));
        let error = job.rewrite(&mut rewrite, &mut onwards).unwrap_err();
        assert_eq!(error.to_string(), "first: internal error: injected", "worker {worker}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "worker {worker}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
