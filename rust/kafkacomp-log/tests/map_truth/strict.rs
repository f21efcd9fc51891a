//! Damage that only destroys, and pages of the same partition: every intact batch is delivered, nothing else, and everything else
//! is named as missing.

use std::collections::BTreeMap;

use std::sync::Arc;

use kafkacomp_log::map::{BatchFact, Fact, LogMap, OffsetRange, SegmentFacts, StoredRecords, Survey, map_of};
use kafkacomp_log::{Compaction, ContentError, InMemory, MemorySegment, OpenSegment};
use kafkacomp_records::record::Error;

use crate::truth::logs::{CAP, File, PAGE, Random, segment, segments, split};

/// Offset, size, leader epoch and magic of a batch, before its checksum.
const UNCOVERED: usize = 17;

/// A page of a file, the last of which is shorter.
fn page(random: &mut Random, file: &File) -> Option<std::ops::Range<usize>> {
    let start = PAGE * random.below(file.bytes.len().div_ceil(PAGE).max(1));
    (start < file.bytes.len()).then(|| start..file.bytes.len().min(start + PAGE))
}

/// What happens to a file.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A page is zero.
    Zeroed,
    /// The end is gone.
    Truncated,
    /// The file is gone.
    Deleted,
    /// A page of the same partition is in the place of a page.
    OtherPage,
}

fn damage(random: &mut Random, files: &mut Vec<File>, kind: Kind) {
    let number = random.below(files.len());
    let target = page(random, &files[number]);
    match kind {
        Kind::Zeroed => {
            if let Some(page) = target {
                files[number].bytes[page].fill(0);
            }
        }
        Kind::Truncated => {
            let length = random.below(files[number].bytes.len() + 1);
            files[number].bytes.truncate(length);
        }
        Kind::Deleted if files.len() == 1 => {}
        Kind::Deleted => {
            files.remove(number);
        }
        Kind::OtherPage => {
            let source = random.below(files.len());
            if let Some((from, to)) = page(random, &files[source]).zip(target) {
                let size = from.len().min(to.len());
                let (from, to) = (from.start..from.start + size, to.start..to.start + size);
                if !alters_fields(&files[source], &from) && !alters_fields(&files[number], &to) {
                    let copied = files[source].bytes[from].to_vec();
                    files[number].bytes[to].copy_from_slice(&copied);
                }
            }
        }
    }
}

/// Whether a border of a page is in the fields of a batch that no checksum covers: an altered base offset that nothing after it
/// contradicts cannot be known.
fn alters_fields(file: &File, page: &std::ops::Range<usize>) -> bool {
    let is_within =
        |border| file.truth.range(..border).next_back().is_some_and(|(start, _)| border < start + UNCOVERED);
    is_within(page.start) || is_within(page.end)
}

/// What the map of damaged files does not deliver although it is intact, delivers although it was not there, or does not name.
/// If pages were written over others, see [`searched_to`].
fn faults(files: &[File], truth: &BTreeMap<OffsetRange, Vec<u8>>, has_pages: bool) -> Vec<String> {
    let surveys: Vec<Survey> =
        files.iter().map(|file| Survey::verified(&InMemory(&file.bytes), CAP, &mut |_| Ok(None)).unwrap()).collect();
    let sources: Vec<_> = files.iter().map(|file| MemorySegment(Arc::new(file.bytes.clone()))).collect();
    let segments: Vec<SegmentFacts<'_>> =
        files.iter().zip(&surveys).map(|(file, survey)| segment(file.name, survey.facts())).collect();
    let sources = sources.iter().map(|source| source as &dyn OpenSegment);
    let mut records = StoredRecords::new(segments.iter().copied().zip(sources), CAP);
    let map = map_of(&segments, Compaction::Unknown, &mut records).unwrap();

    let mut faults = Vec::new();
    let mut delivered = BTreeMap::new();
    for placement in map.in_offset_order() {
        let bytes = map.batch(placement.id).unwrap().bytes();
        let bytes = &files[placement.id.file].bytes[bytes.start() as usize..bytes.end() as usize];
        delivered.insert(placement.offsets, bytes);
        if truth.get(&placement.offsets).is_none_or(|true_bytes| true_bytes != bytes) {
            faults.push(format!("foreign: {placement:?}"));
        }
    }
    for (file, survey) in files.iter().zip(&surveys) {
        let searched = if has_pages { searched_to(survey) } else { usize::MAX };
        for (&position, (offsets, bytes)) in file.truth.range(..searched) {
            let is_intact = file.bytes.get(position..position + bytes.len()) == Some(bytes);
            if is_intact && !begins_in_another(survey, position as u64) && !delivered.contains_key(offsets) {
                faults.push(format!("lost: {offsets:?} of {}", file.name));
            }
        }
    }
    faults.extend(unnamed(&map, &delivered, truth));
    faults
}

/// Where a survey ends its search: after a header that states more bytes than the file has, what looks like a batch may be in a
/// value of a truncated one. The last header of a page may be such a one: a known loss of the search, not of the map.
fn searched_to(survey: &Survey) -> usize {
    match (survey.facts().last(), survey.corrupt_ranges().last().map(|range| &range.error)) {
        (Some(Fact::Corrupt(bytes)), Some(ContentError::Record(Error::IncompleteBatch { .. }))) => {
            bytes.start() as usize
        }
        _ => usize::MAX,
    }
}

/// Whether another intact batch of the survey contains a position: a page that ends one byte before the end of a batch may be
/// continued by the first byte of the next one, which is as often zero.
fn begins_in_another(survey: &Survey, position: u64) -> bool {
    let bytes = survey.facts().iter().filter_map(Fact::batch).map(BatchFact::bytes);
    bytes.into_iter().any(|bytes| bytes.start() < position && position < bytes.end())
}

/// The lost batches that are not missing. What is missing must be the complement of what is delivered.
fn unnamed(
    map: &LogMap<'_>,
    delivered: &BTreeMap<OffsetRange, &[u8]>,
    truth: &BTreeMap<OffsetRange, Vec<u8>>,
) -> Vec<String> {
    let mut all: Vec<OffsetRange> = map.missing().iter().map(|missing| missing.offsets).collect();
    all.extend(delivered.keys());
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0].end() == pair[1].start()), "{all:?}");
    let (start, end) = (map.files()[0].name, map.files().last().unwrap().name);
    let within = truth.keys().filter(|offsets| start <= offsets.start() && offsets.end() <= end);
    let is_named = |offsets| map.missing().iter().any(|missing| missing.offsets.contains(offsets));
    let lost = within.filter(|&&offsets| !delivered.contains_key(&offsets) && !is_named(offsets));
    lost.map(|offsets| format!("unnamed: {offsets:?}")).collect()
}

/// The number of `cases` with faults, whose damages `kinds` chooses, and the first of the faults.
fn run(cases: usize, kinds: impl Fn(&mut Random) -> Vec<Kind>) -> (usize, String) {
    let segments = segments();
    let (mut count, mut first) = (0, String::new());
    for case in 0..cases {
        let mut random = Random(case as u64);
        let (bytes, batches) = &segments[random.below(segments.len())];
        let mut files = split(&mut random, bytes, batches);
        let truth = files.iter().flat_map(|file| file.truth.values().cloned()).collect();
        let kinds = kinds(&mut random);
        for &kind in &kinds {
            damage(&mut random, &mut files, kind);
        }
        let has_pages = kinds.iter().any(|kind| matches!(kind, Kind::OtherPage));
        let faults = faults(&files, &truth, has_pages);
        if !faults.is_empty() {
            count += 1;
            first = if first.is_empty() { format!("case {case}, {kinds:?}: {faults:?}") } else { first };
        }
    }
    (count, first)
}

const ALL: [Kind; 4] = [Kind::Zeroed, Kind::Truncated, Kind::Deleted, Kind::OtherPage];

/// Any number of damages that only destroy.
fn destroys(random: &mut Random) -> Vec<Kind> {
    (0..=random.below(3)).map(|_| ALL[random.below(3)]).collect()
}

/// Two damages. The page of a file that is deleted may outweigh what it was written over, and nothing contradicts it.
fn two(random: &mut Random) -> Vec<Kind> {
    vec![ALL[random.below(4)], ALL[random.below(4)]]
}

fn check(cases: usize) {
    assert_eq!(run(cases, destroys), (0, String::new()));
    assert_eq!(run(cases, |_| vec![Kind::OtherPage]), (0, String::new()));
    let (faults, first) = run(cases, two);
    assert!(faults <= cases / 2000, "{faults}: {first}");
}

#[test]
fn every_intact_batch_is_delivered_and_nothing_else() {
    check(4_000);
}

#[test]
#[ignore = "long"]
fn every_intact_batch_is_delivered_and_nothing_else_long() {
    check(100_000);
}
