//! Surveys: the facts of a segment file. The only I/O of a map.
//!
//! | survey | reads | finds |
//! |---|---|---|
//! | [`Survey::headers`] | the header of each batch | batches up to the first position that no header leads to |
//! | [`Survey::verified`] | all bytes | intact batches, and the corrupt bytes between them |
//!
//! If the offsets of a header survey increase, it is enough: a batch whose checksum turns out to be wrong later changes no other
//! verdict, because a part of an increasing sequence increases.

use std::ops::ControlFlow;

use super::facts::{BatchFact, Fact};
use super::ranges::{ByteRange, OffsetRange};
use crate::log::error::{ContentError, ReadError};
use crate::log::read::batch_headers::{BatchHeader, HeaderWalk, Hop};
use crate::log::read::chunk::ChunkReader;
use crate::log::read::implied_offsets::wrapper_offsets;
use crate::log::read::source::ReadAt;
use crate::log::read::walk::{SegmentPart, walk_chunks};
use crate::memory::{self, OutOfMemory};
use crate::record::{Batches, Error, RecordBatch, RecordReader};

/// The facts of a segment file from some position on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    facts: Vec<Fact>,
    errors: Vec<ContentError>,
    end: u64,
}

impl Survey {
    /// Follows the sizes in the headers of the batches from the one at `from` on. Checksums are not verified. The offsets of a
    /// wrapper are only its last one.
    ///
    /// # Errors
    /// The bytes cannot be read, or memory ran out.
    pub fn headers(source: &dyn ReadAt, from: u64) -> Result<Self, ReadError> {
        let mut survey = Self { end: from, ..Self::default() };
        let mut walk = HeaderWalk::sparse(source, from, source.length()?);
        while let Hop::Batch(header) = walk.next_batch()? {
            let Some(fact) = header_fact(&header) else { break };
            survey.push(Fact::Batch(fact)).map_err(std::io::Error::from)?;
        }
        Ok(survey)
    }

    /// Verifies the checksums of the batches from the one at `from` on, and finds the next intact one after corrupt bytes.
    /// Wrappers are decompressed to at most `max_output_size` bytes, because only their records have their first offsets.
    ///
    /// # Errors
    /// The bytes cannot be read, or memory ran out. Bytes that the storage cannot read are corrupt if `source` replaces them.
    pub fn verified(source: &dyn ReadAt, from: u64, max_output_size: usize) -> Result<Self, ReadError> {
        let mut survey = Self { end: from, ..Self::default() };
        let mut reader = RecordReader::new(max_output_size);
        let mut chunks = ChunkReader::new(from, source.length()?, true);
        let walked = walk_chunks(source, &mut chunks, &mut |part, end| match survey.part(part, end, &mut reader) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        })?;
        match walked {
            ControlFlow::Continue(()) => Ok(survey),
            ControlFlow::Break(error) => Err(ReadError::Io(error.into())),
        }
    }

    /// What was found, in the order of positions.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Why the corrupt bytes are corrupt: one error for each [`Fact::Corrupt`], in their order.
    pub fn errors(&self) -> &[ContentError] {
        &self.errors
    }

    /// The position that the survey has reached. A verified one reaches the end of the file.
    pub fn end(&self) -> u64 {
        self.end
    }

    fn push(&mut self, fact: Fact) -> Result<(), OutOfMemory> {
        self.end = fact.bytes().end();
        memory::push(&mut self.facts, fact)
    }

    fn push_corrupt(&mut self, start: u64, end: u64, error: ContentError) -> Result<(), OutOfMemory> {
        if let Some(bytes) = ByteRange::new(start, end) {
            self.push(Fact::Corrupt(bytes))?;
            memory::push(&mut self.errors, error)?;
        }
        Ok(())
    }

    /// Adds a part of the file that ends at `end`.
    fn part(&mut self, part: SegmentPart<'_>, end: u64, reader: &mut RecordReader) -> Result<(), OutOfMemory> {
        match part {
            SegmentPart::Batches { data, position } => {
                // The chunk consists of intact batches only.
                for batch in Batches::new(data, position).map_while(Result::ok) {
                    self.batch(&batch, reader)?;
                }
                Ok(())
            }
            SegmentPart::Corrupt(range) => self.push_corrupt(range.position, end, range.error),
            SegmentPart::ZeroTail { length } => match end.checked_sub(length).and_then(|at| ByteRange::new(at, end)) {
                Some(bytes) => self.push(Fact::Zeros(bytes)),
                None => Ok(()),
            },
        }
    }

    /// Adds an intact batch. If its offsets are impossible (the last one is below the first, or no offset is left after it), its
    /// bytes are corrupt.
    fn batch(&mut self, batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<(), OutOfMemory> {
        if let Some(fact) = verified_fact(batch, reader)? {
            return self.push(Fact::Batch(fact));
        }
        let before = self.facts.iter().rev().find_map(Fact::batch);
        let expected = before.map_or(0, |before| before.offsets().end());
        let (position, stored) = (batch.position(), batch.offset_field());
        let error = ContentError::OffsetField { position, stored, expected };
        self.push_corrupt(position, position + batch.size_in_bytes() as u64, error)
    }
}

/// The fact of a header; `None` if its offsets are impossible.
fn header_fact(header: &BatchHeader) -> Option<BatchFact> {
    let first = header.span.first.unwrap_or(header.last_offset);
    let records = header.records_count.and_then(|count| u32::try_from(count).ok());
    let offsets = OffsetRange::inclusive(first, header.last_offset)?;
    BatchFact::new(ByteRange::sized(header.position, header.size)?, offsets, header.span.crc, records, header.magic)
}

/// The fact of an intact batch; `None` if its offsets are impossible.
fn verified_fact(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<Option<BatchFact>, OutOfMemory> {
    let header = BatchHeader::of(batch);
    if header.span.first.is_some() {
        return Ok(header_fact(&header));
    }
    let inner = match wrapper_offsets(batch, reader) {
        Ok(inner) => inner,
        Err(Error::OutOfMemory { bytes, .. }) => return Err(OutOfMemory { bytes: bytes as usize }),
        // What cannot be decompressed has the offset of its header.
        Err(_) => None,
    };
    let (first, last) = inner.unwrap_or((header.last_offset, header.last_offset));
    Ok(OffsetRange::inclusive(first, last).and_then(|offsets| {
        BatchFact::new(ByteRange::sized(header.position, header.size)?, offsets, header.span.crc, None, header.magic)
    }))
}
