//! Finding the next intact batch after a corrupt one, in time and reads that are linear in the file.
//!
//! 1. The corrupt batch declares where it ends. If an intact batch begins there, or the file ends, only the corrupt batch is
//!    lost. Its payload is not searched, because it may contain bytes that look like a batch. If another corrupt batch is
//!    there, its end is tried next. A size that is itself corrupt may lead past some batches to a later one; then intact
//!    batches fill the skipped range to the byte. Batches inside a record cannot do that, as headers follow the value.
//! 2. Otherwise the result is the intact batch that begins first. Every header that could be valid is a candidate. One pass
//!    keeps the checksum of everything before the current position, for both polynomials, and computes from it the checksum
//!    of each candidate when it reaches the candidate's end (`checksum::running`). Candidates that overlap cost no more.
//!
//! A candidate that begins before an intact batch and ends after it may enclose that batch, so the search looks ahead for its
//! end. Looking ahead, and reading at the end that a corrupt batch declares, uses a budget, which grows as the caller
//! proceeds. A file of false headers that all claim to reach its end exhausts the budget; then the intact batch that ends
//! first is taken. The budget is half of the file: together with the pass and the caller's own reads, at most two and a half
//! bytes are read for each byte of the file.

use std::marker::PhantomData;

use super::candidate::{BatchLayout, Candidate, Layout};
use super::large_corrupt::{Fault, LargeCorrupt};
use super::source::{ReadAt, read_part};
use super::track::{Extent, Track};
use super::window::{Window, leading_zeros};
use crate::error::ReadError;
use kafkacomp_records::checksum::running::{Polynomial, Running};
use kafkacomp_records::record;

/// The number of bytes between two checks for an interrupt.
pub(super) const PIECE: u64 = 256 << 10;
/// The largest [`Layout::HEADER`].
const MAX_HEADER: usize = 80;
/// The budget for looking ahead that every file has.
const LEAST_BUDGET: u64 = 1 << 20;

/// Searches one file for intact batches. Each search reuses what earlier ones have found.
#[derive(Debug, Clone)]
pub struct Resync<F = BatchLayout> {
    pub(super) window: Window,
    pub(super) end: u64,
    budget: u64,
    /// The position of the caller up to which the budget has grown.
    paid_to: u64,
    /// The start of the last pass that searched up to the end of the file, and its result.
    known: Option<(u64, Option<Extent>)>,
    /// A range in which no batch begins, because its size would be zero.
    barren: std::ops::Range<u64>,
    /// Corrupt batches that are larger than the window.
    large: LargeCorrupt,
    steps: Steps,
    layout: PhantomData<F>,
}

/// The work that searches have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Steps {
    /// Headers that were examined.
    pub headers: u64,
    /// Headers that could be those of batches.
    pub candidates: u64,
    /// Bytes that went into checksums.
    pub summed: u64,
}

impl<F: Layout> Resync<F> {
    const HEADER_FITS: () = assert!(F::HEADER <= MAX_HEADER);

    /// For searches from `position` on in a source of `end` bytes.
    pub fn new(position: u64, end: u64) -> Self {
        Self {
            window: Window::default(),
            end,
            budget: (end.saturating_sub(position) / 8).saturating_add(LEAST_BUDGET),
            paid_to: position,
            known: None,
            barren: 0..0,
            large: LargeCorrupt::default(),
            steps: Steps::default(),
            layout: PhantomData,
        }
    }

    /// Finds where the first intact batch after the corrupt one at `position` begins; the source's end if there is none. Zeros
    /// up to the end count as the end.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub fn next_intact(&mut self, source: &dyn ReadAt, position: u64) -> Result<u64, ReadError> {
        self.advance_budget(position);
        if self.large.has(position)
            && let Some(stored) = self.stored_checksum(source, position)?
            && let Some(next) = self.large.next_intact(position, stored)
        {
            return Ok(next);
        }
        let next = self.search(source, position)?;
        // By the time of the next pass, the file may have grown.
        if next < self.end {
            self.large.set_next_intact(position, next);
        }
        Ok(next)
    }

    fn search(&mut self, source: &dyn ReadAt, position: u64) -> Result<u64, ReadError> {
        self.window.release(position);
        self.window.load(source, position, position.saturating_add(F::HEADER as u64).min(self.end), self.end)?;
        if let Some(stated) = self.stated_end(source, position)? {
            return Ok(self.first_of_run(source, position, stated)?.unwrap_or(stated));
        }
        let found = self.first_intact(source, position.saturating_add(1), self.end)?;
        Ok(found.map_or(self.end, |(start, _)| start))
    }

    /// Verifies the batch of `size` bytes at `position` without all of it being in memory at once.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read; what is wrong with the batch is the inner error.
    pub fn verify(&mut self, source: &dyn ReadAt, position: u64, size: u64) -> Result<record::Result<()>, ReadError> {
        self.advance_budget(position);
        let Some(stored) = self.stored_checksum(source, position)? else {
            return Ok(Err(Fault::Size(size).error(position, 0)));
        };
        if let Some(fault) = self.large.fault(position, stored) {
            return Ok(Err(fault.error(position, stored)));
        }
        let fault = match self.check(source, position, self.end)? {
            Check::Intact(_) => None,
            Check::Corrupt { computed, .. } => Some(Fault::Checksum(computed)),
            Check::NoBatch => Some(Fault::Size(size)),
            Check::TooFar => match self.first_intact(source, position, self.end)? {
                Some((start, _)) if start == position => None,
                _ => Some(Fault::Size(size)),
            },
        };
        Ok(match fault {
            None => Ok(()),
            Some(fault) => {
                self.large.add(position, stored, fault);
                Err(fault.error(position, stored))
            }
        })
    }

    /// Corrupt batches that were found here or by an earlier pass.
    pub(super) fn large_corrupt(&mut self) -> &mut LargeCorrupt {
        &mut self.large
    }

    /// What was done so far.
    pub fn steps(&self) -> Steps {
        self.steps
    }

    fn advance_budget(&mut self, position: u64) {
        let progress = position.saturating_sub(self.paid_to);
        self.budget = self.budget.saturating_add(progress / 8 * 3);
        self.paid_to = self.paid_to.max(position);
    }

    pub(super) fn header(&mut self, source: &dyn ReadAt, position: u64) -> Result<Header, ReadError> {
        let () = Self::HEADER_FITS;
        let to = position.saturating_add(F::HEADER as u64).min(self.end);
        if self.window.has(position, to) || self.window.fits(position, to) {
            self.window.load(source, position, to, self.end)?;
            return Ok(Header::of(self.window.slice(source, position, to)));
        }
        let mut buffer = Vec::new();
        Ok(Header::of(read_part(source, position, to.saturating_sub(position) as usize, &mut buffer)?))
    }

    /// The checksum that the header at `position` has, if it may be that of a batch.
    fn stored_checksum(&mut self, source: &dyn ReadAt, position: u64) -> Result<Option<u32>, ReadError> {
        let header = self.header(source, position)?;
        Ok(F::candidate(&header, self.end.saturating_sub(position)).map(|candidate| candidate.stored))
    }

    /// Where the corrupt batch at `position` states that it ends, if an intact batch or the source's end is there.
    fn stated_end(&mut self, source: &dyn ReadAt, position: u64) -> Result<Option<u64>, ReadError> {
        let header = self.header(source, position)?;
        let Some(length) = F::stated_length(&header) else { return Ok(None) };
        let mut at = position.saturating_add(length);
        while at < self.end {
            match self.check(source, at, self.end)? {
                Check::Intact(_) => return Ok(Some(at)),
                Check::Corrupt { end, .. } => at = end,
                Check::NoBatch | Check::TooFar => return Ok(None),
            }
        }
        Ok(Some(at).filter(|&at| at == self.end))
    }

    /// The first of intact batches that fill the range from somewhere after `position` up to `stated` to the byte.
    fn first_of_run(&mut self, source: &dyn ReadAt, position: u64, stated: u64) -> Result<Option<u64>, ReadError> {
        if F::may_enclose_up_to_its_end(&self.header(source, position)?) {
            return Ok(None);
        }
        let mut from = position.saturating_add(1);
        while let Some((start, mut at)) = self.first_intact(source, from, stated)? {
            from = loop {
                if at >= stated {
                    return Ok(Some(start));
                }
                let Check::Intact(end) = self.check(source, at, stated)? else { break at };
                at = end;
            };
        }
        Ok(None)
    }

    /// Looks at the batch at `position`, which must end at `limit` or before.
    pub(super) fn check(&mut self, source: &dyn ReadAt, position: u64, limit: u64) -> Result<Check, ReadError> {
        let header = self.header(source, position)?;
        let Some(candidate) = F::candidate(&header, limit.saturating_sub(position)) else { return Ok(Check::NoBatch) };
        if !self.pay(candidate.length) {
            return Ok(Check::TooFar);
        }
        let end = position.saturating_add(candidate.length);
        let mut running = Running::new(candidate.polynomial);
        self.sum_up(source, &mut running, position.saturating_add(u64::from(candidate.covered_from)), end)?;
        let computed = running.value();
        Ok(if candidate.stored == computed { Check::Intact(end) } else { Check::Corrupt { end, computed } })
    }

    /// Takes `bytes` from the budget; false if it has fewer.
    pub(super) fn pay(&mut self, bytes: u64) -> bool {
        self.budget.checked_sub(bytes).map(|left| self.budget = left).is_some()
    }

    /// Adds `[from, to)` to a checksum, from the window as far as that goes.
    pub(super) fn sum_up(
        &mut self,
        source: &dyn ReadAt,
        running: &mut Running,
        from: u64,
        to: u64,
    ) -> Result<(), ReadError> {
        let mut scratch = Vec::new();
        let mut at = from;
        while at < to {
            let next = to.min(at.saturating_add(PIECE));
            if self.window.has(at, next) || self.window.fits(at, next) {
                self.window.load(source, at, next, self.end)?;
                running.update(self.window.slice(source, at, next));
            } else {
                source.traits().check_interrupt()?;
                let size = next.saturating_sub(at) as usize;
                let piece = read_part(source, at, size, &mut scratch)?;
                if piece.len() < size {
                    return Err(ReadError::Shrunk { length: source.length()?, expected: self.end });
                }
                running.update(piece);
            }
            self.steps.summed = self.steps.summed.saturating_add(next.saturating_sub(at));
            at = next;
        }
        Ok(())
    }

    /// Records a range of zeros, in which no batch begins: its size would be zero.
    pub(super) fn note_zeros(&mut self, from: u64, to: u64) {
        self.barren = from..to.saturating_sub((F::SIZE.1 as u64).saturating_sub(1));
    }

    /// The intact batch that begins first in `[from, limit)` and ends there.
    pub(super) fn first_intact(
        &mut self,
        source: &dyn ReadAt,
        from: u64,
        limit: u64,
    ) -> Result<Option<Extent>, ReadError> {
        let from = if self.barren.contains(&from) { self.barren.end.min(limit) } else { from };
        if let Some((begin, found)) = self.known
            && begin <= from
            && found.is_none_or(|(start, end)| from <= start && end <= limit)
        {
            return Ok(found);
        }
        let found = self.look_through(source, from, limit)?;
        if limit == self.end {
            self.known = Some((from, found));
        }
        Ok(found)
    }

    /// As [`first_intact`](Self::first_intact), by a pass over the bytes.
    fn look_through(&mut self, source: &dyn ReadAt, from: u64, limit: u64) -> Result<Option<Extent>, ReadError> {
        let mut tracks = [Track::new(Polynomial::Crc32), Track::new(Polynomial::Crc32c)];
        let mut best = None;
        let mut at = from;
        while best.is_none() && at < limit {
            let to = at.saturating_add(PIECE).min(limit);
            let loaded = to.saturating_add(F::HEADER as u64).min(limit);
            self.window.load(source, at, loaded, self.end)?;
            let data = self.window.slice(source, at, loaded);
            let mut pass = Pass::<F> { data, begin: at, limit, last: at, spare: 0, layout: PhantomData };
            pass.run(to, &mut tracks, &mut best, &mut self.steps);
            at = to;
        }
        let Some(mut found) = best else { return Ok(None) };
        for mut track in tracks {
            self.look_ahead(source, &mut track, &mut found)?;
        }
        Ok(Some(found))
    }

    /// Replaces the batch found by an intact candidate that begins before it, if there is one.
    fn look_ahead(&mut self, source: &dyn ReadAt, track: &mut Track, found: &mut Extent) -> Result<(), ReadError> {
        while let Some(((end, start), awaited)) = track.pending.pop_first() {
            if start >= found.0 {
                continue;
            }
            if !self.pay(end.saturating_sub(track.at)) {
                break;
            }
            self.sum_up(source, &mut track.running, track.at, end)?;
            track.at = track.at.max(end);
            track.pending.insert((end, start), awaited);
            let mut best = Some(*found);
            track.settle(&mut best);
            *found = best.unwrap_or(*found);
        }
        Ok(())
    }
}

/// The first bytes of a batch.
pub(super) struct Header {
    bytes: [u8; MAX_HEADER],
    length: usize,
}

impl Header {
    fn of(data: &[u8]) -> Self {
        let mut bytes = [0; MAX_HEADER];
        let length = data.len().min(MAX_HEADER);
        for (to, from) in bytes.iter_mut().zip(data) {
            *to = *from;
        }
        Self { bytes, length }
    }
}

impl std::ops::Deref for Header {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// What is at a position.
pub(super) enum Check {
    /// An intact batch that ends at this position.
    Intact(u64),
    /// A batch whose checksum is wrong.
    Corrupt {
        end: u64,
        computed: u32,
    },
    NoBatch,
    /// A batch too large for the budget.
    TooFar,
}

/// A run of bytes that repeat with this period, or with a divisor of it, is skipped as a whole.
const PERIOD: usize = 8;

/// The length of the prefix of `data` that repeats its first [`PERIOD`] bytes.
fn periodic(data: &[u8]) -> usize {
    let (words, rest) = data.as_chunks::<PERIOD>();
    let Some(first) = words.first() else { return 0 };
    let same = words.iter().take_while(|word| *word == first).count();
    let tail = words.get(same).map_or(rest, |word| word.as_slice());
    let more = tail.iter().zip(first).take_while(|(a, b)| a == b).count();
    same.saturating_mul(PERIOD).saturating_add(more)
}

/// A pass over a part of the file.
struct Pass<'p, F> {
    data: &'p [u8],
    begin: u64,
    /// Where candidates must end.
    limit: u64,
    /// The last candidate, and the bytes passed since for which no candidate's checksum was computed on its own.
    last: u64,
    spare: u64,
    layout: PhantomData<F>,
}

impl<F: Layout> Pass<'_, F> {
    /// The bytes `[from, to)` of the file; `None` if one of them is outside of the part.
    fn range(&self, from: u64, to: u64) -> Option<&[u8]> {
        let index = |at: u64| usize::try_from(at.checked_sub(self.begin)?).ok();
        self.data.get(index(from)?..index(to)?)
    }

    /// Finds the candidates that begin before `to` and verifies those that end before it, until one is intact.
    fn run(&mut self, to: u64, tracks: &mut [Track; 2], best: &mut Option<Extent>, steps: &mut Steps) {
        let mut at = self.begin;
        while best.is_none() {
            let awaited = tracks.iter().map(Track::next_end).min().unwrap_or(u64::MAX);
            let bound = awaited.min(to);
            if let Some((start, candidate)) = self.candidate(at, bound, steps) {
                at = start.saturating_add(1);
                steps.candidates = steps.candidates.saturating_add(1);
                if self.is_corrupt(start, &candidate, steps) {
                    continue;
                }
                let covered_from = start.saturating_add(u64::from(candidate.covered_from));
                for track in tracks.iter_mut().filter(|track| track.polynomial == candidate.polynomial) {
                    self.advance(track, covered_from, best, steps);
                    track.add(start, covered_from, &candidate);
                }
            } else {
                for track in tracks.iter_mut() {
                    self.advance(track, bound, best, steps);
                }
                if bound == to {
                    return;
                }
                at = bound;
            }
        }
    }

    /// Whether the checksum of a candidate is known to be wrong. It is computed on its own if the part contains the whole
    /// candidate and as many bytes have been passed since the last one. That is enough where corrupt batches follow one another.
    fn is_corrupt(&mut self, start: u64, candidate: &Candidate, steps: &mut Steps) -> bool {
        self.spare = self.spare.saturating_add(start.saturating_sub(self.last));
        self.last = start;
        let covered_from = start.saturating_add(u64::from(candidate.covered_from));
        let covered = self.range(covered_from, start.saturating_add(candidate.length));
        let Some(covered) = covered.filter(|covered| !covered.is_empty()) else { return false };
        let Some(spare) = self.spare.checked_sub(covered.len() as u64) else { return false };
        let computed = candidate.polynomial.of(covered);
        steps.summed = steps.summed.saturating_add(covered.len() as u64);
        self.spare = spare;
        computed != candidate.stored
    }

    /// The first candidate that begins in `[from, bound)`.
    fn candidate(&self, from: u64, bound: u64, steps: &mut Steps) -> Option<(u64, Candidate)> {
        let index = |at: u64| usize::try_from(at.saturating_sub(self.begin)).unwrap_or(usize::MAX);
        let (mut at, bound) = (index(from), index(bound));
        // No candidate begins from here up to `at`.
        let refused_from = at;
        loop {
            let left = self.limit.saturating_sub(self.begin).saturating_sub(at as u64);
            at = F::hint(self.data, at, bound, left)?;
            let header = self.data.get(at..)?;
            if header.len() < F::LEAST {
                return None;
            }
            let start = self.begin.saturating_add(at as u64);
            let header = header.get(..F::HEADER).unwrap_or(header);
            steps.headers = steps.headers.saturating_add(1);
            if let Some(candidate) = F::candidate(header, self.limit.saturating_sub(start)) {
                return Some((start, candidate));
            }
            // No batch begins where its size would be zero.
            let zeros = match header.get(F::SIZE.0..F::SIZE.1) {
                Some([0, 0, 0, 0]) => leading_zeros(&self.data[at + F::SIZE.0..]),
                _ => 0,
            };
            at = at.saturating_add(zeros.saturating_sub(F::SIZE.1.saturating_sub(F::SIZE.0))).saturating_add(1);
            // Positions whose bytes repeat those of a refused one are refused, too: even less of the file is left for them.
            if at.saturating_sub(refused_from) >= PERIOD {
                let run = periodic(&self.data[at - PERIOD..]);
                at = at.saturating_add(run.saturating_sub(F::HEADER.saturating_add(PERIOD).saturating_sub(1)));
            }
        }
    }

    /// Advances a track to `to` and verifies the candidates that end on the way. None of them ends before its position.
    fn advance(&self, track: &mut Track, to: u64, best: &mut Option<Extent>, steps: &mut Steps) {
        while !track.pending.is_empty() && track.at < to {
            let next = track.next_end().min(to);
            // A track with candidates never lies before the part, and ends in it.
            let passed = &self.data[(track.at - self.begin) as usize..(next - self.begin) as usize];
            track.running.update(passed);
            track.at = next;
            steps.summed = steps.summed.saturating_add(passed.len() as u64);
            track.settle(best);
        }
    }
}

#[cfg(test)]
mod tests;
