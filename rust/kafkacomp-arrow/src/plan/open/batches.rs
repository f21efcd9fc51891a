//! Reads a chunk of batches and compares each batch's offsets with those around it.

use std::sync::atomic::AtomicUsize;

use kafkacomp_core::log::{BatchHeader, ChunkBuffer, ChunkEnd, HeaderWalk, Hop, ReadAt, ReadError, is_unreadable};

use super::Open;
use super::batch_check::{BatchCheck, Checksums};
use super::step::{ChunkResult, Finish, Step};
use crate::options::ScanOptions;
use crate::plan::continuity::{Continuity, Following, Halt};
use crate::plan::first_offset::first_offset;
use crate::plan::segment_reader::Reader;
use crate::plan::whole_batch::{MOST_CHECKED, whole_batch};

impl Open {
    pub(super) fn read_batches(
        &mut self,
        buffer: &mut ChunkBuffer,
        target: usize,
        waiting: &AtomicUsize,
        options: &ScanOptions,
    ) -> Result<(usize, ChunkResult), ReadError> {
        let before = (self.reader.position(), self.continuity.clone());
        let checksums = self.checksums(options, waiting);
        match self.read_checked(buffer, target, (checksums, waiting), options.max_output_size)? {
            // An anomaly may be corruption: read again with verification.
            (_, ChunkResult::Unverified) => {
                self.reader.seek(before.0);
                self.continuity = before.1;
                // There may be more, so that the chunks after this one are read once.
                self.anomaly = Some(before.0);
                self.read_checked(buffer, target, (Checksums::Verified, waiting), options.max_output_size)
            }
            read => Ok(read),
        }
    }

    fn read_checked(
        &mut self,
        buffer: &mut ChunkBuffer,
        target: usize,
        (checksums, waiting): (Checksums, &AtomicUsize),
        max_output_size: usize,
    ) -> Result<(usize, ChunkResult), ReadError> {
        let begin = self.reader.position();
        let (source, last_offset) = (self.source.0.as_ref(), self.context.last_offset);
        let Reader::Records(reader) = &mut self.reader else { return Ok((0, ChunkResult::Step(Step::More))) };
        let mut check = BatchCheck {
            source,
            unreadable: self.unreadable.as_deref(),
            others: &self.others,
            continuity: self.continuity.as_mut(),
            stop: self.stop,
            last_offset,
            checksums,
            waiting,
            verified_to: if checksums == Checksums::Later { begin } else { u64::MAX },
            enough_at: begin.saturating_add(target as u64 / 2),
            is_enough: false,
            max_output_size,
            finish: None,
            halt: None,
        };
        let (mut length, end) = reader.read(source, buffer, target, |batch| check.take(batch))?;
        let BatchCheck { mut finish, mut halt, checksums, verified_to, is_enough, .. } = check;
        let end = if is_enough { ChunkEnd::More } else { end };
        self.verified_to = verified_to;
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
            halt = self.settle_last(next, (position, after), at_end, checksums, max_output_size)?;
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

    /// Judges the batch from `position` to `after`, which is kept at the end of a chunk, by what follows it. Returns what stops
    /// the scan.
    fn settle_last(
        &mut self,
        mut next: Next,
        (position, after): (u64, u64),
        at_end: bool,
        checksums: Checksums,
        max_output_size: usize,
    ) -> Result<Option<Halt>, ReadError> {
        let Some(continuity) = &mut self.continuity else { return Ok(None) };
        let (source, end) = (self.source.0.as_ref(), self.reader.end());
        if let Some(header) = next.0.as_mut().filter(|header| header.span.first.is_none())
            && continuity.is_wrapper()
        {
            header.span.first = if_readable(first_offset(source, after, end, max_output_size))?;
        }
        let end_offset = self.ends.next_base.filter(|_| at_end);
        let span = next.0.as_ref().map(|header| header.span);
        if continuity.needs_first(span.map_or(end_offset, |span| span.first))
            && let Some(first) = first_offset(source, position, end, max_output_size)?
        {
            continuity.set_first(first);
        }
        let is_valid = || !checksums.are_verified() || next.is_valid(source);
        let following = Following { span, is_valid: Some(&is_valid), source, others: &self.others, end_offset };
        Ok(continuity.settle(following, checksums.are_known()).err())
    }
}

/// The header of the batch that directly follows a chunk.
struct Next(Option<BatchHeader>);

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
        let header = if_readable(HeaderWalk::sparse(source, position, end).next_batch().map(|hop| match hop {
            Hop::Batch(header) => Some(header),
            _ => None,
        }))?;
        Ok(Self(header))
    }

    fn is_valid(&self, source: &dyn ReadAt) -> bool {
        let mut buffer = Vec::new();
        self.0.as_ref().is_some_and(|header| {
            whole_batch(source, header, MOST_CHECKED, &mut buffer)
                .is_ok_and(|batch| batch.is_some_and(|batch| batch.is_valid()))
        })
    }
}

/// `None` for bytes that the storage cannot read: the batches before them are returned first, and the next chunk is the error.
fn if_readable<T>(read: Result<Option<T>, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Err(ReadError::Io(error)) if is_unreadable(&error) => Ok(None),
        read => read,
    }
}
