//! Records that are read in blocks are those that the iterator returns, also in corrupt batches and with unusual numbers.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use kafkacomp_records::record::v2::V2Records;
use kafkacomp_records::record::{
    BatchSettings, Batches, Headers, Record, RecordBatchBuilder, RecordBlock, RecordReader, TimestampType,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// One header: the key "k", the value "v".
const HEADER: &[u8] = &[2, b'k', 2, b'v'];
/// The position of the records in a batch.
const RECORDS: usize = 61;

type Row = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>, usize);

fn row(record: &Record<'_>) -> Row {
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    (record.offset, record.timestamp, owned(record.key), owned(record.value), record.headers.len())
}

/// The records that are read in turn as a block of at most `most` and as one of the iterator, and the error after them.
fn by_blocks(mut records: V2Records<'_>, most: usize) -> (Vec<Row>, Option<String>) {
    let (mut block, mut rows) = (RecordBlock::default(), Vec::new());
    loop {
        records.fill(&mut block, most);
        let (payload, base) = (records.payload(), (records.base_offset(), records.base_timestamp()));
        assert_eq!(records.timestamp_type(), (TimestampType::CreateTime, None));
        let bytes = |spans: &kafkacomp_records::record::Spans| -> Vec<Option<Vec<u8>>> {
            let all: Vec<_> =
                spans.iter().map(|span| (!span.is_null()).then(|| span.bytes(payload).to_vec())).collect();
            assert_eq!(spans.len(), all.len());
            assert_eq!(spans.nulls(), all.iter().filter(|each| each.is_none()).count());
            assert_eq!(spans.bytes(), all.iter().flatten().map(Vec::len).sum::<usize>());
            all
        };
        assert!(block.len() <= most);
        let values = bytes(block.keys()).into_iter().zip(bytes(block.values()));
        let deltas = block.offset_deltas().iter().zip(block.timestamp_deltas());
        rows.extend(deltas.zip(values).map(|((offset, timestamp), (key, value))| {
            (base.0.wrapping_add(i64::from(*offset)), base.1.wrapping_add(i64::from(*timestamp)), key, value, 0)
        }));
        match records.next() {
            None => return (rows, None),
            Some(Ok(record)) => rows.push(row(&record)),
            Some(Err(error)) => return (rows, Some(format!("{error:?}"))),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn blocks_contain_the_iterators_records(
        rows in vec(
            (
                option::of(vec(0..4_u8, 0..20)),
                option::of(prop_oneof![vec(0..4_u8, 0..20), vec(0..4_u8, 60..300)]),
                0..40_000_i64,
                prop::bool::weighted(0.1),
            ),
            1..40,
        ),
        most in prop_oneof![1..5_usize, Just(1000)],
        corrupt in vec((any::<prop::sample::Index>(), 1..=255_u8), 0..3),
        small in any::<bool>(),
    ) {
        let mut builder = RecordBatchBuilder::new(BatchSettings::default()).unwrap();
        for (offset, (key, value, timestamp, has_header)) in rows.iter().enumerate() {
            let headers = if *has_header { Headers::new(HEADER, 1) } else { Headers::EMPTY };
            builder.append(offset as i64, *timestamp, key.as_deref(), value.as_deref(), headers).unwrap();
        }
        let mut data = Vec::new();
        builder.build(&mut data).unwrap();
        for (at, change) in corrupt {
            let at = RECORDS + at.index(data.len() - RECORDS);
            // Changing only low bits keeps numbers short, such as -2 instead of -1.
            data[at] ^= if small { change & 7 } else { change };
        }
        let batch = Batches::new(&data, 0).next().unwrap().unwrap();
        let mut reader = RecordReader::new(1 << 20);
        let records = reader.plain_records(&batch).unwrap();
        let (mut expected, mut failure) = (Vec::new(), None);
        for record in records.clone() {
            match record {
                Ok(record) => expected.push(row(&record)),
                Err(error) => failure = Some(format!("{error:?}")),
            }
        }
        prop_assert_eq!(by_blocks(records, most), (expected, failure));
    }
}

/// Every negative length means null, not only -1.
#[test]
fn other_negative_lengths_are_null() {
    let mut builder = RecordBatchBuilder::new(BatchSettings::default()).unwrap();
    for offset in 0..4 {
        builder.append(offset, 0, None, Some(&[b'v'; 40]), Headers::EMPTY).unwrap();
    }
    let mut data = Vec::new();
    builder.build(&mut data).unwrap();
    // Length, attributes, timestamp delta and offset delta precede the length of the key.
    let key_length = &mut data[RECORDS + 4];
    assert_eq!(*key_length, 1);
    *key_length = 0x7f;
    let batch = Batches::new(&data, 0).next().unwrap().unwrap();
    let mut reader = RecordReader::new(1 << 20);
    let (rows, failure) = by_blocks(reader.plain_records(&batch).unwrap(), 1000);
    let null_key = |(_, _, key, value, _): &Row| key.is_none() && value.as_deref() == Some(&[b'v'; 40]);
    assert!(failure.is_none() && rows.len() == 4 && rows.iter().all(null_key), "{rows:?} {failure:?}");
}
