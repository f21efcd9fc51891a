//! Surveys: the facts of a segment file. The only I/O of a map.
//!
//! | survey | reads | finds |
//! |---|---|---|
//! | [`Survey::light`] | the header of each batch, and all bytes around those that no header leads to | batches, whose checksums may be wrong, and corrupt bytes |
//! | [`Survey::verified`] | all bytes | intact batches, and the corrupt bytes between them |
//!
//! If the offsets of a light survey increase, it is enough: a batch whose checksum turns out to be wrong later changes no other
//! verdict, because a part of an increasing sequence increases.

use std::ops::ControlFlow;

use super::facts::{BatchFact, Fact};
use super::ranges::{ByteRange, OffsetRange};
use crate::log::error::{ContentError, Error, ReadError};
use crate::log::read::batch_headers::{BatchHeader, HeaderWalk, Hop};
use crate::log::read::chunk::ChunkReader;
use crate::log::read::implied_offsets::wrapper_offsets;
use crate::log::read::source::ReadAt;
use crate::log::read::walk::{CorruptRange, SegmentPart, walk_chunks};
use crate::memory;
use crate::record::{self, Batches, RecordBatch, RecordReader};

/// The batches that are verified again before bytes to which no header leads: the last one may state a wrong size, and the
/// search for the next batch begins from an intact one.
const VERIFIED_BEFORE: usize = 2;

/// Whether readers accept a batch whose checksum is right: the error if they do not. An error that is no corruption ends the
/// survey.
pub type Accept<'a> = dyn FnMut(&RecordBatch<'_>) -> Result<Option<ContentError>, Error> + 'a;

/// The facts of a segment file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    facts: Vec<Fact>,
    corrupt: Vec<CorruptRange>,
    has_wrappers: bool,
}

impl Survey {
    /// Follows the sizes in the headers of the batches. Where they lead nowhere, the batches before are verified, and it resumes
    /// at the next intact one. The offsets of a wrapper are only its last one.
    ///
    /// # Errors
    /// The bytes cannot be read, or memory ran out.
    pub fn light(source: &dyn ReadAt) -> Result<Self, Error> {
        let mut survey = Self::default();
        let end = source.length().map_err(ReadError::Io)?;
        let mut walk = HeaderWalk::sparse(source, 0, end);
        loop {
            match walk.next_batch()? {
                Hop::Batch(header) => {
                    survey.has_wrappers |= header.span.first.is_none();
                    if let Some(fact) = header_fact(&header) {
                        survey.push(Fact::Batch(fact))?;
                    } else {
                        let error = no_offsets(header.position, header.offset_field, survey.expected());
                        survey.corrupt(CorruptRange::of_batch(header.position, header.end(), error))?;
                    }
                }
                Hop::End => return Ok(survey),
                Hop::Truncated | Hop::Corrupt(_) => {
                    let from = survey.take_last(walk.position());
                    walk.seek(survey.verify(source, from, &mut |_| Ok(None), true)?);
                }
            }
        }
    }

    /// Verifies the checksums of all batches, and finds the next intact one after corrupt bytes. A batch that `accept` returns an
    /// error for is corrupt. Wrappers are decompressed to at most `max_output_size` bytes, because only their records have their
    /// first offsets.
    ///
    /// # Errors
    /// The bytes cannot be read, memory ran out, or the errors of `accept`. Bytes that the storage cannot read are corrupt if
    /// `source` replaces them.
    pub fn verified(source: &dyn ReadAt, max_output_size: usize, accept: &mut Accept<'_>) -> Result<Self, Error> {
        let mut survey = Self::default();
        let mut reader = RecordReader::new(max_output_size);
        survey.verify_with(source, 0, &mut reader, accept, false)?;
        Ok(survey)
    }

    /// What was found, in the order of positions.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// The corrupt ranges: one for each [`Fact::Corrupt`], in their order.
    pub fn corrupt_ranges(&self) -> &[CorruptRange] {
        &self.corrupt
    }

    /// Whether the offsets of some batches are only their last ones.
    pub fn has_wrappers(&self) -> bool {
        self.has_wrappers
    }

    /// Joins batches that continue one another. A survey of a file in which all batches are in place needs no borders of batches.
    pub(super) fn join(&mut self) {
        self.facts.dedup_by(|next, before| match (before, next) {
            (Fact::Batch(before), Fact::Batch(next)) => before.join(next),
            _ => false,
        });
        self.facts.shrink_to_fit();
    }

    /// Verifies from a position on, and returns the position that was reached: with `until_intact`, that of the first intact
    /// batch after corrupt bytes.
    fn verify(
        &mut self,
        source: &dyn ReadAt,
        from: u64,
        accept: &mut Accept<'_>,
        until_intact: bool,
    ) -> Result<u64, Error> {
        // The first offsets of wrappers are not needed.
        self.verify_with(source, from, &mut RecordReader::new(0), accept, until_intact)
    }

    fn verify_with(
        &mut self,
        source: &dyn ReadAt,
        from: u64,
        reader: &mut RecordReader,
        accept: &mut Accept<'_>,
        until_intact: bool,
    ) -> Result<u64, Error> {
        let end = source.length().map_err(ReadError::from)?;
        let mut chunks = ChunkReader::new(from, end, true);
        let walked = walk_chunks(source, &mut chunks, &mut |part, end| {
            let is_corrupt = matches!(part, SegmentPart::Corrupt(_));
            match self.part(part, end, reader, accept) {
                Ok(()) if is_corrupt && until_intact => ControlFlow::Break(Ok(end)),
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(Err(error)),
            }
        })?;
        match walked {
            ControlFlow::Continue(()) => Ok(end),
            ControlFlow::Break(ended) => ended,
        }
    }

    fn push(&mut self, fact: Fact) -> Result<(), Error> {
        Ok(memory::push(&mut self.facts, fact)?)
    }

    fn corrupt(&mut self, range: CorruptRange) -> Result<(), Error> {
        if let Some(bytes) = ByteRange::sized(range.position, range.length) {
            self.push(Fact::Corrupt(bytes))?;
            memory::push(&mut self.corrupt, range)?;
        }
        Ok(())
    }

    /// The offset after the last batch.
    fn expected(&self) -> i64 {
        self.facts.iter().rev().find_map(Fact::batch).map_or(0, |before| before.offsets().end())
    }

    /// Removes the last batches before `position`, and returns where the first of them begins.
    fn take_last(&mut self, position: u64) -> u64 {
        let mut from = position;
        for _ in 0..VERIFIED_BEFORE {
            match self.facts.pop_if(|fact| fact.batch().is_some()) {
                Some(fact) => from = fact.bytes().start(),
                None => break,
            }
        }
        from
    }

    /// Adds a part of the file that ends at `end`.
    fn part(
        &mut self,
        part: SegmentPart<'_>,
        end: u64,
        reader: &mut RecordReader,
        accept: &mut Accept<'_>,
    ) -> Result<(), Error> {
        match part {
            SegmentPart::Batches { data, position } => {
                Batches::whole(data, position).try_for_each(|batch| self.batch(&batch, reader, accept))
            }
            SegmentPart::Corrupt(range) => self.corrupt(range),
            SegmentPart::ZeroTail { length } => {
                if let Some(bytes) = end.checked_sub(length).and_then(|at| ByteRange::new(at, end)) {
                    self.push(Fact::Zeros(bytes))?;
                }
                Ok(())
            }
        }
    }

    /// Adds a batch whose checksum is right. If its offsets are impossible (the last one is below the first, or no offset is left
    /// after it), its bytes are corrupt.
    fn batch(
        &mut self,
        batch: &RecordBatch<'_>,
        reader: &mut RecordReader,
        accept: &mut Accept<'_>,
    ) -> Result<(), Error> {
        let position = batch.position();
        let error = match accept(batch)? {
            Some(error) => error,
            None => match verified_fact(batch, reader)? {
                Some(fact) => return self.push(Fact::Batch(fact)),
                None => no_offsets(position, batch.offset_field(), self.expected()),
            },
        };
        let range = CorruptRange::of_batch(position, position + batch.size_in_bytes() as u64, error);
        self.corrupt(range)
    }
}

/// The error of a batch whose offsets are impossible.
fn no_offsets(position: u64, stored: i64, expected: i64) -> ContentError {
    ContentError::OffsetField { position, stored, expected }
}

/// The fact of a header; `None` if its offsets are impossible.
fn header_fact(header: &BatchHeader) -> Option<BatchFact> {
    let first = header.span.first.unwrap_or(header.last_offset);
    let records = header.records_count.and_then(|count| u32::try_from(count).ok());
    let offsets = OffsetRange::inclusive(first, header.last_offset)?;
    let bytes = ByteRange::sized(header.position, header.size)?;
    let fact = BatchFact::new(bytes, offsets, header.span.crc, records, header.magic)?;
    Some(fact.with_leader_epoch(header.leader_epoch))
}

/// The fact of an intact batch; `None` if its offsets are impossible.
fn verified_fact(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<Option<BatchFact>, Error> {
    let header = BatchHeader::of(batch);
    if header.span.first.is_some() {
        return Ok(header_fact(&header));
    }
    let inner = match wrapper_offsets(batch, reader) {
        Ok(inner) => inner,
        Err(error @ record::Error::OutOfMemory { .. }) => return Err(error.into()),
        // What cannot be decompressed has the offset of its header.
        Err(_) => None,
    };
    let (first, last) = inner.unwrap_or((header.last_offset, header.last_offset));
    Ok(OffsetRange::inclusive(first, last).and_then(|offsets| {
        BatchFact::new(ByteRange::sized(header.position, header.size)?, offsets, header.span.crc, None, header.magic)
    }))
}
