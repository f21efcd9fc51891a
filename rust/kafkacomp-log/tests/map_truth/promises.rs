//! Which promises of the map are broken for the damaged files of a log whose truth is known.

use std::sync::Arc;

use kafkacomp_log::map::{
    Agreement, CompareRecords, Fact, Finding, LogMap, Placement, SegmentFacts, StoredRecords, Survey, judge, map_of,
    windows,
};
use kafkacomp_log::{Compaction, InMemory, MemorySegment, MissingReason, OpenSegment, ReadAt};

use crate::truth::logs::{CAP, File, Log};
use crate::truth::promises::{Broken, Damaged, foreign, lost, named, order, truth};

/// Reads a few bytes at once.
struct InPieces<'b>(&'b [u8]);

impl ReadAt for InPieces<'_> {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
        let size = buffer.len().min(1000);
        InMemory(self.0).read_at(&mut buffer[..size], position)
    }

    fn length(&self) -> std::io::Result<u64> {
        InMemory(self.0).length()
    }
}

/// Fails at one question, if there is one.
struct FailsAt<'r, C>(&'r mut C, usize);

impl<C: CompareRecords> CompareRecords for FailsAt<'_, C> {
    type Error = Option<C::Error>;

    fn compare(&mut self, one: Placement, other: Placement) -> Result<Agreement, Self::Error> {
        self.1 = self.1.checked_sub(1).ok_or(None)?;
        self.0.compare(one, other).map_err(Some)
    }
}

/// The damaged files with surveys of all their bytes.
struct Surveyed<'d> {
    files: &'d [File],
    surveys: Vec<Survey>,
    compaction: Compaction,
}

impl<'d> Surveyed<'d> {
    fn of(files: &'d [File], compaction: Compaction) -> Self {
        let survey = |file: &File| Survey::verified(&InMemory(&file.bytes), CAP, &mut |_| Ok(None)).unwrap();
        Self { files, surveys: files.iter().map(survey).collect(), compaction }
    }

    fn segments(&self) -> Vec<SegmentFacts<'_>> {
        let pairs = self.files.iter().zip(&self.surveys);
        let segment = |(file, survey): (&File, _)| {
            let facts = Survey::facts(survey);
            SegmentFacts { name: file.name, facts, is_truncated: file.is_truncated, valid: None }
        };
        pairs.map(segment).collect()
    }

    /// The map of the segments, with `fails_at` for a question that is not answered.
    fn map<'m>(&self, segments: &[SegmentFacts<'m>], fails_at: usize) -> Option<LogMap<'m>> {
        let sources: Vec<(SegmentFacts<'m>, MemorySegment<Vec<u8>>)> = segments
            .iter()
            .map(|segment| {
                let file = self.files.iter().find(|file| file.name == segment.name).unwrap();
                (*segment, MemorySegment(Arc::new(file.bytes.clone())))
            })
            .collect();
        let sources = sources.iter().map(|(segment, source)| (*segment, source as &dyn OpenSegment));
        let mut records = StoredRecords::new(sources, CAP);
        map_of(segments, self.compaction, &mut FailsAt(&mut records, fails_at)).ok()
    }
}

/// The broken promises of the map of damaged files.
pub fn broken(log: &Log, files: &[File]) -> Vec<Broken> {
    let surveyed = Surveyed::of(files, log.compaction);
    let segments = surveyed.segments();
    let map = surveyed.map(&segments, usize::MAX).unwrap();
    let (truth, damaged) = (truth(log), Damaged { files, facts: segments.iter().map(|each| each.facts).collect() });

    let mut broken = Vec::new();
    broken.extend(order(&map));
    broken.extend(side_effects(&surveyed, &segments, &map));
    broken.extend(lost(&damaged, &map, &truth));
    broken.extend(foreign(log, &damaged, &map, &truth));
    broken.extend(named(log, &damaged, &map, &truth));
    broken
}

/// Everything that a map says.
fn content(map: &LogMap<'_>) -> (Vec<Placement>, Vec<Finding>) {
    (map.in_offset_order().collect(), map.findings().collect())
}

/// P7: neither the order of the files nor the size of the reads changes anything, and what cannot be read is no answer.
fn side_effects(surveyed: &Surveyed<'_>, segments: &[SegmentFacts<'_>], map: &LogMap<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    let reversed: Vec<SegmentFacts<'_>> = segments.iter().rev().copied().collect();
    if surveyed.map(&reversed, usize::MAX).map(|map| content(&map)) != Some(content(map)) {
        broken.push(("P7", "the order of files".to_owned()));
    }
    let in_pieces =
        surveyed.files.iter().map(|file| Survey::verified(&InPieces(&file.bytes), CAP, &mut |_| Ok(None)).unwrap());
    if !in_pieces.eq(surveyed.surveys.iter().cloned()) {
        broken.push(("P7", "the size of reads".to_owned()));
    }
    for fails_at in 0..3 {
        if surveyed.map(segments, fails_at).is_some_and(|other| content(&other) != content(map)) {
            broken.push(("P7", format!("question {fails_at} has no answer")));
        }
    }
    // What a light survey settles is so in a verified one. Wrappers do not have their first offsets in their headers.
    for ((file, segment), window) in surveyed.files.iter().zip(segments).zip(windows(segments)) {
        let headers = Survey::light(&InMemory(&file.bytes)).unwrap();
        let is_new = headers.facts().iter().filter_map(Fact::batch).all(|batch| batch.magic() == 2);
        let is_settled = judge(&SegmentFacts { facts: headers.facts(), ..*segment }, window).is_in_order();
        // In bytes that the headers already show to be corrupt, the search of a verified survey may find a copy.
        let is_whole = headers.facts().iter().all(|fact| !matches!(fact, Fact::Corrupt(_)));
        if is_new && is_whole && is_settled && !judge(segment, window).is_in_order() {
            broken.push(("P7", format!("the headers of {} are in order", file.name)));
        }
    }
    broken
}

/// What the map of an intact log finds other than compaction.
pub fn unexpected(log: &Log) -> Vec<Finding> {
    let surveyed = Surveyed::of(&log.files, log.compaction);
    let hides_compaction = log.compaction == Compaction::Unknown && log.is_compacted;
    let is_compacted = |reason| hides_compaction || reason == MissingReason::Compacted;
    let is_expected = |finding: &Finding| match finding {
        Finding::Missing(missing) => is_compacted(missing.reason),
        _ => false,
    };
    let segments = surveyed.segments();
    let found = surveyed.map(&segments, usize::MAX).unwrap();
    found.findings().filter(|finding| !is_expected(finding)).collect()
}
