//! Which promises a map breaks for the damaged files of a log whose truth is known.

use std::collections::{BTreeMap, BTreeSet};

use kafkacomp_log::map::{BatchId, Fact, LogMap, OffsetRange, Placement, Use};
use kafkacomp_log::{Compaction, MissingReason};

use super::logs::{File, Log, UNCOVERED};

/// A promise that is not kept, and how.
pub type Broken = (&'static str, String);

/// The content of each batch of a log, without the fields that no checksum covers.
pub type Truth<'t> = BTreeMap<OffsetRange, &'t [u8]>;

/// The truth of a log.
pub fn truth(log: &Log) -> Truth<'_> {
    let all = log.files.iter().flat_map(|file| file.truth.values());
    all.map(|(offsets, bytes)| (*offsets, &bytes[UNCOVERED..])).collect()
}

/// Damaged files with what a survey of all their bytes finds in them.
pub struct Damaged<'d> {
    pub files: &'d [File],
    pub facts: Vec<&'d [Fact]>,
}

impl Damaged<'_> {
    /// The bytes of a batch.
    pub fn bytes(&self, id: BatchId) -> &[u8] {
        let fact = self.facts[id.file][id.index].bytes();
        &self.files[id.file].bytes[fact.start() as usize..fact.end() as usize]
    }

    /// The intact batches that are in their own file at their own offsets.
    pub fn true_batches(&self) -> Vec<(BatchId, OffsetRange)> {
        let mut found = Vec::new();
        for (number, (file, facts)) in self.files.iter().zip(&self.facts).enumerate() {
            let own: Truth<'_> = file.truth.values().map(|(offsets, bytes)| (*offsets, &bytes[UNCOVERED..])).collect();
            for (index, batch) in facts.iter().enumerate().filter_map(|(index, fact)| Some((index, fact.batch()?))) {
                let id = BatchId { file: number, index };
                if own.get(&batch.offsets()).is_some_and(|bytes| **bytes == self.bytes(id)[UNCOVERED..]) {
                    found.push((id, batch.offsets()));
                }
            }
        }
        found
    }
}

/// P2.
pub fn order(map: &LogMap<'_>) -> Option<Broken> {
    let all: Vec<OffsetRange> = map.in_offset_order().map(|placement| placement.offsets).collect();
    let is_in_order = all.windows(2).all(|pair| pair[0].end() <= pair[1].start());
    (!is_in_order).then(|| ("P2", format!("{all:?}")))
}

/// The content that is delivered.
fn delivered<'d>(damaged: &'d Damaged<'_>, map: &LogMap<'_>) -> Truth<'d> {
    map.in_offset_order().map(|placement| (placement.offsets, &damaged.bytes(placement.id)[UNCOVERED..])).collect()
}

/// P3.
pub fn lost(damaged: &Damaged<'_>, map: &LogMap<'_>, truth: &Truth<'_>) -> Option<Broken> {
    let delivered = delivered(damaged, map);
    let lost = damaged.true_batches().into_iter().find(|(_, offsets)| delivered.get(offsets) != truth.get(offsets));
    lost.map(|(id, offsets)| {
        let file = &damaged.files[id.file];
        ("P3", format!("{offsets:?} of {}", file.name))
    })
}

/// P4: a delivered batch of another place, which a name, the order or another file contradicts.
pub fn foreign(log: &Log, damaged: &Damaged<'_>, map: &LogMap<'_>, truth: &Truth<'_>) -> Option<Broken> {
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
pub fn named(log: &Log, damaged: &Damaged<'_>, map: &LogMap<'_>, truth: &Truth<'_>) -> Vec<Broken> {
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
