//! Batches of one record that are appended several at a time result in the same columns as one by one.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use arrow_array::RecordBatch;
use kafkacomp_arrow::source::files::in_memory;
use kafkacomp_arrow::{BinaryType, OnError, Partition, Scan, ScanOptions};

mod common;
use common::batch;

/// Batches of one record, and among them some of three records, control batches, batches with LogAppendTime, and missing and
/// repeated offsets.
fn log(records: usize) -> Vec<u8> {
    let (mut data, mut offset) = (Vec::new(), 0_i64);
    for index in 0..records {
        let bytes: Vec<u8> = (0..40 + index % 30).map(|at| (index * 31 + at) as u8).collect();
        let value = &bytes[..if index % 5 == 0 { index % 14 } else { bytes.len() }];
        let values: &[&[u8]] = if index % 97 == 50 { &[value, b"", value] } else { &[value] };
        let attributes = if index % 211 == 7 {
            0x20
        } else if index % 300 < 40 {
            8
        } else {
            0
        };
        data.extend(batch(offset, values, attributes, if index % 400 < 200 { 5 } else { -1 }));
        offset += values.len() as i64;
        if index % 500 == 499 {
            offset += 3;
        }
    }
    data
}

/// The rows of a scan, each as a batch, with the error that ended it, and its report without the sizes of what was read.
fn scanned(data: &[u8], options: &ScanOptions, bounded: bool) -> (Vec<RecordBatch>, Option<String>, String) {
    let segments = vec![in_memory(Arc::new(data.to_vec()), "log")];
    // With a bound, records are checked one by one.
    let start_offset = bounded.then_some(0);
    let partition =
        Partition { topic: Some(Arc::from("t")), partition: Some(0), start_offset, segments, ..Partition::default() };
    let mut scan = Scan::new(vec![partition], options.clone(), data.len() as u64);
    let (mut batches, mut error) = (Vec::new(), None);
    for batch in scan.by_ref() {
        match batch {
            Ok(batch) => {
                assert!(batch.num_rows() <= options.batch_rows);
                batches.push(batch);
            }
            Err(failed) => error = Some(failed.to_string()),
        }
    }
    let report = scan.report();
    let report = report.lock().unwrap();
    // Other workers may have counted batches after the one that failed.
    let described = format!("{} {} {:?} {:?}", report.batches, report.records, report.skipped, report.missing);
    let described = if error.is_none() { described } else { String::new() };
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1))).collect();
    (rows, error, described)
}

#[test]
fn batches_of_one_record_make_the_same_columns_together() {
    let mut data = log(3000);
    for corrupt in [None, Some(100_000), Some(40_000)] {
        if let Some(at) = corrupt {
            data[at] ^= 1;
        }
        for binary_type in [BinaryType::Binary, BinaryType::BinaryView] {
            for (threads, on_error) in
                [(1, OnError::Raise), (1, OnError::Skip), (2, OnError::Raise), (2, OnError::Skip)]
            {
                for (batch_rows, arrow_batch_bytes) in
                    [(65_536, 8 << 20), (100, 8 << 20), (1000, 3000), (65_536, 40_000)]
                {
                    let options = ScanOptions {
                        binary_type,
                        threads,
                        on_error,
                        batch_rows,
                        arrow_batch_bytes,
                        ..ScanOptions::default()
                    };
                    let (rows, error, report) = scanned(&data, &options, false);
                    assert!(rows.len() > 50 && error.is_some() == (corrupt.is_some() && on_error == OnError::Raise));
                    assert_eq!((rows, error, report), scanned(&data, &options, true), "{options:?}");
                }
            }
        }
    }
}
