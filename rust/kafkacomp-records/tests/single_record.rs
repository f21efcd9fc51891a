//! `single_record` returns the record that the iterator returns, or `None` without reading anything.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use kafkacomp_records::record::{BatchSettings, Batches, Headers, RecordBatchBuilder, RecordReader};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// One header: the key "k", the value "v".
const HEADER: &[u8] = &[2, b'k', 2, b'v'];
/// The position of the number of records, after which come the fields of the record.
const RECORDS_COUNT: usize = 57;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_single_record_is_the_iterators(
        rows in vec((option::of(vec(0..4_u8, 0..9)), option::of(vec(0..4_u8, 0..300)), prop::bool::weighted(0.2)), 1..3),
        timestamp in any::<i32>(),
        corrupt in option::of((any::<prop::sample::Index>(), 1..=255_u8)),
    ) {
        let mut builder = RecordBatchBuilder::new(BatchSettings::default()).unwrap();
        for (offset, (key, value, has_header)) in rows.iter().enumerate() {
            let headers = if *has_header { Headers::new(HEADER, 1) } else { Headers::EMPTY };
            builder.append(offset as i64, i64::from(timestamp.max(0)), key.as_deref(), value.as_deref(), headers).unwrap();
        }
        let mut data = Vec::new();
        builder.build(&mut data).unwrap();
        if let Some((at, change)) = corrupt {
            let at = RECORDS_COUNT + at.index(data.len() - RECORDS_COUNT);
            data[at] ^= change;
        }
        let batch = Batches::new(&data, 0).next().unwrap().unwrap();
        let mut reader = RecordReader::new(1 << 20);
        let single = reader.single_record(&batch);
        let Some(mut records) = reader.plain_records(&batch) else { return Ok(()) };
        let describe = |record| format!("{record:?}");
        let expected: Vec<String> = records.clone().map(describe).collect();
        let taken = records.take_single();
        prop_assert_eq!(format!("{single:?}"), format!("{taken:?}"));
        if let Some(record) = taken {
            prop_assert_eq!(vec![describe(Ok(record))], expected);
            prop_assert_eq!(records.count(), 0);
        } else {
            // A short record at the end of a batch is read byte by byte, and not by `single_record`.
            let is_short = rows[0].1.as_ref().map_or(0, Vec::len) < 8;
            prop_assert!(corrupt.is_some() || rows.len() > 1 || rows[0].2 || is_short);
            prop_assert_eq!(records.map(describe).collect::<Vec<_>>(), expected);
        }
    }
}
