//! The search for an intact batch in files that contain none or few, by kind of corruption. The aim is at most 5 ns a byte
//! (0.2 GB/s).

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark; criterion's macros make public functions")]

use std::convert::Infallible;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kafkacomp_log::{InMemory, walk_segment};
use kafkacomp_records::checksum::crc32c;

#[path = "../../kafkacomp-records/benches/payload/mod.rs"]
mod payload;
#[path = "../../kafkacomp-records/benches/settings/mod.rs"]
mod settings;

const SIZE: usize = 33 << 20;

/// The header of a batch of `length` bytes, with `wrong` added to its checksum.
fn batch(length: usize, wrong: u32) -> Vec<u8> {
    let mut data = vec![0; 61];
    data[8..12].copy_from_slice(&(length as i32 - 12).to_be_bytes());
    data[16] = 2;
    let sum = crc32c(&data[21..]).wrapping_add(wrong);
    data[17..21].copy_from_slice(&sum.to_be_bytes());
    data
}

/// The unit, repeated up to `SIZE` bytes.
fn repeated(unit: &[u8]) -> Vec<u8> {
    unit.iter().copied().cycle().take(SIZE).collect()
}

/// A batch header every `distance` bytes, each with a size up to the end of the file.
fn to_the_end(distance: usize) -> Vec<u8> {
    let mut data = vec![0; SIZE];
    for at in (0..SIZE - 100).step_by(distance) {
        let mut header = batch(SIZE - at, 1);
        header[57..61].copy_from_slice(&1_i32.to_be_bytes());
        header.extend([0x40, 0, 0]);
        data[at..at + header.len()].copy_from_slice(&header);
    }
    data
}

fn search(criterion: &mut Criterion) {
    let (bad, good) = (batch(61, 1), batch(61, 0));
    let mut behind = to_the_end(SIZE);
    behind.truncate(64);
    behind.extend(repeated(&bad));
    behind.truncate(SIZE);
    let files = [
        ("one byte, 0x01", vec![1; SIZE]),
        ("two bytes, 0x01 and 0x00", repeated(&[1, 0])),
        ("three bytes, 0x01 and 0x00", repeated(&[0, 1, 0])),
        ("61-byte batches", repeated(&bad)),
        ("61-byte batches, every second intact", repeated(&[bad.as_slice(), &good].concat())),
        ("61-byte batches behind a header of the whole file", behind),
        ("headers of the whole file, every 64 bytes", to_the_end(64)),
        ("JSON", payload::json(SIZE)),
        ("noise", payload::noise(SIZE)),
    ];
    let mut group = criterion.benchmark_group("resync");
    for (name, data) in files {
        group.throughput(Throughput::Bytes(data.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                let walked =
                    walk_segment::<Infallible>(&InMemory(black_box(&data)), &mut |_, _| ControlFlow::Continue(()));
                assert!(walked.unwrap().is_continue());
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = settings::settings(Duration::from_millis(100), Duration::from_secs(1)).sample_size(10);
    targets = search
}
criterion_main!(benches);
