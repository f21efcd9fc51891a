//! Scans over generated record sets: order, bounds, batch limits, corruption, threads.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use kafkacomp_arrow::source::files::in_memory;
use kafkacomp_arrow::{Column, IsolationLevel, OnError, Partition, Scan, ScanError, ScanOptions};
use kafkacomp_records::checksum::crc32c;

mod common;
use common::{batch, batch_of, varint};

/// Batches of `each` records of `size` bytes, `count` of them.
fn log(count: usize, each: usize, size: usize) -> Vec<u8> {
    let value = vec![b'v'; size];
    let values: Vec<&[u8]> = vec![&value; each];
    (0..count).flat_map(|index| batch((index * each) as i64, &values, 0, -1)).collect()
}

fn partition(data: Vec<u8>) -> Partition {
    let segments = vec![in_memory(Arc::new(data), "log")];
    Partition { topic: Some(Arc::from("t")), partition: Some(0), segments, ..Partition::default() }
}

fn offsets(scan: Scan) -> Vec<i64> {
    scan.flat_map(|batch| {
        let batch = batch.expect("no corruption");
        batch.column_by_name("offset").unwrap().as_primitive::<Int64Type>().values().to_vec()
    })
    .collect()
}

fn options(threads: usize) -> ScanOptions {
    ScanOptions { threads, ..ScanOptions::default() }
}

#[test]
fn any_number_of_threads_gives_the_same_order() {
    let data = log(3000, 10, 200);
    for threads in [1, 2, 3, 8] {
        let size = data.len() as u64;
        let found = offsets(Scan::new(vec![partition(data.clone())], options(threads), size));
        assert_eq!(found, (0..30_000).collect::<Vec<i64>>(), "{threads} threads");
    }
}

#[test]
fn a_record_set_in_memory_may_end_within_a_batch() {
    let mut data = log(3, 10, 50);
    data.pop();
    for threads in [1, 2] {
        let scan = Scan::new(vec![partition(data.clone())], options(threads), 0);
        let report = scan.report();
        assert_eq!(offsets(scan), (0..20).collect::<Vec<i64>>());
        let warnings = &report.lock().unwrap().warnings;
        assert!(matches!(&warnings[..], [warning] if warning.ends_with(": left out")), "{warnings:?}");
    }
}

#[test]
fn batches_keep_to_both_limits_and_a_larger_record_stands_alone() {
    let mut data = log(20, 100, 50);
    let large = vec![b'x'; 5000];
    data.extend(batch(2000, &[b"small", &large, b"small"], 0, -1));
    for threads in [1, 2] {
        let options = ScanOptions { batch_rows: 64, arrow_batch_bytes: 2000, ..options(threads) };
        let mut rows = 0;
        for batch in Scan::new(vec![partition(data.clone())], options, 0) {
            let batch = batch.unwrap();
            rows += batch.num_rows();
            let values: usize = batch.column_by_name("value").unwrap().as_binary::<i32>().value_data().len();
            assert!(batch.num_rows() <= 64);
            assert!(values <= 2000 || batch.num_rows() == 1);
        }
        assert_eq!(rows, 2003);
    }
}

#[test]
fn a_scan_that_is_dropped_ends_its_threads() {
    let data = log(3000, 10, 200);
    for threads in [1, 4] {
        let mut scan =
            Scan::new(vec![partition(data.clone())], ScanOptions { batch_rows: 10, ..options(threads) }, 6_000_000);
        assert!(scan.next().is_some());
        drop(scan);
    }
}

#[test]
fn corruption_comes_after_the_rows_before_it() {
    let mut data = log(10, 10, 100);
    // After the base offset of the sixth batch, which its checksum does not cover.
    let middle = data.len() / 2 + 70;
    *data.get_mut(middle).unwrap() ^= 1;
    for threads in [1, 3] {
        let mut rows = 0;
        let mut failure = None;
        for batch in Scan::new(vec![partition(data.clone())], options(threads), 0) {
            match batch {
                Ok(batch) => rows += batch.num_rows(),
                Err(error) => failure = Some(error),
            }
        }
        assert_eq!(rows, 50, "{threads} threads");
        assert!(matches!(failure, Some(ScanError::Record { .. })));
        let skip = ScanOptions { on_error: OnError::Skip, ..options(threads) };
        let scan = Scan::new(vec![partition(data.clone())], skip, 0);
        let report = scan.report();
        assert_eq!(offsets(scan).len(), 90);
        assert_eq!(report.lock().unwrap().skipped.len(), 1);
    }
}

#[test]
fn a_corrupt_length_costs_only_its_own_batch() {
    let mut data = log(10, 10, 100);
    let size = data.len() / 10;
    // The third batch declares 300 bytes more than it has.
    let at = size * 2 + 8;
    let length = i32::from_be_bytes(data.get(at..at + 4).unwrap().try_into().unwrap()) + 300;
    data.get_mut(at..at + 4).unwrap().copy_from_slice(&length.to_be_bytes());
    let skip = ScanOptions { on_error: OnError::Skip, ..options(1) };
    let found = offsets(Scan::new(vec![partition(data)], skip, 0));
    assert_eq!(found, (0..20).chain(30..100).collect::<Vec<i64>>());
}

#[test]
fn garbage_between_batches_is_stepped_over() {
    let mut data = log(3, 10, 100);
    data.extend(std::iter::repeat_n(0xa5, 5000));
    data.extend(batch(30, &[b"after"], 0, -1));
    let skip = ScanOptions { on_error: OnError::Skip, ..options(1) };
    let scan = Scan::new(vec![partition(data)], skip, 0);
    let report = scan.report();
    assert_eq!(offsets(scan).len(), 31);
    let report = report.lock().unwrap();
    assert_eq!(report.skipped.iter().map(|range| range.length).collect::<Vec<_>>(), [5000]);
}

#[test]
fn a_committed_reader_stops_at_an_open_transaction() {
    const TRANSACTIONAL: i16 = 0x10;
    const CONTROL: i16 = 0x30;
    let marker = |offset, kind: i16| {
        let mut marker = batch(offset, &[b""], CONTROL, 7);
        // The key of a control record determines its type: rewrite the batch with a key and no value.
        let mut body = vec![0, 0, 0, 8, 0, 0, 0, kind as u8];
        varint(&mut body, 6);
        body.extend_from_slice(&[0, 0, 0, 0, 0, 0]);
        varint(&mut body, 0);
        let mut record = Vec::new();
        varint(&mut record, body.len() as i64);
        record.extend(body);
        marker.truncate(61);
        marker.extend(record);
        let size = marker.len() as i32 - 12;
        marker.get_mut(8..12).unwrap().copy_from_slice(&size.to_be_bytes());
        let crc = crc32c(marker.get(21..).unwrap());
        marker.get_mut(17..21).unwrap().copy_from_slice(&crc.to_be_bytes());
        marker
    };
    let mut data = batch(0, &[b"aborted"], TRANSACTIONAL, 7);
    data.extend(batch(1, &[b"plain"], 0, -1));
    data.extend(marker(2, 0));
    data.extend(batch(3, &[b"committed"], TRANSACTIONAL, 7));
    data.extend(marker(4, 1));
    data.extend(batch(5, &[b"open"], TRANSACTIONAL, 7));
    data.extend(batch(6, &[b"plain, after"], 0, -1));
    let committed = ScanOptions { isolation_level: IsolationLevel::ReadCommitted, ..options(1) };
    assert_eq!(offsets(Scan::new(vec![partition(data.clone())], committed, 0)), [1, 3]);
    assert_eq!(offsets(Scan::new(vec![partition(data.clone())], options(1), 0)), [0, 1, 3, 5, 6]);
    let control = ScanOptions { include_control: true, columns: vec![Column::Offset], ..options(1) };
    assert_eq!(offsets(Scan::new(vec![partition(data)], control, 0)), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn bounds_of_offsets_are_half_open() {
    let data = log(50, 10, 20);
    for (start, end) in [(0, 500), (5, 6), (13, 13), (499, 1000), (250, 377)] {
        let mut bounded = partition(data.clone());
        (bounded.start_offset, bounded.end_offset) = (Some(start), Some(end));
        let found = offsets(Scan::new(vec![bounded], options(1), 0));
        assert_eq!(found, (start..end.min(500)).collect::<Vec<i64>>());
    }
}

#[test]
fn a_corrupt_last_batch_before_the_end_offset_is_reported() {
    let mut data = log(10, 10, 100);
    let middle = data.len() / 2 + 70;
    *data.get_mut(middle).unwrap() ^= 1;
    let mut bounded = partition(data);
    bounded.end_offset = Some(60);
    let scan = Scan::new(vec![bounded], ScanOptions { on_error: OnError::Skip, ..options(1) }, 0);
    let report = scan.report();
    assert_eq!(offsets(scan), (0..50).collect::<Vec<i64>>());
    assert_eq!(report.lock().unwrap().skipped.len(), 1);
}

/// A batch with a record for each of `kinds`, whose bits determine whether it has a key, a value and headers.
fn mixed(base_offset: i64, kinds: &[u8], attributes: i16) -> Vec<u8> {
    let mut records = Vec::new();
    let bytes = |body: &mut Vec<u8>, length: i64| {
        varint(body, length);
        body.extend(std::iter::repeat_n(b'x', usize::try_from(length).unwrap_or_default()));
    };
    for (delta, kind) in kinds.iter().enumerate() {
        let mut body = vec![0];
        varint(&mut body, i64::from(*kind) * 1000);
        varint(&mut body, delta as i64);
        bytes(&mut body, if kind & 0b1 == 0 { -1 } else { i64::from(kind >> 4) });
        bytes(&mut body, if kind & 0b10 == 0 { -1 } else { i64::from(*kind) * 3 });
        if kind & 0b1100 == 0b1100 {
            varint(&mut body, 1);
            bytes(&mut body, 2);
            bytes(&mut body, -1);
        } else {
            varint(&mut body, 0);
        }
        varint(&mut records, body.len() as i64);
        records.extend_from_slice(&body);
    }
    let empty: Vec<&[u8]> = vec![b""; kinds.len()];
    batch_of(base_offset, &empty, attributes, 5, |_| records)
}

#[test]
fn blocks_of_records_make_the_columns_that_single_records_make() {
    let mut state = 7_u32;
    let mut data = Vec::new();
    let mut offset = 0;
    for index in 0..60_usize {
        // Mostly plain records, so that blocks are long; some batches with every kind.
        let kinds: Vec<u8> = (0..index * 17)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8 & if index % 3 == 0 { 0xff } else { 0xf7 }
            })
            .collect();
        if !kinds.is_empty() {
            data.extend(mixed(offset, &kinds, if index % 4 == 0 { 8 } else { 0 }));
            offset += kinds.len() as i64;
        }
    }
    let all = ScanOptions { columns: Column::ALL.to_vec(), batch_rows: 1000, ..ScanOptions::default() };
    let size = data.len() as u64;
    let table = |bounded: bool| {
        // With a bound, records are checked one by one.
        let start_offset = bounded.then_some(0);
        let scan = Scan::new(vec![Partition { start_offset, ..partition(data.clone()) }], all.clone(), size);
        scan.map(|batch| batch.expect("no corruption")).collect::<Vec<_>>()
    };
    let blocks = table(false);
    assert_eq!(blocks.iter().map(|batch| batch.num_rows() as i64).sum::<i64>(), offset);
    assert_eq!(blocks, table(true));
}
