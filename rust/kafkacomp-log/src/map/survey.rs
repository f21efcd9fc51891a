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
use super::judge::increases_within;
use super::ranges::{ByteRange, OffsetRange};
use crate::error::{ContentError, Error, ReadError};
use crate::read::batch_headers::{BatchHeader, HeaderWalk, Hop};
use crate::read::chunk::ChunkReader;
use crate::read::resync::Resync;
use crate::read::source::ReadAt;
use crate::read::walk::{CorruptRange, SegmentPart, walk_chunks};
use crate::read::wrapper_content::wrapper_content;
use kafkacomp_records::memory;
use kafkacomp_records::record::header_checksum_fix::with_right_header_checksum;
use kafkacomp_records::record::{self, Batches, RecordBatch, RecordReader};

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
    is_joined: bool,
}

impl Survey {
    /// The survey of a reader of all bytes, which adds what it finds. Batches that continue one another are joined: it needs the
    /// borders of batches only if they are not all in place.
    pub(crate) fn joined() -> Self {
        Self { is_joined: true, ..Self::default() }
    }

    /// Whether batches that continue one another may be one fact.
    pub(super) fn is_joined(&self) -> bool {
        self.is_joined
    }

    /// Adds a batch whose checksum is right and that readers accept, with its first and last offset. If they are impossible, its
    /// bytes are corrupt. Returns whether they are possible.
    ///
    /// # Errors
    /// Memory ran out.
    pub(crate) fn add_batch(&mut self, header: &BatchHeader, offsets: (i64, i64)) -> Result<bool, Error> {
        if let Some(fact) = fact(header, offsets) {
            self.add(Fact::Batch(fact))?;
            return Ok(true);
        }
        let error = no_offsets(header.position, header.offset_field, self.expected());
        self.add_corrupt(CorruptRange::of_batch(header.position, header.end(), error))?;
        Ok(false)
    }

    /// Adds bytes without an intact batch.
    ///
    /// # Errors
    /// Memory ran out.
    pub(crate) fn add_corrupt(&mut self, range: CorruptRange) -> Result<(), Error> {
        if let Some(bytes) = ByteRange::sized(range.position, range.length) {
            self.add(Fact::Corrupt(bytes))?;
            memory::push(&mut self.corrupt, range)?;
        }
        Ok(())
    }

    /// Adds the zeros at the end of a file.
    ///
    /// # Errors
    /// Memory ran out.
    pub(crate) fn add_zeros(&mut self, length: u64, end: u64) -> Result<(), Error> {
        let bytes = end.checked_sub(length).and_then(|at| ByteRange::new(at, end));
        bytes.map_or(Ok(()), |bytes| self.add(Fact::Zeros(bytes)))
    }

    /// Adds batches or zeros.
    ///
    /// # Errors
    /// Memory ran out.
    pub(crate) fn add(&mut self, fact: Fact) -> Result<(), Error> {
        if self.is_joined
            && let (Some(Fact::Batch(before)), Fact::Batch(next)) = (self.facts.last_mut(), &fact)
            && before.join(next)
        {
            return Ok(());
        }
        Ok(memory::push(&mut self.facts, fact)?)
    }

    /// Follows the sizes in the headers of the batches. Where they lead nowhere, the batches before are verified, and it resumes
    /// at the next intact one. So they are if the first batch of the file is corrupt, or the last one, which no header follows; in
    /// an object store, these are not fetched for that. The offsets of a wrapper are only its last one.
    ///
    /// # Errors
    /// The bytes cannot be read, or memory ran out.
    pub fn light(source: &dyn ReadAt) -> Result<Self, Error> {
        Self::light_from(source, 0)
    }

    /// As [`light`](Self::light), from the batch at `position` on.
    ///
    /// # Errors
    /// As [`light`](Self::light).
    pub fn light_from(source: &dyn ReadAt, position: u64) -> Result<Self, Error> {
        let mut survey = Self::default();
        let end = source.length().map_err(ReadError::Io)?;
        let mut walk = HeaderWalk::sparse(source, position, end);
        let mut last = None;
        loop {
            match walk.next_batch()? {
                Hop::Batch(header) if header.position > 0 || !is_corrupt(source, Some(header), end)? => {
                    survey.has_wrappers |= header.span.first.is_none();
                    let first = header.span.first.unwrap_or(header.last_offset);
                    last = None;
                    if let Some(fact) = fact(&header, (first, header.last_offset)) {
                        survey.add(Fact::Batch(fact))?;
                        last = Some(header);
                    } else {
                        // No batch has these offsets: its size may be as wrong.
                        let from = survey.take_last(header.position);
                        walk.seek(survey.verify(source, from, &mut |_| Ok(None), true)?);
                    }
                }
                Hop::End if !is_corrupt(source, last.take(), end)? => return Ok(survey),
                Hop::Batch(header) => {
                    walk.seek(survey.verify(source, header.position, &mut |_| Ok(None), true)?);
                }
                Hop::End | Hop::Truncated | Hop::Corrupt(_) => {
                    let from = survey.take_last(walk.position());
                    walk.seek(survey.verify(source, from, &mut |_| Ok(None), true)?);
                    last = None;
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

    /// Whether the offsets of all batches increase from `start` to before `end`.
    pub fn increases(&self, start: i64, end: i64) -> bool {
        OffsetRange::new(start, end).is_some_and(|window| increases_within(&self.facts, window))
    }

    /// Whether a batch has fewer records than offsets, as after compaction.
    pub fn is_thinned(&self) -> bool {
        self.facts.iter().filter_map(Fact::batch).any(BatchFact::is_thinned)
    }

    /// Makes the bytes of a batch corrupt that cannot be used.
    ///
    /// # Errors
    /// Memory ran out.
    pub(super) fn reject(&mut self, index: usize, error: ContentError) -> Result<(), Error> {
        let Some(fact) = self.facts.get_mut(index).filter(|fact| fact.batch().is_some()) else { return Ok(()) };
        let bytes = fact.bytes();
        *fact = Fact::Corrupt(bytes);
        let after = self.corrupt.partition_point(|range| range.position < bytes.start());
        memory::push(&mut self.corrupt, CorruptRange::of_batch(bytes.start(), bytes.end(), error))?;
        self.corrupt.get_mut(after..).unwrap_or_default().rotate_right(1);
        Ok(())
    }

    /// Joins batches that continue one another. A survey of a file in which all batches are in place needs no borders of batches.
    pub(super) fn join(&mut self) {
        self.facts.dedup_by(|next, before| match (before, next) {
            (Fact::Batch(before), Fact::Batch(next)) => before.join(next),
            _ => false,
        });
        self.facts.shrink_to_fit();
        self.is_joined = true;
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
            SegmentPart::Corrupt(range) => self.add_corrupt(range),
            SegmentPart::ZeroTail { length } => self.add_zeros(length, end),
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
        let mut header = BatchHeader::of(batch);
        if let Some(error) = accept(batch)? {
            return self.add_corrupt(CorruptRange::of_batch(header.position, header.end(), error));
        }
        let offsets = verified_offsets(batch, &mut header, reader)?;
        self.add_batch(&header, offsets)?;
        Ok(())
    }
}

/// Whether the checksum of a batch is wrong.
fn is_corrupt(source: &dyn ReadAt, batch: Option<BatchHeader>, end: u64) -> Result<bool, ReadError> {
    let Some(BatchHeader { position, size, .. }) = batch.filter(|_| !source.traits().is_remote()) else {
        return Ok(false);
    };
    Ok(<Resync>::new(position, end).verify(source, position, size)?.is_err())
}

/// The error of a batch whose offsets are impossible.
fn no_offsets(position: u64, stored: i64, expected: i64) -> ContentError {
    ContentError::OffsetField { position, stored, expected }
}

/// The fact of a batch with these first and last offsets; `None` if they are impossible.
fn fact(header: &BatchHeader, (first, last): (i64, i64)) -> Option<BatchFact> {
    let records = header.records_count.and_then(|count| u32::try_from(count).ok());
    let offsets = OffsetRange::inclusive(first, last)?;
    let bytes = ByteRange::sized(header.position, header.size)?;
    let fact = BatchFact::new(bytes, offsets, header.span.crc, records, header.magic)?;
    let fact = fact.with_leader_epoch(header.leader_epoch);
    Some(if header.magic == 0 && header.span.first.is_none() { fact.with_covered_offsets() } else { fact })
}

/// The first and last offset of an intact batch. The `header` of a wrapper gets the number of its messages.
///
/// # Errors
/// Memory ran out.
pub(crate) fn verified_offsets(
    batch: &RecordBatch<'_>,
    header: &mut BatchHeader,
    reader: &mut RecordReader,
) -> Result<(i64, i64), Error> {
    if let Some(first) = header.span.first {
        return Ok((first, header.last_offset));
    }
    match wrapper_content(batch, reader) {
        Ok(Some(inner)) => {
            header.records_count = i32::try_from(inner.messages).ok();
            Ok((inner.first, inner.last))
        }
        Err(error @ record::Error::OutOfMemory { .. }) => Err(error.into()),
        Ok(None) | Err(_) => {
            // `repair` corrects nothing else. What cannot be decompressed has the offset of its header.
            let fixed = with_right_header_checksum(batch)?;
            let fixed = fixed.as_ref().and_then(|(data, _)| RecordBatch::new(data, batch.position()).ok());
            let inner = fixed.and_then(|fixed| wrapper_content(&fixed, reader).ok()?);
            Ok(inner.map_or((header.last_offset, header.last_offset), |inner| (inner.first, inner.last)))
        }
    }
}
