//! What holds for the map of any facts, whatever happened to the files: for tests and for the fuzz target `map`.

use std::collections::BTreeSet;

use super::assembly::MOST_SHARED;
use super::chain::MOST_RUNS;
use super::judge::judge_in_parts;
use super::partition::map_in_parts;
use super::{
    Agreement, BatchFact, BatchId, ByteRange, CompareRecords, Fact, Finding, LogMap, OffsetRange, Placement,
    SegmentFacts, Use, windows,
};
use crate::continuity::compaction::Compaction;

/// Asserts that the map of any bytes, read as the facts of a partition, has all invariants.
///
/// # Panics
/// One is broken.
pub fn check_any_facts(data: &[u8]) {
    let AnyPartition { files, compaction, most, .. } = AnyPartition::new(data);
    let mut segments: Vec<SegmentFacts<'_>> = files.iter().map(AnyFile::segment).collect();
    let mut records = AnyRecords::default();
    let Ok(found) = map_in_parts(&segments, compaction, &mut records, most) else { return };
    check_in_parts(&found, most);
    check_cost(&found, &records);
    // A part of the answers is no answer.
    if let Some(last) = records.answers.checked_sub(1) {
        let mut fails = AnyRecords { fails_at: Some(last), ..AnyRecords::default() };
        assert!(map_in_parts(&segments, compaction, &mut fails, most).is_err());
    }
    let names: BTreeSet<i64> = segments.iter().map(|file| file.name).collect();
    if names.len() == segments.len() {
        segments.reverse();
    }
    let again = map_in_parts(&segments, compaction, &mut AnyRecords::default(), most);
    assert_eq!(again.ok().map(|again| content(&again)), Some(content(&found)));
}

/// Asserts that each offset is delivered at most once and in order, that what is missing is the complement, that every batch has
/// one use, and that what is in place in its own file is so in the partition.
///
/// # Panics
/// One of these is not so.
pub fn check(map: &LogMap<'_>) {
    check_in_parts(map, MOST_RUNS);
}

/// The same of a map for which `most` runs were judged at once.
fn check_in_parts(map: &LogMap<'_>, most: usize) {
    check_offsets(map);
    check_uses(map);
    check_files(map, most);
}

fn check_offsets(map: &LogMap<'_>) {
    let mut all: Vec<OffsetRange> = map.in_offset_order().map(|placement| placement.offsets).collect();
    assert!(all.windows(2).all(|pair| pair[0].end() <= pair[1].start()), "{all:?}");
    let missing = map.missing();
    assert!(missing.iter().all(|missing| !missing.offsets.is_empty()));
    assert!(missing.windows(2).all(|pair| pair[0].offsets.end() <= pair[1].offsets.start()));
    let names = || map.files().iter().map(|file| file.name);
    let start = names().chain(all.first().map(|first| first.start())).min();
    let end = names().chain(all.last().map(|last| last.end())).max();
    all.extend(missing.iter().map(|missing| missing.offsets));
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0].end() == pair[1].start()), "{all:?}");
    let is_empty = start == end;
    assert_eq!(all.first().map(|first| first.start()), start.filter(|_| !is_empty));
    assert_eq!(all.last().map(|last| last.end()), end.filter(|_| !is_empty));
}

fn check_uses(map: &LogMap<'_>) {
    let delivered: Vec<Placement> = map.in_offset_order().collect();
    let ids: BTreeSet<BatchId> = delivered.iter().map(|placement| placement.id).collect();
    assert_eq!(ids.len(), delivered.len());
    for placement in delivered {
        let own = map.batch(placement.id).map(BatchFact::offsets);
        match map.use_of(placement.id) {
            Some(Use::InPlace | Use::Displaced) => assert_eq!(Some(placement.offsets), own),
            Some(Use::Restored { first }) => {
                assert_eq!(first, placement.offsets.start());
                assert_eq!(Some(placement.offsets.len()), own.map(OffsetRange::len));
            }
            other => panic_on(placement.id, other),
        }
    }
    for (file, segment) in map.files().iter().enumerate() {
        for (index, fact) in segment.facts.iter().enumerate() {
            let id = BatchId { file, index };
            let is_valid = |batch: &BatchFact| segment.valid.is_none_or(|valid| valid.contains(batch.offsets()));
            let batch_use = map.use_of(id);
            assert_eq!(batch_use.is_some(), fact.batch().is_some_and(is_valid), "{id:?}");
            match batch_use {
                Some(Use::InPlace | Use::Displaced | Use::Restored { .. }) => assert!(ids.contains(&id), "{id:?}"),
                Some(Use::Repeat { of: other } | Use::OutOfPlace { contradicts: Some(other) }) => {
                    assert!(ids.contains(&other), "{id:?}");
                }
                Some(Use::OutOfPlace { contradicts: None }) | None => {}
            }
        }
    }
}

fn panic_on(id: BatchId, batch_use: Option<Use>) {
    assert!(batch_use.is_none(), "{id:?} is delivered, but {batch_use:?}");
    assert!(batch_use.is_some(), "{id:?} is delivered, but no batch of the log");
}

fn check_files(map: &LogMap<'_>, most: usize) {
    let all = windows(map.files());
    let mut in_order: Vec<OffsetRange> = all.iter().flatten().copied().filter(|window| !window.is_empty()).collect();
    in_order.sort_unstable();
    assert!(in_order.windows(2).all(|pair| !pair[0].overlaps(pair[1])), "{in_order:?}");
    for (number, (file, window)) in map.files().iter().zip(all).enumerate() {
        let judged = judge_in_parts(file, window, most);
        assert_eq!(judged.window(), map.window(number));
        let in_place: BTreeSet<usize> =
            judged.stretches_in_place(file).into_iter().flat_map(|stretch| stretch.facts).collect();
        for (index, batch) in file.facts.iter().enumerate().filter_map(|(index, fact)| Some((index, fact.batch()?))) {
            let is_in_place = in_place.contains(&index);
            assert_eq!(map.use_of(BatchId { file: number, index }) == Some(Use::InPlace), is_in_place);
            assert!(!is_in_place || judged.window().is_some_and(|window| window.contains(batch.offsets())));
        }
    }
}

/// Asserts that few records were compared: only those of batches that are not in place, each with a bounded number of others.
fn check_cost(map: &LogMap<'_>, records: &AnyRecords) {
    let most = map.exceptions().count() * MOST_SHARED;
    assert!(records.answers <= most, "{} comparisons, not {most}", records.answers);
}

/// Everything that a map says.
pub fn content(map: &LogMap<'_>) -> (Vec<Placement>, Vec<Finding>) {
    (map.in_offset_order().collect(), map.findings().collect())
}

/// Batches agree as a number says that is made of nothing but them: any answers that do not depend on what was asked before.
#[derive(Debug, Default)]
pub struct AnyRecords {
    /// The number of questions so far.
    answers: usize,
    /// The question that cannot be answered.
    fails_at: Option<usize>,
}

/// Records that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

impl CompareRecords for AnyRecords {
    type Error = Unreadable;

    fn compare(&mut self, one: Placement, other: Placement) -> Result<Agreement, Unreadable> {
        if self.fails_at == Some(self.answers) {
            return Err(Unreadable);
        }
        self.answers += 1;
        Ok(match (one.id.file + one.id.index + 2 * other.id.file + other.id.index) % 3 {
            0 => Agreement::Same,
            1 => Agreement::Different,
            _ => Agreement::NothingShared,
        })
    }
}

/// A partition that any bytes describe.
struct AnyPartition {
    files: Vec<AnyFile>,
    /// All batches, to be copied.
    batches: Vec<AnyBatch>,
    compaction: Compaction,
    /// How many runs are judged at once.
    most: usize,
}

/// A batch without its place.
#[derive(Debug, Clone, Copy)]
struct AnyBatch {
    size: u64,
    offsets: OffsetRange,
    detail: u8,
}

impl AnyBatch {
    fn at(self, position: u64) -> Option<Fact> {
        let Self { size, offsets, detail } = self;
        let records = (detail % 4 != 0).then(|| u32::from(detail / 2));
        let magic = (detail % 3).cast_signed();
        BatchFact::new(ByteRange::sized(position, size)?, offsets, u32::from(detail % 2), records, magic)
            .map(Fact::Batch)
    }
}

struct AnyFile {
    name: i64,
    is_truncated: bool,
    valid: Option<OffsetRange>,
    facts: Vec<Fact>,
}

impl AnyFile {
    fn segment(&self) -> SegmentFacts<'_> {
        SegmentFacts { name: self.name, facts: &self.facts, is_truncated: self.is_truncated, valid: self.valid }
    }
}

/// The rest of the bytes.
struct Input<'d>(&'d [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    /// Offsets close to one another, and the extreme ones.
    fn offset(&mut self) -> Option<i64> {
        const REACH: i64 = 1 << 31;
        Some(match self.byte()? {
            small @ 0..=239 => i64::from(small) - 8,
            at @ 240..=245 => REACH + i64::from(at) - 243,
            at @ 246..=248 => i64::MAX - i64::from(at - 246),
            at @ 249..=250 => i64::MIN + i64::from(at - 249),
            _ => self.number()?.cast_signed(),
        })
    }

    /// Sizes of some pages, and the extreme ones.
    fn size(&mut self) -> Option<u64> {
        Some(match self.byte()? {
            small @ 0..=251 => u64::from(small) * 100,
            _ => self.number()?,
        })
    }
}

impl AnyPartition {
    /// The first byte is the compaction and the limit. Then follow files and what is in them, until the bytes end or mean nothing.
    fn new(data: &[u8]) -> Self {
        let mut input = Input(data);
        let kind = input.byte().unwrap_or_default();
        let most = if kind < 192 { MOST_RUNS } else { usize::from(kind / 4 - 48) };
        let compaction = match kind % 4 {
            1 => Compaction::Somewhere,
            2 => input.offset().map_or(Compaction::Unknown, Compaction::To),
            _ => Compaction::Unknown,
        };
        let mut partition = Self { files: Vec::new(), batches: Vec::new(), compaction, most };
        while partition.add(&mut input).is_some() {}
        partition
    }

    /// Adds a file or a fact.
    fn add(&mut self, input: &mut Input<'_>) -> Option<()> {
        let kind = input.byte()?;
        let (kind, detail) = (kind % 8, kind / 8);
        if kind == 0 || self.files.is_empty() {
            let name = input.offset()?;
            let valid = (detail % 4 == 3).then(|| OffsetRange::new(input.offset()?, input.offset()?)).flatten();
            self.files.push(AnyFile { name, is_truncated: detail / 4 % 2 == 1, valid, facts: Vec::new() });
            return Some(());
        }
        let position = self.files.last()?.facts.last().map_or(0, |fact| fact.bytes().end());
        let fact = match kind {
            1 => ByteRange::sized(position, input.size()?).map(Fact::Corrupt),
            2 => ByteRange::sized(position, input.size()?).map(Fact::Zeros),
            _ => {
                let batch = self.batch(input, kind, detail)?;
                self.batches.push(batch);
                batch.at(position)
            }
        };
        self.files.last_mut()?.facts.extend(fact);
        Some(())
    }

    /// A copy, or a batch with any offsets, or mostly one that continues the one before.
    fn batch(&self, input: &mut Input<'_>, kind: u8, detail: u8) -> Option<AnyBatch> {
        let first = match kind {
            3 => {
                let number = usize::from(input.byte()?).checked_rem(self.batches.len())?;
                return self.batches.get(number).copied();
            }
            4 | 5 => input.offset()?,
            _ => self.batches.last().map_or(self.files.last()?.name, |before| before.offsets.end()),
        };
        let last = if kind == 4 { input.offset()? } else { first.saturating_add(i64::from(detail / 4)) };
        Some(AnyBatch { size: input.size()?, offsets: OffsetRange::inclusive(first, last)?, detail })
    }
}
