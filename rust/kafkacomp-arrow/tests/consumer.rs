//! Whether the consumer decodes chunks itself, or only workers do, the rows and the report are the same.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::io;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use kafkacomp_arrow::source::files::in_memory;
use kafkacomp_arrow::{BinaryType, Checkpoints, OnError, Partition, Scan, ScanOptions, Segment};
use kafkacomp_log::{OpenSegment, ReadAt, SideFile};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{BatchSettings, Headers, RecordBatchBuilder};

/// A segment that only workers read.
#[derive(Debug)]
struct Remote(Arc<dyn OpenSegment>);

impl OpenSegment for Remote {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        self.0.open()
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        self.0.side_file(kind)
    }

    fn may_be_truncated(&self) -> bool {
        self.0.may_be_truncated()
    }
}

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

/// Batches of one record up to thousands, of any codec, with gaps between some, and a corrupt byte in a few.
fn log(numbers: &mut Numbers) -> Vec<u8> {
    const CODECS: [CompressionType; 5] = [
        CompressionType::None,
        CompressionType::Gzip,
        CompressionType::Snappy,
        CompressionType::Lz4,
        CompressionType::Zstd,
    ];
    let (mut data, mut offset) = (Vec::new(), 0_i64);
    for _ in 0..20 + numbers.below(60) {
        let compression = Compression::of(numbers.of(&CODECS));
        let settings = BatchSettings { base_offset: offset, compression, ..BatchSettings::default() };
        let mut builder = RecordBatchBuilder::new(settings).unwrap();
        let count = numbers.of(&[1, 1, 5, 60, 400]) + if numbers.below(25) == 0 { 6000 } else { 0 };
        let size = numbers.of(&[0, 3, 40, 300]);
        for record in 0..count {
            let value = vec![(record % 251) as u8; size + record % 5];
            builder.append(offset, offset, Some(&value[..size / 3]), Some(&value), Headers::EMPTY).unwrap();
            offset += 1;
        }
        let position = data.len();
        builder.build(&mut data).unwrap();
        if numbers.below(30) == 0 {
            let at = position + 61 + numbers.below(data.len() - position - 61);
            data[at] ^= 1;
        }
        if numbers.below(20) == 0 {
            offset += 3;
        }
    }
    data
}

/// The rows in one batch, and the report with how many Arrow batches there are and the most rows of one.
fn found(
    data: &Arc<Vec<u8>>,
    options: &ScanOptions,
    hides: bool,
    is_local: bool,
) -> (Vec<RecordBatch>, String, String) {
    let segment = in_memory(Arc::clone(data), "log");
    let files = if is_local { segment.files } else { Arc::new(Remote(segment.files)) };
    let checkpoints = Checkpoints {
        log_start_offset: hides.then_some(77),
        high_watermark: hides.then_some(1500),
        cleaned_to: None,
        ..Checkpoints::default()
    };
    let segments = vec![Segment { files, base_offset: Some(0), ..segment }];
    let partition =
        Partition { topic: Some(Arc::from("t")), partition: Some(0), segments, checkpoints, ..Partition::default() };
    let mut scan = Scan::new(vec![partition], options.clone(), data.len() as u64);
    let (mut batches, mut error) = (Vec::new(), String::new());
    for batch in &mut scan {
        match batch {
            Ok(batch) => {
                assert!((1..=options.batch_rows).contains(&batch.num_rows()));
                batches.push(batch);
            }
            Err(failed) => error = format!("{failed:?}"),
        }
    }
    let report = scan.report();
    let report = report.lock().unwrap().clone();
    (batches, error, format!("{report:?}"))
}

#[test]
fn the_consumer_reads_what_workers_read() {
    let mut numbers = Numbers(7);
    let (mut failed, mut intact) = (0, 0);
    for case in 0..60 {
        let data = Arc::new(log(&mut numbers));
        let options = ScanOptions {
            batch_rows: numbers.of(&[1, 10, 100, 1000, 65_536]),
            arrow_batch_bytes: numbers.of(&[1000, 20_000, 1 << 20, 8 << 20]),
            binary_type: numbers.of(&[BinaryType::Binary, BinaryType::BinaryView]),
            on_error: numbers.of(&[OnError::Raise, OnError::Skip]),
            visible_only: numbers.below(2) == 0,
            threads: numbers.of(&[1, 1, 2, 3]),
            ..ScanOptions::default()
        };
        let hides = numbers.below(3) == 0;
        let (own, own_error, own_report) = found(&data, &options, hides, true);
        let (others, others_error, others_report) = found(&data, &options, hides, false);
        let name = format!("case {case}: {options:?}");
        assert_eq!(own_error, others_error, "{name}");
        let of =
            |batches: &[RecordBatch]| batches.first().map(|first| concat_batches(&first.schema(), batches).unwrap());
        assert_eq!(of(&own), of(&others), "{name}");
        if own_error.is_empty() {
            assert_eq!(own_report, others_report, "{name}");
            intact += 1;
        } else {
            failed += 1;
        }
    }
    assert!(failed > 5 && intact > 20, "{failed} failed, {intact} did not");
}
