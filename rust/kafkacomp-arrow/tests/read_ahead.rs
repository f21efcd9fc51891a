//! What threads read ahead of the planner gives the rows, errors and reports of one thread.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use kafkacomp_arrow::source::files::in_memory;
use kafkacomp_arrow::{BinaryType, OnError, Partition, Scan, ScanOptions, Segment};
use kafkacomp_log::LocalSegment;
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{BatchSettings, Headers, RecordBatchBuilder};

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A segment that begins at `offset`, of several megabytes, and the offset after it. Batches have about the same size, or any.
fn segment(numbers: &mut Numbers, mut offset: i64) -> (Vec<u8>, i64) {
    const SIZES: [usize; 6] = [200, 16 << 10, 60 << 10, 300 << 10, 1 << 20, 5 << 20];
    let (mut data, length) = (Vec::new(), numbers.of(&[1, 3, 6, 12]) << 20);
    let (size, compression) = (numbers.of(&SIZES), numbers.of(&[CompressionType::None, CompressionType::Lz4]));
    let is_mixed = numbers.below(3) == 0;
    let noise: Vec<u8> = (0..1 << 16).map(|_| numbers.below(256) as u8).collect();
    while data.len() < length {
        let size = if is_mixed { numbers.of(&SIZES) } else { size + numbers.below(300) };
        let settings =
            BatchSettings { base_offset: offset, compression: Compression::of(compression), ..Default::default() };
        let mut builder = RecordBatchBuilder::new(settings).unwrap();
        let mut left = size;
        while left > 0 {
            let value = left.min(if size > 1 << 20 { 50_000 } else { 500 });
            let from = numbers.below(noise.len() - value);
            builder.append(offset, offset, None, Some(&noise[from..from + value]), Headers::EMPTY).unwrap();
            (left, offset) = (left - value, offset + 1);
        }
        builder.build(&mut data).unwrap();
        // A few gaps, so that batches are judged by those after them.
        offset += if numbers.below(200) == 0 { 5 } else { 0 };
    }
    (data, offset)
}

/// Damages nothing, a byte, or the end.
fn damage(numbers: &mut Numbers, data: &mut Vec<u8>) {
    match numbers.below(6) {
        0 => {
            let at = numbers.below(data.len());
            data[at] ^= 0x10;
        }
        1 => data.truncate(data.len() - 1 - numbers.below(data.len() / 2)),
        2 => data.extend(vec![0; numbers.below(3 << 20)]),
        _ => {}
    }
}

/// The rows in one batch, the error, and the report.
fn found(files: &[(PathBuf, i64)], options: &ScanOptions, threads: usize) -> (Option<RecordBatch>, String, String) {
    let segments = files.iter().map(|(path, base)| {
        let like = in_memory(Arc::new([]), &path.file_name().unwrap().to_string_lossy());
        Segment { files: Arc::new(LocalSegment(path.clone())), base_offset: Some(*base), ..like }
    });
    let partition = Partition {
        topic: Some(Arc::from("t")),
        partition: Some(0),
        segments: segments.collect(),
        ..Partition::default()
    };
    let total = files.iter().map(|(path, _)| path.metadata().unwrap().len()).sum();
    let mut scan = Scan::new(vec![partition], ScanOptions { threads, ..options.clone() }, total);
    let (mut batches, mut error) = (Vec::new(), String::new());
    for batch in &mut scan {
        match batch {
            Ok(batch) => batches.push(batch),
            Err(failed) => error = format!("{failed:?}"),
        }
    }
    let report = scan.report();
    let report = format!("{:?}", report.lock().unwrap());
    let rows = batches.first().map(|first| concat_batches(&first.schema(), &batches).unwrap());
    (rows, error, report)
}

#[test]
fn several_threads_find_what_one_finds() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("read-ahead");
    fs::create_dir_all(&folder).unwrap();
    let mut numbers = Numbers(11);
    let (mut failed, mut intact) = (0, 0);
    for case in 0..60 {
        let (mut files, mut offset) = (Vec::new(), 0);
        for number in 0..=numbers.below(3) {
            let path = folder.join(format!("{number}.log"));
            let (mut data, end) = segment(&mut numbers, offset);
            damage(&mut numbers, &mut data);
            fs::write(&path, data).unwrap();
            files.push((path, offset));
            offset = end;
        }
        let options = ScanOptions {
            batch_rows: numbers.of(&[100, 65_536]),
            arrow_batch_bytes: numbers.of(&[100_000, 8 << 20]),
            binary_type: numbers.of(&[BinaryType::Binary, BinaryType::BinaryView]),
            on_error: numbers.of(&[OnError::Raise, OnError::Raise, OnError::Skip]),
            verify_crc: numbers.below(8) > 0,
            ..ScanOptions::default()
        };
        let name = format!("case {case}: {options:?}");
        let (rows, error, report) = found(&files, &options, 1);
        for threads in [2, 5] {
            let (other_rows, other_error, other_report) = found(&files, &options, threads);
            assert_eq!(error, other_error, "{name}, {threads} threads");
            assert!(rows == other_rows, "{name}, {threads} threads");
            if error.is_empty() {
                assert_eq!(report, other_report, "{name}, {threads} threads");
            }
        }
        *(if error.is_empty() { &mut intact } else { &mut failed }) += 1;
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(failed > 8 && intact > 20, "{failed} failed, {intact} did not");
}
