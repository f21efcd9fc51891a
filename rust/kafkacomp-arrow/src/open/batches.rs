//! Reads a chunk of batches and compares each batch's offsets with those around it.

use kafkacomp_core::log::{ChunkEnd, HeaderWalk, Hop, ReadAt, ReadError, Span};
use kafkacomp_core::record::{self, RecordBatch, RecordReader};

use super::Open;
use super::step::{ChunkResult, Finish, Step};
use crate::continuity::{Continuity, Following, Halt};
use crate::first_offset::{first_offset, implied_first};
use crate::options::ScanOptions;
use crate::segment_reader::Reader;
use crate::whole_batch::{MOST_CHECKED, whole_batch};

impl Open {
    pub(super) fn read_batches(
        &mut self,
        buffer: &mut Vec<u8>,
        target: usize,
        options: &ScanOptions,
    ) -> Result<(usize, ChunkResult), ReadError> {
        let before = (self.reader.position(), self.continuity.clone());
        let checksums = match (options.verify_crc, options.planner_verifies() || self.anomaly.is_some()) {
            (false, _) => Checksums::Ignored,
            (true, true) => Checksums::Verified,
            (true, false) => Checksums::Later,
        };
        match self.read_checked(buffer, target, checksums, options.max_output_size)? {
            // An anomaly may be corruption: read again with verification.
            (_, ChunkResult::Unverified) => {
                self.reader.seek(before.0);
                self.continuity = before.1;
                // There may be more, so that the chunks after this one are read once.
                self.anomaly = Some(before.0);
                self.read_checked(buffer, target, Checksums::Verified, options.max_output_size)
            }
            read => Ok(read),
        }
    }

    fn read_checked(
        &mut self,
        buffer: &mut Vec<u8>,
        target: usize,
        checksums: Checksums,
        max_output_size: usize,
    ) -> Result<(usize, ChunkResult), ReadError> {
        let (verify, known) = (checksums == Checksums::Verified, checksums != Checksums::Later);
        let begin = self.reader.position();
        let (stop, last_offset) = (self.stop, self.context.last_offset);
        let mut finish = None;
        let mut halt = None;
        let (source, unreadable) = (self.source.0.as_ref(), self.unreadable.as_deref());
        let mut continuity = self.continuity.as_mut();
        let others = &self.others;
        let Reader::Records(reader) = &mut self.reader else { return Ok((0, ChunkResult::Step(Step::More))) };
        let check = |batch: &RecordBatch<'_>| -> record::Result<()> {
            let position = batch.position();
            // This error only ends the chunk; its content is ignored.
            let end = || Err(record::Error::IncompleteBatch { position, available: 0, needed: 0 });
            if position >= stop {
                finish = finish.or(Some(Finish::Split));
            }
            if finish.is_some() {
                return end();
            }
            if let Some(continuity) = &mut continuity {
                if let Some((waiting, _)) = continuity.pending() {
                    let is_valid = || !verify || batch.is_valid();
                    let span = Some(spans_between(continuity, source, waiting, batch, max_output_size));
                    let next = Following { span, is_valid: Some(&is_valid), source, others, end_offset: None };
                    if let Err(stopped) = continuity.settle(next, known) {
                        halt = Some(stopped);
                        finish = Some(Finish::Bound);
                        return end();
                    }
                }
                if continuity.has_reached(last_offset) {
                    finish = Some(Finish::Bound);
                    return end();
                }
            }
            // Corruption is an error, even if the batch would be the last requested one.
            if verify {
                batch.ensure_valid()?;
            }
            if let Some(unreadable) = unreadable
                && unreadable.fault(position, position.saturating_add(batch.size_in_bytes() as u64)).is_some()
            {
                return end();
            }
            if let Some(continuity) = &mut continuity {
                continuity.observe(batch);
                if continuity.has_reached(last_offset) {
                    finish = Some(Finish::Bound);
                }
            }
            Ok(())
        };
        let (mut length, end) = reader.read(source, buffer, target, check)?;
        if halt.is_none()
            && let Some((position, after)) = self.continuity.as_ref().and_then(Continuity::pending)
        {
            if position > begin && end == ChunkEnd::More && finish.is_none() && source.is_remote() {
                // Reading the batch again with the next chunk is cheaper than a separate read of the header after it.
                self.continuity.iter_mut().for_each(Continuity::forget_pending);
                self.reader.seek(position);
                return Ok((position.saturating_sub(begin) as usize, ChunkResult::Step(Step::More)));
            }
            let next = Next::read(source, after, self.reader.end(), &end, finish)?;
            let at_end = end == ChunkEnd::End && after >= self.reader.end();
            halt = self.settle_last(next, (position, after), at_end, (verify, known), max_output_size)?;
            if halt.is_none() && self.continuity.as_ref().is_some_and(|continuity| continuity.has_reached(last_offset))
            {
                finish = Some(Finish::Bound);
            }
        }
        let result = match (halt, finish) {
            (Some(Halt::Unverified), _) => ChunkResult::Unverified,
            (Some(Halt::Misplaced(position, error)), _) => {
                length = position.saturating_sub(begin) as usize;
                ChunkResult::Step(Step::Failed(error))
            }
            (None, Some(finish)) => ChunkResult::Step(Step::Done(finish)),
            (None, None) => ChunkResult::End(end),
        };
        Ok((length, result))
    }

    /// Judges the batch from `position` to `after`, which is kept at the end of a chunk, by what follows it. Returns what stops the
    /// scan.
    fn settle_last(
        &mut self,
        mut next: Next,
        (position, after): (u64, u64),
        at_end: bool,
        (verify, known): (bool, bool),
        max_output_size: usize,
    ) -> Result<Option<Halt>, ReadError> {
        let Some(continuity) = &mut self.continuity else { return Ok(None) };
        let (source, end) = (self.source.0.as_ref(), self.reader.end());
        if let Some(header) = next.0.as_mut().filter(|header| header.span.first.is_none())
            && continuity.is_wrapper()
        {
            header.span.first = first_offset(source, after, end, max_output_size)?;
        }
        let end_offset = self.ends.next_base.filter(|_| at_end);
        let span = next.0.as_ref().map(|header| header.span);
        if continuity.needs_first(span.map_or(end_offset, |span| span.first))
            && let Some(first) = first_offset(source, position, end, max_output_size)?
        {
            continuity.set_first(first);
        }
        let is_valid = || !verify || next.is_valid(source);
        let following = Following { span, is_valid: Some(&is_valid), source, others: &self.others, end_offset };
        Ok(continuity.settle(following, known).err())
    }
}

/// The offsets of the batch after the kept one, which begins at `waiting`. If either is a wrapper whose header does not decide,
/// its records are read.
fn spans_between(
    continuity: &mut Continuity,
    source: &dyn ReadAt,
    waiting: u64,
    next: &RecordBatch<'_>,
    max_output_size: usize,
) -> Span {
    let mut span = Span::of(next);
    let Some(before) = continuity.waiting() else { return span };
    let overlaps = span.first.unwrap_or(span.last) <= before.last;
    if span.first.is_none() && (overlaps || before.first.is_some()) {
        span.first = implied_first(next, &mut RecordReader::new(max_output_size));
    }
    if before.first.is_none()
        && overlaps
        && let Ok(Some(first)) = first_offset(source, waiting, next.position(), max_output_size)
    {
        continuity.set_first(first);
    }
    span
}

/// How checksums are verified while batches are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checksums {
    Ignored,
    /// The worker verifies them.
    Later,
    Verified,
}

/// The header of the batch that directly follows a chunk.
struct Next(Option<kafkacomp_core::log::BatchHeader>);

impl Next {
    fn read(
        source: &dyn ReadAt,
        position: u64,
        end: u64,
        ended: &ChunkEnd,
        finish: Option<Finish>,
    ) -> Result<Self, ReadError> {
        let exists = finish == Some(Finish::Split) || *ended == ChunkEnd::More;
        if !exists {
            return Ok(Self(None));
        }
        match HeaderWalk::sparse(source, position, end).next_batch()? {
            Hop::Batch(header) => Ok(Self(Some(header))),
            _ => Ok(Self(None)),
        }
    }

    fn is_valid(&self, source: &dyn ReadAt) -> bool {
        let mut buffer = Vec::new();
        self.0.as_ref().is_some_and(|header| {
            whole_batch(source, header, MOST_CHECKED, &mut buffer)
                .is_ok_and(|batch| batch.is_some_and(|batch| batch.is_valid()))
        })
    }
}
