//! Batches built from columns have the rows of the columns.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use kafkacomp_arrow::build::{Batcher, BuildError};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{BatchSettings, Batches, BuildFault, RecordReader};

type Pair<'a> = (Option<&'a str>, Option<&'a [u8]>);

fn headers(rows: &[Option<Vec<Pair<'_>>>]) -> ArrayRef {
    let fields = kafkacomp_arrow::columns::schema::header_fields(kafkacomp_arrow::BinaryType::Binary);
    let children: Vec<Box<dyn arrow_array::builder::ArrayBuilder>> =
        vec![Box::new(StringBuilder::new()), Box::new(BinaryBuilder::new())];
    let mut list = ListBuilder::new(StructBuilder::new(fields, children));
    for row in rows {
        for (key, value) in row.iter().flatten() {
            list.values().field_builder::<StringBuilder>(0).unwrap().append_option(*key);
            list.values().field_builder::<BinaryBuilder>(1).unwrap().append_option(*value);
            list.values().append(true);
        }
        list.append(row.is_some());
    }
    Arc::new(list.finish())
}

fn build(rows: &[RecordBatch], settings: BatchSettings) -> Result<Vec<u8>, BuildError> {
    let mut batcher = Batcher::new(settings)?;
    let mut out = Vec::new();
    for rows in rows {
        batcher.push(rows, &mut out)?;
    }
    batcher.finish(&mut out)?;
    Ok(out)
}

#[test]
fn columns_become_records() {
    let value: ArrayRef = Arc::new(BinaryArray::from_opt_vec(vec![Some(b"a"), None, Some(b"c"), Some(b"")]));
    let key: ArrayRef = Arc::new(LargeStringArray::from(vec![None, Some("k"), Some("é"), None]));
    let timestamp: ArrayRef =
        Arc::new(TimestampMicrosecondArray::from(vec![Some(5999), None, Some(7_000_000), Some(-1000)]));
    let offset: ArrayRef = Arc::new(Int64Array::from(vec![Some(5), None, Some(1 << 40), None]));
    let headers = headers(&[
        None,
        Some(vec![]),
        Some(vec![(Some("h"), None), (Some("h"), Some(b"v"))]),
        Some(vec![(Some(""), Some(b""))]),
    ]);
    let columns = [
        ("value", value),
        ("key", key),
        ("timestamp", timestamp),
        ("offset", offset),
        ("headers", headers),
        ("topic", Arc::new(StringArray::from(vec!["t"; 4])) as ArrayRef),
    ];
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let settings = BatchSettings {
        compression: Compression::of(CompressionType::Zstd),
        producer_id: 9,
        producer_epoch: 0,
        base_sequence: 100,
        ..BatchSettings::default()
    };
    let out = build(&[rows.slice(0, 1), rows.slice(1, 3)], settings).unwrap();
    let mut reader = RecordReader::new(1 << 20);
    let mut read = Vec::new();
    let mut sequences = Vec::new();
    for batch in Batches::new(&out, 0) {
        let batch = batch.unwrap();
        sequences.push((batch.base_offset().unwrap(), batch.base_sequence()));
        for record in reader.records(&batch).unwrap() {
            let record = record.unwrap();
            let headers: Vec<_> =
                record.headers.into_iter().map(|(k, v)| (k.to_vec(), v.map(<[u8]>::to_vec))).collect();
            read.push((
                record.offset,
                record.timestamp,
                record.key.map(<[u8]>::to_vec),
                record.value.map(<[u8]>::to_vec),
                headers,
            ));
        }
    }
    assert_eq!(sequences, [(5, 100), (1 << 40, 102)]);
    let pair = |key: &[u8], value: Option<&[u8]>| (key.to_vec(), value.map(<[u8]>::to_vec));
    assert_eq!(
        read,
        [
            (5, 5, None, Some(b"a".to_vec()), vec![]),
            (6, -1, Some(b"k".to_vec()), None, vec![]),
            (1 << 40, 7000, Some("é".into()), Some(b"c".to_vec()), vec![pair(b"h", None), pair(b"h", Some(b"v"))]),
            ((1 << 40) + 1, -1, None, Some(vec![]), vec![pair(b"", Some(b""))]),
        ]
    );
}

#[test]
fn batches_keep_to_the_limit_over_pieces() {
    let values: Vec<String> = (0..1000).map(|i| "x".repeat(i % 100)).collect();
    let value: ArrayRef = Arc::new(StringArray::from(values));
    let rows = RecordBatch::try_from_iter([("value", value)]).unwrap();
    let settings = BatchSettings { write_limit: 1000, ..BatchSettings::default() };
    let whole = build(std::slice::from_ref(&rows), settings).unwrap();
    let pieces: Vec<_> = (0..1000).step_by(7).map(|at| rows.slice(at, 7.min(1000 - at))).collect();
    assert_eq!(build(&pieces, settings).unwrap(), whole);
    let mut next = 0;
    for batch in Batches::new(&whole, 0) {
        let batch = batch.unwrap();
        assert!(batch.size_in_bytes() <= 1000);
        assert_eq!(batch.base_offset(), Some(next));
        next = batch.last_offset() + 1;
    }
    assert_eq!(next, 1000);
    assert!(build(&[rows.slice(0, 0)], settings).unwrap().is_empty());
}

#[test]
fn what_cannot_be_a_record_is_named() {
    let rows = |columns: Vec<(&str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
    let value = || -> ArrayRef { Arc::new(BinaryArray::from_vec(vec![b"a", b"b"])) };
    let numbers = || -> ArrayRef { Arc::new(Int64Array::from(vec![1, 2])) };
    let fail =
        |columns: Vec<(&str, ArrayRef)>| build(&[rows(columns)], BatchSettings::default()).unwrap_err().to_string();
    assert_eq!(fail(vec![("key", value())]), "the rows have no column value");
    assert_eq!(
        fail(vec![("value", numbers())]),
        "column value cannot be of type Int64: expected binary or string, or a dictionary of these"
    );
    let offsets = fail(vec![("value", value()), ("offset", value())]);
    assert_eq!(offsets, "column offset cannot be of type Binary: expected int64");
    assert!(fail(vec![("value", value()), ("timestamp", value())]).ends_with("int64 in milliseconds"));
    assert!(fail(vec![("value", value()), ("headers", numbers())]).contains("column headers"));
    let null_key = headers(&[None, Some(vec![(None, None)])]);
    assert_eq!(
        fail(vec![("value", value()), ("headers", null_key)]),
        "row 1, column headers: a header key must be a string"
    );
    let back: ArrayRef = Arc::new(Int64Array::from(vec![7, 7]));
    let error = build(&[rows(vec![("value", value()), ("offset", back)])], BatchSettings::default()).unwrap_err();
    let fault = BuildFault::OffsetOrder { offset: 7, previous: 7 };
    assert!(matches!(error, BuildError::Record { row: 1, fault: found } if found == fault));
    let far: ArrayRef = Arc::new(arrow_array::TimestampSecondArray::from(vec![0, i64::MAX]));
    assert_eq!(far.len(), 2);
    assert_eq!(
        fail(vec![("value", value()), ("timestamp", far)]),
        "row 1, column timestamp: the timestamp is out of range"
    );
}
