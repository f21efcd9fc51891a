//! Views have the rows of binary columns, whatever the source is and wherever it is damaged: a chunk may end before the bytes that
//! were read for it.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::io;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use kafkacomp_arrow::source::files::in_memory;
use kafkacomp_arrow::{BinaryType, OnError, Partition, Scan, ScanOptions, Segment};
use kafkacomp_log::read::source::UNKNOWN_WORTH_READING;
use kafkacomp_log::{OpenSegment, ReadAt, SideFile, SourceTraits};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{BatchSettings, Headers, RecordBatchBuilder};
use proptest::prelude::*;
use proptest::sample::Index;

/// A file on a disk, in an object store or in memory.
#[derive(Debug, Clone)]
struct File {
    data: Arc<Vec<u8>>,
    is_remote: bool,
    is_in_memory: bool,
    /// The length that it has when it is opened; its bytes end before, if it was shortened since or the rest cannot be read.
    length: u64,
    is_unreadable: bool,
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let rest = self.data.get(position as usize..).unwrap_or_default();
        if rest.is_empty() && self.is_unreadable {
            return Err(io::Error::from_raw_os_error(5));
        }
        let size = rest.len().min(buffer.len());
        buffer[..size].copy_from_slice(&rest[..size]);
        Ok(size)
    }

    fn traits(&self) -> SourceTraits<'_> {
        let bytes = self.is_in_memory.then_some(self.data.as_slice());
        let local = SourceTraits::default();
        let worth_reading = if self.is_remote { UNKNOWN_WORTH_READING } else { local.worth_reading };
        SourceTraits { bytes, worth_reading, ..local }
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }
}

impl OpenSegment for File {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(self.clone()))
    }

    fn side_file(&self, _: SideFile) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn is_local(&self) -> bool {
        !self.is_remote
    }
}

/// A batch: its records, the bytes of a value, the offsets that are missing before it, and whether it is compressed.
type Batch = (usize, usize, i64, bool);

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let count = prop_oneof![20 => 1..4_usize, 30 => 20..80_usize, 1 => 200..400_usize];
    let gap = prop_oneof![3 => Just(0_i64), 1 => 1..50_i64];
    prop::collection::vec((count, 50..400_usize, gap, prop::bool::weighted(0.5)), 50..150)
}

/// The most rows and bytes of an Arrow batch, which may be complete anywhere in a Kafka batch.
fn limits() -> impl Strategy<Value = (usize, usize)> {
    let rows = prop_oneof![3 => Just(65_536_usize), 1 => 1..5_usize, 2 => 5..500_usize];
    let bytes = prop_oneof![3 => Just(8_usize << 20), 1 => 1..2_000_usize, 2 => 2_000..200_000_usize];
    (rows, bytes)
}

fn log(batches: &[Batch]) -> Vec<u8> {
    let (mut data, mut offset) = (Vec::new(), 0);
    for &(count, size, gap, is_compressed) in batches {
        offset += gap;
        let codec = if is_compressed { CompressionType::Lz4 } else { CompressionType::None };
        let compression = Compression::of(codec);
        let mut builder =
            RecordBatchBuilder::new(BatchSettings { base_offset: offset, compression, ..BatchSettings::default() })
                .unwrap();
        for _ in 0..count {
            // Half noise, so that compressed batches are large enough to be decompressed two at a time.
            let noise = |n: usize| ((offset as u64 ^ (n as u64) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
            let value: Vec<u8> = (0..size).map(|n| if n % 16 < 8 { noise(n) } else { offset as u8 }).collect();
            builder.append(offset, 0, Some(&value[..20]), Some(&value), Headers::EMPTY).unwrap();
            offset += 1;
        }
        builder.build(&mut data).unwrap();
    }
    data
}

type Row = (i64, Vec<u8>, Vec<u8>);

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let offsets = batch.column_by_name("offset").unwrap().as_primitive::<Int64Type>().values().iter();
    let bytes = |name: &str| -> Vec<Vec<u8>> {
        let column = batch.column_by_name(name).unwrap();
        match column.as_binary_view_opt() {
            Some(views) => views.iter().map(|value| value.unwrap().to_vec()).collect(),
            None => column.as_binary::<i32>().iter().map(|value| value.unwrap().to_vec()).collect(),
        }
    };
    offsets.zip(bytes("key")).zip(bytes("value")).map(|((&offset, key), value)| (offset, key, value)).collect()
}

/// The rows, the error, and what was skipped and is missing.
fn found(file: &File, options: &ScanOptions) -> (Vec<Row>, String, String) {
    let segment = Segment { files: Arc::new(file.clone()), ..in_memory(Arc::new([0_u8; 0]), "log") };
    let partition =
        Partition { topic: Some(Arc::from("t")), partition: Some(0), segments: vec![segment], ..Partition::default() };
    let mut scan = Scan::new(vec![partition], options.clone(), file.length);
    let (mut all, mut error) = (Vec::new(), String::new());
    for batch in &mut scan {
        match batch {
            Ok(batch) => all.extend(rows(&batch)),
            Err(failed) => error = format!("{failed:?}"),
        }
    }
    let report = scan.report();
    let report = report.lock().unwrap();
    (all, error, format!("{:?} {:?}", report.skipped, report.missing))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn views_of_damaged_sources_are_the_rows_of_binary_columns(
        batches in batches(),
        flipped in prop::collection::vec((any::<Index>(), 0..8_u8), 0..3),
        removed in prop::option::weighted(0.2, (any::<Index>(), 1..5000_usize)),
        ends_early in prop::option::weighted(0.3, (1..500_000_u64, any::<bool>())),
        (kind, skips, threads) in (0..3, any::<bool>(), 1..4_usize),
        (batch_rows, arrow_batch_bytes) in limits(),
    ) {
        let mut data = log(&batches);
        let is_whole = flipped.is_empty() && removed.is_none();
        for (at, bit) in flipped {
            let at = at.index(data.len());
            data[at] ^= 1 << bit;
        }
        if let Some((at, length)) = removed {
            let at = at.index(data.len());
            let end = data.len().min(at + length);
            data.drain(at..end);
        }
        let (lost, is_unreadable) = ends_early.unwrap_or_default();
        let length = data.len() as u64 + lost;
        let is_in_memory = kind == 2 && lost == 0;
        let file = File { data: Arc::new(data), is_remote: kind == 1, is_in_memory, length, is_unreadable };
        let on_error = if skips { OnError::Skip } else { OnError::Raise };
        let options = |binary_type| {
            ScanOptions { binary_type, on_error, threads, batch_rows, arrow_batch_bytes, ..ScanOptions::default() }
        };
        let views = found(&file, &options(BinaryType::BinaryView));
        let expected = found(&file, &ScanOptions { threads: 1, ..options(BinaryType::Binary) });
        prop_assert_eq!(views.0.len(), expected.0.len());
        if is_whole {
            // Also if the file ends before the length that it had, or its end cannot be read.
            prop_assert_eq!(views.0.len(), batches.iter().map(|(count, ..)| count).sum::<usize>());
        }
        prop_assert!(views.0 == expected.0);
        prop_assert_eq!(&views.1, &expected.1);
        // After an error, the report depends on how far other threads were.
        if views.1.is_empty() {
            prop_assert_eq!(views.2, expected.2);
        }
    }
}
