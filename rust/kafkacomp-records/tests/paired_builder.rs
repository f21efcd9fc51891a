//! [`PairedBuilder`] makes the batches that [`RecordBatchBuilder`] makes one by one.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{BatchSettings, BuildFault, Headers, PairedBuilder, RecordBatchBuilder};
use proptest::collection::vec;
use proptest::prelude::*;

/// A batch of records with the same value.
#[derive(Debug, Clone)]
struct Batch {
    settings: BatchSettings,
    records: usize,
    value: Vec<u8>,
}

impl Batch {
    fn append(&self, builder: &mut RecordBatchBuilder) {
        for record in 0..self.records {
            let offset = self.settings.base_offset + record as i64;
            let value = [self.value.as_slice(), &record.to_le_bytes()].concat();
            builder.append(offset, 1_700_000_000_000, None, Some(&value), Headers::EMPTY).unwrap();
        }
    }

    fn close(&self, builder: &mut PairedBuilder, out: &mut Vec<u8>) {
        builder.reset(self.settings).unwrap();
        self.append(builder.current());
        builder.close(out).unwrap();
    }
}

fn batch() -> impl Strategy<Value = Batch> {
    let compression = prop_oneof![5 => Just(CompressionType::Snappy), 1 => Just(CompressionType::Lz4), 1 => Just(CompressionType::None)];
    let count = prop_oneof![1 => 0..3_usize, 3 => 100..400_usize, 1 => 400..900_usize];
    let magic = prop_oneof![1 => 0..2_i8, 5 => Just(2_i8)];
    (compression, count, magic, vec(any::<u8>(), 60..90)).prop_map(|(compression, records, magic, value)| {
        let settings = BatchSettings { magic, compression: Compression::of(compression), ..BatchSettings::default() };
        Batch { settings, records, value }
    })
}

fn one_by_one(batches: &[Batch]) -> Vec<u8> {
    let mut out = Vec::new();
    for batch in batches {
        let mut builder = RecordBatchBuilder::new(batch.settings).unwrap();
        batch.append(&mut builder);
        builder.finish(&mut out).unwrap();
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_same_batches(batches in vec(batch(), 0..8), flushes in vec(prop::bool::weighted(0.2), 8)) {
        let (mut builder, mut out) = (PairedBuilder::default(), Vec::new());
        for (batch, flush) in batches.iter().zip(flushes) {
            batch.close(&mut builder, &mut out);
            if flush {
                builder.flush(&mut out).unwrap();
            }
        }
        builder.flush(&mut out).unwrap();
        prop_assert!(out == one_by_one(&batches));
        builder.flush(&mut out).unwrap();
        prop_assert_eq!(out.len(), one_by_one(&batches).len());
    }
}

fn two_batches() -> [Batch; 2] {
    [0, 1].map(|base_offset| {
        let compression = Compression::of(CompressionType::Snappy);
        let settings = BatchSettings { compression, base_offset, ..BatchSettings::default() };
        Batch { settings, records: 200, value: vec![b'v'; 70] }
    })
}

#[test]
fn a_closed_batch_waits_for_the_next() {
    let [first, second] = two_batches();
    let (mut builder, mut out) = (PairedBuilder::default(), Vec::new());
    first.close(&mut builder, &mut out);
    #[cfg(target_arch = "x86_64")]
    assert_eq!(out.is_empty(), std::is_x86_feature_detected!("avx2"));
    assert_eq!(builder.current().append(1, -1, None, None, Headers::EMPTY), Err(BuildFault::Closed));
    second.close(&mut builder, &mut out);
    assert!(out == one_by_one(&[first.clone(), second]));

    // What is not in the output is dropped by a restart.
    first.close(&mut builder, &mut out);
    builder.restart(first.settings).unwrap();
    out.clear();
    builder.flush(&mut out).unwrap();
    assert!(out.is_empty());
}

#[test]
fn a_refused_restart_drops_nothing() {
    let [first, _] = two_batches();
    let (mut builder, mut out) = (PairedBuilder::default(), Vec::new());
    first.close(&mut builder, &mut out);
    builder.restart(BatchSettings { magic: 3, ..first.settings }).unwrap_err();
    builder.flush(&mut out).unwrap();
    assert!(out == one_by_one(&[first]));
}

#[test]
fn settings_and_estimates_remain_those_of_the_batch() {
    let [first, second] = two_batches();
    let (mut builder, mut out) = (PairedBuilder::default(), Vec::new());
    builder.reset(first.settings).unwrap();
    builder.current().set_estimated_compression_ratio(0.5).unwrap();
    first.append(builder.current());
    let estimated = builder.current().estimated_size_in_bytes();
    builder.close(&mut out).unwrap();
    builder.reset(second.settings).unwrap();
    second.append(builder.current());
    assert_eq!(builder.current().estimated_size_in_bytes(), estimated);
    assert_eq!(*builder.current().settings(), second.settings);
}

#[test]
fn an_invalid_producer_is_an_error_of_its_batch() {
    let [first, second] = two_batches();
    let settings = BatchSettings { producer_id: 7, producer_epoch: -1, base_sequence: 0, ..second.settings };
    let (mut builder, mut out) = (PairedBuilder::default(), Vec::new());
    for batch in [&first, &Batch { settings, ..second }] {
        builder.reset(batch.settings).unwrap();
        batch.append(builder.current());
        let closed = builder.close(&mut out);
        assert_eq!(closed.is_ok(), batch.settings.producer_id == -1, "{closed:?}");
    }
    builder.flush(&mut out).unwrap();
    assert!(out == one_by_one(&[first]));
}
