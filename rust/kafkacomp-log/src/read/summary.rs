//! Summarizes a segment by the headers of its batches alone.
//!
//! As long as each header leads to the next one, no checksum is verified. Otherwise the batch before is verified, and the walk
//! resumes at the next intact batch, as in every other reader of segments.
//!
//! A batch of magic 2 declares how many records it has. A wrapper of magic 0 or 1 does not: its records are estimated by
//! the number of offsets since the batch before it, which is too high if compaction removed records. A wrapper of Kafka 0.7
//! has at least one record.
//!
//! Offsets that an earlier batch or segment has are not counted again; the number of records is then an estimate, because the
//! headers do not show which of a batch's records an earlier batch has, or whether both are the same.

use std::collections::BTreeMap;

use super::batch_headers::{BatchHeader, HeaderWalk, Hop};
use super::chunk::{ChunkEnd, ChunkReader};
use super::chunk_buffer::ChunkBuffer;
use super::log_format::LogFormat;
use super::open_transactions::OpenTransactions;
use super::source::{ReadAt, read_full};
use super::time_range::TimeRange;
use crate::continuity::compaction::Compaction;
use crate::continuity::missing::{MissingRange, MissingReason};
use crate::continuity::missing_ranges::MissingRanges;
use crate::error::ReadError;
use kafkacomp_records::CompressionType;
use kafkacomp_records::bytes::be_i32;
use kafkacomp_records::message_set::message::{HEADER_LENGTH_V0, SIZE_LENGTH};

/// The number of bytes of a read around corrupt batches.
const CHUNK: usize = 64 << 10;
/// Size, magic and attributes of a message of Kafka 0.7.
const MESSAGE_HEADER: usize = SIZE_LENGTH + 2;

/// A message format with a compression type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchFormat {
    /// The magic; `None` for Kafka 0.7.
    pub magic: Option<i8>,
    /// The id of the compression type, which may be unknown.
    pub compression_id: u8,
}

impl BatchFormat {
    /// The message format: the magic, or `0.7`.
    pub fn message_format(&self) -> String {
        self.magic.map_or_else(|| LogFormat::MessageSet.name().to_owned(), |magic| magic.to_string())
    }

    /// The name of the compression type; `unknown(id)` without one.
    pub fn compression_name(&self) -> String {
        let known = CompressionType::for_id(self.compression_id);
        known.map_or_else(|| format!("unknown({})", self.compression_id), |found| found.name().to_owned())
    }
}

/// The batches of one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchCounts {
    /// Batches, or top-level messages.
    pub batches: u64,
    /// Records, without control records.
    pub records: u64,
    /// Stored bytes, including headers.
    pub stored_bytes: u64,
    /// The uncompressed size of the records in bytes; `None` if only headers were read.
    pub records_bytes: Option<u64>,
}

/// How much the headers of a segment show of its number of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Certainty {
    /// It is estimated.
    Estimated,
    /// There are at least that many: a wrapper of Kafka 0.7 counts as one record.
    Minimum,
    /// The headers declare the number of records of every batch, and no offset is in two batches.
    #[default]
    Exact,
}

/// What a segment contains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentSummary {
    /// Its length in bytes.
    pub length: u64,
    /// Batches by format.
    pub counts: BTreeMap<BatchFormat, BatchCounts>,
    /// Control records.
    pub control_records: u64,
    /// What the number of records in [`counts`](Self::counts) is.
    pub certainty: Certainty,
    /// The first offset.
    pub first_offset: Option<i64>,
    /// The last offset.
    pub last_offset: Option<i64>,
    /// The timestamps in the headers of batches with records, without control batches: of the first record of each batch, and
    /// the greatest one.
    pub times: TimeRange,
    /// Offsets between the batches, and before the first one, that no batch has.
    pub missing: MissingRanges,
    /// Whether batches have fewer records than offsets, because compaction removed some.
    pub is_compacted: bool,
    /// Batches whose offsets are below those of the batch before.
    pub repeated_batches: u64,
    /// Bytes without an intact batch.
    pub corrupt_bytes: u64,
    /// Whether the last batch is truncated.
    pub is_truncated: bool,
    /// Zero bytes after the last batch.
    pub zero_tail_bytes: u64,
}

impl SegmentSummary {
    fn count(&mut self, format: BatchFormat, records: u64, size: u64) {
        let counts = self.counts.entry(format).or_default();
        counts.batches += 1;
        counts.records = counts.records.saturating_add(records);
        counts.stored_bytes = counts.stored_bytes.saturating_add(size);
    }

    fn estimate(&mut self) {
        self.certainty = Certainty::Estimated;
    }
}

/// Summarizes one segment. The open transactions are passed from segment to segment.
#[derive(Debug)]
pub struct Summarizer<'t> {
    summary: SegmentSummary,
    transactions: &'t mut OpenTransactions,
    /// The offsets that belong to the log: the first, and the one after the last.
    valid: Option<(i64, i64)>,
    /// The expected next offset.
    expected: Option<i64>,
    /// The offset after the last one of the segments before.
    counted_to: Option<i64>,
    /// Whether a corrupt range precedes the next batch.
    after_corrupt: bool,
}

impl<'t> Summarizer<'t> {
    /// A summarizer for a segment that begins at `base_offset`. Only the offsets of `valid` belong to the log. Those below
    /// `counted_to` are in the segments before.
    pub fn new(
        base_offset: Option<i64>,
        valid: Option<(i64, i64)>,
        counted_to: Option<i64>,
        compaction: Compaction,
        transactions: &'t mut OpenTransactions,
    ) -> Self {
        let expected = base_offset.map(|base| valid.map_or(base, |(first, _)| base.max(first)));
        let summary = SegmentSummary { missing: MissingRanges::new(compaction), ..SegmentSummary::default() };
        Self { summary, transactions, valid, expected, counted_to, after_corrupt: false }
    }

    /// Summarizes a segment of batches.
    ///
    /// # Errors
    /// The bytes cannot be read.
    pub fn batches(mut self, source: &dyn ReadAt) -> Result<SegmentSummary, ReadError> {
        let end = source.length()?;
        self.summary.length = end;
        let mut walk = HeaderWalk::sparse(source, 0, end);
        // A batch is counted once its size has led to the next one or to the end.
        let mut pending: Option<BatchHeader> = None;
        loop {
            match walk.next_batch()? {
                Hop::Batch(header) => {
                    if let Some(before) = pending.replace(header) {
                        self.add(&before);
                    }
                }
                Hop::End => {
                    if let Some(last) = pending {
                        self.add(&last);
                    }
                    return Ok(self.summary);
                }
                Hop::Truncated | Hop::Corrupt(_) => {
                    let from = pending.take().map_or(walk.position(), |before| before.position);
                    let next = self.resync(source, from, end)?;
                    if next >= end {
                        return Ok(self.summary);
                    }
                    walk.seek(next);
                }
            }
        }
    }

    /// Verifies the batches from `position` to the corrupt one, and returns the position of the next intact batch.
    fn resync(&mut self, source: &dyn ReadAt, position: u64, end: u64) -> Result<u64, ReadError> {
        let mut chunks = ChunkReader::new(position, end, true);
        let mut buffer = ChunkBuffer::default();
        loop {
            let begin = chunks.position();
            let mut intact = Vec::new();
            let (_, chunk_end) = chunks.read(source, &mut buffer, CHUNK, |batch| {
                batch.ensure_valid()?;
                intact.push(BatchHeader::of(batch));
                Ok(())
            })?;
            for header in &intact {
                self.add(header);
            }
            match chunk_end {
                ChunkEnd::More if chunks.position() > begin => {}
                ChunkEnd::More | ChunkEnd::End => {
                    self.summary.zero_tail_bytes = end.saturating_sub(chunks.position());
                    return Ok(end);
                }
                ChunkEnd::Truncated(_) | ChunkEnd::Corrupt(_) => {
                    let corrupt = chunks.position();
                    let next = chunks.resync(source)?;
                    self.summary.is_truncated = matches!(chunk_end, ChunkEnd::Truncated(_)) && next >= end;
                    self.summary.corrupt_bytes += next.saturating_sub(corrupt);
                    self.after_corrupt = true;
                    return Ok(next);
                }
            }
        }
    }

    fn add(&mut self, header: &BatchHeader) {
        let (first, last) = (header.span.first, header.last_offset);
        if self.valid.is_some_and(|(start, end)| last < start || first.unwrap_or(last) >= end) {
            return;
        }
        if self.expected.is_some_and(|expected| last < expected) {
            self.summary.repeated_batches += 1;
            self.summary.estimate();
            return;
        }
        let is_before = |end: Option<i64>| end.zip(first).is_some_and(|(end, first)| first < end);
        if is_before(self.expected) || is_before(self.counted_to) {
            self.summary.estimate();
        }
        let records = self.records_of(header);
        if self.counted_to.is_none_or(|end| last >= end) {
            self.count(header, records);
        } else {
            self.summary.estimate();
        }
        self.add_offsets(first, last);
        self.transactions.add(header, records);
    }

    fn count(&mut self, header: &BatchHeader, records: u64) {
        let format = BatchFormat { magic: Some(header.magic), compression_id: header.compression_id };
        if header.is_control_batch {
            self.summary.control_records += records;
            self.summary.count(format, 0, header.size);
            return;
        }
        self.summary.count(format, records, header.size);
        if records > 0 {
            self.summary.times.add(header.first_timestamp);
            self.summary.times.add(header.max_timestamp);
        }
    }

    /// The number of records of a batch: what it declares, 1 for an uncompressed message, an estimate for a wrapper.
    fn records_of(&mut self, header: &BatchHeader) -> u64 {
        let offsets = header.span.first.map(|first| header.last_offset.saturating_sub(first).saturating_add(1));
        if let Some((start, end)) = self.valid
            && (header.span.first.is_none_or(|first| first < start) || header.last_offset >= end)
        {
            self.summary.estimate();
        }
        let Some(declared) = header.records_count else {
            if header.compression_id == 0 {
                return 1;
            }
            self.summary.estimate();
            let before = self.expected.max(self.counted_to).unwrap_or(header.last_offset);
            return header.last_offset.saturating_sub(before).saturating_add(1).max(1).unsigned_abs();
        };
        // A batch cannot have more records than offsets.
        if declared < 0 || offsets.is_some_and(|offsets| i64::from(declared) > offsets) {
            self.summary.estimate();
        }
        if offsets.is_some_and(|offsets| i64::from(declared) < offsets) {
            self.summary.is_compacted = true;
        }
        declared.max(0).unsigned_abs().into()
    }

    fn add_offsets(&mut self, first: Option<i64>, last: i64) {
        let clamped =
            |offset: i64| self.valid.map_or(offset, |(start, end)| offset.clamp(start, end.saturating_sub(1)));
        let (first, last) = (first.map(clamped), clamped(last));
        let reason = if self.after_corrupt { MissingReason::Corrupt } else { MissingReason::Gap };
        // The first offset of a wrapper is unknown: it may begin where the batch before ends.
        if let (Some(expected), Some(first)) = (self.expected, first)
            && let Some(range) = MissingRange::between(expected, first, reason)
        {
            self.summary.missing.push(range);
        }
        self.after_corrupt = false;
        let begins = first.or(self.expected).unwrap_or(last);
        self.summary.first_offset.get_or_insert(begins);
        self.summary.last_offset = self.summary.last_offset.max(Some(last));
        self.expected = Some(last.saturating_add(1));
    }

    /// Summarizes a segment of Kafka 0.7. A wrapper counts as one record, the least that it can have.
    ///
    /// # Errors
    /// The bytes cannot be read.
    pub fn messages(mut self, source: &dyn ReadAt) -> Result<SegmentSummary, ReadError> {
        let end = source.length()?;
        self.summary.length = end;
        let mut position = 0;
        let mut header = [0; MESSAGE_HEADER];
        while position < end {
            source.traits().check_interrupt()?;
            let read = read_full(source, &mut header, position)?;
            let size = be_i32(&header[..read], 0).filter(|&size| size >= HEADER_LENGTH_V0 as i32);
            let next =
                size.map(|size| position.saturating_add(SIZE_LENGTH as u64).saturating_add(size.unsigned_abs().into()));
            let Some(next) = next.filter(|&next| next <= end) else {
                self.summary.corrupt_bytes = end.saturating_sub(position);
                self.summary.is_truncated = size.is_some();
                self.summary.certainty = self.summary.certainty.min(Certainty::Minimum);
                break;
            };
            let [.., magic, attributes] = header;
            let compression_id = if magic == 0 { 0 } else { attributes & 3 };
            if compression_id != 0 {
                self.summary.certainty = self.summary.certainty.min(Certainty::Minimum);
            }
            let format = BatchFormat { magic: None, compression_id };
            self.summary.count(format, 1, next.saturating_sub(position));
            // Without a base offset, offsets are positions in the file.
            let offset = self.expected.unwrap_or_default().saturating_add_unsigned(position);
            self.summary.first_offset.get_or_insert(offset);
            self.summary.last_offset = Some(offset);
            position = next;
        }
        Ok(self.summary)
    }
}
