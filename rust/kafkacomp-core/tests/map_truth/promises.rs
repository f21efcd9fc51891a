//! Which promises of the map are broken for the damaged files of a log whose truth is known.

use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;

use kafkacomp_core::log::map::{
    Agreement, BatchId, CompareRecords, Fact, Finding, LogMap, OffsetRange, Placement, SegmentFacts, StoredRecords,
    Survey, Use, judge, map_of, windows,
};
use kafkacomp_core::log::{Compaction, InMemory, MemorySegment, MissingReason, OpenSegment, ReadAt};

use super::logs::{CAP, File, Log, UNCOVERED};

/// A promise that is not kept, and how.
pub type Broken = (&'static str, String);

/// The content of each batch of a log, without the fields that no checksum covers.
type Truth<'t> = BTreeMap<OffsetRange, &'t [u8]>;

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

/// The damaged files with what a survey finds in them.
struct Damaged<'d> {
    files: &'d [File],
    surveys: Vec<Survey>,
    compaction: Compaction,
}

impl Damaged<'_> {
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

    fn bytes(&self, id: BatchId) -> &[u8] {
        let fact = self.surveys[id.file].facts()[id.index].bytes();
        &self.files[id.file].bytes[fact.start() as usize..fact.end() as usize]
    }

    /// The intact batches that are in their own file at their own offsets.
    fn true_batches(&self) -> Vec<(BatchId, OffsetRange)> {
        let mut found = Vec::new();
        for (number, (file, survey)) in self.files.iter().zip(&self.surveys).enumerate() {
            let own: Truth<'_> = file.truth.values().map(|(offsets, bytes)| (*offsets, &bytes[UNCOVERED..])).collect();
            for (index, batch) in
                survey.facts().iter().enumerate().filter_map(|(index, fact)| Some((index, fact.batch()?)))
            {
                let id = BatchId { file: number, index };
                if own.get(&batch.offsets()).is_some_and(|bytes| **bytes == self.bytes(id)[UNCOVERED..]) {
                    found.push((id, batch.offsets()));
                }
            }
        }
        found
    }
}

/// The broken promises of the map of damaged files.
pub fn broken(log: &Log, files: &[File]) -> Vec<Broken> {
    let surveys =
        files.iter().map(|file| Survey::verified(&InMemory(&file.bytes), CAP, &mut |_| Ok(None)).unwrap()).collect();
    let damaged = Damaged { files, surveys, compaction: log.compaction };
    let segments = damaged.segments();
    let map = damaged.map(&segments, usize::MAX).unwrap();
    let all: Vec<&(OffsetRange, Vec<u8>)> = log.files.iter().flat_map(|file| file.truth.values()).collect();
    let truth: Truth<'_> = all.iter().map(|(offsets, bytes)| (*offsets, &bytes[UNCOVERED..])).collect();

    let mut broken = Vec::new();
    broken.extend(order(&map));
    broken.extend(side_effects(&damaged, &segments, &map));
    broken.extend(lost(&damaged, &map, &truth));
    broken.extend(foreign(log, &damaged, &map, &truth));
    broken.extend(named(log, &damaged, &map, &truth));
    broken
}

/// P2.
fn order(map: &LogMap<'_>) -> Option<Broken> {
    let all: Vec<OffsetRange> = map.in_offset_order().map(|placement| placement.offsets).collect();
    let is_in_order = all.windows(2).all(|pair| pair[0].end() <= pair[1].start());
    (!is_in_order).then(|| ("P2", format!("{all:?}")))
}

/// Everything that a map says.
fn content(map: &LogMap<'_>) -> (Vec<Placement>, Vec<Finding>) {
    (map.in_offset_order().collect(), map.findings().collect())
}

/// P7: neither the order of the files nor the size of the reads changes anything, and what cannot be read is no answer.
fn side_effects(damaged: &Damaged<'_>, segments: &[SegmentFacts<'_>], map: &LogMap<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    let reversed: Vec<SegmentFacts<'_>> = segments.iter().rev().copied().collect();
    if damaged.map(&reversed, usize::MAX).map(|map| content(&map)) != Some(content(map)) {
        broken.push(("P7", "the order of files".to_owned()));
    }
    let in_pieces =
        damaged.files.iter().map(|file| Survey::verified(&InPieces(&file.bytes), CAP, &mut |_| Ok(None)).unwrap());
    if !in_pieces.eq(damaged.surveys.iter().cloned()) {
        broken.push(("P7", "the size of reads".to_owned()));
    }
    for fails_at in 0..3 {
        if damaged.map(segments, fails_at).is_some_and(|other| content(&other) != content(map)) {
            broken.push(("P7", format!("question {fails_at} has no answer")));
        }
    }
    // What a light survey settles is so in a verified one. Wrappers do not have their first offsets in their headers.
    for ((file, segment), window) in damaged.files.iter().zip(segments).zip(windows(segments)) {
        let headers = Survey::light(&InMemory(&file.bytes)).unwrap();
        let is_new = headers.facts().iter().filter_map(Fact::batch).all(|batch| batch.magic() == 2);
        let is_settled = judge(&SegmentFacts { facts: headers.facts(), ..*segment }, window).is_in_order();
        if is_new && is_settled && !judge(segment, window).is_in_order() {
            broken.push(("P7", format!("the headers of {} are in order", file.name)));
        }
    }
    broken
}

/// The content that is delivered.
fn delivered<'d>(damaged: &'d Damaged<'_>, map: &LogMap<'_>) -> Truth<'d> {
    map.in_offset_order().map(|placement| (placement.offsets, &damaged.bytes(placement.id)[UNCOVERED..])).collect()
}

/// P3.
fn lost(damaged: &Damaged<'_>, map: &LogMap<'_>, truth: &Truth<'_>) -> Option<Broken> {
    let delivered = delivered(damaged, map);
    let lost = damaged.true_batches().into_iter().find(|(_, offsets)| delivered.get(offsets) != truth.get(offsets));
    lost.map(|(id, offsets)| {
        let file = &damaged.files[id.file];
        ("P3", format!("{offsets:?} of {}", file.name))
    })
}

/// P4: a delivered batch of another place, which a name, the order or another file contradicts.
fn foreign(log: &Log, damaged: &Damaged<'_>, map: &LogMap<'_>, truth: &Truth<'_>) -> Option<Broken> {
    let true_batches = damaged.true_batches();
    let names: BTreeSet<i64> = log.files.iter().map(|file| file.true_name).collect();
    let mut found = None;
    for Placement { id, offsets } in map.in_offset_order() {
        if truth.get(&offsets).is_some_and(|bytes| **bytes == damaged.bytes(id)[UNCOVERED..]) {
            continue;
        }
        let file = &damaged.files[id.file];
        let later = names.range(file.true_name + 1..).next().copied().unwrap_or(i64::MAX);
        let by_name = file.name == file.true_name && (offsets.start() < file.true_name || offsets.end() > later);
        let by_others = true_batches.iter().any(|(other, true_offsets)| {
            if other.file != id.file {
                return true_offsets.overlaps(offsets);
            }
            let is_above = true_offsets.end() > offsets.start();
            let is_below = true_offsets.start() < offsets.end();
            (other.index < id.index && is_above) || (other.index > id.index && is_below)
        });
        let is_restored = matches!(map.use_of(id), Some(Use::Restored { .. }));
        let promise = if by_name || by_others || is_restored { "P4" } else { "foreign, undecidable" };
        if promise == "P4" || found.is_none() {
            found = Some((promise, format!("{offsets:?} of {}", file.name)));
        }
    }
    found
}

/// P8: lost offsets are missing and nothing else is, with the right reason.
fn named(log: &Log, damaged: &Damaged<'_>, map: &LogMap<'_>, truth: &Truth<'_>) -> Vec<Broken> {
    let delivered = delivered(damaged, map);
    let mut all: Vec<OffsetRange> = map.missing().iter().map(|missing| missing.offsets).collect();
    all.extend(delivered.keys());
    all.sort_unstable();
    let mut broken = Vec::new();
    if !all.windows(2).all(|pair| pair[0].end() == pair[1].start()) {
        broken.push(("P8 complement", format!("{all:?}")));
    }
    let is_held = |offsets: &OffsetRange| delivered.keys().any(|held| held.overlaps(*offsets));
    let lost: Vec<OffsetRange> = truth.keys().copied().filter(|offsets| !is_held(offsets)).collect();
    let (start, end) = (map.files()[0].name, map.end().unwrap());
    for offsets in &lost {
        match map.missing().iter().find(|missing| missing.offsets.overlaps(*offsets)) {
            Some(missing) if missing.reason == MissingReason::Compacted => {
                // Nothing in a compacted log shows that what is absent was not cleaned.
                let promise = if log.is_compacted { "P8 undecidable" } else { "P8" };
                broken.push((promise, format!("{offsets:?} is called compacted")));
            }
            None if start <= offsets.start() && offsets.end() <= end => {
                broken.push(("P8 unnamed", format!("{offsets:?}")));
            }
            _ => {}
        }
    }
    let hides_compaction = log.compaction == Compaction::Unknown && log.is_compacted;
    for missing in map.missing().iter().filter(|missing| missing.reason != MissingReason::Compacted) {
        if !hides_compaction && !truth.keys().any(|offsets| offsets.overlaps(missing.offsets)) {
            broken.push(("P8", format!("nothing is lost: {missing:?}")));
        }
    }
    broken
}

/// What the map of an intact log finds other than compaction.
pub fn unexpected(log: &Log) -> Vec<Finding> {
    let files = &log.files;
    let surveys =
        files.iter().map(|file| Survey::verified(&InMemory(&file.bytes), CAP, &mut |_| Ok(None)).unwrap()).collect();
    let damaged = Damaged { files, surveys, compaction: log.compaction };
    let hides_compaction = log.compaction == Compaction::Unknown && log.is_compacted;
    let is_compacted = |reason| hides_compaction || reason == MissingReason::Compacted;
    let is_expected = |finding: &Finding| match finding {
        Finding::Missing(missing) => is_compacted(missing.reason),
        _ => false,
    };
    let segments = damaged.segments();
    let found = damaged.map(&segments, usize::MAX).unwrap();
    found.findings().filter(|finding| !is_expected(finding)).collect()
}
