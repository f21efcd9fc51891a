//! Building and reading batches, with the parameters of Kafka's own benchmarks: batch size, magic, message size, content and
//! codec. Builders, readers and contexts are reused, as in a long-running program. Reported per record.
//!
//! The numbers in a name such as `build/zstd/magic 2/16384/265/json` are the bytes of a batch before compression and those of a
//! message.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark; criterion's macros make public functions")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{
    BatchSettings, Batches, HeadersBuffer, RecordBatchBuilder, RecordReader, TimestampType,
};
use std::hint::black_box;
use std::time::Duration;

mod payload;
mod settings;

/// Batches of one record, of the producer's default `batch.size`, and large ones.
const BATCH_SIZES: [usize; 3] = [0, 16 << 10, 1 << 20];
const MESSAGE_SIZES: [usize; 2] = [100, 1000];
const TIMESTAMP: i64 = 1_700_000_000_000;

struct Axis {
    codec: CompressionType,
    magic: i8,
    batch: usize,
    message: usize,
    content: &'static str,
    messages: Vec<Vec<u8>>,
}

fn axes() -> Vec<Axis> {
    let mut all = Vec::new();
    for codec in CompressionType::ALL {
        for magic in 0..=2 {
            if codec == CompressionType::Zstd && magic < 2 {
                continue; // KIP-110: zstd requires magic 2
            }
            for batch in BATCH_SIZES {
                for message in MESSAGE_SIZES {
                    for content in ["json", "noise"] {
                        let count = (batch / message).max(1);
                        let data = if content == "json" { payload::json } else { payload::noise }(count * message);
                        let messages = data.chunks(message).map(<[u8]>::to_vec).collect();
                        all.push(Axis { codec, magic, batch, message, content, messages });
                    }
                }
            }
        }
    }
    all
}

fn append_all(builder: &mut RecordBatchBuilder, settings: BatchSettings, messages: &[Vec<u8>]) {
    let headers = HeadersBuffer::new();
    builder.reset(settings).unwrap();
    for (offset, message) in messages.iter().enumerate() {
        builder.append(offset as i64, TIMESTAMP, None, Some(message), headers.as_headers()).unwrap();
    }
}

fn batches(criterion: &mut Criterion) {
    for axis in axes() {
        let settings = BatchSettings {
            magic: axis.magic,
            compression: Compression::of(axis.codec),
            timestamp_type: TimestampType::CreateTime,
            ..BatchSettings::default()
        };
        let mut builder = RecordBatchBuilder::new(settings).unwrap();
        let mut built = Vec::new();
        append_all(&mut builder, settings, &axis.messages);
        builder.build(&mut built).unwrap();

        let name =
            format!("{}/magic {}/{}/{}/{}", axis.codec.name(), axis.magic, axis.batch, axis.message, axis.content);
        let mut group = criterion.benchmark_group("build");
        group.throughput(Throughput::Elements(axis.messages.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(&name), |b| {
            let mut out = Vec::new();
            b.iter(|| {
                out.clear();
                append_all(&mut builder, settings, black_box(&axis.messages));
                builder.build(&mut out).unwrap();
                assert_eq!(out.len(), built.len());
            });
        });
        group.finish();

        let mut reader = RecordReader::new(1 << 30);
        let mut group = criterion.benchmark_group("read");
        group.throughput(Throughput::Elements(axis.messages.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(&name), |b| {
            b.iter(|| {
                let mut bytes = 0;
                for batch in Batches::new(black_box(&built), 0) {
                    let batch = batch.unwrap();
                    batch.ensure_valid().unwrap();
                    for record in reader.records(&batch).unwrap() {
                        bytes += record.unwrap().value.map_or(0, <[u8]>::len);
                    }
                }
                assert_eq!(bytes, axis.messages.len() * axis.message);
            });
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    // There are about 300 benchmarks.
    config = settings::settings(Duration::from_millis(100), Duration::from_millis(400));
    targets = batches
}
criterion_main!(benches);
