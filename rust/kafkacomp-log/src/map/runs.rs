//! Batches side by side whose offsets increase.

use std::ops::Range;

use super::facts::{BatchFact, Fact};
use super::ranges::OffsetRange;

/// Batches side by side whose offsets increase; at least one. Depending on how it was split off, each begins at the offset after
/// the one before, or there may be gaps between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// The indices of their facts.
    pub(super) facts: Range<usize>,
    /// From the first offset to the last.
    pub(super) offsets: OffsetRange,
}

impl Run {
    /// The batches, with the indices of their facts.
    pub(super) fn batches<'f>(&self, facts: &'f [Fact]) -> impl Iterator<Item = (usize, &'f BatchFact)> {
        let inside = facts.get(self.facts.clone()).unwrap_or_default();
        self.facts.clone().zip(inside).filter_map(|(index, fact)| Some((index, fact.batch()?)))
    }

    /// The number of bytes.
    pub(super) fn size(&self, facts: &[Fact]) -> u128 {
        self.batches(facts).map(|(_, batch)| u128::from(batch.bytes().len())).sum()
    }

    /// The index of the fact of the first batch for which `is_true` is false; it is true for all batches before that one.
    pub(super) fn partition_point(&self, facts: &[Fact], is_true: impl Fn(&BatchFact) -> bool) -> usize {
        let inside = facts.get(self.facts.clone()).unwrap_or_default();
        self.facts.start + inside.partition_point(|fact| fact.batch().is_some_and(&is_true))
    }
}

/// Splits batches into runs in which each begins at the offset after the one before.
pub(super) fn continuous<'f>(batches: impl Iterator<Item = (usize, &'f BatchFact)>) -> Vec<Run> {
    split(batches, BatchFact::continues)
}

/// Splits batches into stretches: runs that may have gaps.
pub(super) fn increasing<'f>(batches: impl Iterator<Item = (usize, &'f BatchFact)>) -> Vec<Run> {
    split(batches, BatchFact::is_above)
}

fn split<'f>(
    batches: impl Iterator<Item = (usize, &'f BatchFact)>,
    follows: impl Fn(&BatchFact, &BatchFact) -> bool,
) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut before: Option<&BatchFact> = None;
    for (index, batch) in batches {
        match runs.last_mut() {
            Some(run) if run.facts.end == index && before.is_some_and(|before| follows(batch, before)) => {
                run.facts.end = index + 1;
                run.offsets = run.offsets.through(batch.offsets());
            }
            _ => runs.push(Run { facts: index..index + 1, offsets: batch.offsets() }),
        }
        before = Some(batch);
    }
    runs
}
