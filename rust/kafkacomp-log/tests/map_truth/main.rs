//! The map of real segments against the truth: files that brokers wrote are split into segments, and damaged. What was there is
//! known, so that every intact batch must be delivered, nothing else, and everything else named as missing.
//!
//! The long forms, which `make test-all` runs, have more cases.

#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_precision_loss, missing_docs, reason = "a test")]

mod promises;
mod strict;
#[path = "../common/truth/mod.rs"]
mod truth;

use promises::{broken, unexpected};
use truth::damage::{Kind, damage};
use truth::logs::{Random, log, segments};
use truth::shares::{Counts, TWO, shares, two};

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
        counts[usize::from(log.is_compacted)].add(case, broken(&log, &files));
    }
    counts
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
    check("Two", count(cases, two), TWO);
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
