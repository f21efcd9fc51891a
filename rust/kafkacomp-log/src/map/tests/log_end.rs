//! Rule 11: what says that a log was longer, and zeros.

use std::io;
use std::sync::Arc;

use super::{Part, facts, file};
use crate::continuity::compaction::Compaction;
use crate::continuity::missing::MissingReason;
use crate::index::offset::OffsetPosition;
use crate::map::invariants::AnyRecords;
use crate::map::{
    EndSource, EndWitness, Hints, LastFile, LogFile, MissingOffsets, OffsetRange, ReachedOffsets, SurveyedLog, map_of,
};
use crate::read::segment_files::{MemorySegment, OpenSegment, Sibling, SideFile};
use crate::read::source::ReadAt;
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::Headers;
use kafkacomp_records::record::builder::{BatchSettings, RecordBatchBuilder};

const BATCH: Part = Part::Batch { first: 100, last: 109, size: 100 };

/// The missing offsets of a log, which has reached an offset, and whether they are what the witness shows.
fn missing_of(
    files: &[(i64, &[Part])],
    compaction: Compaction,
    reached: Option<i64>,
) -> Vec<(MissingOffsets, Option<EndWitness>)> {
    let facts: Vec<_> = files.iter().map(|(_, parts)| facts(parts)).collect();
    let files: Vec<_> = files.iter().zip(&facts).map(|((name, _), facts)| file(*name, facts)).collect();
    let reached = reached.map(|offset| EndWitness::new(EndSource::HighWatermark, offset));
    let map = map_of(&files, Hints { compaction, reached }, &mut AnyRecords::default()).unwrap();
    map.missing().iter().map(|&missing| (missing, map.end_witness(&missing))).collect()
}

fn end_of(after: &[Part], compaction: Compaction, reached: i64) -> Vec<(i64, i64, MissingReason)> {
    let found = missing_of(&[(100, &[&[BATCH], after].concat())], compaction, Some(reached));
    found
        .into_iter()
        .map(|(missing, witness)| {
            let offsets = missing.offsets;
            assert_eq!(witness.is_some(), offsets.end() == reached, "{missing:?}");
            (offsets.start(), offsets.end(), missing.reason)
        })
        .collect()
}

#[test]
fn what_the_log_had_after_its_last_batch_is_missing() {
    for reached in [i64::MIN, 0, 100, 109, 110] {
        assert_eq!(end_of(&[], Compaction::Unknown, reached), []);
    }
    assert_eq!(end_of(&[], Compaction::Unknown, 111), [(110, 111, MissingReason::Truncated)]);
    assert_eq!(end_of(&[], Compaction::Unknown, i64::MAX), [(110, i64::MAX, MissingReason::Truncated)]);
}

#[test]
fn bytes_after_the_last_batch_are_corrupt_if_the_log_was_longer() {
    for after in [
        &[Part::Zeros(50)][..],
        &[Part::Corrupt(50)],
        &[Part::Corrupt(50), Part::Zeros(50)],
        &[BATCH],
        &[BATCH, Part::Zeros(50)],
    ] {
        for compaction in [Compaction::Unknown, Compaction::Somewhere, Compaction::To(115)] {
            assert_eq!(end_of(after, compaction, 120), [(110, 120, MissingReason::Corrupt)], "{after:?}");
        }
        assert_eq!(end_of(after, Compaction::Unknown, 110), [], "{after:?}");
    }
}

#[test]
fn only_the_checkpoint_of_the_cleaner_explains_what_is_missing_at_the_end() {
    assert_eq!(end_of(&[], Compaction::Somewhere, 120), [(110, 120, MissingReason::Truncated)]);
    let found = end_of(&[], Compaction::To(115), 120);
    assert_eq!(found, [(110, 115, MissingReason::Compacted), (115, 120, MissingReason::Truncated)]);
    assert_eq!(end_of(&[], Compaction::To(120), 120), [(110, 120, MissingReason::Compacted)]);
}

#[test]
fn the_end_of_a_log_is_that_of_all_files() {
    let batch = |first, last| Part::Batch { first, last, size: 100 };
    let missing = |files: &[(i64, &[Part])], reached| {
        let found = missing_of(files, Compaction::Unknown, reached);
        found.into_iter().map(|(missing, _)| (missing.file, missing.offsets.start(), missing.offsets.end())).collect()
    };
    let expect = |files: &[(i64, &[Part])], reached, expected: &[(usize, i64, i64)]| {
        let found: Vec<(usize, i64, i64)> = missing(files, reached);
        assert_eq!(found, expected, "{files:?}");
    };
    expect(&[], Some(20), &[]);
    expect(&[(7, &[])], Some(20), &[(0, 7, 20)]);
    expect(&[(0, &[batch(0, 9)]), (20, &[])], Some(20), &[(0, 10, 20)]);
    expect(&[(0, &[batch(0, 9)]), (20, &[])], Some(25), &[(0, 10, 20), (1, 20, 25)]);
    expect(&[(0, &[batch(0, 9)]), (10, &[batch(10, 19)])], Some(20), &[]);
    // A batch after the offset is no reason to doubt it.
    expect(&[(0, &[batch(0, 9), batch(20, 29)])], Some(25), &[(0, 10, 20)]);
}

/// A file with indexes, beside others.
#[derive(Debug, Clone, Default)]
struct Files {
    log: Vec<u8>,
    offset_index: Option<Vec<u8>>,
    time_index: Option<Vec<u8>>,
    leader_epochs: Option<Vec<u8>>,
    siblings: Vec<i64>,
}

impl OpenSegment for Files {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        MemorySegment(Arc::new(self.log.clone())).open()
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        Ok(match kind {
            SideFile::OffsetIndex => self.offset_index.clone(),
            SideFile::TimeIndex => self.time_index.clone(),
            SideFile::LeaderEpochCheckpoint => self.leader_epochs.clone(),
            SideFile::TransactionIndex | SideFile::ProducerSnapshot => None,
        })
    }

    fn siblings(&self) -> io::Result<Vec<Sibling>> {
        let sibling = |&base_offset: &i64| {
            let files: Arc<dyn OpenSegment> = Arc::new(Self::default());
            Sibling { name: Arc::from(""), base_offset, files }
        };
        Ok(self.siblings.iter().map(sibling).collect())
    }
}

/// Four batches of ten records from offset 100 on, with an entry in the index for all but the first one.
fn files() -> Files {
    let (mut log, mut index) = (Vec::new(), Vec::new());
    for base_offset in [100, 110, 120, 130] {
        if base_offset > 100 {
            let entry = OffsetPosition { offset: base_offset + 9, position: log.len() as u32 };
            index.extend(entry.encode(100).unwrap());
        }
        let mut builder = RecordBatchBuilder::default();
        let compression = Compression::of(CompressionType::None);
        builder.reset(BatchSettings { compression, base_offset, ..BatchSettings::default() }).unwrap();
        for offset in base_offset..base_offset + 10 {
            builder.append(offset, 7, None, Some(b"value"), Headers::EMPTY).unwrap();
        }
        builder.build(&mut log).unwrap();
    }
    Files { log, offset_index: Some(index), ..Files::default() }
}

/// What shows that a file had reached more, of which the first `batches` are left.
fn reached(mut files: Files, batches: usize, known: ReachedOffsets) -> Option<(EndSource, i64)> {
    let batch = files.log.len() / 4;
    files.log.truncate(batch * batches);
    let log_file = LogFile { name: 100, files: &files, valid: None };
    let log = SurveyedLog::read(&[log_file], 1 << 20, &mut |_, _| Ok(None)).unwrap();
    let found = log.reached(&known).unwrap();
    let found = found.map(|witness| (witness.source(), witness.end()));
    let source = files.open().unwrap();
    let (position, length) = (files.log.len() as u64, files.log.len() as u64);
    let end = 100 + 10 * batches as i64;
    let last = LastFile {
        name: 100,
        files: &files,
        source: source.as_ref(),
        position,
        end,
        length,
        has_zero_tail: false,
        reads_indexes: true,
    };
    let beyond = known.beyond(end, &last).unwrap().map(|witness| (witness.source(), witness.end()));
    assert_eq!(beyond, found.filter(|&(_, reached)| reached > end));
    beyond
}

#[test]
fn an_index_shows_how_far_its_segment_reached() {
    let none = ReachedOffsets::default();
    assert_eq!(reached(files(), 4, none), None);
    // Without an entry for a batch that is left, it may be of another segment.
    assert_eq!(reached(files(), 0, none), None);
    assert_eq!(reached(files(), 1, none), None);
    for batches in 2..4 {
        assert_eq!(reached(files(), batches, none), Some((EndSource::OffsetIndex, 140)), "{batches}");
        // An active segment's index is preallocated.
        let mut preallocated = files();
        preallocated.offset_index.as_mut().unwrap().resize(1 << 10, 0);
        assert_eq!(reached(preallocated, batches, none), Some((EndSource::OffsetIndex, 140)));
        let timed = |entries: &[(i64, i32)]| {
            let bytes = |&(timestamp, offset): &(i64, i32)| {
                [timestamp.to_be_bytes().as_slice(), &offset.to_be_bytes()].concat()
            };
            let time_index = Some(entries.iter().flat_map(bytes).collect());
            reached(Files { time_index, ..files() }, batches, none)
        };
        assert_eq!(timed(&[(7, 9), (8, 41)]), Some((EndSource::TimeIndex, 142)));
        assert_eq!(timed(&[(7, 19), (8, 41)]), Some((EndSource::TimeIndex, 142)));
        for other in [&[(8, 41)][..], &[(6, 9), (8, 41)], &[(6, 9), (7, 19), (8, 41)]] {
            assert_eq!(timed(other), Some((EndSource::OffsetIndex, 140)));
        }
    }
}

#[test]
fn an_index_of_another_segment_shows_nothing() {
    let mut other = files();
    let index = other.offset_index.as_mut().unwrap();
    // The entry of the second batch.
    index[3] += 10;
    assert_eq!(reached(other, 3, ReachedOffsets::default()), None);
    let mut invalid = files();
    invalid.offset_index = Some(vec![0xff; 8]);
    invalid.time_index = Some(vec![0xff; 12]);
    invalid.leader_epochs = Some(b"text".to_vec());
    assert_eq!(reached(invalid, 3, ReachedOffsets::default()), None);
}

#[test]
fn of_several_files_the_one_with_the_greatest_offset_counts_and_of_equals_the_most_reliable() {
    let mut files = files();
    files.leader_epochs = Some(b"0\n2\n0 0\n3 150\n".to_vec());
    let none = ReachedOffsets::default();
    assert_eq!(reached(files.clone(), 3, none), Some((EndSource::LeaderEpoch, 150)));
    let known = ReachedOffsets { snapshot: Some(150), ..none };
    assert_eq!(reached(files.clone(), 3, known), Some((EndSource::ProducerSnapshot, 150)));
    let known = ReachedOffsets { high_watermark: Some(150), ..known };
    assert_eq!(reached(files.clone(), 3, known), Some((EndSource::HighWatermark, 150)));
    let known = ReachedOffsets { recovery_point: Some(150), ..known };
    assert_eq!(reached(files.clone(), 3, known), Some((EndSource::RecoveryPoint, 150)));
    let known = ReachedOffsets { snapshot: Some(151), ..known };
    assert_eq!(reached(files, 3, known), Some((EndSource::ProducerSnapshot, 151)));
}

#[test]
fn a_log_that_is_being_written_is_not_judged() {
    let known = ReachedOffsets { high_watermark: Some(140), ..ReachedOffsets::default() };
    let whole = files();
    let batch = whole.log.len() / 4;
    let beyond = |read: &[u8], now: Files, has_zero_tail| {
        let source = MemorySegment(Arc::new(read.to_vec())).open().unwrap();
        let (position, length) = (3 * batch as u64, read.len() as u64);
        let last = LastFile {
            name: 100,
            files: &now,
            source: source.as_ref(),
            position,
            end: 130,
            length,
            has_zero_tail,
            reads_indexes: true,
        };
        known.beyond(130, &last).unwrap().map(|witness| witness.end())
    };
    let truncated = Files { log: whole.log[..3 * batch].to_vec(), ..Files::default() };
    assert_eq!(beyond(&truncated.log, truncated.clone(), false), Some(140));
    assert_eq!(beyond(&truncated.log, whole.clone(), false), None);
    // Preallocated zeros were replaced by a batch.
    let mut zeros = truncated.clone();
    zeros.log.resize(whole.log.len(), 0);
    assert_eq!(beyond(&zeros.log, zeros.clone(), true), Some(140));
    assert_eq!(beyond(&zeros.log, whole, true), None);
    // The next segment was begun.
    assert_eq!(beyond(&truncated.log, Files { siblings: vec![100, 140], ..truncated.clone() }, false), None);
    assert_eq!(beyond(&truncated.log, Files { siblings: vec![0, 100], ..truncated.clone() }, false), Some(140));
}

#[test]
fn a_file_is_preallocated_to_its_default_size_or_if_its_index_is() {
    let mut files = files();
    assert!(!LastFile::is_preallocated(&files, 1000));
    assert!(LastFile::is_preallocated(&files, 1 << 30));
    files.offset_index.as_mut().unwrap().extend([0; 8]);
    assert!(LastFile::is_preallocated(&files, 1000));
    files.offset_index = None;
    assert!(!LastFile::is_preallocated(&files, 1000));
}

#[test]
fn no_offset_overflows() {
    let found = missing_of(&[(i64::MIN, &[])], Compaction::Unknown, Some(i64::MAX));
    let offsets = OffsetRange::new(i64::MIN, i64::MAX).unwrap();
    assert_eq!(found.iter().map(|(missing, _)| missing.offsets).collect::<Vec<_>>(), [offsets]);
    assert_eq!(EndWitness::new(EndSource::OffsetIndex, i64::MAX).end(), i64::MAX);
}
