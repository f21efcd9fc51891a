//! The map of real segments against the truth: files that brokers wrote are split into segments, and damaged. What was there is
//! known, so that every intact batch must be delivered, nothing else, and everything else named as missing.
//!
//! The long form, which `make test-all` runs, has more cases.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

use std::collections::BTreeMap;
use std::path::Path;

use kafkacomp_core::log::map::{
    BatchFact, Fact, LogMap, OffsetRange, SegmentFacts, StoredRecords, Survey, judge, map_of,
};
use kafkacomp_core::log::{Compaction, ContentError, InMemory, ReadAt};
use kafkacomp_core::record::Error;

/// Above the content of every valid batch of these files.
const CAP: usize = 1 << 24;
const PAGE: usize = 4096;

/// A segment file of a partition.
#[derive(Clone)]
struct File {
    name: i64,
    bytes: Vec<u8>,
    /// The batches that it had: offsets and bytes, by position.
    truth: BTreeMap<usize, (OffsetRange, Vec<u8>)>,
}

/// Pseudorandom numbers (SplitMix64).
struct Random(u64);

impl Random {
    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

/// The intact segments of the vectors with at least three batches, with their batches.
fn segments() -> Vec<(Vec<u8>, Vec<BatchFact>)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")];
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|suffix| suffix == "log") {
                let bytes = std::fs::read(path).unwrap();
                let survey = Survey::verified(&InMemory(&bytes), 0, CAP).unwrap();
                let batches: Vec<BatchFact> = survey.facts().iter().filter_map(Fact::batch).copied().collect();
                let name = batches.first().map_or(0, |batch| batch.offsets().start());
                let is_intact = batches.len() == survey.facts().len();
                if is_intact
                    && batches.len() > 2
                    && judge(&segment(name, survey.facts()), OffsetRange::new(name, i64::MAX)).is_in_order()
                {
                    found.insert(bytes, batches);
                }
            }
        }
    }
    assert!(found.len() > 50, "{}", found.len());
    found.into_iter().collect()
}

fn segment(name: i64, facts: &[Fact]) -> SegmentFacts<'_> {
    SegmentFacts { name, facts, is_truncated: false, valid: None }
}

/// A segment as a partition of up to four segments.
fn split(random: &mut Random, bytes: &[u8], batches: &[BatchFact]) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        if number == 0 || (files.len() < 4 && random.below(batches.len()) < 4) {
            files.push(File { name: batch.offsets().start(), bytes: Vec::new(), truth: BTreeMap::new() });
        }
        let data = &bytes[batch.bytes().start() as usize..batch.bytes().end() as usize];
        let file = files.last_mut().unwrap();
        file.truth.insert(file.bytes.len(), (batch.offsets(), data.to_vec()));
        file.bytes.extend_from_slice(data);
    }
    files
}

/// A page of a file, the last of which is shorter.
fn page(random: &mut Random, file: &File) -> Option<std::ops::Range<usize>> {
    let start = PAGE * random.below(file.bytes.len().div_ceil(PAGE).max(1));
    (start < file.bytes.len()).then(|| start..file.bytes.len().min(start + PAGE))
}

fn damage(random: &mut Random, files: &mut Vec<File>, kind: usize) {
    let number = random.below(files.len());
    match kind {
        0 => {
            if let Some(page) = page(random, &files[number]) {
                files[number].bytes[page].fill(0);
            }
        }
        1 => {
            let length = random.below(files[number].bytes.len() + 1);
            files[number].bytes.truncate(length);
        }
        2 if files.len() > 1 => {
            files.remove(number);
        }
        2 => {}
        _ => {
            let source = random.below(files.len());
            let copied = page(random, &files[source]).map(|page| files[source].bytes[page].to_vec());
            if let Some((copied, page)) = copied.zip(page(random, &files[number])) {
                let length = copied.len().min(page.len());
                files[number].bytes[page.start..page.start + length].copy_from_slice(&copied[..length]);
            }
        }
    }
}

/// Checks the map of damaged files against what was in the partition.
fn check(files: &[File], truth: &BTreeMap<OffsetRange, Vec<u8>>, context: &str) {
    let surveys: Vec<Survey> =
        files.iter().map(|file| Survey::verified(&InMemory(&file.bytes), 0, CAP).unwrap()).collect();
    let sources: Vec<InMemory<&[u8]>> = files.iter().map(|file| InMemory(file.bytes.as_slice())).collect();
    let segments: Vec<SegmentFacts<'_>> =
        files.iter().zip(&surveys).map(|(file, survey)| segment(file.name, survey.facts())).collect();
    let sources = sources.iter().map(|source| source as &dyn ReadAt);
    let mut records = StoredRecords::new(segments.iter().copied().zip(sources), CAP);
    let map = map_of(&segments, Compaction::Unknown, &mut records).unwrap();

    let mut delivered = BTreeMap::new();
    for placement in map.in_offset_order() {
        let bytes = map.batch(placement.id).unwrap().bytes();
        let bytes = &files[placement.id.file].bytes[bytes.start() as usize..bytes.end() as usize];
        delivered.insert(placement.offsets, bytes);
        assert!(
            truth.get(&placement.offsets).is_some_and(|true_bytes| true_bytes == bytes),
            "{context}: {placement:?}"
        );
    }
    for (file, survey) in files.iter().zip(&surveys) {
        let searched = searched_to(survey);
        for (&position, (offsets, bytes)) in file.truth.range(..searched) {
            let is_intact = file.bytes.get(position..position + bytes.len()) == Some(bytes);
            assert!(!is_intact || delivered.contains_key(offsets), "{context}: {offsets:?} of {}", file.name);
        }
    }
    check_missing(&map, &delivered, truth, context);
}

/// Where a survey ends its search: after a header that states more bytes than the file has, what looks like a batch may be in a
/// value of a truncated one.
fn searched_to(survey: &Survey) -> usize {
    match (survey.facts().last(), survey.errors().last()) {
        (Some(Fact::Corrupt(bytes)), Some(ContentError::Record(Error::IncompleteBatch { .. }))) => {
            bytes.start() as usize
        }
        _ => usize::MAX,
    }
}

/// What is missing is the complement of what is delivered, from the first name to the last name or batch.
fn check_missing(
    map: &LogMap<'_>,
    delivered: &BTreeMap<OffsetRange, &[u8]>,
    truth: &BTreeMap<OffsetRange, Vec<u8>>,
    context: &str,
) {
    let mut all: Vec<OffsetRange> = map.missing().iter().map(|missing| missing.offsets).collect();
    all.extend(delivered.keys());
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0].end() == pair[1].start()), "{context}: {all:?}");
    let (first, last) = (map.files()[0].name, map.files().last().unwrap().name);
    for offsets in truth.keys().filter(|offsets| first <= offsets.start() && offsets.end() <= last) {
        let is_named = map.missing().iter().any(|missing| missing.offsets.contains(*offsets));
        assert!(is_named || delivered.contains_key(offsets), "{context}: {offsets:?}");
    }
}

fn run(cases: usize) {
    let segments = segments();
    for case in 0..cases {
        let mut random = Random(case as u64);
        let (bytes, batches) = &segments[random.below(segments.len())];
        let mut files = split(&mut random, bytes, batches);
        let truth = files.iter().flat_map(|file| file.truth.values().cloned()).collect();
        let kinds = [random.below(4), random.below(8)];
        for kind in kinds.into_iter().filter(|&kind| kind < 4) {
            damage(&mut random, &mut files, kind);
        }
        check(&files, &truth, &format!("case {case}, damages {kinds:?}"));
    }
}

#[test]
fn every_intact_batch_is_delivered_and_nothing_else() {
    run(5_000);
}

#[test]
#[ignore = "long"]
fn every_intact_batch_is_delivered_and_nothing_else_long() {
    run(200_000);
}
