//! The map of real segments against the truth: files that brokers wrote are split into segments, and damaged. What was there is
//! known, so that every intact batch must be delivered, nothing else, and everything else named as missing.
//!
//! The long forms, which `make test-all` runs, have more cases.

#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_precision_loss, missing_docs, reason = "a test")]

mod damage;
mod logs;
mod promises;
mod strict;

use std::collections::BTreeMap;

use damage::{Kind, damage};
use logs::{Random, log, segments};
use promises::{broken, unexpected};

/// How many cases were tried and how many break each promise, with the first of each.
#[derive(Debug, Default)]
struct Counts {
    cases: usize,
    broken: BTreeMap<&'static str, (usize, String)>,
}

impl Counts {
    /// The share of cases in which a promise is kept, in percent.
    fn share(&self, promise: &str) -> f64 {
        let broken = self.broken.get(promise).map_or(0, |(count, _)| *count);
        100.0 * (self.cases - broken) as f64 / self.cases as f64
    }

    /// Asserts that the promises are kept in these shares of cases, but for what chance explains.
    fn assert_kept(&self, damage: &str, shares: [f64; 3]) {
        for promise in ["P2", "P7", "P8 complement", "P8 unnamed"] {
            assert_eq!(self.broken.get(promise), None, "{damage}");
        }
        for (promise, expected) in ["P3", "P4", "P8"].into_iter().zip(shares) {
            let deviation = 100.0 * (expected / 100.0 * (1.0 - expected / 100.0) / self.cases as f64).sqrt();
            let found = self.share(promise);
            assert!(
                found >= expected - 3.0 * deviation,
                "{damage}, {promise}: {found}, {:?}",
                self.broken.get(promise)
            );
        }
    }
}

/// The shares of cases, in percent, in which P3, P4 and P8 are kept: in plain logs, and in compacted ones. Everything that destroys,
/// copies, repeats or removes is harmless; so is, in a plain log, what only changes places.
///
/// In plain logs these are the shares of the model, which it has in harder logs; in compacted ones, of which the model's are too
/// small to be compared (files of five batches), they are measured. The rest is what nothing decides: see the model's table.
fn shares(kind: Kind) -> ([f64; 3], [f64; 3]) {
    let kept = [100.0; 3];
    match kind {
        Kind::Zeroed | Kind::Truncated | Kind::Deleted | Kind::Removed | Kind::Epoch | Kind::PageOfOtherFile => {
            (kept, kept)
        }
        Kind::PageOfSameFile => (kept, [100.0, 100.0, 93.0]),
        Kind::Copied => (kept, [100.0, 100.0, 99.0]),
        Kind::Repeated => (kept, [100.0, 100.0, 66.0]),
        Kind::PageNear => ([99.5, 99.5, 99.9], [98.7, 98.0, 97.0]),
        Kind::PageFar => ([98.6, 98.6, 99.9], [98.0, 98.0, 98.0]),
        Kind::PageOfOtherFormat => ([99.5, 99.5, 99.9], [99.0, 98.0, 98.0]),
        Kind::Foreign => ([100.0, 96.2, 95.2], [100.0, 90.0, 77.0]),
        Kind::Renamed => ([99.8, 100.0, 64.2], [75.0, 100.0, 76.0]),
        Kind::Swapped => (kept, [55.0, 100.0, 90.0]),
        Kind::Moved => (kept, [60.0, 100.0, 80.0]),
        Kind::OffsetBit => ([98.2, 97.6, 99.7], [94.0, 92.0, 85.0]),
        Kind::OffsetGarbage => ([99.5, 99.1, 99.5], [99.0, 98.0, 97.0]),
    }
}

/// Counts the broken promises of `cases` plain and compacted logs, which are damaged as `kinds` chooses.
fn count(cases: usize, kinds: impl Fn(&mut Random) -> Vec<Kind>) -> [Counts; 2] {
    let sources = segments();
    let mut counts = [Counts::default(), Counts::default()];
    for case in 0..cases {
        let mut random = Random(case as u64);
        let log = log(&mut random, &sources);
        let mut files = log.files.clone();
        for kind in kinds(&mut random) {
            damage(&mut random, &mut files, kind, &sources);
        }
        let counts = &mut counts[usize::from(log.is_compacted)];
        counts.cases += 1;
        let broken: BTreeMap<&str, String> = broken(&log, &files).into_iter().collect();
        for (promise, detail) in broken {
            let (count, first) = counts.broken.entry(promise).or_default();
            *count += 1;
            if *count == 1 {
                *first = format!("case {case}: {detail}");
            }
        }
    }
    counts
}

/// Two kinds of damage.
fn two(random: &mut Random) -> Vec<Kind> {
    let (one, other) = (random.below(18), random.below(17));
    vec![Kind::ALL[one], Kind::ALL[if other < one { other } else { other + 1 }]]
}

fn check_promises(cases: usize) {
    let check = |damage: &str, counts: [Counts; 2], (plain, compacted): ([f64; 3], [f64; 3])| {
        for (label, counts, shares) in [("plain", &counts[0], plain), ("compacted", &counts[1], compacted)] {
            let found = ["P3", "P4", "P8"].map(|promise| format!("{promise} {:6.2}", counts.share(promise)));
            println!("{damage:18} {label:9} {:6} {}", counts.cases, found.join(" "));
            counts.assert_kept(damage, shares);
        }
    };
    check("None", count(cases, |_| Vec::new()), ([100.0; 3], [100.0; 3]));
    for kind in Kind::ALL {
        check(&format!("{kind:?}"), count(cases, |_| vec![kind]), shares(kind));
    }
    check("Two", count(cases, two), ([97.6, 98.8, 96.0], [89.0, 97.0, 72.0]));
}

#[test]
fn promises_are_kept_in_these_shares() {
    check_promises(150);
}

#[test]
#[ignore = "long"]
fn promises_are_kept_in_these_shares_long() {
    check_promises(5_000);
}

#[test]
fn an_intact_log_has_nothing_but_compaction() {
    let sources = segments();
    for case in 0..200 {
        assert_eq!(unexpected(&log(&mut Random(case), &sources)), [], "case {case}");
    }
}
