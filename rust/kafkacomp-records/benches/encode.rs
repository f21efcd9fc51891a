//! Encoding of flight-like JSON, compared with the codec's library with a reused context and a buffer that is large enough: the
//! cost of framing.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark; criterion's macros make public functions")]

mod payload;
mod settings;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::lz4::HeaderChecksum;
use kafkacomp_records::compress::stream::{Operation, encoder};
use kafkacomp_records::compress::{Compression, compress, compress_both};
use payload::json;
use std::hint::black_box;
use std::time::Duration;

/// One record, Kafka's `batch.size`, and larger ones.
const SIZES: [usize; 4] = [265, 16 << 10, 100 << 10, 1 << 20];
const CHECKSUM: HeaderChecksum = HeaderChecksum::FrameDescriptor;
const LZ4_BLOCK: usize = 64 << 10;
const SNAPPY_BLOCK: usize = 32 << 10;

fn encode(c: &mut Criterion) {
    for size in SIZES {
        let plain = json(size);
        let mut out = Vec::with_capacity(2 * size + 1024);
        let mut room = vec![0; 2 * size + 1024];
        let mut group = c.benchmark_group(format!("encode/{size}"));
        group.throughput(Throughput::Bytes(size as u64));
        for codec in CompressionType::ALL {
            let compression = Compression::of(codec);
            group.bench_function(BenchmarkId::new(codec.name(), "ours"), |b| {
                b.iter(|| {
                    out.clear();
                    compress(compression, CHECKSUM, black_box(&plain), &mut out).unwrap();
                });
            });
            let mut stream = encoder(compression, CHECKSUM).unwrap();
            group.bench_function(BenchmarkId::new(codec.name(), "stream"), |b| {
                b.iter(|| {
                    let progress = stream.encode(black_box(&plain), &mut room, Operation::FlushFrame).unwrap();
                    assert!(progress.done);
                });
            });
        }
        group.bench_function(BenchmarkId::new("lz4", "bare"), |b| {
            b.iter(|| {
                for chunk in plain.chunks(LZ4_BLOCK) {
                    black_box(lzzzz::lz4::compress(black_box(chunk), &mut room, 1).unwrap());
                }
            });
        });
        let mut snappy = snap::raw::Encoder::new();
        group.bench_function(BenchmarkId::new("snappy", "bare"), |b| {
            b.iter(|| {
                for chunk in plain.chunks(SNAPPY_BLOCK) {
                    black_box(snappy.compress(black_box(chunk), &mut room).unwrap());
                }
            });
        });
        let mut gzip = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(6).unwrap());
        group.bench_function(BenchmarkId::new("gzip", "bare"), |b| {
            b.iter(|| black_box(gzip.gzip_compress(black_box(&plain), &mut room).unwrap()));
        });
        let mut zstd = zstd::zstd_safe::CCtx::create();
        group.bench_function(BenchmarkId::new("zstd", "bare, size known"), |b| {
            b.iter(|| black_box(zstd.compress(&mut room[..], black_box(&plain), 3).unwrap()));
        });
        let compression = Compression::of(CompressionType::Snappy);
        let two = json(2 * size);
        let (first, second) = two.split_at(size);
        let mut outs = [Vec::with_capacity(2 * size + 1024), Vec::with_capacity(2 * size + 1024)];
        group.throughput(Throughput::Bytes(2 * size as u64));
        group.bench_function(BenchmarkId::new("snappy", "two at once"), |b| {
            b.iter(|| {
                outs.each_mut().into_iter().for_each(Vec::clear);
                compress_both(compression, CHECKSUM, black_box([first, second]), outs.each_mut()).unwrap();
            });
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = settings::settings(Duration::from_millis(200), Duration::from_secs(1));
    targets = encode
}
criterion_main!(benches);
