//! Reads one file of a partition: counts the records of its batches, and compares its indexes with them.
//!
//! A file is read before the map of its partition is known, as if all its batches were in place. If the map shows that they are not,
//! it is read again with the map.

use std::ops::ControlFlow;

use super::FileToVerify;
use super::file_read::FileRead;
use super::indexes::IndexChecks;
use super::message_set::read_message_set;
use super::options::{Bounds, VerifyError, VerifyOptions};
use super::report::{CodecCounts, FindingFile, SegmentReport, SideFiles};
use super::threads::Step;
use crate::error::{ContentError, Error, ReadError};
use crate::maintain::check_batch::{BatchChecker, Counted};
use crate::map::{BatchId, ByteRange, Fact, LogMap, OffsetRange, Survey, Use};
use crate::read::batch_headers::BatchHeader;
use crate::read::log_format::LogFormat;
use crate::read::source::ReadAt;
use crate::read::span::Span;
use crate::read::summary::BatchFormat;
use crate::read::time_range::TimeRange;
use crate::read::walk::{CorruptRange, SegmentPart, walk_segment};
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::error_kind::Category;
use kafkacomp_records::record::{Batches, RecordBatch, non_conformity};

/// The map of the partition, and the number of a file that is read with it.
pub(super) type Mapped<'m> = (&'m LogMap<'m>, usize);

/// Reads a file; `None` if `step` has ended it. With `mapped`, it is a file whose batches are not all in place.
pub(super) fn read_file(
    file: &FileToVerify,
    bounds: Bounds,
    options: &VerifyOptions<'_>,
    mapped: Option<Mapped<'_>>,
    step: &Step,
) -> Result<Option<FileRead>, VerifyError> {
    let source = file.files.open().map_err(|error| Error::from(ReadError::Io(error)))?;
    match file.log_format(source.as_ref())? {
        LogFormat::MessageSet => Ok(read_message_set(source.as_ref(), file, bounds, options, step)?),
        LogFormat::Records => Ok(read_segment(source.as_ref(), file, bounds, options, mapped, step)?),
    }
}

fn read_segment(
    source: &dyn ReadAt,
    file: &FileToVerify,
    bounds: Bounds,
    options: &VerifyOptions<'_>,
    mapped: Option<Mapped<'_>>,
    step: &Step,
) -> Result<Option<FileRead>, Error> {
    let length = source.length()?;
    let mut report = SegmentReport::new(length);
    let side_files = SideFiles::read(file.files.as_ref(), &file.name, &mut report)?;
    let base_offset = file.base_offset.unwrap_or_default();
    let indexes = IndexChecks::new(&side_files, (base_offset, bounds.next), options.max_output_size, &mut report)?;
    let mut check = Check {
        report,
        survey: Survey::joined(),
        indexes,
        checker: BatchChecker::new(options.max_output_size),
        scratch: OutputBuffer::new(options.max_output_size),
        last_offset: None,
        expected: file.base_offset,
        counted: file.counted(options),
        may_be_truncated: file.may_be_truncated,
        uses: mapped.map(|(map, file)| Uses { map, file, next: 0 }),
    };
    let mut read_to = 0;
    let walked = walk_segment(source, &mut |part, end| {
        if let Err(error) = check.part(part, end) {
            return ControlFlow::Break(Some(error));
        }
        let done = end.saturating_sub(read_to);
        read_to = end;
        if step.done(done) { ControlFlow::Continue(()) } else { ControlFlow::Break(None) }
    })?;
    if let ControlFlow::Break(ended) = walked {
        return ended.map_or(Ok(None), Err);
    }
    let Check { mut report, survey, mut indexes, .. } = check;
    report.describe(&survey);
    indexes.end(&side_files, &mut report);
    Ok(Some(FileRead { log_format: LogFormat::Records, report, survey, indexes: Some(indexes) }))
}

/// The state of a check between two batches.
struct Check<'m> {
    report: SegmentReport,
    survey: Survey,
    indexes: IndexChecks,
    checker: BatchChecker,
    scratch: OutputBuffer,
    /// The last offset of the batches so far.
    last_offset: Option<i64>,
    /// The offset after the last batch.
    expected: Option<i64>,
    /// The offsets of the records to count: the first one, and the one after the last.
    counted: (i64, i64),
    may_be_truncated: bool,
    /// The uses of the batches; `None` if all are in place.
    uses: Option<Uses<'m>>,
}

/// The uses of the batches of a file, in the order of their positions.
struct Uses<'m> {
    map: &'m LogMap<'m>,
    file: usize,
    next: usize,
}

/// How a batch is used.
struct Placed {
    /// The first and last offset at which its records are delivered or, if they are not, that it states.
    offsets: (i64, i64),
    /// Whether its records are delivered from it.
    is_delivered: bool,
    /// Whether another batch has its records.
    is_repeat: bool,
    /// Whether it follows the batches before it in the file, so that the indexes have it there.
    is_in_file_order: bool,
}

impl Uses<'_> {
    /// How the batch at a position, which has these offsets, is used.
    fn at(&mut self, position: u64, offsets: (i64, i64)) -> Placed {
        let facts = self.map.files().get(self.file).map_or(&[][..], |file| file.facts);
        let before = facts.get(self.next..).unwrap_or_default().partition_point(|fact| fact.bytes().start() < position);
        self.next += before;
        let id = BatchId { file: self.file, index: self.next };
        let found = self.map.use_of(id);
        let is_in_file_order = match found {
            // Without a use, the leader's epochs exclude its offsets.
            None | Some(Use::InPlace | Use::Restored { .. }) => true,
            Some(Use::Displaced) => self.map.is_in_file_order(id),
            Some(Use::Repeat { .. } | Use::OutOfPlace { .. }) => self.map.is_beyond_window(id),
        };
        let (first, last) = offsets;
        let offsets = match found {
            Some(Use::Restored { first: right }) => (right, right.saturating_add(last.saturating_sub(first))),
            _ => offsets,
        };
        let is_delivered = matches!(found, Some(Use::InPlace | Use::Restored { .. } | Use::Displaced));
        Placed { offsets, is_delivered, is_repeat: matches!(found, Some(Use::Repeat { .. })), is_in_file_order }
    }
}

impl Check<'_> {
    fn part(&mut self, part: SegmentPart<'_>, end: u64) -> Result<(), Error> {
        match part {
            SegmentPart::Batches { data, position } => {
                Batches::whole(data, position).try_for_each(|batch| self.batch(&batch))
            }
            SegmentPart::Corrupt(range) => {
                self.report.is_truncated = range.is_truncated;
                self.report.corrupt_batches += u64::from(!(self.may_be_truncated && range.is_truncated));
                self.report.unreadable_bytes += range.length;
                self.corrupt(range)
            }
            SegmentPart::ZeroTail { length } => {
                self.report.zero_tail_bytes = length;
                match ByteRange::new(end.saturating_sub(length), end) {
                    Some(zeros) => self.survey.add(Fact::Zeros(zeros)),
                    None => Ok(()),
                }
            }
        }
    }

    fn corrupt(&mut self, range: CorruptRange) -> Result<(), Error> {
        self.indexes.lost(range.position, range.length);
        self.survey.add_corrupt(range)
    }

    /// Adds a batch whose checksum is right.
    fn batch(&mut self, batch: &RecordBatch<'_>) -> Result<(), Error> {
        let mut header = BatchHeader::of(batch);
        let at = header.position;
        let (found, span) = match self.checker.count(batch) {
            Ok(found) => (Some(found), found.span),
            Err(error) if error.category() == Category::Resource => return Err(error.into()),
            Err(error) if error.category() == Category::Corrupt => {
                self.report.corrupt_batches += 1;
                let error = ContentError::from(error);
                return self.corrupt(CorruptRange::of_batch(at, header.end(), error));
            }
            Err(error) => {
                self.report.is_exact = false;
                self.report.add_error(at, error.to_string(), None);
                (None, Span::of(batch))
            }
        };
        let offsets = (span.first.unwrap_or(span.last), span.last);
        header.records_count =
            header.records_count.or_else(|| found.and_then(|found| i32::try_from(found.records).ok()));
        if !self.survey.add_batch(&header, offsets)? {
            self.report.corrupt_batches += 1;
            self.indexes.lost(at, header.size);
            return Ok(());
        }
        let in_place = Placed { offsets, is_delivered: true, is_repeat: false, is_in_file_order: true };
        let placed = self.uses.as_mut().map_or(in_place, |uses| uses.at(at, offsets));
        if let Some(found) = found {
            self.warn(batch, &found);
            if placed.is_delivered {
                self.count(batch, &header, &found, placed.offsets)?;
            }
        }
        if placed.is_delivered || placed.is_repeat {
            self.report.extend(placed.offsets);
        }
        if placed.is_in_file_order {
            let (first, last) = placed.offsets;
            if self.expected.is_some_and(|expected| expected != first) {
                self.indexes.interrupted();
            }
            self.indexes.batch(batch, placed.offsets, self.last_offset, &mut self.report);
            self.last_offset = Some(self.last_offset.map_or(last, |known| known.max(last)));
            self.expected = self.expected.map(|_| last.saturating_add(1));
        } else {
            self.indexes.lost(at, header.size);
        }
        Ok(())
    }

    /// Warns of what Kafka accepts, but other readers may not.
    fn warn(&mut self, batch: &RecordBatch<'_>, found: &Counted) {
        let (at, wrong) = (batch.position(), found.wrong_inner_checksums);
        if wrong > 0 {
            let warning = format!("wrong checksums of {wrong} messages inside the wrapper at byte {at}");
            self.report.add(FindingFile::Log, at, false, warning);
        }
        if found.span.last != batch.last_offset() {
            let (stored, last) = (batch.offset_field(), found.span.last);
            let warning = format!(
                "offset field {stored} of the batch at byte {at} was altered: its last message has offset {last}"
            );
            self.report.add(FindingFile::Log, at, false, warning);
        }
        if let Some(found) = non_conformity(batch, &mut self.scratch) {
            self.report.add(FindingFile::Log, at, false, format!("the batch at byte {at} is {found}"));
        }
    }

    /// Counts the records of a batch that are delivered from it at these offsets.
    fn count(
        &mut self,
        batch: &RecordBatch<'_>,
        header: &BatchHeader,
        found: &Counted,
        (begin, last): (i64, i64),
    ) -> Result<(), Error> {
        let decompressed = self.checker.payload().len();
        let (first, end) = self.counted;
        let counted: Option<(u64, TimeRange)> = if begin >= first && last < end {
            Some((found.records, found.times))
        } else if begin >= end || last < first {
            None
        } else {
            Some(self.checker.count_within(batch, self.counted)?)
        };
        if counted.is_some() {
            self.report.open_transactions.add(header, found.records);
        }
        let format = BatchFormat { magic: Some(batch.magic()), compression_id: batch.attributes().compression_id() };
        let stored = batch.size_in_bytes();
        let plain = if decompressed == 0 { stored } else { decompressed };
        let counts = CodecCounts {
            batches: 1,
            records: found.records,
            stored_bytes: stored as u64,
            records_bytes: plain as u64,
        };
        let mut records = counted.map(|(records, _)| records);
        if batch.is_control_batch() {
            self.report.control_records += records.unwrap_or_default();
            records = records.map(|_| 0);
        } else if let Some((_, times)) = counted {
            self.report.times.merge(times);
        }
        self.report.count(format, counts, records);
        Ok(())
    }
}

impl FileToVerify {
    /// The offsets of its records that count.
    fn counted(&self, options: &VerifyOptions<'_>) -> (i64, i64) {
        let (first, end) = self.valid.map_or((i64::MIN, i64::MAX), |valid: OffsetRange| (valid.start(), valid.end()));
        (first.max(options.log_start_offset), end)
    }

    /// Its log format: the one that the caller says, or that its content shows, or else its name.
    fn log_format(&self, source: &dyn ReadAt) -> Result<LogFormat, VerifyError> {
        if let Some(log_format) = self.log_format {
            return Ok(log_format);
        }
        let length = source.length().map_err(ReadError::Io)?;
        let name = self.name.strip_suffix(".swap").unwrap_or(&self.name);
        let found = LogFormat::of_named_content(source, length, name)?.or_else(|| LogFormat::of_name(name));
        found.or_else(|| (length == 0).then_some(LogFormat::Records)).ok_or(VerifyError::UndecidedFormat)
    }
}
