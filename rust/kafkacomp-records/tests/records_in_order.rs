//! Batches that are read in their order, two at a time, have the records that they have one by one, whatever is done between.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{
    Ahead, BatchSettings, Batches, Headers, RecordBatch, RecordBatchBuilder, RecordReader, Records, Result,
};
use proptest::prelude::*;
use proptest::sample::Index;

/// The number of records, the bytes of a value, of how many in 16 are noise, and the compression type.
type Batch = (usize, usize, usize, CompressionType);

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    use CompressionType::{Lz4, None, Zstd};
    let count = prop_oneof![1 => 1..4_usize, 4 => 20..80_usize, 1 => 200..400_usize];
    let compression_type = prop_oneof![8 => Just(Lz4), 1 => Just(None), 1 => Just(Zstd)];
    prop::collection::vec((count, 50..600_usize, 2..16_usize, compression_type), 2..20)
}

fn log(batches: &[Batch]) -> Vec<u8> {
    let (mut data, mut offset) = (Vec::new(), 0);
    for &(count, size, noisy, compression_type) in batches {
        let compression = Compression::of(compression_type);
        let mut builder =
            RecordBatchBuilder::new(BatchSettings { base_offset: offset, compression, ..BatchSettings::default() })
                .unwrap();
        for _ in 0..count {
            let noise = |n: usize| ((offset as u64 ^ (n as u64) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
            let value: Vec<u8> = (0..size).map(|n| if n % 16 < noisy { noise(n) } else { offset as u8 }).collect();
            builder.append(offset, 0, None, Some(&value), Headers::EMPTY).unwrap();
            offset += 1;
        }
        builder.build(&mut data).unwrap();
    }
    data
}

type Row = (i64, Option<Vec<u8>>);

/// The records up to an error, and the error.
fn found(records: Result<Records<'_>>) -> (Vec<Row>, Option<String>) {
    let mut all = Vec::new();
    let records = match records {
        Ok(records) => records,
        Err(error) => return (all, Some(format!("{error:?}"))),
    };
    for record in records {
        match record {
            Ok(record) => all.push((record.offset, record.value.map(<[u8]>::to_vec))),
            Err(error) => return (all, Some(format!("{error:?}"))),
        }
    }
    (all, None)
}

/// What a caller does after a batch.
#[derive(Debug, Clone, Copy)]
enum Between {
    Nothing,
    /// Reads it once more.
    Again,
    /// Does not read the next batch.
    Skip,
    DropPayload,
    ReplaceStorage,
    /// Takes the payload.
    Take,
    /// Reads the next one with less room for records.
    Limit,
}

const ROOMY: usize = 16 << 20;

fn check(data: &[u8], retains: bool, as_broker: bool, between: &[Between]) {
    let mut reader = match (retains, as_broker) {
        (true, _) => RecordReader::retaining(ROOMY),
        (false, true) => RecordReader::as_broker(ROOMY),
        (false, false) => RecordReader::new(ROOMY),
    };
    reader.replace_storage(vec![0xA5; 1 << 20]);
    let (mut batches, mut ahead, mut between) = (Batches::new(data, 0), Ahead::default(), between.iter().cycle());
    let mut retained = Vec::new();
    while let Some(batch) = batches.next() {
        let batch = batch.unwrap();
        let alone = |limit: usize| {
            let mut reader = if as_broker { RecordReader::as_broker(limit) } else { RecordReader::new(limit) };
            found(reader.records(&batch))
        };
        let next = || batches.clone().next().and_then(Result::ok);
        assert_eq!(found(reader.records_in_order(&batch, &mut ahead, next)), alone(ROOMY));
        if retains {
            assert_eq!(reader.retained(), retained.len());
        }
        retained.extend(reader.payload());
        match between.next().unwrap() {
            Between::Nothing => {}
            Between::Again => {
                assert_eq!(found(reader.records(&batch)), alone(ROOMY));
                retained.extend(reader.payload());
            }
            Between::Skip => drop(batches.next()),
            Between::DropPayload => {
                retained.truncate(retained.len() - reader.payload().len());
                reader.drop_payload();
            }
            Between::ReplaceStorage => {
                let storage = reader.replace_storage(vec![0x5A; 512 << 10]);
                if retains {
                    assert!(storage.starts_with(&retained));
                }
                retained.clear();
            }
            Between::Take => {
                if !retains {
                    reader.owned_payload().unwrap();
                }
            }
            Between::Limit => {
                reader.set_max_output_size(10_000);
                if let Some(Ok(batch)) = batches.next() {
                    let next = || batches.clone().next().and_then(Result::ok);
                    let limited = found(reader.records_in_order(&batch, &mut ahead, next));
                    let mut reader = RecordReader::new(10_000);
                    if !as_broker {
                        assert_eq!(limited, found(reader.records(&batch)));
                    }
                }
                retained.extend(reader.payload());
                reader.set_max_output_size(ROOMY);
            }
        }
    }
}

fn between() -> impl Strategy<Value = Between> {
    use Between::{Again, DropPayload, Limit, Nothing, ReplaceStorage, Skip, Take};
    let rare = prop_oneof![Just(Again), Just(Skip), Just(DropPayload), Just(ReplaceStorage), Just(Take), Just(Limit)];
    prop_oneof![3 => Just(Nothing), 1 => rare]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn batches_have_the_records_that_they_have_alone(
        batches in batches(),
        flipped in prop::collection::vec((any::<Index>(), 0..8_u8), 0..3),
        (retains, as_broker) in (any::<bool>(), any::<bool>()),
        between in prop::collection::vec(between(), 1..10),
    ) {
        let mut data = log(&batches);
        let heads: Vec<_> = Batches::new(&data, 0).map(|batch| { let batch = batch.unwrap(); (batch.position() as usize, batch.size_in_bytes()) }).collect();
        for (index, bit) in flipped {
            // Behind the header, whose fields say where batches end.
            let (position, size) = heads[index.index(heads.len())];
            data[position + 61 + index.index(size - 61)] ^= 1 << bit;
        }
        check(&data, retains, as_broker, &between);
    }
}

/// Two batches of this size are decompressed at once: the second one is already there.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_next_batch_is_decompressed_together_with_the_first() {
    let data = log(&[(60, 265, 8, CompressionType::Lz4); 3]);
    let all: Vec<RecordBatch<'_>> = Batches::new(&data, 0).map(Result::unwrap).collect();
    let mut reader = RecordReader::new(ROOMY);
    let mut ahead = Ahead::default();
    let mut asked = Vec::new();
    for (index, batch) in all.iter().enumerate() {
        let next = || {
            asked.push(index);
            all.get(index + 1).copied()
        };
        reader.records_in_order(batch, &mut ahead, next).unwrap();
    }
    let pairs = std::is_x86_feature_detected!("avx2");
    assert!(!pairs || asked == [0, 2], "{asked:?}");
}
