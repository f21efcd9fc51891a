//! Recompressing and merging batches does not change what readers see of them, for all pairs of compression types.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{
    BatchSettings, Batches, Error, HeadersBuffer, Merger, Recompressor, RecordBatch, RecordBatchBuilder, RecordReader,
    TimestampType,
};
use kafkacomp_records::{CompressionType, ErrorKind};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const CAP: usize = 1 << 28;

/// The fields of a record that a consumer sees.
type Seen = (i64, i64, TimestampType, i32, Option<Vec<u8>>, Option<Vec<u8>>, Vec<u8>);

fn seen(data: &[u8]) -> Vec<Seen> {
    let mut reader = RecordReader::new(CAP);
    let mut found = Vec::new();
    for batch in Batches::new(data, 0) {
        let batch = batch.unwrap();
        batch.ensure_valid().unwrap();
        for record in reader.records(&batch).unwrap() {
            let r = record.unwrap();
            assert!(r.message.is_none_or(|message| message.is_valid()));
            let (key, value) = (r.key.map(<[u8]>::to_vec), r.value.map(<[u8]>::to_vec));
            found.push((r.offset, r.timestamp, r.timestamp_type, r.sequence, key, value, r.headers.raw().to_vec()));
        }
    }
    found
}

/// The fields of a header that recompression must not change.
fn header(batch: &RecordBatch<'_>) -> impl PartialEq + std::fmt::Debug + use<> {
    let flags = batch.raw_attributes() & !7;
    let times = (batch.base_timestamp(), batch.max_timestamp(), batch.delete_horizon_ms());
    let producer = (batch.producer_id(), batch.producer_epoch(), batch.base_sequence(), batch.last_sequence());
    let offsets = (batch.offset_field(), batch.last_offset(), batch.records_count(), batch.partition_leader_epoch());
    (batch.magic(), flags, times, producer, offsets)
}

/// The number of missing offsets before the record, and its timestamp, key and value.
type Row = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>);

#[derive(Debug, Clone)]
struct Planned {
    settings: BatchSettings,
    records: Vec<Row>,
}

fn planned(magic: i8) -> impl Strategy<Value = Planned> {
    let bytes = || prop_oneof![4 => vec(any::<u8>(), 0..40), 1 => vec(0..3_u8, 0..9000)];
    let timestamp = prop_oneof![Just(-1), 0..1_i64 << 41];
    let records = vec((0..3_i64, timestamp, option::of(bytes()), option::of(bytes())), 1..20);
    let kind = (0..5_u8, prop::bool::weighted(0.2), 0..3_i64, prop::bool::weighted(0.5), -1..2_i32);
    (kind, option::weighted(0.2, 0..1_i64 << 41), records).prop_map(
        move |((codec, appended, producer, transactional, epoch), horizon, records)| {
            let codec = CompressionType::for_id(if magic < 2 { codec % 4 } else { codec }).unwrap();
            let has_producer = magic == 2 && producer > 0;
            let settings = BatchSettings {
                magic,
                compression: Compression::of(codec),
                timestamp_type: if appended { TimestampType::LogAppendTime } else { TimestampType::CreateTime },
                log_append_time: if appended { 77 } else { -1 },
                producer_id: if has_producer { producer } else { -1 },
                producer_epoch: if has_producer { 3 } else { -1 },
                is_transactional: has_producer && transactional,
                partition_leader_epoch: epoch,
                delete_horizon_ms: horizon.filter(|_| magic == 2),
                ..BatchSettings::default()
            };
            Planned { settings, records }
        },
    )
}

/// A log of these batches, whose offsets and sequences continue from batch to batch.
fn log(batches: &[Planned]) -> Vec<u8> {
    let (mut headers, mut out) = (HeadersBuffer::new(), Vec::new());
    let mut next = 40_i64;
    let mut sequences = [0_i32; 4];
    for Planned { settings, records } in batches {
        let sequence = usize::try_from(settings.producer_id).ok().map(|id| &mut sequences[id]);
        let base_sequence = sequence.as_ref().map_or(-1, |next| **next);
        let settings = BatchSettings { base_offset: next, base_sequence, ..*settings };
        let mut builder = RecordBatchBuilder::new(settings).unwrap();
        for (gap, timestamp, key, value) in records {
            headers.clear();
            if settings.magic == 2 && *gap == 1 {
                headers.push("h", Some(b"x")).unwrap();
            }
            let offset = builder.next_offset() + if settings.magic == 2 { *gap } else { 0 };
            builder.append(offset, *timestamp, key.as_deref(), value.as_deref(), headers.as_headers()).unwrap();
        }
        builder.build(&mut out).unwrap();
        if let Some(sequence) = sequence {
            *sequence += i32::try_from(builder.next_offset() - next).unwrap();
        }
        next = builder.next_offset();
    }
    out
}

fn logs() -> impl Strategy<Value = (i8, Vec<u8>)> {
    (0..3_i8).prop_flat_map(|magic| (Just(magic), vec(planned(magic), 1..8).prop_map(|batches| log(&batches))))
}

fn to() -> impl Strategy<Value = Compression> {
    prop_oneof![
        (0..5_u8).prop_map(|id| Compression::of(CompressionType::for_id(id).unwrap())),
        Just(Compression::new(CompressionType::Lz4, Some(4)).unwrap()),
        Just(Compression::new(CompressionType::Zstd, Some(-5)).unwrap()),
        Just(Compression::new(CompressionType::Gzip, Some(1)).unwrap()),
    ]
}

proptest! {
    #[test]
    fn recompressed_batches_are_the_same_to_readers((magic, data) in logs(), to in to()) {
        let mut recompressor = Recompressor::new(to, CAP);
        let mut out = Vec::new();
        for batch in Batches::new(&data, 0) {
            let batch = batch.unwrap();
            let before = out.len();
            match recompressor.push(&batch, &mut out) {
                Ok(()) => {}
                Err(error) if magic < 2 && to.compression_type() == CompressionType::Zstd => {
                    prop_assert_eq!(error.kind(), ErrorKind::UnsupportedCompressionType);
                    prop_assert_eq!(out.len(), before);
                    return Ok(());
                }
                Err(error) => panic!("{error}"),
            }
            if magic == 2 {
                let written = RecordBatch::new(&out[before..], 0).unwrap();
                prop_assert_eq!(header(&written), header(&batch));
                prop_assert_eq!(written.compression_type().unwrap(), to.compression_type());
            }
        }
        prop_assert_eq!(seen(&out), seen(&data));
    }

    #[test]
    fn merged_batches_are_the_same_to_readers((magic, data) in logs(), to in to(), batch_bytes in 1..20_000_usize) {
        let mut merger = Merger::new(to, batch_bytes, CAP);
        let mut out = Vec::new();
        let pushed = Batches::new(&data, 0).try_for_each(|batch| merger.push(&batch.unwrap(), &mut out));
        let done = pushed.and_then(|()| merger.finish(&mut out));
        if magic < 2 && to.compression_type() == CompressionType::Zstd {
            let refused = done.map_err(|error| error.kind());
            prop_assert_eq!(refused, Err(ErrorKind::UnsupportedCompressionType));
            return Ok(());
        }
        done.unwrap();
        prop_assert_eq!(seen(&out), seen(&data));
        let runs = |data: &[u8]| {
            let mut runs: Vec<(i64, bool, i32)> = Vec::new();
            for batch in Batches::new(data, 0).map(Result::unwrap) {
                let run = (batch.producer_id(), batch.is_transactional(), batch.partition_leader_epoch());
                if runs.last() != Some(&run) {
                    runs.push(run);
                }
            }
            runs
        };
        prop_assert_eq!(runs(&out), runs(&data));
    }

    #[test]
    fn corruption_is_an_error_or_harmless((_, mut data) in logs(), to in to(), at: prop::sample::Index, bit in 0..8_u32) {
        let flipped = at.index(data.len());
        data[flipped] ^= 1 << bit;
        let (mut recompressor, mut merger) = (Recompressor::new(to, 1 << 20), Merger::new(to, 1000, 1 << 20));
        let mut out = Vec::new();
        for batch in Batches::new(&data, 0).map_while(Result::ok) {
            let before = out.len();
            if recompressor.push(&batch, &mut out).is_err() {
                assert_eq!(out.len(), before);
            }
            let _ = merger.push(&batch, &mut Vec::new());
        }
        let _ = merger.finish(&mut Vec::new());
    }
}

fn simple(codec: CompressionType, base_offset: i64, change: impl FnOnce(&mut BatchSettings)) -> Vec<u8> {
    let mut settings = BatchSettings { compression: Compression::of(codec), base_offset, ..BatchSettings::default() };
    change(&mut settings);
    let mut builder = RecordBatchBuilder::new(settings).unwrap();
    builder.append(base_offset, 5, None, Some(b"value"), HeadersBuffer::new().as_headers()).unwrap();
    let mut out = Vec::new();
    builder.build(&mut out).unwrap();
    out
}

fn merged(parts: &[Vec<u8>]) -> usize {
    let mut merger = Merger::new(Compression::of(CompressionType::Lz4), 1 << 20, CAP);
    let data = parts.concat();
    let mut out = Vec::new();
    for batch in Batches::new(&data, 0) {
        merger.push(&batch.unwrap(), &mut out).unwrap();
    }
    merger.finish(&mut out).unwrap();
    assert_eq!(seen(&out), seen(&data));
    Batches::new(&out, 0).count()
}

#[test]
fn what_is_merged_and_what_is_not() {
    let plain = |offset| simple(CompressionType::Zstd, offset, |_| {});
    let of = |offset, id, epoch, sequence| {
        simple(CompressionType::None, offset, |s| {
            (s.producer_id, s.producer_epoch, s.base_sequence) = (id, epoch, sequence);
        })
    };
    assert_eq!(merged(&[plain(0), plain(1), plain(2)]), 1);
    assert_eq!(merged(&[of(0, 9, 0, 0), of(1, 9, 0, 1), of(2, 9, 0, 2)]), 1);
    // Not merged: another producer, another epoch, a gap in the sequences or offsets, and no producer followed by one.
    assert_eq!(merged(&[plain(0), plain(1), plain(7)]), 2);
    assert_eq!(merged(&[of(0, 9, 0, 0), of(1, 8, 0, 1)]), 2);
    assert_eq!(merged(&[of(0, 9, 0, 0), of(1, 9, 1, 1)]), 2);
    assert_eq!(merged(&[of(0, 9, 0, 0), of(1, 9, 0, 5)]), 2);
    assert_eq!(merged(&[of(0, 9, 0, 0), of(4, 9, 0, 1)]), 2);
    assert_eq!(merged(&[plain(0), of(1, 9, 0, 0)]), 2);
    // After 2^31 - 1, sequences continue at 0.
    assert_eq!(merged(&[of(0, 9, 0, i32::MAX), of(1, 9, 0, 0)]), 1);
    let transactional = |offset, sequence| {
        simple(CompressionType::None, offset, |s| {
            (s.producer_id, s.producer_epoch, s.base_sequence, s.is_transactional) = (9, 0, sequence, true);
        })
    };
    assert_eq!(merged(&[transactional(0, 0), transactional(1, 1)]), 1);
    assert_eq!(merged(&[transactional(0, 0), of(1, 9, 0, 1)]), 2);
    let epoch = |offset, epoch| simple(CompressionType::None, offset, |s| s.partition_leader_epoch = epoch);
    assert_eq!(merged(&[epoch(0, 3), epoch(1, 3), epoch(2, 4)]), 2);
    let horizon = |offset| simple(CompressionType::None, offset, |s| s.delete_horizon_ms = Some(9));
    assert_eq!(merged(&[plain(0), horizon(1), horizon(2), plain(3)]), 4);
}

#[test]
fn markers_are_copied_and_end_a_run() {
    let mut settings = BatchSettings { base_offset: 1, producer_id: 9, producer_epoch: 0, ..BatchSettings::default() };
    (settings.is_transactional, settings.is_control_batch) = (true, true);
    let mut builder = RecordBatchBuilder::new(settings).unwrap();
    builder.append_end_txn_marker(1, 6, true, 0).unwrap();
    let mut marker = Vec::new();
    builder.build(&mut marker).unwrap();

    let mut out = Vec::new();
    let batch = RecordBatch::new(&marker, 0).unwrap();
    Recompressor::new(Compression::of(CompressionType::Zstd), CAP).push(&batch, &mut out).unwrap();
    assert_eq!(out, marker);
    let data = |offset, sequence| {
        simple(CompressionType::None, offset, |s| {
            (s.producer_id, s.producer_epoch, s.base_sequence, s.is_transactional) = (9, 0, sequence, true);
        })
    };
    assert_eq!(merged(&[data(0, 0), marker, data(2, 1)]), 3);
}

#[test]
fn a_wrong_checksum_is_refused_and_so_is_a_bomb() {
    let mut batch = simple(CompressionType::Gzip, 0, |_| {});
    let mut out = b"before".to_vec();
    let to = Compression::of(CompressionType::None);
    let bomb = RecordBatch::new(&batch, 0).unwrap();
    let refused = Recompressor::new(to, 3).push(&bomb, &mut out).unwrap_err();
    assert_eq!(refused.output_limit(), Some(3));
    batch[20] ^= 1;
    let wrong = RecordBatch::new(&batch, 9).unwrap();
    assert!(matches!(Recompressor::new(to, CAP).push(&wrong, &mut out), Err(Error::CrcMismatch { position: 9, .. })));
    assert_eq!(out, b"before");
}
