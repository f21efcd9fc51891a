//! The records of a record set, one after another.

#![expect(clippy::unwrap_used, reason = "a test")]

use kafkacomp_records::compress::Compression;
use kafkacomp_records::limits::Limits;
use kafkacomp_records::record::{
    BatchSettings, HeadersBuffer, OwnedRecord, RecordBatchBuilder, RecordBatches, Tail, TimestampType,
};
use kafkacomp_records::{CompressionType, ErrorKind};

const RECORDS: i64 = 50;

/// A batch whose records have keys, values and headers, and nulls.
fn batch(compression_type: CompressionType, magic: i8, base_offset: i64) -> Vec<u8> {
    let compression = Compression::of(compression_type);
    let mut builder =
        RecordBatchBuilder::new(BatchSettings { magic, compression, base_offset, ..BatchSettings::default() }).unwrap();
    for offset in base_offset..base_offset + RECORDS {
        let mut headers = HeadersBuffer::new();
        if magic == 2 {
            headers.push("source", Some(b"a")).unwrap();
            headers.push("", None).unwrap();
        }
        let (key, value) = (format!("key {offset}"), format!("value {offset}").repeat(20));
        let key = (offset % 3 != 0).then_some(key.as_bytes());
        builder.append(offset, 5, key, Some(value.as_bytes()), headers.as_headers()).unwrap();
    }
    let mut out = Vec::new();
    builder.build(&mut out).unwrap();
    out
}

fn check(record: &OwnedRecord, offset: i64, magic: i8) {
    assert_eq!(record.offset, offset);
    let key = (offset % 3 != 0).then(|| format!("key {offset}"));
    assert_eq!(record.key.as_deref(), key.as_deref().map(str::as_bytes));
    assert_eq!(record.value.as_deref(), Some(format!("value {offset}").repeat(20).as_bytes()));
    assert_eq!(
        (record.timestamp, record.timestamp_type == TimestampType::CreateTime),
        if magic == 0 { (-1, false) } else { (5, true) }
    );
    let headers: Vec<(&[u8], Option<&[u8]>)> =
        record.headers.iter().map(|(key, value)| (key.as_ref(), value.as_deref())).collect();
    assert_eq!(headers, if magic == 2 { vec![(&b"source"[..], Some(&b"a"[..])), (b"", None)] } else { vec![] });
}

/// Batches of every type and of each format that has it, and their formats.
fn batches() -> Vec<(Vec<u8>, i8)> {
    let mut found = Vec::new();
    for magic in 0..=2 {
        for compression_type in CompressionType::ALL {
            if magic == 2 || compression_type != CompressionType::Zstd {
                found.push((batch(compression_type, magic, found.len() as i64 * RECORDS), magic));
            }
        }
    }
    found
}

#[test]
fn records_of_all_formats() {
    let batches = batches();
    let data: Vec<u8> = batches.iter().flat_map(|(data, _)| data).copied().collect();
    let mut reader = RecordBatches::new(data, Limits::default());
    for offset in 0..batches.len() as i64 * RECORDS {
        let magic = batches[(offset / RECORDS) as usize].1;
        check(&reader.next().unwrap().unwrap(), offset, magic);
    }
    assert!(reader.next().is_none());
    assert_eq!(reader.tail(), Some(Tail::End));
    assert!(reader.next().is_none());
}

#[test]
fn a_truncated_batch_is_the_tail() {
    let whole = batch(CompressionType::Lz4, 2, 0);
    let mut data = whole.clone();
    data.extend(&whole[..whole.len() - 1]);
    let mut reader = RecordBatches::new(data, Limits::default());
    assert_eq!(reader.by_ref().map(Result::unwrap).count(), RECORDS as usize);
    let (position, needed) = (whole.len() as u64, whole.len() as u64);
    assert_eq!(reader.tail(), Some(Tail::Partial { position, available: needed - 1, needed }));
}

#[test]
fn after_an_invalid_batch_the_next_one_follows() {
    for (mut data, magic) in batches() {
        let next = batch(CompressionType::None, 2, 10_000);
        *data.last_mut().unwrap() ^= 1;
        let position = data.len() as u64;
        data.extend(next);
        let mut reader = RecordBatches::new(data, Limits::default());
        let mut errors = 0;
        let records: Vec<OwnedRecord> = reader.by_ref().filter_map(|each| each.map_err(|_| errors += 1).ok()).collect();
        // Uncompressed messages of magic 0 and 1 are batches of one record.
        assert_eq!(errors, 1, "magic {magic}");
        let following = records.iter().filter(|record| record.offset >= 10_000).count();
        assert_eq!(following, RECORDS as usize, "magic {magic}");
        assert!(position > 0);
    }
}

#[test]
fn a_batch_above_the_limit_is_refused() {
    for compression_type in CompressionType::ALL.into_iter().skip(1) {
        let mut builder = RecordBatchBuilder::new(BatchSettings {
            compression: Compression::of(compression_type),
            ..BatchSettings::default()
        })
        .unwrap();
        let value = vec![0; 4 << 20];
        builder.append(0, 5, None, Some(&value), kafkacomp_records::record::Headers::EMPTY).unwrap();
        let mut data = Vec::new();
        builder.build(&mut data).unwrap();
        data.extend(batch(CompressionType::None, 2, 1));
        let mut reader = RecordBatches::new(data, Limits::default().max_output_size(1 << 20));
        assert_eq!(reader.next().unwrap().unwrap_err().kind(), ErrorKind::OutputLimit, "{compression_type:?}");
        assert_eq!(reader.map(Result::unwrap).count(), RECORDS as usize);
    }
}
