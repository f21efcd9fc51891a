//! Reading several batches of one record at once returns the records of the iterator, also with corrupt batches and batches of
//! other kinds in between.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{
    BatchSettings, Batches, Headers, Record, RecordBatch, RecordBatchBuilder, RecordReader, SingleRecords,
    SinglesBounds, TimestampType,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// One header: the key "k", the value "v".
const HEADER: &[u8] = &[2, b'k', 2, b'v'];
/// The position of the attributes, from which on the checksum covers the batch.
const ATTRIBUTES: usize = 21;

type Row = (i64, i64, TimestampType, i32, Option<Vec<u8>>, Option<Vec<u8>>, usize);

fn row(record: &Record<'_>) -> Row {
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let (key, value) = (owned(record.key), owned(record.value));
    let Record { offset, timestamp, timestamp_type, sequence, .. } = *record;
    (offset, timestamp, timestamp_type, sequence, key, value, record.headers.len())
}

/// The rows of a batch, or its error.
fn one_by_one(batch: &RecordBatch<'_>, verify_crc: bool) -> Result<Vec<Row>, String> {
    if verify_crc {
        batch.ensure_valid().map_err(|error| format!("{error:?}"))?;
    }
    let mut reader = RecordReader::new(1 << 20);
    let records = reader.records(batch).map_err(|error| format!("{error:?}"))?;
    records.map(|record| record.map(|record| row(&record)).map_err(|error| format!("{error:?}"))).collect()
}

fn rows(singles: &SingleRecords, data: &[u8]) -> Vec<Row> {
    let spans = |spans: &kafkacomp_records::record::Spans| -> Vec<Option<Vec<u8>>> {
        let all: Vec<_> = spans.iter().map(|span| (!span.is_null()).then(|| span.bytes(data).to_vec())).collect();
        assert_eq!(spans.nulls(), all.iter().filter(|each| each.is_none()).count());
        assert_eq!(spans.bytes(), all.iter().flatten().map(Vec::len).sum::<usize>());
        all
    };
    let numbers = singles.offsets().iter().zip(singles.timestamps()).zip(singles.sequences());
    let found: Vec<Row> = numbers
        .zip(spans(singles.keys()).into_iter().zip(spans(singles.values())))
        .map(|(((&offset, &timestamp), &sequence), (key, value))| {
            (offset, timestamp, singles.timestamp_type(), sequence, key, value, 0)
        })
        .collect();
    assert_eq!(found.len(), singles.len());
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn several_batches_at_once_contain_the_iterators_records(
        kinds in vec(
            (
                0..12_u8,
                option::of(vec(0..4_u8, 0..9)),
                option::of(prop_oneof![vec(0..4_u8, 0..20), vec(0..4_u8, 60..300)]),
                0..40_000_i64,
            ),
            1..30,
        ),
        most in prop_oneof![1..4_usize, Just(1000)],
        most_bytes in prop_oneof![100..2000_usize, Just(1 << 20)],
        stop in option::of(any::<prop::sample::Index>()),
        verify_crc in any::<bool>(),
        corrupt in vec((any::<prop::sample::Index>(), 1..=255_u8), 0..3),
    ) {
        let mut data = Vec::new();
        for (index, (kind, key, value, timestamp)) in kinds.iter().enumerate() {
            let settings = BatchSettings {
                base_offset: index as i64 * 10,
                compression: Compression::of(if *kind == 1 { CompressionType::Lz4 } else { CompressionType::None }),
                producer_id: if *kind > 8 { 7 } else { -1 },
                producer_epoch: if *kind > 8 { 0 } else { -1 },
                base_sequence: if *kind > 8 { i32::MAX } else { -1 },
                ..BatchSettings::default()
            };
            let mut builder = RecordBatchBuilder::new(settings).unwrap();
            let headers = if *kind == 2 { Headers::new(HEADER, 1) } else { Headers::EMPTY };
            for delta in 0..if *kind == 3 { 3 } else { 1 } {
                let offset = index as i64 * 10 + delta;
                builder.append(offset, *timestamp, key.as_deref(), value.as_deref(), headers).unwrap();
            }
            let start = data.len();
            builder.build(&mut data).unwrap();
            if *kind == 4 || *kind == 5 {
                // A control batch, and one with LogAppendTime.
                data[start + ATTRIBUTES + 1] |= if *kind == 4 { 0x20 } else { 0x08 };
                let sum = kafkacomp_records::checksum::crc32c(&data[start + ATTRIBUTES..]);
                data[start + ATTRIBUTES - 4..start + ATTRIBUTES].copy_from_slice(&sum.to_be_bytes());
            }
        }
        for (at, change) in corrupt {
            let at = at.index(data.len());
            data[at] ^= change;
        }
        let until = stop.map_or(u64::MAX, |stop| stop.index(data.len()) as u64);
        let bounds = SinglesBounds { most, most_bytes, until, verify_crc };
        let mut expected = Batches::new(&data, 0);
        let mut batches = Batches::new(&data, 0);
        let mut singles = SingleRecords::default();
        loop {
            let before = batches.position();
            let last = singles.fill(&mut batches, &data, bounds);
            prop_assert!(singles.len() <= most && batches.position() - before <= most_bytes as u64);
            prop_assert_eq!(last.is_none(), singles.is_empty());
            let mut one_at_a_time = Vec::new();
            let mut final_batch = None;
            for _ in 0..singles.len() {
                let batch = expected.next().unwrap().unwrap();
                prop_assert!(batch.position() < until && !batch.is_control_batch());
                one_at_a_time.extend(one_by_one(&batch, verify_crc).unwrap());
                final_batch = Some(batch.position());
            }
            prop_assert_eq!(last.map(|batch| batch.position()), final_batch);
            prop_assert_eq!(batches.position(), expected.position());
            prop_assert_eq!(rows(&singles, &data), one_at_a_time);
            // The next batch is of another kind, or a bound was reached.
            let next = format!("{:?}", batches.next());
            prop_assert_eq!(&next, &format!("{:?}", expected.next()));
            if next == "None" || next.starts_with("Some(Err") {
                break;
            }
        }
    }
}
