//! Overlapping candidates of a search for an intact batch. One running checksum of all bytes verifies all of them.

use std::collections::BTreeMap;

use super::candidate::Candidate;
use kafkacomp_records::checksum::running::{Polynomial, Running};

/// The most pending candidates for each polynomial; those that end last are dropped. Data that were not made for an attack
/// have a few hundred.
const MAX_PENDING: usize = 1 << 16;

/// The positions at which a batch begins and ends.
pub(super) type Extent = (u64, u64);

/// The pending candidates of one polynomial, and the checksum so far.
pub(super) struct Track {
    pub(super) polynomial: Polynomial,
    pub(super) running: Running,
    /// The position that `running` has reached.
    pub(super) at: u64,
    /// Pending candidates by end and start.
    pub(super) pending: BTreeMap<Extent, Awaited>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Awaited {
    /// The checksum of all bytes before those that the candidate's checksum covers.
    before: u32,
    covered: u32,
    stored: u32,
}

impl Track {
    pub(super) fn new(polynomial: Polynomial) -> Self {
        Self { polynomial, running: Running::new(polynomial), at: 0, pending: BTreeMap::new() }
    }

    pub(super) fn next_end(&self) -> u64 {
        self.pending.first_key_value().map_or(u64::MAX, |(&(end, _), _)| end)
    }

    /// Adds a candidate whose checksum covers the bytes from `covered_from` on, which is the current position.
    pub(super) fn add(&mut self, start: u64, covered_from: u64, candidate: &Candidate) {
        if self.pending.is_empty() {
            self.running = Running::new(self.polynomial);
            self.at = covered_from;
        }
        let covered = candidate.length.saturating_sub(u64::from(candidate.covered_from));
        let awaited = Awaited { before: self.running.value(), covered: covered as u32, stored: candidate.stored };
        self.pending.insert((start.saturating_add(candidate.length), start), awaited);
        if self.pending.len() > MAX_PENDING {
            self.pending.pop_last();
        }
    }

    /// Removes the candidates that end at the current position, and sets `best` to the intact one that begins first.
    pub(super) fn settle(&mut self, best: &mut Option<Extent>) {
        while let Some(first) = self.pending.first_entry().filter(|first| first.key().0 <= self.at) {
            let ((end, start), awaited) = first.remove_entry();
            let sum = self.polynomial.of_range(self.running.value(), awaited.before, awaited.covered);
            if sum == awaited.stored && best.is_none_or(|best| start < best.0) {
                *best = Some((start, end));
            }
        }
    }
}
