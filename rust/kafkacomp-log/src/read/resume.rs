//! Where a log continues after corrupt bytes.
//!
//! [`Resync::next_intact`] finds intact batches by their bytes alone. Such a batch may be inside another one: a message of a
//! compressed wrapper that snappy stored as a literal, or a batch in the value of a record. This module tells them apart.
//!
//! 1. **Inside the corrupt batch.** If the header of the corrupt batch can be right, nothing up to the end that it states is a
//!    batch of the log, unless its size is wrong. The size is wrong if the checksum of the corrupt batch is right for the bytes
//!    up to the batch found; or if the batch found begins with the offset after those in the header, the corrupt batch has all
//!    its records up to there, and another batch or the end follows; or if intact batches lead from the batch found to one that
//!    begins before the stated end and ends after it, which nothing inside a batch does. Messages of formats 0 and 1 have their
//!    size twice; if the checksum is right for the lengths of key and value, their size field is wrong.
//! 2. **Inside a batch whose header is corrupt.** Where the batches before are wrappers, an uncompressed message may come from
//!    a wrapper. It counts if the messages from there on continue the offsets before and lead to a batch that continues them, or if
//!    the next batch that counts is no wrapper.
//! 3. **In a record set** (bytes, a file object, a cell), nothing else judges offsets, as names and other segments do in a log.
//!    There, rule 1 is true of all corrupt batches, and in a log of truncated last ones and, for messages, of wrappers. Also, a
//!    batch counts only if its offset is not below those before and another batch or the end follows it. Batches between two
//!    corrupt ranges count if their offsets fit between those around them. The corrupt bytes may end within an offset, which no
//!    checksum covers: see `Resync::is_believed`.
//!
//! The same rules decide for every reader whether the end of a source truncates its last batch (`truncated`).

mod crossing;
mod truncated;

use std::io;

use super::batch_headers::BatchHeader;
use super::candidate::{Claim, Layout};
use super::resync::{Check, Resync};
use super::source::{ReadAt, read_part};
use crate::error::ReadError;
use crate::index::MAX_RELATIVE_OFFSET;
use kafkacomp_records::checksum::running::Running;
use kafkacomp_records::memory;
use kafkacomp_records::record::batch::LOG_OVERHEAD;
use kafkacomp_records::record::layout::v2::RECORD_BATCH_OVERHEAD;
use kafkacomp_records::record::{RecordBatch, RecordReader};

pub use truncated::{ensure_truncated, ensure_truncated_set};

/// The number of bytes of batches that follow one another after which they are taken for batches of the log.
const ENOUGH: u64 = 1 << 20;
/// The largest wrapper that is decompressed for its first offset, and the most bytes that it may decompress to.
const MOST_DECODED: usize = 8 << 20;
/// The most wrappers that a search decompresses.
const MOST_WRAPPERS: u32 = 16;
/// The most runs of batches between corrupt ranges that are kept until what follows them is known.
const MOST_FRAGMENTS: usize = 64;

/// The last intact batch before corrupt bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// Where it ends.
    pub(super) end: u64,
    last: i64,
    is_wrapper: bool,
}

impl Before {
    /// From the batch itself.
    pub fn of(batch: &RecordBatch<'_>) -> Self {
        Self {
            end: batch.position().saturating_add(batch.size_in_bytes() as u64),
            last: batch.last_offset(),
            is_wrapper: batch.base_offset().is_none(),
        }
    }

    /// One that ends at a position and before an offset. It may be a wrapper.
    pub(super) fn unread(end: u64, end_offset: i64) -> Self {
        Self { end, last: end_offset.saturating_sub(1), is_wrapper: true }
    }

    /// The offset after it.
    pub(super) fn end_offset(&self) -> i64 {
        self.last.saturating_add(1)
    }

    /// From its header.
    pub(super) fn of_header(header: &BatchHeader) -> Self {
        Self { end: header.end(), last: header.last_offset, is_wrapper: header.span.first.is_none() }
    }
}

/// The corrupt batch, if its header can be right.
struct Corrupt {
    claim: Claim,
    /// The end that the header states.
    end: u64,
    /// The checksum of its bytes up to a position.
    running: Running,
    summed_to: u64,
    /// The end of the last intact batches that did not lead across the stated end.
    walked_to: u64,
}

/// Intact batches that follow one another.
struct Run {
    begin: u64,
    end: u64,
    first: i64,
    last: i64,
    /// Whether neither a batch that continues the run nor the end of the source follows.
    is_broken: bool,
    /// Whether its messages may be those of a wrapper.
    may_be_inner: bool,
}

/// What a batch that was found is.
enum Verdict {
    /// The next batch of the log.
    Next,
    /// A batch of the log if the offsets of its run fit what follows.
    Fragment(Run),
    /// No batch of the log.
    Inside,
}

/// The rules for one corrupt range.
struct Judge {
    corrupt: Option<Corrupt>,
    before: Option<Before>,
    is_record_set: bool,
    wrappers_left: u32,
}

impl Judge {
    fn expected(&self) -> Option<i64> {
        self.before.map(|before| before.end_offset())
    }

    /// Whether `offset` is below the expected one, or so far above it that no segment has both.
    fn is_contradicted(&self, offset: i64) -> bool {
        self.is_below(offset) || self.expected().is_some_and(|expected| is_beyond(expected, offset))
    }

    fn is_below(&self, offset: i64) -> bool {
        self.expected().is_some_and(|expected| offset < expected)
    }
}

/// Whether `offset` is so far above `other` that no segment has both.
fn is_beyond(other: i64, offset: i64) -> bool {
    offset.saturating_sub(other) > MAX_RELATIVE_OFFSET
}

impl<F: Layout> Resync<F> {
    /// Finds where the log continues after the corrupt batch at `position`: the position of a batch, or the source's end. `before`
    /// is the intact batch before it, if that is known.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub fn resume(
        &mut self,
        source: &dyn ReadAt,
        position: u64,
        before: Option<Before>,
        is_record_set: bool,
    ) -> Result<u64, ReadError> {
        let mut at = self.continuation(source, position, before, is_record_set)?;
        if is_record_set && at < self.end {
            let corrupt = self.claim(source, position)?.filter(|claim| claim.is_regular);
            while at < self.end && !self.is_believed(source, at, before, corrupt)? {
                at = self.continuation(source, at, before, is_record_set)?;
            }
        }
        Ok(at)
    }

    /// Whether the offset of the batch at `position` can be right, which is the first one after corrupt bytes. A segment has no two
    /// offsets that are more than 2^31 - 1 apart, unless compaction before Kafka 2.0 made it. A batch that is farther above the one
    /// before is believed only if the one after it continues its offsets. If none is before, the one after it takes its place, or
    /// the header of the corrupt one.
    fn is_believed(
        &mut self,
        source: &dyn ReadAt,
        position: u64,
        before: Option<Before>,
        corrupt: Option<Claim>,
    ) -> Result<bool, ReadError> {
        let Some(claim) = self.claim(source, position)? else { return Ok(true) };
        if before.is_some_and(|before| !is_beyond(before.end_offset(), claim.least())) {
            return Ok(true);
        }
        let end = position.saturating_add(claim.candidate.length);
        let next = match self.check(source, end, self.end)? {
            Check::Intact(_) => self.claim(source, end)?,
            Check::Corrupt { .. } | Check::NoBatch | Check::TooFar => None,
        };
        let before = before.map(|before| before.end_offset());
        let nearest = before.or(next.or(corrupt).map(|other| other.last));
        let is_continued = next.is_some_and(|next| next.least() > claim.last);
        Ok(is_continued || nearest.is_none_or(|nearest| !is_beyond(nearest, claim.least())))
    }

    /// As [`resume`](Self::resume), whatever the offset of the batch.
    fn continuation(
        &mut self,
        source: &dyn ReadAt,
        position: u64,
        before: Option<Before>,
        is_record_set: bool,
    ) -> Result<u64, ReadError> {
        let mut judge = Judge { corrupt: None, before, is_record_set, wrappers_left: MOST_WRAPPERS };
        let by_lengths = self.end_by_lengths(source, position)?;
        if by_lengths.is_none() {
            judge.corrupt = self.corrupt(source, position, &judge)?;
            if judge.corrupt.as_ref().is_some_and(|corrupt| corrupt.end > self.end) {
                return self.after_truncated(source, position, &mut judge);
            }
        }
        let mut at = match by_lengths {
            Some(end) => self.intact_from(source, end)?,
            None => self.next_intact(source, position)?,
        };
        if by_lengths == Some(at) {
            return Ok(at);
        }
        let mut fragments: Vec<Run> = Vec::new();
        while at < self.end {
            let Some(claim) = self.claim(source, at)? else { return Ok(at) };
            let after = match self.judge(source, at, &claim, &mut judge)? {
                Verdict::Next => {
                    let fits = |run: &&Run| {
                        run.last < claim.least()
                            && !judge.is_contradicted(run.first)
                            && !(run.may_be_inner && claim.is_wrapper())
                    };
                    return Ok(fragments.iter().find(fits).map_or(at, |run| run.begin));
                }
                Verdict::Inside => at.saturating_add(claim.candidate.length),
                Verdict::Fragment(run) => {
                    let end = run.end;
                    if fragments.len() < MOST_FRAGMENTS {
                        fragments.push(run);
                    }
                    end
                }
            };
            at = self.intact_from(source, after)?;
        }
        let counts = |run: &&Run| !is_record_set || Some(run.first) == judge.expected();
        Ok(fragments.iter().find(counts).map_or(self.end, |run| run.begin))
    }

    /// As [`resume`](Self::resume), for the `position` at which a walk by headers found no batch. If `before`, the last
    /// batch of the walk, is corrupt, its size may be wrong, and the search begins there. Also returns whether it is corrupt.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub fn next_intact_of_walk(
        &mut self,
        source: &dyn ReadAt,
        position: u64,
        before: Option<&BatchHeader>,
    ) -> Result<(u64, bool), ReadError> {
        let Some(before) = before else { return Ok((self.resume(source, position, None, false)?, false)) };
        let is_corrupt = self.verify(source, before.position, before.size)?.is_err();
        if is_corrupt {
            return Ok((self.resume(source, before.position, None, false)?, true));
        }
        Ok((self.resume(source, position, Some(Before::of_header(before)), false)?, false))
    }

    fn intact_from(&mut self, source: &dyn ReadAt, from: u64) -> Result<u64, ReadError> {
        Ok(self.first_intact(source, from, self.end)?.map_or(self.end, |(start, _)| start))
    }

    fn claim(&mut self, source: &dyn ReadAt, position: u64) -> Result<Option<Claim>, ReadError> {
        Ok(F::claim(&self.header(source, position)?))
    }

    /// Where the message at `position` ends, if its checksum shows that only its size is wrong.
    fn end_by_lengths(&mut self, source: &dyn ReadAt, position: u64) -> Result<Option<u64>, ReadError> {
        let header = self.header(source, position)?;
        let Some(Claim { candidate, .. }) = F::claim_by_lengths(&header) else { return Ok(None) };
        let end = position.saturating_add(candidate.length);
        if end > self.end || !self.pay(candidate.length) {
            return Ok(None);
        }
        let mut running = Running::new(candidate.polynomial);
        self.sum_up(source, &mut running, position.saturating_add(u64::from(candidate.covered_from)), end)?;
        Ok(Some(end).filter(|_| running.value() == candidate.stored))
    }

    fn corrupt(&mut self, source: &dyn ReadAt, position: u64, judge: &Judge) -> Result<Option<Corrupt>, ReadError> {
        let Some(claim) = self.claim(source, position)?.filter(|claim| claim.is_regular) else { return Ok(None) };
        // A corrupt header may have any offset.
        if judge.expected().is_some_and(|expected| is_beyond(expected, claim.least())) {
            return Ok(None);
        }
        Ok(Some(Corrupt {
            claim,
            end: position.saturating_add(claim.candidate.length),
            running: Running::new(claim.candidate.polynomial),
            summed_to: position.saturating_add(u64::from(claim.candidate.covered_from)),
            walked_to: position,
        }))
    }

    fn judge(&mut self, source: &dyn ReadAt, at: u64, claim: &Claim, judge: &mut Judge) -> Result<Verdict, ReadError> {
        if let Some(corrupt) = &judge.corrupt {
            let is_inside =
                corrupt.end > self.end || judge.is_record_set || (corrupt.claim.is_wrapper() && claim.is_message);
            if at == corrupt.end {
                return Ok(Verdict::Next);
            }
            if at < corrupt.end && is_inside {
                let is_next = self.is_after_wrong_size(source, at, claim, judge)?
                    || self.leads_across_end(source, at, claim, judge)?;
                return Ok(if is_next { Verdict::Next } else { Verdict::Inside });
            }
        }
        let may_be_inner = claim.is_message && judge.before.is_none_or(|before| before.is_wrapper);
        let offset = claim.least();
        if (may_be_inner && judge.is_contradicted(offset)) || (judge.is_record_set && judge.is_below(offset)) {
            return Ok(Verdict::Inside);
        }
        if !may_be_inner && !judge.is_record_set {
            return Ok(Verdict::Next);
        }
        let run = self.run(source, at, claim, may_be_inner, judge)?;
        Ok(if run.is_broken { Verdict::Fragment(run) } else { Verdict::Next })
    }

    /// Whether the batch at `at` is the one after the corrupt batch, whose size is wrong.
    fn is_after_wrong_size(
        &mut self,
        source: &dyn ReadAt,
        at: u64,
        claim: &Claim,
        judge: &mut Judge,
    ) -> Result<bool, ReadError> {
        let expected = judge.expected();
        let Some(corrupt) = &mut judge.corrupt else { return Ok(false) };
        if at > corrupt.summed_to {
            self.sum_up(source, &mut corrupt.running, corrupt.summed_to, at)?;
            corrupt.summed_to = at;
        }
        if at == corrupt.summed_to && corrupt.running.value() == corrupt.claim.candidate.stored {
            return Ok(true);
        }
        let (stated, end) = (corrupt.claim, corrupt.end);
        let mut is_continued = stated.is_same(claim);
        if !is_continued && claim.last >= expected.unwrap_or(0).min(stated.last) {
            let first = Self::first_offset(source, at, claim, judge)?;
            // The messages of a wrapper may have the offsets that come next.
            let has_expected = stated.first.map_or(claim.is_message, |first| Some(first) == expected);
            let is_elsewhere = !has_expected || expected.is_some_and(|expected| stated.last < expected);
            let is_next = first.is_some() && first == stated.last.checked_add(1);
            // A value may contain batches with any offsets, also those that come next.
            is_continued = (first.is_some() && first == expected && is_elsewhere)
                || (is_next && (is_elsewhere || Self::has_records_up_to(source, at, &stated, end, judge)?));
        }
        if !is_continued || matches!(self.check(source, at, self.end)?, Check::Corrupt { .. } | Check::NoBatch) {
            return Ok(false);
        }
        Ok(!self.run(source, at, claim, claim.is_message, judge)?.is_broken)
    }

    /// Whether the corrupt batch, which ends at `stated_end` by its header, has all its records if it ends at `at`.
    fn has_records_up_to(
        source: &dyn ReadAt,
        at: u64,
        stated: &Claim,
        stated_end: u64,
        judge: &mut Judge,
    ) -> Result<bool, ReadError> {
        let position = stated_end.saturating_sub(stated.candidate.length);
        let size = usize::try_from(at.saturating_sub(position)).ok().filter(|&size| size <= MOST_DECODED);
        let (Some(size), 1..) = (size, judge.wrappers_left) else { return Ok(false) };
        judge.wrappers_left = judge.wrappers_left.saturating_sub(1);
        let mut buffer = Vec::new();
        let mut data = memory::copy_of(read_part(source, position, size, &mut buffer)?).map_err(io::Error::from)?;
        let length = size.checked_sub(LOG_OVERHEAD).and_then(|length| i32::try_from(length).ok());
        let (Some(length), Some(field)) = (length, data.get_mut(F::SIZE.0..F::SIZE.1)) else { return Ok(false) };
        field.copy_from_slice(&length.to_be_bytes());
        let Ok(batch) = RecordBatch::new(&data, position) else { return Ok(false) };
        let mut reader = RecordReader::new(MOST_DECODED);
        let is_complete = reader.records(&batch).is_ok_and(|mut records| records.all(|record| record.is_ok()));
        Ok(is_complete)
    }

    /// The first offset of the batch at `at`; `None` for a wrapper that cannot be decoded.
    fn first_offset(source: &dyn ReadAt, at: u64, claim: &Claim, judge: &mut Judge) -> Result<Option<i64>, ReadError> {
        let size = usize::try_from(claim.candidate.length).ok().filter(|&size| size <= MOST_DECODED);
        let (None, Some(size), 1..) = (claim.first, size, judge.wrappers_left) else { return Ok(claim.first) };
        judge.wrappers_left = judge.wrappers_left.saturating_sub(1);
        let mut buffer = Vec::new();
        let data = read_part(source, at, size, &mut buffer)?;
        let batch = RecordBatch::new(data, at).ok();
        Ok(batch.and_then(|batch| RecordReader::new(MOST_DECODED).base_offset(&batch).ok()))
    }

    /// The run of batches that begins at `at`. With `is_inner`, it ends at the first batch that is not an uncompressed message.
    fn run(
        &mut self,
        source: &dyn ReadAt,
        at: u64,
        claim: &Claim,
        is_inner: bool,
        judge: &mut Judge,
    ) -> Result<Run, ReadError> {
        let end = at.saturating_add(claim.candidate.length);
        let mut run =
            Run { begin: at, end, first: claim.least(), last: claim.last, is_broken: false, may_be_inner: is_inner };
        while run.end < self.end && run.end.saturating_sub(at) < ENOUGH {
            let header = self.header(source, run.end)?;
            let left = self.end.saturating_sub(run.end);
            let Some(next) = F::claim(&header) else {
                // The source may end within a header, or with zeros.
                let is_end = left < RECORD_BATCH_OVERHEAD as u64 || header.iter().all(|&byte| byte == 0);
                run.is_broken = !is_end;
                return Ok(run);
            };
            if next.least() <= run.last {
                run.is_broken = true;
                return Ok(run);
            }
            if next.candidate.length > left {
                return Ok(run);
            }
            let next_end = match self.check(source, run.end, self.end)? {
                Check::Intact(end) => end,
                Check::TooFar => return Ok(run),
                Check::Corrupt { .. } | Check::NoBatch => {
                    run.is_broken = true;
                    return Ok(run);
                }
            };
            if is_inner && !next.is_message {
                let first = Self::first_offset(source, run.end, &next, judge)?;
                run.is_broken = first != run.last.checked_add(1);
                return Ok(run);
            }
            (run.end, run.last) = (next_end, next.last);
        }
        Ok(run)
    }
}

#[cfg(test)]
mod tests;
