//! What the map says of a folder, as rows.

use kafkacomp_log::map::{Fact, Hints, LogMap, ReachedOffsets, SegmentFacts, Survey, SurveyedLog, map_of};
use kafkacomp_log::{BatchChecker, Compaction, ContentError, OpenSegment, TransactionCollector};
use kafkacomp_records::Category;
use kafkacomp_records::record::{RecordBatch, RecordReader};

use super::answer::{Missing, Row, content, joined, of_reason};
use super::folder::{Folder, Reading};
use crate::truth::logs::{CAP, File};

/// The rows and missing ranges of a map.
pub struct Expected {
    pub rows: Vec<Row>,
    pub missing: Vec<Missing>,
    /// The rows of a committed reader, and the offset at which it ends.
    pub committed: Vec<Row>,
    pub stable: Option<i64>,
    /// The offset after the last one that is delivered.
    pub end: Option<i64>,
    /// Whether compressed messages hide their first offsets from headers.
    pub has_wrappers: bool,
    /// The number of delivered offsets.
    pub covered: u64,
    /// The offsets and timestamps of all records, those of control batches too.
    pub times: Vec<(i64, i64)>,
    /// Whether a file has batches at offsets that two later names or more are below: only a reader of that file knows of them.
    pub reaches_over: bool,
    /// Whether all batches of a file are in place, for each file.
    pub in_order: Vec<bool>,
    /// Whether a batch fills a gap of an earlier file, which compaction explains: who reads that file need not read others.
    pub fills_compacted: bool,
}

/// Judges a folder by all its bytes, batch by batch.
pub fn judged<T>(folder: &Folder, take: impl FnOnce(&[SegmentFacts<'_>], &LogMap<'_>) -> T) -> T {
    let openers = folder.openers(Reading::Slice);
    let mut checker = BatchChecker::new(CAP);
    let mut accept = |batch: &RecordBatch<'_>| match checker.count(batch).map_err(ContentError::from) {
        Ok(_) => Ok(None),
        Err(error) if matches!(error.category(), Category::Corrupt | Category::Limit) => Ok(Some(error)),
        Err(error) => Err(error.into()),
    };
    let surveys = openers.iter().map(|opener| Survey::verified(opener.open().unwrap().as_ref(), CAP, &mut accept));
    let surveys: Vec<Survey> = surveys.map(Result::unwrap).collect();
    let log = SurveyedLog::of(folder.log_files(&openers).into_iter().zip(surveys), CAP, &mut |_, _| Ok(None));
    let log = log.unwrap();
    let facts = log.facts();
    let reached = log.reached(&ReachedOffsets::default()).unwrap();
    let hints = Hints { compaction: folder.compaction, reached };
    let map = map_of(&facts, hints, &mut log.records(CAP)).unwrap();
    take(&facts, &map)
}

impl Expected {
    pub fn of(files: &[File], map: &LogMap<'_>, compaction: Compaction) -> Self {
        let mut reader = RecordReader::new(CAP);
        let mut batches: Vec<Vec<u8>> = Vec::new();
        let (mut collector, mut covered) = (TransactionCollector::default(), 0);
        let (mut reaches_over, mut fills_earlier) = (false, false);
        for placement in map.in_offset_order() {
            let fact = map.batch(placement.id).unwrap();
            let bytes = fact.bytes().start() as usize..fact.bytes().end() as usize;
            let mut bytes = files[placement.id.file].bytes[bytes].to_vec();
            if fact.offsets() != placement.offsets {
                let field = if bytes[16] < 2 { placement.offsets.end() - 1 } else { placement.offsets.start() };
                bytes[..8].copy_from_slice(&field.to_be_bytes());
            }
            let batch = RecordBatch::new(&bytes, 0).unwrap();
            collector.observe(&batch, &mut reader);
            covered += placement.offsets.len();
            reaches_over |= files.get(placement.id.file + 2).is_some_and(|file| file.name < placement.offsets.end());
            fills_earlier |= placement.offsets.start() < files[placement.id.file].name;
            batches.push(bytes);
        }
        let filter = collector.finish();
        let stable = filter.last_stable_offset();
        let (mut rows, mut committed, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for bytes in &batches {
            let batch = RecordBatch::new(bytes, 0).unwrap();
            let own = rows_of(&batch, &mut reader);
            let records = reader.records(&batch).unwrap().map(Result::unwrap);
            times.extend(records.map(|record| (record.offset, record.timestamp)));
            if !filter.is_aborted(&batch) {
                committed.extend(own.iter().filter(|row| stable.is_none_or(|stable| row.0 < stable)));
            }
            rows.extend(own);
        }
        let facts = map.files().iter().flat_map(|file| file.facts).filter_map(Fact::batch);
        let has_wrappers = facts.into_iter().any(|batch| batch.magic() < 2 && batch.offsets().len() > 1);
        let missing = map.missing().iter();
        let missing = missing.map(|each| of_reason(each.offsets.start(), each.offsets.end(), each.reason));
        let (missing, end) = (joined(missing), map.end_offset());
        let in_order = (0..map.files().len()).map(|file| map.is_in_order(file)).collect();
        let fills_compacted = fills_earlier && map.compaction(compaction) != Compaction::Unknown;
        Self {
            rows,
            missing,
            committed,
            stable,
            end,
            has_wrappers,
            covered,
            times,
            reaches_over,
            in_order,
            fills_compacted,
        }
    }
}

/// The rows of a batch; a control batch has none.
pub fn rows_of(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Vec<Row> {
    if batch.is_control_batch() {
        return Vec::new();
    }
    let records = reader.records(batch).unwrap().map(Result::unwrap);
    records.map(|record| (record.offset, record.timestamp, content(record.key, record.value))).collect()
}
