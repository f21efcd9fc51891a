//! Every door of Rust gives one answer about the files of a partition: that of the map. Real segments are damaged, so that the
//! truth is known, and read, verified, repaired, rewritten and followed in all ways.
//!
//! In every case: an intact log is delivered whole and without a warning (P1), each offset once and in order (P2), the same rows
//! and missing ranges by every door (P5) and within bounds (P6), whatever the threads, batches, reads and splits (P7), and what is
//! missing is the complement of what is delivered (P8). What is lost, foreign or named wrongly (P3, P4, P8) is counted: see
//! `truth/shares.rs`.
//!
//! The long form, which `make test-all` runs, has 100,000 cases. `DOORS_CASE=number` runs a single one and prints its files and what it breaks;
//! `DOORS_CASES=from..to` runs any others, and prints the shares without comparing them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_precision_loss, missing_docs, reason = "a test")]

mod answer;
mod expected;
mod folder;
mod readers;
mod tools;
#[path = "../../../kafkacomp-log/tests/common/truth/mod.rs"]
mod truth;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kafkacomp_arrow::{OnError, ScanOptions};
use kafkacomp_log::Compaction;
use kafkacomp_log::map::{BatchFact, BatchId, LogMap, SegmentFacts};
use kafkacomp_records::record::{RecordBatch, RecordReader};

use answer::{lenient, scan};
use expected::{Expected, judged, rows_of};
use folder::{Folder, Indexes, Reading};
use truth::damage::{Kind, damage};
use truth::logs::{CAP, Log, Random, large_log, log, segments};
use truth::promises::{Broken, Damaged, foreign, lost, named, order};
use truth::shares::{ALWAYS, Counts, TWO, shares, two};

/// The kinds of damage that a case has, by its number: one of each in turn, none, and two.
fn kinds(case: usize, random: &mut Random) -> (String, Vec<Kind>) {
    match case % (Kind::ALL.len() + 2) {
        0 => ("None".to_owned(), Vec::new()),
        number if number > Kind::ALL.len() => ("Two".to_owned(), two(random)),
        number => (format!("{:?}", Kind::ALL[number - 1]), vec![Kind::ALL[number - 1]]),
    }
}

/// P1.
fn intact(log: &Log, indexes: &Indexes) -> Option<Broken> {
    let folder = Folder::of(&log.files, indexes, log.compaction);
    let found = scan(folder.partition(Reading::File), ScanOptions { on_error: OnError::Raise, ..lenient() });
    let mut reader = RecordReader::new(CAP);
    let batches = log.files.iter().flat_map(|file| file.truth.values());
    let rows: Vec<_> =
        batches.flat_map(|(_, bytes)| rows_of(&RecordBatch::new(bytes, 0).unwrap(), &mut reader)).collect();
    let hides_compaction = log.compaction == Compaction::Unknown && log.is_compacted;
    let is_quiet = found.warnings.is_empty() && found.error.is_none();
    let is_whole = hides_compaction || found.missing.iter().all(|range| range.2 == "compacted");
    let how = found.rows_differ(&rows).or_else(|| (!is_quiet || !is_whole).then(|| format!("{found:?}")));
    how.map(|how| ("P1", how))
}

/// The label of a case, whether its log is compacted, and the promises that are broken.
fn run(case: usize, sources: &[(Vec<u8>, Vec<BatchFact>)], scratch: &std::path::Path) -> (String, bool, Vec<Broken>) {
    let mut random = Random(case as u64);
    // Chunks have at least 256 KiB: some logs have larger files.
    let log = if case % 97 == 96 { large_log(&mut random, sources) } else { log(&mut random, sources) };
    let indexes = Indexes::of(&mut random, &log);
    let (label, kinds) = kinds(case, &mut random);
    let mut files = log.files.clone();
    for kind in kinds {
        damage(&mut random, &mut files, kind, sources);
    }
    let folder = Folder::of(&files, &indexes, log.compaction);
    let mut broken: Vec<Broken> = intact(&log, &indexes).into_iter().collect();
    let expected = judged(&folder, |facts, map| {
        if given("DOORS_CASE").is_some() {
            shown(facts, map);
        }
        let truth = truth::promises::truth(&log);
        let damaged = Damaged { files: &files, facts: facts.iter().map(|each| each.facts).collect() };
        broken.extend(order(map));
        broken.extend(lost(&damaged, map, &truth));
        broken.extend(foreign(&log, &damaged, map, &truth));
        broken.extend(named(&log, &damaged, map, &truth));
        Expected::of(&files, map, log.compaction)
    });
    let (strict, by_readers) = readers::check(&folder, &expected, &mut random);
    broken.extend(by_readers.into_iter().filter(|_| !expected.fills_compacted));
    broken.extend(tools::check(&folder, &expected, &strict, scratch, &mut random));
    (label, log.is_compacted, broken)
}

/// Prints what a folder has, and what the map says of it.
fn shown(files: &[SegmentFacts<'_>], map: &LogMap<'_>) {
    for (file, each) in files.iter().enumerate() {
        println!("{}, window {:?}, in order: {}", each.name, map.window(file), map.is_in_order(file));
        for (index, fact) in each.facts.iter().enumerate() {
            let bytes = fact.bytes();
            let what = fact.batch().map_or_else(
                || format!("{fact:?}"),
                |batch| {
                    let thinned = if batch.is_thinned() { ", thinned" } else { "" };
                    format!(
                        "{:?}{thinned}, format {}, {:?}",
                        batch.offsets(),
                        batch.magic(),
                        map.use_of(BatchId { file, index })
                    )
                },
            );
            println!("  {} to {}: {what}", bytes.start(), bytes.end());
        }
    }
    println!("missing: {:?}", map.missing());
}

/// A new folder: in memory if the system has one, because copies of logs are synced.
fn scratch() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { PathBuf::from(env!("CARGO_TARGET_TMPDIR")) };
    let folder = parent.join(format!("kafkacomp-doors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What the cases break, in their order.
fn run_all(cases: Range<usize>) -> Vec<(usize, String, bool, Vec<Broken>)> {
    let (sources, scratch, next) = (segments(), scratch(), AtomicUsize::new(cases.start));
    let found = Mutex::new(Vec::new());
    let work = || {
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            if case >= cases.end {
                return;
            }
            let target = scratch.join(format!("{case}"));
            let done = std::panic::catch_unwind(|| run(case, &sources, &target.join("t-0")));
            drop(std::fs::remove_dir_all(&target));
            let panicked = |_| ("Panic".to_owned(), false, vec![("P5", "a panic".to_owned())]);
            let (label, is_compacted, broken) = done.unwrap_or_else(panicked);
            for (promise, how) in broken.iter().filter(|(promise, _)| ALWAYS.contains(promise)) {
                println!("case {case}, {label}, {promise}: {how}");
            }
            found.lock().unwrap().push((case, label, is_compacted, broken));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |count| count.get().min(8)) {
            scope.spawn(work);
        }
    });
    drop(std::fs::remove_dir_all(&scratch));
    let mut found = found.into_inner().unwrap();
    found.sort_unstable_by_key(|(case, ..)| *case);
    found
}

fn check(cases: Range<usize>, is_compared: bool) {
    let mut counts: BTreeMap<String, [Counts; 2]> = BTreeMap::new();
    for (case, label, is_compacted, broken) in run_all(cases) {
        counts.entry(label).or_default()[usize::from(is_compacted)].add(case, broken);
    }
    for (label, counts) in &counts {
        let kind = Kind::ALL.into_iter().find(|kind| format!("{kind:?}") == *label);
        let known = if label == "Two" { TWO } else { kind.map_or(([100.0; 3], [100.0; 3]), shares) };
        for (name, counts, shares) in [("plain", &counts[0], known.0), ("compacted", &counts[1], known.1)] {
            let shown = ["P3", "P4", "P8"].map(|promise| format!("{promise} {:6.2}", counts.share(promise)));
            println!("{label:18} {name:9} {:6} {}", counts.cases, shown.join(" "));
            if is_compared {
                counts.assert_kept(label, shares);
            }
        }
    }
}

/// The number or numbers in an environment variable.
fn given(name: &str) -> Option<Vec<usize>> {
    let text = std::env::var(name).ok()?;
    Some(text.split("..").map(|number| number.parse().unwrap()).collect())
}

#[test]
fn every_door_gives_the_answer_of_the_map() {
    if let Some(&[case]) = given("DOORS_CASE").as_deref() {
        let scratch = scratch();
        let (label, _, broken) = run(case, &segments(), &scratch.join("t-0"));
        drop(std::fs::remove_dir_all(&scratch));
        panic!("{label}: {broken:#?}");
    }
    match given("DOORS_CASES").as_deref() {
        Some(&[from, to]) => check(from..to, false),
        _ => check(0..3_000, true),
    }
}

#[test]
#[ignore = "long"]
fn every_door_gives_the_answer_of_the_map_long() {
    check(0..100_000, true);
}
