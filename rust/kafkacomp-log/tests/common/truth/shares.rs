//! In which shares of cases the promises are kept.

use std::collections::BTreeMap;

use super::damage::Kind;
use super::logs::Random;
use super::promises::Broken;

/// What holds in every case.
pub const ALWAYS: [&str; 7] = ["P1", "P2", "P5", "P6", "P7", "P8 complement", "P8 unnamed"];

/// How many cases were tried and how many break each promise, with the first of each.
#[derive(Debug, Default)]
pub struct Counts {
    pub cases: usize,
    broken: BTreeMap<&'static str, (usize, String)>,
}

impl Counts {
    /// Adds the broken promises of a case.
    pub fn add(&mut self, case: usize, broken: Vec<Broken>) {
        self.cases += 1;
        let broken: BTreeMap<&str, String> = broken.into_iter().collect();
        for (promise, detail) in broken {
            let (count, first) = self.broken.entry(promise).or_default();
            *count += 1;
            if *count == 1 {
                *first = format!("case {case}: {detail}");
            }
        }
    }

    /// The share of cases in which a promise is kept, in percent.
    pub fn share(&self, promise: &str) -> f64 {
        let broken = self.broken.get(promise).map_or(0, |(count, _)| *count);
        100.0 * (self.cases - broken) as f64 / self.cases as f64
    }

    /// Asserts that some promises are kept in every case, and the others in these shares of cases, but for what chance explains.
    pub fn assert_kept(&self, damage: &str, shares: [f64; 3]) {
        for promise in ALWAYS {
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
pub fn shares(kind: Kind) -> ([f64; 3], [f64; 3]) {
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

/// Two kinds of damage.
pub fn two(random: &mut Random) -> Vec<Kind> {
    let (one, other) = (random.below(18), random.below(17));
    vec![Kind::ALL[one], Kind::ALL[if other < one { other } else { other + 1 }]]
}

/// The shares of cases with two kinds of damage.
pub const TWO: ([f64; 3], [f64; 3]) = ([97.6, 98.8, 96.0], [89.0, 97.0, 72.0]);
