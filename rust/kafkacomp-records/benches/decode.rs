//! Decoding of flight-like JSON, compared with the codec's library on the same compressed bytes and with a buffer of the right
//! size: the cost of framing, limits and checks.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark; criterion's macros make public functions")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::{DecodeOptions, Strictness, decompress};
use std::hint::black_box;
use std::io::Write as _;
use std::time::Duration;

mod payload;
mod settings;

use payload::json;

/// One record, the largest content of the decoder of small gzip members, Kafka's `batch.size`, and larger ones.
const SIZES: [usize; 5] = [265, 1 << 10, 16 << 10, 100 << 10, 1 << 20];
const LZ4_BLOCK: usize = 64 << 10;
const SNAPPY_BLOCK: usize = 32 << 10;

/// The blocks of a frame or stream: the compressed bytes, and the size of the content.
type Blocks = Vec<(Vec<u8>, usize)>;

fn lz4(plain: &[u8]) -> (Vec<u8>, Blocks) {
    let blocks: Blocks = plain
        .chunks(LZ4_BLOCK)
        .map(|chunk| {
            let mut block = Vec::new();
            lzzzz::lz4::compress_to_vec(chunk, &mut block, 1).unwrap();
            (block, chunk.len())
        })
        .collect();
    let mut frame = vec![0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82];
    for (block, _) in &blocks {
        frame.extend((block.len() as u32).to_le_bytes());
        frame.extend(block);
    }
    frame.extend([0; 4]);
    (frame, blocks)
}

fn snappy(plain: &[u8]) -> (Vec<u8>, Blocks) {
    let blocks: Blocks = plain
        .chunks(SNAPPY_BLOCK)
        .map(|chunk| (snap::raw::Encoder::new().compress_vec(chunk).unwrap(), chunk.len()))
        .collect();
    let mut stream = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for (block, _) in &blocks {
        stream.extend((block.len() as u32).to_be_bytes());
        stream.extend(block);
    }
    (stream, blocks)
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// A frame without a content size, as the Java producer writes it.
fn zstd(plain: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn decode(c: &mut Criterion) {
    for size in SIZES {
        let plain = json(size);
        let (lz4_frame, lz4_blocks) = lz4(&plain);
        let (snappy_stream, snappy_blocks) = snappy(&plain);
        let (gzip_member, zstd_frame) = (gzip(&plain), zstd(&plain));
        let mut group = c.benchmark_group(format!("decode/{size}"));
        group.throughput(Throughput::Bytes(size as u64));
        for (codec, data) in [
            (CompressionType::Lz4, &lz4_frame),
            (CompressionType::Snappy, &snappy_stream),
            (CompressionType::Gzip, &gzip_member),
            (CompressionType::Zstd, &zstd_frame),
        ] {
            let options = DecodeOptions { strictness: Strictness::Tolerant, ..DecodeOptions::default() };
            let mut out = OutputBuffer::new(usize::MAX);
            group.bench_function(BenchmarkId::new(codec.name(), "ours"), |b| {
                b.iter(|| {
                    out.reset(1 << 30);
                    decompress(codec, options, black_box(data), &mut out).unwrap();
                    assert_eq!(out.len(), size);
                });
            });
        }
        let mut room = vec![0; size + 64];
        group.bench_function(BenchmarkId::new("lz4", "bare"), |b| {
            b.iter(|| {
                let mut at = 0;
                for (block, _) in &lz4_blocks {
                    at += lzzzz::lz4::decompress(black_box(block), &mut room[at..]).unwrap();
                }
                assert_eq!(at, size);
            });
        });
        group.bench_function(BenchmarkId::new("snappy", "bare"), |b| {
            b.iter(|| {
                let mut at = 0;
                for (block, length) in &snappy_blocks {
                    at += snap::raw::Decoder::new().decompress(black_box(block), &mut room[at..at + length]).unwrap();
                }
                assert_eq!(at, size);
            });
        });
        let mut libdeflate = libdeflater::Decompressor::new();
        group.bench_function(BenchmarkId::new("gzip", "bare"), |b| {
            b.iter(|| assert_eq!(libdeflate.gzip_decompress(black_box(&gzip_member), &mut room[..size]), Ok(size)));
        });
        let mut context = zstd::zstd_safe::DCtx::create();
        group.bench_function(BenchmarkId::new("zstd", "bare"), |b| {
            b.iter(|| assert_eq!(context.decompress(&mut room[..], black_box(&zstd_frame)), Ok(size)));
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = settings::settings(Duration::from_millis(200), Duration::from_secs(1));
    targets = decode
}
criterion_main!(benches);
