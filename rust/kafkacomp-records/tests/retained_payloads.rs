//! Batches that a reader decompresses one after another into the same storage have the bytes that separate readers return.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{BatchSettings, Batches, Headers, RecordBatchBuilder, RecordReader};
use proptest::collection::vec;
use proptest::prelude::*;

const CAP: usize = 1 << 20;

/// A batch with these values.
fn batch(compression_type: CompressionType, values: &[Vec<u8>]) -> Vec<u8> {
    let settings = BatchSettings { compression: Compression::of(compression_type), ..BatchSettings::default() };
    let mut builder = RecordBatchBuilder::new(settings).unwrap();
    for (offset, value) in values.iter().enumerate() {
        builder.append(offset as i64, 0, None, Some(value), Headers::EMPTY).unwrap();
    }
    let mut out = Vec::new();
    builder.build(&mut out).unwrap();
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With any codecs, sizes, corruption and initial size of the storage.
    #[test]
    fn payloads_are_retained(
        batches in vec((0..5_u8, vec(vec(0..4_u8, 0..6000), 1..8), prop::bool::weighted(0.1), any::<prop::sample::Index>()), 1..12),
        storage in 0..100_000_usize,
        cap in prop_oneof![3 => Just(CAP), 1 => 0..40_000_usize],
    ) {
        let mut retaining = RecordReader::retaining(cap);
        retaining.replace_storage(vec![0xA5; storage]);
        let mut wanted: Vec<(usize, Vec<u8>)> = Vec::new();
        for (codec, values, corrupt, at) in &batches {
            let mut data = batch(CompressionType::for_id(*codec).unwrap(), values);
            if *corrupt {
                let at = 61 + at.index(data.len() - 61);
                data[at] ^= 0x55;
            }
            let framed = Batches::new(&data, 0).next().unwrap().unwrap();
            let mut fresh = RecordReader::new(cap);
            let records = |reader: &mut RecordReader| {
                let records = reader.records(&framed).map_err(|error| error.to_string())?;
                Ok::<_, String>(records.map(|each| each.map(|r| (r.offset, r.value.map(<[u8]>::to_vec))).map_err(|e| e.to_string())).collect::<Vec<_>>())
            };
            prop_assert_eq!(records(&mut retaining), records(&mut fresh));
            prop_assert_eq!(retaining.payload(), fresh.payload());
            if *corrupt {
                retaining.drop_payload();
            } else {
                wanted.push((retaining.retained(), fresh.payload().to_vec()));
            }
        }
        let storage = retaining.replace_storage(Vec::new());
        for (start, payload) in wanted {
            prop_assert_eq!(&storage[start..start + payload.len()], payload.as_slice());
        }
        prop_assert_eq!(retaining.retained(), 0);
    }
}
