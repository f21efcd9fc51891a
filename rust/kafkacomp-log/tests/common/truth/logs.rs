//! Intact logs, made of segments that brokers wrote.

use std::collections::BTreeMap;
use std::path::Path;

use kafkacomp_log::map::{BatchFact, Fact, OffsetRange, SegmentFacts, Survey, judge};
use kafkacomp_log::{Compaction, InMemory};
use kafkacomp_records::record::MutableRecordBatch;

/// The unit in which file systems lose and misplace data.
pub const PAGE: usize = 4096;
/// Above the content of every valid batch of these files.
pub const CAP: usize = 1 << 24;
/// Base offset, size and leader epoch of a batch, before its magic. No checksum covers them.
pub const UNCOVERED: usize = 16;
/// The base timestamp of a batch of format 2.
const BASE_TIMESTAMP: std::ops::Range<usize> = 27..35;
/// Its greatest timestamp.
const MAX_TIMESTAMP: std::ops::Range<usize> = 35..43;
/// Its number of records.
const RECORD_COUNT: std::ops::Range<usize> = 57..61;
/// The size of a batch of a log: some pages.
const MOST: usize = 16_000;

/// Pseudorandom numbers (`SplitMix64`).
pub struct Random(pub u64);

impl Random {
    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// One of these, of which there is at least one.
    pub fn choice<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }
}

/// A segment file of a partition.
#[derive(Clone)]
pub struct File {
    pub name: i64,
    pub bytes: Vec<u8>,
    /// The batches that it had: offsets and bytes, by position.
    pub truth: BTreeMap<usize, (OffsetRange, Vec<u8>)>,
    /// The name that it had.
    pub true_name: i64,
    /// Whether its end is gone, and its offset index shows it.
    pub is_truncated: bool,
}

impl File {
    pub fn new(name: i64) -> Self {
        Self { name, bytes: Vec::new(), truth: BTreeMap::new(), true_name: name, is_truncated: false }
    }

    pub fn push(&mut self, offsets: OffsetRange, bytes: &[u8]) {
        self.truth.insert(self.bytes.len(), (offsets, bytes.to_vec()));
        self.bytes.extend_from_slice(bytes);
    }
}

/// The intact segments of the vectors with at least three batches, with their batches.
pub fn segments() -> Vec<(Vec<u8>, Vec<BatchFact>)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")];
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|suffix| suffix == "log") {
                let bytes = std::fs::read(path).unwrap();
                let survey = Survey::verified(&InMemory(&bytes), CAP, &mut |_| Ok(None)).unwrap();
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

pub fn segment(name: i64, facts: &[Fact]) -> SegmentFacts<'_> {
    SegmentFacts { name, facts, is_truncated: false, valid: None }
}

/// A segment as a partition of up to four segments.
pub fn split(random: &mut Random, bytes: &[u8], batches: &[BatchFact]) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        if number == 0 || (files.len() < 4 && random.below(batches.len()) < 4) {
            files.push(File::new(batch.offsets().start()));
        }
        let data = &bytes[batch.bytes().start() as usize..batch.bytes().end() as usize];
        files.last_mut().unwrap().push(batch.offsets(), data);
    }
    files
}

/// A batch of format 2 at other offsets, with other timestamps: another batch.
pub fn another(bytes: &[u8], first: i64, salt: i64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[..8].copy_from_slice(&first.to_be_bytes());
    for field in [BASE_TIMESTAMP, MAX_TIMESTAMP] {
        let timestamp = i64::from_be_bytes(bytes[field.clone()].try_into().unwrap());
        bytes[field].copy_from_slice(&timestamp.wrapping_add(salt).to_be_bytes());
    }
    MutableRecordBatch::new(&mut bytes, 0).unwrap().update_checksum();
    bytes
}

/// Batches of format 2 from `first` on that continue one another, of at least `size` bytes in all: the batches of segments that
/// were not compacted, altered.
pub fn run(
    random: &mut Random,
    segments: &[(Vec<u8>, Vec<BatchFact>)],
    mut first: i64,
    size: usize,
) -> Vec<(OffsetRange, Vec<u8>)> {
    let (mut run, mut total) = (Vec::new(), 0);
    while total < size {
        let (bytes, batches) = random.choice(segments);
        for batch in batches.iter().take(12) {
            let data = &bytes[batch.bytes().start() as usize..batch.bytes().end() as usize];
            if batch.magic() == 2 && data.len() < MOST && records(data) == batch.offsets().len() {
                let offsets = OffsetRange::new(first, first + batch.offsets().len() as i64).unwrap();
                run.push((offsets, another(data, first, random.below(1 << 30) as i64 + 1)));
                total += data.len();
                first = offsets.end();
            }
        }
    }
    run
}

/// The number of records of a batch of format 2.
fn records(bytes: &[u8]) -> u64 {
    u64::from(u32::from_be_bytes(bytes[RECORD_COUNT].try_into().unwrap()))
}

/// An intact log.
pub struct Log {
    pub files: Vec<File>,
    pub compaction: Compaction,
    /// Whether compaction removed records or batches.
    pub is_compacted: bool,
}

/// A log of one of these kinds: a segment of a vector, split; batches that continue one another, from 0 on or after retention, in
/// files of some twelve pages; and the same after compaction, which removed batches from all files but the last one.
pub fn log(random: &mut Random, segments: &[(Vec<u8>, Vec<BatchFact>)]) -> Log {
    log_of(random, segments, PAGE)
}

/// The same with larger files, of some 600 KiB.
pub fn large_log(random: &mut Random, segments: &[(Vec<u8>, Vec<BatchFact>)]) -> Log {
    log_of(random, segments, 12 * PAGE)
}

fn log_of(random: &mut Random, segments: &[(Vec<u8>, Vec<BatchFact>)], unit: usize) -> Log {
    // As often as in the model.
    let kind = random.below(12);
    if kind == 0 {
        let (bytes, batches) = random.choice(segments);
        let data = |batch: &BatchFact| &bytes[batch.bytes().start() as usize..batch.bytes().end() as usize];
        let is_thinned = |batch: &BatchFact| batch.magic() == 2 && records(data(batch)) < batch.offsets().len();
        let continues = |pair: &[BatchFact]| pair[0].offsets().end() == pair[1].offsets().start();
        let is_compacted = batches.iter().any(is_thinned) || !batches.windows(2).all(continues);
        return Log { files: split(random, bytes, batches), compaction: Compaction::Unknown, is_compacted };
    }
    let start = if random.below(2) == 0 { 0 } else { random.below(5000) as i64 };
    let size = unit * (24 + random.below(49));
    let mut files: Vec<File> = Vec::new();
    for (offsets, bytes) in run(random, segments, start, size) {
        if files.last().is_none_or(|file| file.bytes.len() > unit * (6 + random.below(12))) {
            files.push(File::new(offsets.start()));
        }
        files.last_mut().unwrap().push(offsets, &bytes);
    }
    let Some(last) = files.last().map(|last| last.name).filter(|_| kind > 9) else {
        return Log { files, compaction: Compaction::Unknown, is_compacted: false };
    };
    // As in the model: half of the batches, few, or none.
    let every = *random.choice(&[2, 2, 2, 2, 14, usize::MAX]);
    for file in files.iter_mut().filter(|file| file.name < last) {
        let before = std::mem::replace(file, File::new(file.name));
        for (offsets, bytes) in before.truth.into_values() {
            if random.below(every) > 0 {
                file.push(offsets, &bytes);
            }
        }
    }
    Log { files, compaction: Compaction::To(last), is_compacted: true }
}
