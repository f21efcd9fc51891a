//! Checks whether readers accept a batch, and makes the only repair of a batch's content.
//!
//! Before KIP-57, Kafka wrote LZ4 frames whose header checksum also covers the magic number of the frame. In magic 0 that is
//! the rule; in magic 1 and 2 readers refuse it. If nothing else is wrong with such a batch, this byte and the checksum of the
//! batch are corrected: the one-time patch that
//! [KIP-57](https://cwiki.apache.org/confluence/display/KAFKA/KIP-57+-+Interoperable+LZ4+Framing) mentions.

use crate::read::span::Span;
use crate::read::time_range::TimeRange;
use kafkacomp_records::compress::lz4::HeaderChecksumFound;
use kafkacomp_records::error_kind::Category;
use kafkacomp_records::record::header_checksum_fix::with_right_header_checksum;
use kafkacomp_records::record::{ControlRecord, Error, RecordBatch, RecordReader, Result};

/// The result of checking a batch.
#[derive(Debug)]
pub enum Verdict {
    /// Readers accept it.
    Intact,
    /// Readers accept these bytes in its place.
    HeaderChecksumFixed {
        /// The corrected batch.
        data: Vec<u8>,
        /// The rule of the LZ4 header checksum that was found.
        rule: HeaderChecksumFound,
    },
    /// No reader accepts it.
    Corrupt(Error),
}

/// The offsets and the number of records of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The offsets; those of a wrapper are the offsets of its messages.
    pub span: Span,
    /// The number of records.
    pub records: u64,
    /// The number of messages in the wrapper with a wrong checksum, which Kafka's readers ignore.
    pub wrong_inner_checksums: u64,
    /// The timestamps of the records.
    pub times: TimeRange,
}

impl Counted {
    fn nothing(batch: &RecordBatch<'_>) -> Self {
        Self { span: Span::of(batch), records: 0, wrong_inner_checksums: 0, times: TimeRange::default() }
    }
}

/// Checks one batch after another.
#[derive(Debug)]
pub struct BatchChecker {
    reader: RecordReader,
}

impl BatchChecker {
    /// A checker for batches that decompress to at most `max_output_size` bytes.
    pub fn new(max_output_size: usize) -> Self {
        Self { reader: RecordReader::new(max_output_size) }
    }

    /// The decompressed bytes of the last batch; empty if it was not compressed.
    pub fn payload(&self) -> &[u8] {
        self.reader.payload()
    }

    /// Reads all records of `batch`, whose checksum is right.
    ///
    /// # Errors
    /// Corruption, an exceeded limit, lack of memory, or unsupported data: see [`Error::category`].
    pub fn count(&mut self, batch: &RecordBatch<'_>) -> Result<Counted> {
        let mut counted = Counted::nothing(batch);
        let is_wrapper = batch.base_offset().is_none();
        let is_control = batch.is_control_batch();
        for record in self.reader.records(batch)? {
            let record = record?;
            if is_control {
                ControlRecord::parse(record.key, record.value)?;
            }
            if is_wrapper {
                counted.span.first.get_or_insert(record.offset);
                counted.span.last = record.offset;
            }
            let is_valid = record.message.is_none_or(|message| message.is_valid());
            counted.wrong_inner_checksums = counted.wrong_inner_checksums.saturating_add(u64::from(!is_valid));
            counted.records = counted.records.saturating_add(1);
            counted.times.add(record.timestamp);
        }
        Ok(counted)
    }

    /// The number and the timestamps of the records of `batch` with the offsets from `first` to before `end`.
    ///
    /// # Errors
    /// As for [`count`](Self::count).
    pub fn count_within(&mut self, batch: &RecordBatch<'_>, (first, end): (i64, i64)) -> Result<(u64, TimeRange)> {
        let (mut records, mut times) = (0_u64, TimeRange::default());
        for record in self.reader.records(batch)? {
            let record = record?;
            if (first..end).contains(&record.offset) {
                records = records.saturating_add(1);
                times.add(record.timestamp);
            }
        }
        Ok((records, times))
    }

    /// Checks the records of `batch`, whose checksum is right, and corrects what can be corrected.
    ///
    /// # Errors
    /// Errors that are not corruption: an exceeded limit, lack of memory, an unknown compression type.
    pub fn check(&mut self, batch: &RecordBatch<'_>) -> Result<(Verdict, Counted)> {
        let error = match self.count(batch) {
            Ok(counted) => return Ok((Verdict::Intact, counted)),
            Err(error) if error.category() != Category::Corrupt => return Err(error),
            Err(error) => error,
        };
        if let Some((data, rule, counted)) = self.fix(batch, &error)? {
            return Ok((Verdict::HeaderChecksumFixed { data, rule }, counted));
        }
        Ok((Verdict::Corrupt(error), Counted::nothing(batch)))
    }

    /// Corrects the LZ4 header checksum of a copy of `batch`, if nothing else is wrong with it.
    fn fix(
        &mut self,
        batch: &RecordBatch<'_>,
        error: &Error,
    ) -> Result<Option<(Vec<u8>, HeaderChecksumFound, Counted)>> {
        if !matches!(error, Error::BatchCodec { .. }) {
            return Ok(None);
        }
        let Some((data, rule)) = with_right_header_checksum(batch)? else { return Ok(None) };
        let counted = RecordBatch::new(&data, batch.position()).and_then(|batch| self.count(&batch));
        match counted {
            Ok(counted) => Ok(Some((data, rule, counted))),
            Err(error) if error.category() == Category::Corrupt => Ok(None),
            Err(error) => Err(error),
        }
    }
}
