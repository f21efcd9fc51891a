//! Segments into Arrow: every codec, batches of 1 record, 10 records, 16 KB, 100 KB and 1 MB of flight-like
//! JSON, one thread, checksums verified, all default columns. Reported per record.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark; criterion's macros make public functions")]

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kafkacomp_arrow::source::files::in_memory;
use kafkacomp_arrow::{Partition, Scan, ScanOptions};
use kafkacomp_records::CompressionType;

#[path = "../../kafkacomp-records/benches/settings/mod.rs"]
mod settings;

#[path = "../tests/common/mod.rs"]
mod common;

const RECORDS: usize = 60_000;
/// Name and number of records of the batches; a record has about 265 bytes.
const BATCHES: [(&str, usize); 5] = [("1", 1), ("10", 10), ("16k", 62), ("100k", 386), ("1m", 3950)];

fn row(index: usize) -> String {
    let n = index.wrapping_mul(2_654_435_761) % 100_000;
    format!(
        r#"{{"year": 2013, "month": {}, "day": {}, "dep_time": {}, "sched_dep_time": {}, "dep_delay": {}, "arr_time": {}, "sched_arr_time": {}, "arr_delay": {}, "carrier": "UA", "flight": {}, "tailnum": "N{}UA", "origin": "EWR", "dest": "IAH", "air_time": {}, "distance": {}, "hour": {}}}"#,
        n % 12 + 1,
        n % 28 + 1,
        n % 2400,
        n / 7 % 2400,
        n % 60,
        n / 3 % 2400,
        n / 5 % 2400,
        n % 45,
        n % 9000,
        n,
        n % 400,
        n % 3000,
        n % 24
    )
}

fn compress(codec: CompressionType, records: Vec<u8>) -> Vec<u8> {
    match codec {
        CompressionType::None => records,
        CompressionType::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&records).unwrap();
            encoder.finish().unwrap()
        }
        CompressionType::Snappy => {
            let mut stream = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
            for block in records.chunks(32 << 10) {
                let block = snap::raw::Encoder::new().compress_vec(block).unwrap();
                stream.extend_from_slice(&(block.len() as u32).to_be_bytes());
                stream.extend_from_slice(&block);
            }
            stream
        }
        CompressionType::Lz4 => {
            let preferences = lzzzz::lz4f::PreferencesBuilder::new()
                .block_size(lzzzz::lz4f::BlockSize::Max64KB)
                .block_mode(lzzzz::lz4f::BlockMode::Independent)
                .build();
            let mut frame = Vec::new();
            lzzzz::lz4f::compress_to_vec(&records, &mut frame, &preferences).unwrap();
            frame
        }
        CompressionType::Zstd => zstd::bulk::compress(&records, 3).unwrap(),
    }
}

fn segment(codec: CompressionType, per_batch: usize) -> Vec<u8> {
    let rows: Vec<String> = (0..RECORDS).map(row).collect();
    let mut log = Vec::new();
    for (index, chunk) in rows.chunks(per_batch).enumerate() {
        let values: Vec<&[u8]> = chunk.iter().map(String::as_bytes).collect();
        let base_offset = (index * per_batch) as i64;
        log.extend(common::batch_of(base_offset, &values, i16::from(codec.id()), -1, |records| {
            compress(codec, records)
        }));
    }
    log
}

fn partition(data: &Arc<Vec<u8>>) -> Partition {
    let segments = vec![in_memory(Arc::clone(data), "bench")];
    Partition { topic: Some(Arc::from("flights")), partition: Some(0), segments, ..Partition::default() }
}

fn scan(criterion: &mut Criterion) {
    for codec in CompressionType::ALL {
        let mut group = criterion.benchmark_group(format!("scan/{}", codec.name()));
        group.throughput(Throughput::Elements(RECORDS as u64));
        for (name, per_batch) in BATCHES {
            let data = Arc::new(segment(codec, per_batch));
            let size = data.len() as u64;
            group.bench_with_input(BenchmarkId::from_parameter(name), &data, |bencher, data| {
                bencher.iter(|| {
                    let scan = Scan::new(vec![partition(data)], ScanOptions::default(), size);
                    let rows: usize = scan.map(|batch| batch.unwrap().num_rows()).sum();
                    assert_eq!(rows, RECORDS);
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = settings::settings(Duration::from_millis(200), Duration::from_secs(1));
    targets = scan
}
criterion_main!(benches);
