//! What must hold for any facts, the borders of the rules, the heaviest chain against all chains, and what reads bytes.

mod chains;
mod log_end;
mod placed;
mod properties;
mod ranges;
mod reading;
mod rules;
mod surveyed;

use super::invariants::AnyRecords;
use super::{BatchFact, ByteRange, Fact, LogMap, OffsetRange, SegmentFacts, map_of};
use crate::continuity::compaction::Compaction;

/// A file without hints.
fn file(name: i64, facts: &[Fact]) -> SegmentFacts<'_> {
    SegmentFacts { name, facts, is_truncated: false, valid: None }
}

fn map<'f>(files: &[SegmentFacts<'f>], compaction: Compaction) -> LogMap<'f> {
    map_of(files, compaction, &mut AnyRecords::default()).unwrap()
}

/// Facts one after another, each with its size; a batch has its first and last offset too.
#[derive(Debug, Clone, Copy)]
enum Part {
    Batch { first: i64, last: i64, size: u64 },
    Corrupt(u64),
    Zeros(u64),
}

/// The facts of a file. Parts without offsets, or after the last position, are left out.
fn facts(parts: &[Part]) -> Vec<Fact> {
    let mut position = 0;
    let mut facts = Vec::new();
    for &part in parts {
        let (Part::Batch { size, .. } | Part::Corrupt(size) | Part::Zeros(size)) = part;
        let Some(bytes) = ByteRange::sized(position, size) else { break };
        let fact = match part {
            Part::Corrupt(_) => Some(Fact::Corrupt(bytes)),
            Part::Zeros(_) => Some(Fact::Zeros(bytes)),
            Part::Batch { first, last, .. } => OffsetRange::inclusive(first, last)
                .and_then(|offsets| BatchFact::new(bytes, offsets, 0, Some(1), 2))
                .map(Fact::Batch),
        };
        if let Some(fact) = fact {
            facts.push(fact);
            position = bytes.end();
        }
    }
    facts
}
