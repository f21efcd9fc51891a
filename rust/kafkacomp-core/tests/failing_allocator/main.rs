//! Each large allocation is refused in turn: the result is the right data or an error of [`Category::Resource`], and the
//! process does not abort. `tests/faults` refuses the allocations of the C libraries.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]

mod allocator;

use allocator::{Failing, counting, large_from, refusing};
use kafkacomp_core::broker::profile::{Append, Broker, append};
use kafkacomp_core::broker::validator::BrokerCompressionType;
use kafkacomp_core::compress::lz4::HeaderChecksum;
use kafkacomp_core::compress::stream::{DecoderOptions, MultiFrameDecoder, encoder};
use kafkacomp_core::compress::{Compression, DecodeOptions, compress, decompress};
use kafkacomp_core::io::{Reader, Writer};
use kafkacomp_core::log::maintain::partition::{PartitionError, PartitionHistory, PartitionJob, SourceSegment};
use kafkacomp_core::log::maintain::rewrite::{ParallelRecompressor, Rewrite};
use kafkacomp_core::log::write::{ClosedLog, LogWriter, WriteOptions};
use kafkacomp_core::log::{self, MemorySegment};
use kafkacomp_core::message_set::writer::{Content, write_message_set};
use kafkacomp_core::message_set::{self, Entries, MessageSetCodec, MessageSetReader};
use kafkacomp_core::record::{
    self, BatchSettings, Batches, BuildFault, ConvertOptions, Headers, HeadersBuffer, Merger, PairedBuilder,
    Recompressor, RecordBatchBuilder, RecordReader, TimestampType, convert,
};
use kafkacomp_core::{Category, CompressionType, ErrorKind, compress::CodecError};
use std::convert::Infallible;
use std::fs;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: Failing = Failing;

const CAP: usize = 1 << 30;

/// The result of a step: its data, or why it ended.
type Answer = Result<Vec<u8>, Ended>;

/// Why a step ended, as far as this test distinguishes.
#[derive(Debug)]
enum Ended {
    OutOfMemory,
    Other(String),
}

impl Ended {
    fn of(kind: ErrorKind, error: &dyn std::fmt::Display) -> Self {
        match kind.category() {
            Category::Resource => Self::OutOfMemory,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<record::Error> for Ended {
    fn from(error: record::Error) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<message_set::Error> for Ended {
    fn from(error: message_set::Error) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<CodecError> for Ended {
    fn from(error: CodecError) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<log::Error> for Ended {
    fn from(error: log::Error) -> Self {
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

impl From<std::io::Error> for Ended {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::OutOfMemory => Self::OutOfMemory,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<BuildFault> for Ended {
    fn from(fault: BuildFault) -> Self {
        Self::of(fault.kind(), &fault)
    }
}

/// Runs `work` with each of its large allocations refused: first only this one, then also all later ones.
fn withstands(name: &str, mut work: impl FnMut() -> Answer) {
    let (expected, large) = counting(&mut work);
    let expected = expected.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    for after in 0..large.min(60) {
        for count in [1, usize::MAX] {
            match refusing(after, count, &mut work) {
                Ok(found) => assert!(found == expected, "{name}: other data after {after} allocations"),
                Err(Ended::OutOfMemory) => {}
                Err(Ended::Other(error)) => panic!("{name}: after {after} allocations: {error}"),
            }
        }
    }
    // An earlier failure must not affect the result.
    assert!(work().unwrap() == expected, "{name}: other data afterwards");
}

/// Bytes that compress to about half their size.
fn plain(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 & 0x0F
    };
    (0..length).map(|_| next()).collect()
}

fn records_of(data: &[u8]) -> Answer {
    let mut reader = RecordReader::new(CAP);
    let mut seen = Vec::new();
    for batch in Batches::new(data, 0) {
        let batch = batch?;
        batch.ensure_valid()?;
        for record in reader.records(&batch)? {
            let record = record?;
            seen.extend(record.offset.to_be_bytes());
            seen.extend(kafkacomp_core::checksum::crc32(record.value.unwrap_or_default()).to_be_bytes());
        }
    }
    Ok(seen)
}

fn batch(compression_type: CompressionType, magic: i8, base_offset: i64, values: &[&[u8]]) -> Answer {
    let compression = Compression::of(compression_type);
    let mut builder =
        RecordBatchBuilder::new(BatchSettings { magic, compression, base_offset, ..BatchSettings::default() })?;
    let mut headers = HeadersBuffer::new();
    if magic >= 2 {
        headers.push("h", Some(values[0])).map_err(|_| Ended::OutOfMemory)?;
    }
    for (offset, value) in (base_offset..).zip(values) {
        let headers = if offset == base_offset { headers.as_headers() } else { Headers::EMPTY };
        builder.append(offset, 5, None, Some(value), headers)?;
    }
    let mut out = Vec::new();
    builder.build(&mut out)?;
    Ok(out)
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

/// All in one test, because the allocator is global to the process.
#[test]
fn lack_of_memory_is_an_error_of_its_own() {
    let content = plain(3 << 20);
    let values: Vec<&[u8]> = content.chunks(1_300_000).collect();
    codecs(&content);
    for compression_type in CompressionType::ALL {
        for magic in 0..=2 {
            if magic == 2 || compression_type != CompressionType::Zstd {
                records(compression_type, magic, &values);
            }
        }
    }
    large_from(4 << 10, || pairs(&content));
    brokers(&values);
    message_sets(&values);
    logs(&values);
}

fn codecs(content: &[u8]) {
    for compression_type in CompressionType::ALL {
        let name = compression_type.name();
        let mut compressed = Vec::new();
        compress(Compression::of(compression_type), HeaderChecksum::FrameDescriptor, content, &mut compressed).unwrap();
        withstands(&format!("compress {name}"), || {
            let mut out = Vec::new();
            compress(Compression::of(compression_type), HeaderChecksum::FrameDescriptor, content, &mut out)?;
            Ok(out)
        });
        withstands(&format!("decompress {name}"), || {
            let mut out = kafkacomp_core::buffer::OutputBuffer::new(CAP);
            decompress(compression_type, DecodeOptions::default(), &compressed, &mut out)?;
            Ok(out.into_vec())
        });
        withstands(&format!("compressing stream {name}"), || {
            let mut sink = kafkacomp_core::memory::with_capacity(content.len() * 2).map_err(|_| Ended::OutOfMemory)?;
            let mut writer =
                Writer::new(&mut sink, encoder(Compression::of(compression_type), HeaderChecksum::FrameDescriptor)?);
            writer.write_all(content)?;
            writer.finish()?;
            Ok(sink)
        });
        if compression_type != CompressionType::None {
            withstands(&format!("decompressing stream {name}"), || {
                let mut out = kafkacomp_core::memory::zeroed(content.len()).map_err(|_| Ended::OutOfMemory)?;
                let frames = MultiFrameDecoder::new(compression_type, DecoderOptions::default());
                Reader::new(compressed.as_slice(), frames).read_exact(&mut out)?;
                Ok(out)
            });
        }
    }
    let raw = snap::raw::Encoder::new().compress_vec(content).unwrap();
    withstands("decompressing stream of a raw snappy block", || {
        let mut out = kafkacomp_core::memory::zeroed(content.len()).map_err(|_| Ended::OutOfMemory)?;
        let frames = MultiFrameDecoder::new(CompressionType::Snappy, DecoderOptions::default());
        Reader::new(raw.as_slice(), frames).read_exact(&mut out)?;
        Ok(out)
    });
}

fn records(compression_type: CompressionType, magic: i8, values: &[&[u8]]) {
    let name = format!("{} of magic {magic}", compression_type.name());
    let data = batch(compression_type, magic, 0, values).unwrap();
    withstands(&format!("build {name}"), || batch(compression_type, magic, 0, values));
    withstands(&format!("read {name}"), || records_of(&data));
    for to_magic in 0..=2 {
        let options = ConvertOptions { to_magic, upgrade: true, max_output_size: CAP, ..ConvertOptions::default() };
        if compression_type != CompressionType::Zstd || to_magic == 2 {
            withstands(&format!("convert {name} to {to_magic}"), || Ok(convert(&data, options)?));
        }
    }
    withstands(&format!("recompress {name}"), || {
        let mut recompressor = Recompressor::new(Compression::of(CompressionType::Lz4), CAP);
        let mut out = Vec::new();
        for batch in Batches::new(&data, 0) {
            recompressor.push(&batch?, &mut out)?;
        }
        Ok(out)
    });
    withstands(&format!("merge {name}"), || {
        let mut merger = Merger::new(Compression::of(CompressionType::Snappy), 4 << 20, CAP);
        let mut out = Vec::new();
        for batch in Batches::new(&data, 0) {
            merger.push(&batch?, &mut out)?;
        }
        merger.finish(&mut out)?;
        Ok(out)
    });
}

/// Batches that are compressed two at a time. After a refusal, the output has complete batches, and the call can be repeated.
fn pairs(content: &[u8]) {
    let compression = Compression::of(CompressionType::Snappy);
    let once_more = |work: &mut dyn FnMut() -> Result<(), BuildFault>| work().or_else(|_| work());
    withstands("build pairs of batches", || {
        let (mut builder, mut out) = (PairedBuilder::default(), Vec::new());
        for (base_offset, values) in (0..).step_by(100).zip(content[..80_000].chunks(16_000)) {
            once_more(&mut || builder.reset(BatchSettings { compression, base_offset, ..BatchSettings::default() }))?;
            for (offset, value) in (base_offset..).zip(values.chunks(160)) {
                once_more(&mut || builder.current().append(offset, 5, None, Some(value), Headers::EMPTY))?;
            }
            once_more(&mut || {
                let closed = builder.close(&mut out);
                assert!(Batches::new(&out, 0).all(|batch| batch.unwrap().ensure_valid().is_ok()));
                closed
            })?;
        }
        once_more(&mut || builder.flush(&mut out))?;
        Ok(out)
    });
}

/// What brokers of each version store for produce requests of each message format.
fn brokers(values: &[&[u8]]) {
    for broker in &Broker::ALL {
        for magic in 0..=1 {
            for source_type in [CompressionType::None, CompressionType::Gzip, CompressionType::Lz4] {
                let records = batch(source_type, magic, 0, values).unwrap();
                for compression_type in ["producer", "uncompressed", "snappy"] {
                    let topic = Append {
                        compression_type: BrokerCompressionType::for_config(compression_type).unwrap(),
                        max_message_size: i32::MAX,
                        timestamp_type: TimestampType::LogAppendTime,
                        ..Append::default()
                    };
                    // Older versions refuse newer formats.
                    if append(*broker, &topic, &records).is_ok() {
                        let name = format!(
                            "{} with {compression_type} and {} of magic {magic}",
                            broker.name(),
                            source_type.name()
                        );
                        withstands(&name, || match append(*broker, &topic, &records) {
                            Ok(stored) => Ok(stored),
                            Err(refusal) if refusal.error.category() == Category::Resource => Err(Ended::OutOfMemory),
                            Err(refusal) => Err(Ended::Other(refusal.error.to_string())),
                        });
                    }
                }
            }
        }
    }
}

fn message_sets(values: &[&[u8]]) {
    for codec in [None, Some(MessageSetCodec::Gzip), Some(MessageSetCodec::Snappy)] {
        let write = || {
            let compression = codec.map(|codec| (codec, Compression::of(codec.compression_type())));
            let mut out = Vec::new();
            let contents = values.iter().map(|value| Content::Payload(value));
            write_message_set(contents, compression, &mut out)
                .map_err(|fault| Ended::of(fault.kind(), &fault))
                .map(|()| out)
        };
        let set = write().unwrap();
        withstands(&format!("write a message set {codec:?}"), write);
        withstands(&format!("read a message set {codec:?}"), || {
            let mut reader = MessageSetReader::new(CAP);
            let mut seen = Vec::new();
            for entry in Entries::new(&set) {
                let entry = entry?;
                let unwrapped = reader.unwrap(&entry);
                for (message, next) in unwrapped.messages() {
                    seen.extend((next as u64).to_be_bytes());
                    seen.extend(kafkacomp_core::checksum::crc32(message.payload()).to_be_bytes());
                }
                unwrapped.error.map_or(Ok(()), Err)?;
            }
            Ok(seen)
        });
    }
}

fn logs(values: &[&[u8]]) {
    let folder = scratch("failing-allocator");
    let mut log = Vec::new();
    for (index, compression_type) in CompressionType::ALL.into_iter().enumerate() {
        log.extend(batch(compression_type, 2, (index * values.len()) as i64, values).unwrap());
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
