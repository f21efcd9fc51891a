//! Batches that are built are read back: random records, in every magic, with every codec and setting.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{
    BatchSettings, Batches, ConvertOptions, Error, Headers, HeadersBuffer, RecordBatchBuilder, RecordReader,
    TimestampType, convert,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[derive(Debug, Clone, PartialEq)]
struct Row {
    gap: i64,
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

fn timestamps() -> impl Strategy<Value = i64> {
    prop_oneof![Just(-1), 0..10_000_i64, 1_600_000_000_000..1_700_000_000_000_i64, Just(i64::MAX)]
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let bytes = || prop_oneof![4 => vec(any::<u8>(), 0..40), 1 => vec(0..4_u8, 0..5000)];
    let gap = prop_oneof![4 => Just(0_i64), 1 => 0..100_000_i64];
    let headers = vec((".{0,12}", option::of(vec(any::<u8>(), 0..20))), 0..4);
    let row = (gap, timestamps(), option::of(bytes()), option::of(bytes()), headers);
    vec(row.prop_map(|(gap, timestamp, key, value, headers)| Row { gap, timestamp, key, value, headers }), 0..30)
}

fn settings() -> impl Strategy<Value = BatchSettings> {
    let kind = (0..3_i8, 0..5_u8, any::<bool>(), 0..1_i64 << 40, 0..1_i64 << 50, -1..5_i32);
    let producer = option::of((0..1_i64 << 40, 0..100_i16, 0..i32::MAX, any::<bool>()));
    (kind, producer, option::of(0..1_i64 << 40)).prop_map(|(kind, producer, horizon)| {
        let (magic, id, append_time, base_offset, now, epoch) = kind;
        let codec = CompressionType::for_id(if magic < 2 { id % 4 } else { id }).unwrap();
        let (producer_id, producer_epoch, base_sequence, is_transactional) =
            producer.filter(|_| magic == 2).unwrap_or((-1, -1, -1, false));
        let timestamp_type = if append_time { TimestampType::LogAppendTime } else { TimestampType::CreateTime };
        BatchSettings {
            magic,
            compression: Compression::of(codec),
            timestamp_type,
            base_offset,
            log_append_time: if append_time { now } else { -1 },
            producer_id,
            producer_epoch,
            base_sequence,
            is_transactional,
            partition_leader_epoch: epoch,
            delete_horizon_ms: horizon.filter(|_| magic == 2),
            ..BatchSettings::default()
        }
    })
}

fn check(builder: &mut RecordBatchBuilder, settings: BatchSettings, rows: &[Row]) {
    builder.reset(settings).unwrap();
    let mut headers = HeadersBuffer::new();
    let mut offsets = Vec::new();
    for row in rows {
        let offset = builder.next_offset() + row.gap;
        headers.clear();
        for (key, value) in row.headers.iter().filter(|_| settings.magic == 2) {
            headers.push(key, value.as_deref()).unwrap();
        }
        builder.append(offset, row.timestamp, row.key.as_deref(), row.value.as_deref(), headers.as_headers()).unwrap();
        offsets.push(offset);
    }
    let mut out = b"before".to_vec();
    let size = builder.build(&mut out).unwrap();
    assert_eq!(size, out.len() - 6);
    assert_eq!(builder.estimated_size_in_bytes(), size);
    assert_eq!(size == 0, rows.is_empty());

    let appended = settings.timestamp_type == TimestampType::LogAppendTime;
    let mut reader = RecordReader::new(1 << 30);
    let mut read = 0;
    let mut batches = 0;
    for batch in Batches::new(&out[6..], 0) {
        let batch = batch.unwrap();
        batch.ensure_valid().unwrap();
        batches += 1;
        assert_eq!(batch.magic(), settings.magic);
        assert_eq!(batch.compression_type().unwrap(), settings.compression.compression_type());
        if settings.magic == 2 {
            assert_eq!(batch.base_offset(), Some(settings.base_offset));
            assert_eq!(batch.last_offset(), *offsets.last().unwrap());
            assert_eq!(batch.records_count(), Some(rows.len() as i32));
            assert_eq!(batch.producer_id(), settings.producer_id);
            assert_eq!(batch.producer_epoch(), settings.producer_epoch);
            assert_eq!(batch.base_sequence(), settings.base_sequence);
            assert_eq!(batch.is_transactional(), settings.is_transactional);
            assert_eq!(batch.partition_leader_epoch(), settings.partition_leader_epoch);
            assert_eq!(batch.delete_horizon_ms(), settings.delete_horizon_ms);
            assert!(!batch.is_control_batch());
            let largest = rows.iter().map(|row| row.timestamp).max().unwrap();
            assert_eq!(batch.max_timestamp(), if appended { settings.log_append_time } else { largest });
            assert_eq!(builder.info().max_timestamp, batch.max_timestamp());
        }
        for record in reader.records(&batch).unwrap() {
            let record = record.unwrap();
            let row = &rows[read];
            assert_eq!(record.offset, offsets[read]);
            let timestamp = match (settings.magic, appended) {
                (0, _) => -1,
                (_, true) => settings.log_append_time,
                (_, false) => row.timestamp,
            };
            assert_eq!(record.timestamp, timestamp);
            assert_eq!(record.timestamp_type as i8, if settings.magic == 0 { -1 } else { i8::from(appended) });
            assert_eq!((record.key, record.value), (row.key.as_deref(), row.value.as_deref()));
            if settings.magic == 2 {
                let headers: Vec<_> = record.headers.into_iter().collect();
                let expected: Vec<_> = row.headers.iter().map(|(k, v)| (k.as_bytes(), v.as_deref())).collect();
                assert_eq!(headers, expected);
            }
            assert!(record.message.is_none_or(|message| message.is_valid()));
            read += 1;
        }
    }
    assert_eq!(read, rows.len());
    let many = settings.magic < 2 && settings.compression.compression_type() == CompressionType::None;
    assert_eq!(batches, if many { rows.len() } else { usize::from(!rows.is_empty()) });
    if many || settings.compression.compression_type() == CompressionType::None {
        assert!((builder.compression_ratio() - 1.0).abs() < f32::EPSILON);
        assert!(rows.is_empty() || builder.uncompressed_bytes_written() == size);
    }
}

type Content = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>);

/// Offset, timestamp, key and value of every record.
fn content(data: &[u8]) -> Vec<Content> {
    let mut reader = RecordReader::new(1 << 30);
    let mut rows = Vec::new();
    for batch in Batches::new(data, 0) {
        for record in reader.records(&batch.unwrap()).unwrap() {
            let record = record.unwrap();
            rows.push((record.offset, record.timestamp, record.key.map(Vec::from), record.value.map(Vec::from)));
        }
    }
    rows
}

/// Converts up and down to every magic. Offsets, keys and values remain, and timestamps except in magic 0.
fn check_conversions(data: &[u8], settings: &BatchSettings) {
    let expected = content(data);
    for to_magic in 0..3 {
        let upgrade = to_magic > settings.magic;
        let converted = convert(data, ConvertOptions { to_magic, upgrade, ..ConvertOptions::default() });
        let zstd = settings.compression.compression_type() == CompressionType::Zstd;
        if zstd && to_magic < 2 && !expected.is_empty() {
            assert!(matches!(converted, Err(Error::DownConvertZstd { position: 0 })));
            continue;
        }
        let converted = converted.unwrap();
        if to_magic == settings.magic {
            assert_eq!(converted, data);
        }
        assert!(Batches::new(&converted, 0).all(|batch| batch.unwrap().magic() == to_magic));
        let mut expected = expected.clone();
        if to_magic == 0 {
            for row in &mut expected {
                row.1 = -1;
            }
        }
        assert_eq!(content(&converted), expected);
        for cut in [converted.len() / 3, converted.len().saturating_sub(1)] {
            let options = ConvertOptions { to_magic: 0, ..ConvertOptions::default() };
            // A truncated last batch is left out.
            if let Ok(part) = convert(converted.get(..cut).unwrap(), options) {
                let rows = content(&part).len();
                assert!(rows <= expected.len());
            }
        }
    }
}

proptest! {
    #[test]
    fn convert_there_and_back(settings in settings(), rows in rows()) {
        let mut builder = RecordBatchBuilder::new(settings).unwrap();
        for row in &rows {
            let offset = builder.next_offset() + row.gap;
            let (key, value) = (row.key.as_deref(), row.value.as_deref());
            builder.append(offset, row.timestamp, key, value, Headers::EMPTY).unwrap();
        }
        let mut out = Vec::new();
        builder.finish(&mut out).unwrap();
        check_conversions(&out, &settings);
    }

    #[test]
    fn corruption_is_an_error_or_data(
        settings in settings(),
        rows in rows(),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        to_magic in 0..3_i8,
        upgrade in any::<bool>(),
    ) {
        let mut builder = RecordBatchBuilder::new(settings).unwrap();
        for row in &rows {
            let (key, value) = (row.key.as_deref(), row.value.as_deref());
            builder.append(builder.next_offset(), row.timestamp, key, value, Headers::EMPTY).unwrap();
        }
        let mut data = Vec::new();
        builder.build(&mut data).unwrap();
        for (index, byte) in flips.iter().filter(|_| !rows.is_empty()) {
            let at = index.index(data.len());
            data[at] ^= byte;
        }
        let options = ConvertOptions { to_magic, upgrade, max_output_size: 1 << 20, ..ConvertOptions::default() };
        if let Ok(converted) = convert(&data, options) {
            assert!(Batches::new(&converted, 0).all(|batch| batch.is_ok()));
        }
    }

    #[test]
    fn build_and_read(batches in vec((settings(), rows()), 1..4)) {
        let mut builder = RecordBatchBuilder::new(BatchSettings::default()).unwrap();
        for (settings, rows) in batches {
            check(&mut builder, settings, &rows);
        }
    }
}

#[test]
fn an_estimated_compression_ratio_is_finite_and_0_or_more() {
    let compression = Compression::of(CompressionType::Gzip);
    let mut builder = RecordBatchBuilder::new(BatchSettings { compression, ..BatchSettings::default() }).unwrap();
    builder.append(0, -1, None, Some(&[0; 1000]), Headers::EMPTY).unwrap();
    builder.set_estimated_compression_ratio(0.5).unwrap();
    let estimated = builder.estimated_size_in_bytes();
    for ratio in [-0.1, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let fault = builder.set_estimated_compression_ratio(ratio).unwrap_err();
        assert_eq!(fault.to_string(), format!("a compression ratio must be 0 or more, not {ratio}"));
        assert_eq!(builder.estimated_size_in_bytes(), estimated);
    }
}
