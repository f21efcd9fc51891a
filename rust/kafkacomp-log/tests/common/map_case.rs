//! A case of the executable model in `tests/map_model`, which describes the format: a partition as facts, and the verdict.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use kafkacomp_log::map::{
    Agreement, BatchFact, BatchId, ByteRange, CompareRecords, Fact, LogMap, OffsetRange, Placement, SegmentFacts, Use,
    map_of,
};
use kafkacomp_log::{Compaction, MissingReason};
use serde_json::{Value, json};

/// The bytes of the model's unit of size: a quarter of a page.
const UNIT: u64 = 1024;

/// The contents of a batch's records, by their offsets relative to the first one.
type Contents = BTreeMap<i64, u64>;

/// A file of a case.
struct File {
    name: i64,
    is_truncated: bool,
    valid: Option<OffsetRange>,
    facts: Vec<Fact>,
    /// The contents of each fact that is a batch.
    contents: HashMap<usize, Contents>,
}

impl File {
    fn read(file: &Value) -> Self {
        let mut position = 0;
        let mut facts = Vec::new();
        let mut contents = HashMap::new();
        for (index, fact) in file[3].as_array().unwrap().iter().enumerate() {
            let size = fact.as_i64().unwrap_or_else(|| fact[2].as_i64().unwrap());
            let bytes = ByteRange::sized(position, size.unsigned_abs() * UNIT).unwrap();
            position = bytes.end();
            facts.push(match fact.as_i64() {
                Some(1..) => Fact::Corrupt(bytes),
                Some(_) => Fact::Zeros(bytes),
                None => {
                    let records = records(fact);
                    let batch = batch(fact, bytes, &records);
                    contents.insert(index, records);
                    Fact::Batch(batch)
                }
            });
        }
        let valid = file[2].as_array().map(|valid| range(valid[0].as_i64().unwrap(), valid[1].as_i64().unwrap()));
        Self { name: file[0].as_i64().unwrap(), is_truncated: file[1].as_bool().unwrap(), valid, facts, contents }
    }
}

fn range(start: i64, end: i64) -> OffsetRange {
    OffsetRange::new(start, end).unwrap()
}

fn records(fact: &Value) -> Contents {
    let number = |value: &Value| value.as_i64().unwrap();
    match fact[3].as_array() {
        Some(pairs) => pairs.chunks(2).map(|pair| (number(&pair[0]), number(&pair[1]) as u64)).collect(),
        None => (0..number(&fact[1])).map(|delta| (delta, (number(&fact[3]) + delta) as u64)).collect(),
    }
}

fn batch(fact: &Value, bytes: ByteRange, records: &Contents) -> BatchFact {
    let (first, room) = (fact[0].as_i64().unwrap(), fact[1].as_i64().unwrap());
    let checksum = BuildHasherDefault::<DefaultHasher>::default().hash_one((room, records)) as u32;
    BatchFact::new(bytes, range(first, first + room), checksum, Some(records.len() as u32), 2).unwrap()
}

/// Compares the contents of the case.
struct CaseRecords<'c>(&'c [File]);

impl CompareRecords for CaseRecords<'_> {
    type Error = Infallible;

    fn compare(&mut self, one: Placement, other: Placement) -> Result<Agreement, Infallible> {
        let contents = |of: Placement| &self.0[of.id.file].contents[&of.id.index];
        let shift = one.offsets.start() - other.offsets.start();
        let others = contents(other);
        let shared = contents(one).iter().filter_map(|(delta, mine)| Some((mine, others.get(&(delta + shift))?)));
        let equal: Vec<bool> = shared.map(|(mine, other)| mine == other).collect();
        Ok(match equal.iter().all(|&equal| equal) {
            _ if equal.is_empty() => Agreement::NothingShared,
            true => Agreement::Same,
            false => Agreement::Different,
        })
    }
}

/// The verdict of the map about a case, as the model writes it.
pub fn verdict(case: &Value) -> Value {
    let files: Vec<File> = case["files"].as_array().unwrap().iter().map(File::read).collect();
    let segments: Vec<SegmentFacts<'_>> = files
        .iter()
        .map(|file| SegmentFacts {
            name: file.name,
            facts: &file.facts,
            is_truncated: file.is_truncated,
            valid: file.valid,
        })
        .collect();
    let compaction = case["cleaned_to"].as_i64().map_or(Compaction::Unknown, Compaction::To);
    let Ok(map) = map_of(&segments, compaction, &mut CaseRecords(&files));
    check_order(&map);
    let letter = |id| match map.use_of(id) {
        Some(Use::InPlace) => 'i',
        Some(Use::Displaced) => 'd',
        Some(Use::Restored { .. }) => 'a',
        Some(Use::Repeat { .. }) => 'r',
        Some(Use::OutOfPlace { .. }) => 'o',
        None => '-',
    };
    let uses = files.iter().enumerate().map(|(file, each)| -> String {
        let batches = (0..each.facts.len()).filter(|&index| each.facts[index].batch().is_some());
        batches.map(|index| letter(BatchId { file, index })).collect()
    });
    let restored = map.exceptions().filter_map(|(id, batch_use)| match batch_use {
        Use::Restored { first } => Some(json!([id.file, id.index, first])),
        _ => None,
    });
    let missing = map.missing().iter().map(|missing| {
        let reason = if missing.reason == MissingReason::Truncated { MissingReason::Gap } else { missing.reason };
        json!([missing.offsets.start(), missing.offsets.end(), reason.name()])
    });
    json!({
        "uses": uses.collect::<Vec<_>>(),
        "restored": restored.collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
    })
}

/// What is delivered is exactly what has such a use, in the order of offsets, and each offset once.
fn check_order(map: &LogMap<'_>) {
    let mut end = i64::MIN;
    let mut delivered = Vec::new();
    for Placement { id, offsets } in map.in_offset_order() {
        assert!(offsets.start() >= end, "{id:?} at {offsets:?}");
        end = offsets.end();
        let own = map.batch(id).unwrap().offsets();
        match map.use_of(id) {
            Some(Use::InPlace | Use::Displaced) => assert_eq!(offsets, own),
            Some(Use::Restored { first }) => assert_eq!((offsets.start(), offsets.len()), (first, own.len())),
            other => panic!("{id:?} is delivered, but {other:?}"),
        }
        delivered.push(id);
    }
    delivered.sort_unstable();
    let is_delivered = |batch_use| matches!(batch_use, Use::InPlace | Use::Displaced | Use::Restored { .. });
    let all = map
        .files()
        .iter()
        .enumerate()
        .flat_map(|(file, segment)| (0..segment.facts.len()).map(move |index| BatchId { file, index }));
    assert!(all.filter(|&id| map.use_of(id).is_some_and(is_delivered)).eq(delivered));
}
