//! Columns of views have the values of binary columns: short and long ones, nulls, and columns of nulls alone.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use kafkacomp_arrow::source::files::in_memory;
use kafkacomp_arrow::{BinaryType, Partition, Scan, ScanOptions};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{BatchSettings, Headers, RecordBatchBuilder};

const HEADER: &[u8] = &[2, b'k', 2, b'v'];

type Row = (Option<Vec<u8>>, Option<Vec<u8>>, Option<usize>);

/// Batches of 1 to 40 records. The first ones have neither keys nor headers; after them, keys and values have all lengths
/// around the longest that is part of its view.
fn log(compression_type: CompressionType) -> Vec<u8> {
    let (mut data, mut offset) = (Vec::new(), 0);
    for index in 0..60_usize {
        let settings = BatchSettings {
            base_offset: offset as i64,
            compression: Compression::of(compression_type),
            ..BatchSettings::default()
        };
        let mut builder = RecordBatchBuilder::new(settings).unwrap();
        for _ in 0..=index * 7 % 40 {
            let bytes: Vec<u8> = (0..30).map(|at| (offset * 31 + at) as u8).collect();
            let key = (index > 20 && offset % 5 > 0).then(|| &bytes[..offset % 17]);
            let value = (offset % 11 > 0).then(|| &bytes[..offset % 30]);
            let headers = if index > 40 && offset % 3 == 0 { Headers::new(HEADER, 1) } else { Headers::EMPTY };
            builder.append(offset as i64, 0, key, value, headers).unwrap();
            offset += 1;
        }
        builder.build(&mut data).unwrap();
    }
    data
}

fn scan(data: &[u8], options: ScanOptions) -> impl Iterator<Item = RecordBatch> {
    let segments = vec![in_memory(Arc::new(data.to_vec()), "log")];
    let partition = Partition { topic: Some(Arc::from("t")), partition: Some(0), segments, ..Partition::default() };
    Scan::new(vec![partition], options, data.len() as u64).map(|batch| {
        let batch = batch.unwrap();
        // The first bytes of each value are in its view, too.
        batch.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
        batch
    })
}

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let bytes = |name: &str| -> Vec<Option<Vec<u8>>> {
        let column = batch.column_by_name(name).unwrap();
        match column.as_binary_view_opt() {
            Some(views) => views.iter().map(|value| value.map(<[u8]>::to_vec)).collect(),
            None => column.as_binary::<i32>().iter().map(|value| value.map(<[u8]>::to_vec)).collect(),
        }
    };
    let headers = batch.column_by_name("headers").unwrap().as_list::<i32>();
    let headers = headers.iter().map(|list| list.map(|list| list.len()));
    bytes("key").into_iter().zip(bytes("value")).zip(headers).map(|((key, value), list)| (key, value, list)).collect()
}

#[test]
fn views_have_the_values_of_binary_columns() {
    for compression_type in [CompressionType::None, CompressionType::Lz4] {
        let data = log(compression_type);
        for batch_rows in [1, 7, 64, 100_000] {
            let options = |binary_type| ScanOptions { binary_type, batch_rows, threads: 1, ..ScanOptions::default() };
            // All batches are kept until the end: the buffers of an earlier one must not be reused for a later one.
            let views: Vec<RecordBatch> = scan(&data, options(BinaryType::BinaryView)).collect();
            let found: Vec<Row> = views.iter().flat_map(rows).collect();
            let expected: Vec<Row> = scan(&data, options(BinaryType::Binary)).flat_map(|batch| rows(&batch)).collect();
            assert!(expected.len() > 1000);
            assert_eq!(found, expected, "{compression_type:?}, batches of {batch_rows}");
        }
    }
}

/// Batches whose values fill the buffers that the pool lends, so that views refer to those.
fn large(compression_type: CompressionType, mark: u8) -> Vec<u8> {
    let mut data = Vec::new();
    for index in 0..24_usize {
        let settings = BatchSettings {
            base_offset: (index * 40) as i64,
            compression: Compression::of(compression_type),
            ..BatchSettings::default()
        };
        let mut builder = RecordBatchBuilder::new(settings).unwrap();
        for record in 0..40_usize {
            let value: Vec<u8> = (0..2000).map(|at| mark ^ (index * 40 + record + at / 7) as u8).collect();
            builder.append((index * 40 + record) as i64, 0, None, Some(&value), Headers::EMPTY).unwrap();
        }
        builder.build(&mut data).unwrap();
    }
    data
}

#[test]
fn batches_that_are_held_at_random_keep_their_values() {
    let mut number = 1_u32;
    let mut below = |end: usize| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 16) as usize % end
    };
    let compressions = [CompressionType::None, CompressionType::Lz4, CompressionType::Zstd];
    let logs: Vec<_> = compressions.iter().zip(1..).map(|(each, mark)| large(*each, mark)).collect();
    let options = |binary_type, threads| ScanOptions { binary_type, threads, ..ScanOptions::default() };
    let mut held: Vec<(RecordBatch, Vec<Row>)> = Vec::new();
    for round in 0..30 {
        let log = &logs[round % logs.len()];
        let (threads, binary_type) = (1 + below(3), [BinaryType::BinaryView, BinaryType::Binary][below(2)]);
        for batch in scan(log, options(binary_type, threads)) {
            let before = rows(&batch);
            held.push((batch, before));
            while held.len() > below(9) {
                let (batch, before) = held.swap_remove(below(held.len()));
                assert!(rows(&batch) == before, "a batch changed while it was held");
            }
        }
    }
}
