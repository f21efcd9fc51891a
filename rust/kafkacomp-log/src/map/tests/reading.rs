//! What reads bytes: surveys, and the comparison of records.

use std::sync::Arc;

use super::{file, map};
use crate::error::{Error, ReadError};
use crate::map::{Agreement, BatchFact, BatchId, CompareRecords, Fact, Placement, StoredRecords, Survey, Use, map_of};
use crate::{Compaction, InMemory, MemorySegment, OpenSegment, ReadAt};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::layout::v2::RECORD_BATCH_OVERHEAD;
use kafkacomp_records::record::{BatchSettings, Headers, MutableRecordBatch, RecordBatchBuilder};

pub(super) const CAP: usize = 1 << 20;

/// A batch with a record at each of these offsets; each value is the offset and `version`.
pub(super) fn batch(offsets: &[i64], version: &str) -> Vec<u8> {
    let mut builder =
        RecordBatchBuilder::new(BatchSettings { base_offset: offsets[0], ..BatchSettings::default() }).unwrap();
    for &offset in offsets {
        let value = format!("{offset} {version}");
        builder.append(offset, 0, None, Some(value.as_bytes()), Headers::EMPTY).unwrap();
    }
    let mut data = Vec::new();
    builder.build(&mut data).unwrap();
    data
}

fn verified(source: &dyn ReadAt) -> Survey {
    Survey::verified(source, CAP, &mut |_| Ok(None)).unwrap()
}

fn offsets(survey: &Survey) -> Vec<(i64, i64)> {
    let batches = survey.facts().iter().filter_map(Fact::batch).map(BatchFact::offsets);
    batches.map(|offsets| (offsets.start(), offsets.end())).collect()
}

#[test]
fn a_light_survey_of_intact_batches_is_a_verified_one() {
    let data = [batch(&[0, 1], ""), batch(&[2], ""), batch(&[7, 9], "")].concat();
    let survey = verified(&InMemory(&data));
    assert_eq!(Survey::light(&InMemory(&data)).unwrap(), survey);
    assert_eq!(offsets(&survey), [(0, 2), (2, 3), (7, 10)]);
}

#[test]
fn a_verified_survey_goes_on_after_corrupt_bytes() {
    let (first, last) = (batch(&[0, 1], ""), batch(&[5], ""));
    let mut corrupt = batch(&[2, 3, 4], "");
    corrupt[8..].fill(0xff);
    let zeros = vec![0; 100];
    let data = [first.as_slice(), &corrupt, &last, &zeros].concat();
    let survey = verified(&InMemory(&data));
    assert_eq!(offsets(&survey), [(0, 2), (5, 6)]);
    let kinds = survey.facts().iter().map(|fact| match fact {
        Fact::Batch(_) => 0,
        Fact::Corrupt(_) => 1,
        Fact::Zeros(_) => 2,
    });
    assert_eq!(kinds.collect::<Vec<_>>(), [0, 1, 0, 2]);
    assert_eq!(survey.corrupt_ranges().len(), 1);
    assert_eq!(survey.corrupt_ranges()[0].position, first.len() as u64);
    assert_eq!(Survey::light(&InMemory(&data)).unwrap(), survey);
}

#[test]
fn a_batch_without_possible_offsets_is_corrupt() {
    let negative_delta = {
        let mut data = batch(&[3, 4], "");
        data[23..27].copy_from_slice(&(-1_i32).to_be_bytes());
        MutableRecordBatch::new(&mut data, 0).unwrap().update_checksum();
        data
    };
    let last_of_all = {
        let mut data = batch(&[3, 4], "");
        data[..8].copy_from_slice(&(i64::MAX - 1).to_be_bytes());
        data
    };
    for wrong in [negative_delta, last_of_all] {
        let data = [batch(&[0, 1], ""), wrong, batch(&[5], "")].concat();
        let survey = verified(&InMemory(&data));
        assert_eq!(offsets(&survey), [(0, 2), (5, 6)]);
        assert_eq!((survey.facts().len(), survey.corrupt_ranges().len()), (3, 1));
        let facts = survey.facts();
        assert_eq!(
            (facts[1].bytes().start(), facts[1].bytes().end()),
            (facts[0].bytes().end(), facts[2].bytes().start())
        );
        assert_eq!(map(&[file(0, facts)], Compaction::Unknown).missing().len(), 1);
    }
}

#[test]
fn records_are_compared_at_their_offsets() {
    use Agreement::{Different, NothingShared, Same};
    let original = batch(&[10, 11, 12], "");
    for (other, expected) in [
        (batch(&[10, 12], ""), Same),
        (batch(&[10, 12], "x"), Different),
        (batch(&[9, 11, 13], ""), Same),
        (batch(&[9, 13], ""), NothingShared),
    ] {
        let data = [original.clone(), other].concat();
        let survey = verified(&InMemory(&data));
        let source = MemorySegment(Arc::new(data));
        let facts = survey.facts();
        let placement = |index: usize| Placement {
            id: BatchId { file: 0, index },
            offsets: facts[index].batch().unwrap().offsets(),
        };
        let mut records = StoredRecords::new([(file(0, facts), &source as &dyn OpenSegment)], CAP);
        assert_eq!(records.compare(placement(0), placement(1)).unwrap(), expected);
        assert_eq!(records.compare(placement(1), placement(0)).unwrap(), expected);
    }
}

#[test]
fn an_older_version_of_a_compacted_batch_is_a_repeat_and_other_records_are_not() {
    for (version, is_repeat) in [("", true), ("x", false)] {
        let cleaned = [batch(&[0, 2], ""), batch(&[3, 5], "")].concat();
        let rest = [batch(&[0, 1, 2], version), batch(&[6, 7], "")].concat();
        let sources = [InMemory(cleaned), InMemory(rest)];
        let surveys = sources.each_ref().map(|source| verified(source));
        let segments = [file(0, surveys[0].facts()), file(6, surveys[1].facts())];
        let opens = sources.map(|InMemory(data)| MemorySegment(Arc::new(data)));
        let sources = opens.each_ref().map(|source| source as &dyn OpenSegment);
        let mut records = StoredRecords::new(segments.into_iter().zip(sources), CAP);
        let found = map_of(&segments, Compaction::Unknown, &mut records).unwrap();
        let of = BatchId { file: 0, index: 0 };
        let expected = if is_repeat { Use::Repeat { of } } else { Use::OutOfPlace { contradicts: Some(of) } };
        assert_eq!(found.use_of(BatchId { file: 1, index: 0 }), Some(expected));
    }
}

#[test]
fn bytes_that_are_gone_are_an_error_and_no_answer() {
    let data = [batch(&[10, 11, 12], ""), batch(&[10, 12], "")].concat();
    let survey = verified(&InMemory(&data));
    let facts = survey.facts();
    let source = MemorySegment(Arc::new(data[..RECORD_BATCH_OVERHEAD].to_vec()));
    let placement =
        |index: usize| Placement { id: BatchId { file: 0, index }, offsets: facts[index].batch().unwrap().offsets() };
    let mut records = StoredRecords::new([(file(0, facts), &source as &dyn OpenSegment)], CAP);
    let found = records.compare(placement(0), placement(1));
    assert!(matches!(found, Err(Error::Read(ReadError::Shrunk { length: 61, .. }))), "{found:?}");
}

/// Compares two batches of a file.
fn compare(data: &[u8], max_output_size: usize) -> Result<Agreement, Error> {
    let source = MemorySegment(Arc::new(data.to_vec()));
    let survey = verified(&InMemory(data));
    let facts = survey.facts();
    let placement =
        |index: usize| Placement { id: BatchId { file: 0, index }, offsets: facts[index].batch().unwrap().offsets() };
    let mut records = StoredRecords::new([(file(0, facts), &source as &dyn OpenSegment)], max_output_size);
    records.compare(placement(0), placement(1))
}

#[test]
fn records_that_differ_in_any_field_are_different() {
    let batch = |timestamp, key: &[u8], value: &[u8], header: &[u8]| {
        let mut builder = RecordBatchBuilder::new(BatchSettings::default()).unwrap();
        let raw = [&[2, b'k', header.len() as u8 * 2], header].concat();
        builder.append(0, timestamp, Some(key), Some(value), Headers::new(&raw, 1)).unwrap();
        let mut data = Vec::new();
        builder.build(&mut data).unwrap();
        data
    };
    let original = batch(1, b"k", b"v", b"h");
    for (other, expected) in [
        (batch(1, b"k", b"v", b"h"), Agreement::Same),
        (batch(2, b"k", b"v", b"h"), Agreement::Different),
        // It has no timestamp.
        (batch(-1, b"k", b"v", b"h"), Agreement::Same),
        (batch(1, b"l", b"v", b"h"), Agreement::Different),
        (batch(1, b"k", b"w", b"h"), Agreement::Different),
        (batch(1, b"k", b"v", b"i"), Agreement::Different),
    ] {
        assert_eq!(compare(&[original.clone(), other.clone()].concat(), CAP).unwrap(), expected);
        assert_eq!(compare(&[other, original.clone()].concat(), CAP).unwrap(), expected);
    }
}

#[test]
fn corrupt_records_are_not_the_same_as_anything_and_a_limit_is_an_error() {
    let intact = batch(&[0, 1], "");
    let mut corrupt = intact.clone();
    corrupt[RECORD_BATCH_OVERHEAD..].fill(0xff);
    MutableRecordBatch::new(&mut corrupt, 0).unwrap().update_checksum();
    assert_eq!(compare(&[intact.clone(), corrupt].concat(), CAP).unwrap(), Agreement::Different);
    let compression = Compression::of(CompressionType::Gzip);
    let mut builder = RecordBatchBuilder::new(BatchSettings { compression, ..BatchSettings::default() }).unwrap();
    builder.append(0, 0, None, Some(&[7; 1000]), Headers::EMPTY).unwrap();
    let mut compressed = Vec::new();
    builder.build(&mut compressed).unwrap();
    let data = [intact, compressed].concat();
    assert_eq!(compare(&data, CAP).unwrap(), Agreement::Different);
    assert!(compare(&data, 500).is_err());
}
