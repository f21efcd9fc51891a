//! Each large allocation is refused in turn while a log is written: the result is the right data or an error of
//! [`Category::Resource`](kafkacomp_records::Category), and the process does not abort.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]
#![allow(dead_code, reason = "the crates' tests each use a part of the allocator")]

#[path = "../../kafkacomp-records/tests/failing_allocator/allocator.rs"]
mod allocator;
#[path = "../../kafkacomp-records/tests/failing_allocator/withstands.rs"]
mod withstands;

use std::convert::Infallible;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use allocator::Failing;
use kafkacomp_log::maintain::partition::{PartitionError, PartitionHistory, PartitionJob, SourceSegment};
use kafkacomp_log::maintain::rewrite::{ParallelRecompressor, Rewrite};
use kafkacomp_log::write::{ClosedLog, LogWriter, WriteOptions};
use kafkacomp_log::{Error, MemorySegment};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::Merger;
use withstands::{Answer, CAP, Ended, batch, plain, withstands};

#[global_allocator]
static ALLOCATOR: Failing = Failing;

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<PartitionError> for Ended {
    fn from(error: PartitionError) -> Self {
        match error {
            PartitionError::Segment { error, .. } => error.into(),
            other => Self::Other(other.to_string()),
        }
    }
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The folder that `write` writes. If it fails, no folder may be left.
fn folder_of(folder: &Path, write: impl FnOnce(&Path) -> Result<ClosedLog, Ended>) -> Answer {
    let target = folder.join("t-0");
    drop(fs::remove_dir_all(&target));
    match write(&target).and_then(|log| Ok(log.publish()?)) {
        Ok(_) => Ok(fs::read(target.join("00000000000000000000.log"))?),
        Err(error) => {
            assert!(!target.exists(), "a partial target");
            Err(error)
        }
    }
}

/// A partition of one segment.
fn job(log: &Arc<Vec<u8>>, target: &Path) -> PartitionJob {
    let files = Arc::new(MemorySegment(Arc::clone(log)));
    let segment = SourceSegment { name: Arc::from("0.log"), base_offset: Some(0), files };
    PartitionJob {
        segments: vec![segment],
        history: PartitionHistory::default(),
        target: target.to_owned(),
        segment_bytes: None,
        max_output_size: CAP,
    }
}

fn onwards(_: u64) -> ControlFlow<Infallible> {
    ControlFlow::Continue(())
}

#[test]
fn lack_of_memory_is_an_error_of_its_own() {
    let content = plain(3 << 20);
    let values: Vec<&[u8]> = content.chunks(1_300_000).collect();
    let folder = scratch("failing-allocator");
    let mut log = Vec::new();
    for (index, compression_type) in CompressionType::ALL.into_iter().enumerate() {
        log.extend(batch(compression_type, 2, (index * values.len()) as i64, &values).unwrap());
    }
    let log = Arc::new(log);
    withstands("write a log", || {
        folder_of(&folder, |target| {
            let mut writer = LogWriter::create(target, 0, WriteOptions::default())?;
            writer.append(&log)?;
            Ok(writer.close()?)
        })
    });
    for threads in [1, 2] {
        withstands(&format!("rewrite a log on {threads} threads"), || {
            let compression = Compression::of(CompressionType::Zstd);
            let mut rewrite = if threads == 1 {
                Rewrite::Merge(Merger::new(compression, 8 << 20, CAP))
            } else {
                Rewrite::Recompress(ParallelRecompressor::new(compression, CAP, threads))
            };
            folder_of(&folder, |target| {
                let ControlFlow::Continue((log, _)) = job(&log, target).rewrite(&mut rewrite, &mut onwards)?;
                Ok(log)
            })
        });
    }
    withstands("repair a log", || {
        folder_of(&folder, |target| {
            let ControlFlow::Continue(repaired) = job(&log, target).repair(None, &mut onwards)?;
            assert_eq!(repaired.report.corrupt_ranges, 0, "a batch was left out");
            Ok(repaired.log)
        })
    });
    fs::remove_dir_all(folder).unwrap();
}
