//! Any bytes as a record set of mixed magics: batches, header fields, checksums, records, headers, control records. Batches of
//! one record that are read several at a time have the records that are read batch by batch.

#![no_main]

use kafkacomp_records::record::{
    Batches, ControlRecord, Record, RecordBatch, RecordReader, SingleRecords, SinglesBounds, Span,
};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let mut reader = RecordReader::new(LIMIT);
    for verify_crc in [false, true] {
        compare_singles(data, &mut reader, verify_crc);
    }
    let mut batches = Batches::new(data, 0);
    for batch in batches.by_ref() {
        let Ok(batch) = batch else { return };
        assert_eq!(batch.is_valid(), batch.ensure_valid().is_ok());
        let _ = (batch.base_offset(), batch.last_offset(), batch.max_timestamp(), batch.delete_horizon_ms());
        let is_control = batch.is_control_batch();
        let Ok(records) = reader.records(&batch) else { continue };
        for record in records {
            let Ok(record) = record else { break };
            assert_eq!(record.headers.into_iter().count(), record.headers.len());
            if is_control {
                let _ = ControlRecord::parse(record.key, record.value);
            }
        }
    }
    assert!(batches.position() <= data.len() as u64);
});

/// Reads the batches of one record several at a time, and each of them once more by itself.
fn compare_singles(data: &[u8], reader: &mut RecordReader, verify_crc: bool) {
    let (mut batches, mut expected) = (Batches::new(data, 0), Batches::new(data, 0));
    let mut singles = SingleRecords::default();
    let until = (data.len() - data.len() / 4) as u64;
    loop {
        let before = batches.position();
        let bounds = SinglesBounds { most: 3, most_bytes: 1 << 10, until, verify_crc };
        let last = singles.fill(&mut batches, data, bounds);
        assert!(singles.len() <= bounds.most && batches.position() - before <= bounds.most_bytes as u64);
        let mut position = None;
        for index in 0..singles.len() {
            let batch = expected.next().unwrap().unwrap();
            position = Some(batch.position());
            assert!(batch.position() < until && !batch.is_control_batch());
            assert!(!verify_crc || batch.is_valid());
            compare_single(&singles, index, data, &batch, reader);
        }
        assert_eq!(last.map(|batch| batch.position()), position);
        assert_eq!(batches.position(), expected.position());
        // A batch of another kind, or a bound was reached.
        let (Some(Ok(_)), Some(Ok(_))) = (batches.next(), expected.next()) else { return };
    }
}

/// The record at `index` is the only one of `batch`.
fn compare_single(
    singles: &SingleRecords,
    index: usize,
    data: &[u8],
    batch: &RecordBatch<'_>,
    reader: &mut RecordReader,
) {
    let mut records = reader.records(batch).unwrap();
    let record = records.next().unwrap().unwrap();
    assert!(records.next().is_none());
    let bytes = |span: Span| (!span.is_null()).then(|| span.bytes(data));
    let Record { offset, timestamp, timestamp_type, sequence, key, value, .. } = record;
    assert_eq!((singles.offsets()[index], singles.timestamps()[index]), (offset, timestamp));
    assert_eq!((singles.sequences()[index], singles.timestamp_type()), (sequence, timestamp_type));
    assert_eq!(singles.keys().iter().nth(index).map(bytes), Some(key));
    assert_eq!(singles.values().iter().nth(index).map(bytes), Some(value));
    assert!(record.headers.is_empty());
}
