//! Repairs a corrupt partition, so that readers and brokers accept it.
//!
//! | fault | repair |
//! |---|---|
//! | a batch whose LZ4 header checksum alone is wrong | fixed, see [`check_batch`](super::check_batch) |
//! | an altered offset field that its neighbours determine, or leader epoch | restored |
//! | a batch that is not where its offsets belong | put there, if the [map](crate::map) places it |
//! | a wrong checksum, records that cannot be read, bytes that are not a batch | quarantined or dropped |
//! | a batch that the map does not place | quarantined or dropped |
//! | a repeated batch | dropped |
//! | a batch that is truncated by the end of the segment | quarantined or dropped |
//! | zero bytes after the last batch | dropped |
//!
//! Only corruption is repaired: an exceeded limit, lack of memory and unsupported data end the repair with an error.
//! Quarantined ranges are appended to a separate file. Indexes and producer snapshots are built from the batches that remain.

use std::ops::ControlFlow;

use super::check_batch::{BatchChecker, Verdict};
use super::partition::target::{Delivered, Exception, Missing, Source, Target};
use crate::error::{ContentError, Error, ReadError};
use crate::map::{ByteRange, OffsetRange, Use};
use crate::read::source::{ReadAt, read_full};
use crate::read::walk::{CorruptRange, SegmentPart, walk_segment};
use crate::write::LogWriter;
use crate::write::staging::StagedFile;
use kafkacomp_records::compress::lz4::HeaderChecksumFound;
use kafkacomp_records::error_kind::Category;
use kafkacomp_records::record::{Batches, RecordBatch};

/// The number of bytes of a corrupt range that are copied at once.
const COPIED: usize = 1 << 20;

/// The most repairs that are listed; further ones are only counted. Otherwise a file of noise would fill the memory.
const MAX_REPAIRS: usize = 10_000;

/// How a range of a segment was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepairAction {
    /// Its LZ4 header checksum was corrected.
    Fixed,
    /// Its offset field or leader epoch was restored.
    Restored,
    /// It was moved to where its offsets belong.
    Reordered,
    /// It was moved to the quarantine file.
    Quarantined,
    /// It was dropped.
    Dropped,
    /// It was dropped, because it is a copy of another batch.
    RepeatDropped,
    /// It was dropped, because it is a truncated batch.
    Truncated,
}

impl RepairAction {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Restored => "restored",
            Self::Reordered => "reordered",
            Self::Quarantined => "quarantined",
            Self::Dropped => "dropped",
            Self::RepeatDropped => "repeat dropped",
            Self::Truncated => "truncated",
        }
    }
}

/// A repair of a range of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The index of the segment in the source, from 0.
    pub segment: usize,
    /// The byte at which the range begins.
    pub position: u64,
    /// Its length in bytes.
    pub length: u64,
    /// What was done.
    pub action: RepairAction,
    /// The first and last offset that the new log lacks because of it, if the batches around it determine them.
    pub missing: Option<(i64, i64)>,
    /// What was wrong.
    pub reason: String,
    /// The position of the range in the quarantine file.
    pub quarantined_at: Option<u64>,
}

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepairReport {
    /// The repairs, in the order of the files.
    pub repairs: Vec<Repair>,
    /// The number of repairs that are not listed.
    pub more_repairs: u64,
    /// Batches whose LZ4 header checksum was corrected.
    pub fixed_batches: u64,
    /// Batches whose offset field or leader epoch was restored.
    pub restored_batches: u64,
    /// Repeated batches.
    pub repeated_batches: u64,
    /// Ranges that are not in the new log because they are corrupt.
    pub corrupt_ranges: u64,
    /// Bytes of the corrupt ranges.
    pub corrupt_bytes: u64,
    /// Zero bytes after the last batches.
    pub zero_tail_bytes: u64,
}

/// Writes what belongs to a log, and lists what was wrong.
#[derive(Debug)]
pub struct Repairer {
    checker: BatchChecker,
    /// Whether new segments begin where the old ones did.
    keeps_segments: bool,
    /// The name of the quarantine file, which is created with its first range.
    quarantine_name: Option<String>,
    quarantine: Option<(StagedFile, u64)>,
    report: RepairReport,
}

impl Repairer {
    /// A repairer that copies corrupt bytes to the file `quarantine` of the new folder, if a name is given.
    pub fn new(max_output_size: usize, quarantine: Option<&str>, keeps_segments: bool) -> Self {
        Self {
            checker: BatchChecker::new(max_output_size),
            keeps_segments,
            quarantine_name: quarantine.map(ToOwned::to_owned),
            quarantine: None,
            report: RepairReport::default(),
        }
    }

    fn add(&mut self, segment: usize, (position, length): (u64, u64), action: RepairAction, reason: String) {
        let quarantined_at = None;
        self.push(Repair { segment, position, length, action, missing: None, reason, quarantined_at });
    }

    /// Leaves a range out of the new log.
    fn leave_out(
        &mut self,
        source: Source<'_>,
        range: (u64, u64),
        is_truncated: bool,
        reason: String,
        writer: &LogWriter,
    ) -> Result<(), Error> {
        let quarantined_at = self.keep_range(source.bytes, range, writer)?;
        let action = match quarantined_at {
            _ if is_truncated => RepairAction::Truncated,
            Some(_) => RepairAction::Quarantined,
            None => RepairAction::Dropped,
        };
        self.count_corrupt(range.1);
        let (segment, (position, length)) = (source.segment, range);
        self.push(Repair { segment, position, length, action, missing: None, reason, quarantined_at });
        Ok(())
    }

    fn count_corrupt(&mut self, length: u64) {
        self.report.corrupt_ranges = self.report.corrupt_ranges.saturating_add(1);
        self.report.corrupt_bytes = self.report.corrupt_bytes.saturating_add(length);
    }

    fn push(&mut self, repair: Repair) {
        if self.report.repairs.len() < MAX_REPAIRS {
            self.report.repairs.push(repair);
        } else {
            self.report.more_repairs = self.report.more_repairs.saturating_add(1);
        }
    }

    /// Appends bytes to the quarantine file, if there is one, and returns their position in it.
    fn keep(&mut self, data: &[u8], writer: &LogWriter) -> Result<Option<u64>, Error> {
        if let Some(name) = self.quarantine_name.as_ref().filter(|_| self.quarantine.is_none()) {
            self.quarantine = Some((writer.staging().create(name)?, 0));
        }
        let Some((file, length)) = &mut self.quarantine else { return Ok(None) };
        file.append(data)?;
        let at = *length;
        *length = length.saturating_add(data.len() as u64);
        Ok(Some(at))
    }

    fn keep_range(
        &mut self,
        source: &dyn ReadAt,
        (position, length): (u64, u64),
        writer: &LogWriter,
    ) -> Result<Option<u64>, Error> {
        if self.quarantine_name.is_none() {
            return Ok(None);
        }
        let mut piece = vec![0; COPIED];
        let mut done = 0_u64;
        let mut kept_at = None;
        while done < length {
            let size = length.saturating_sub(done).min(COPIED as u64) as usize;
            let place = &mut piece[..size];
            let read = read_full(source, place, position.saturating_add(done)).map_err(ReadError::from)?;
            let at = self.keep(&place[..read], writer)?;
            kept_at = kept_at.or(at);
            if read < size {
                break;
            }
            done = done.saturating_add(size as u64);
        }
        Ok(kept_at)
    }
}

impl Target for Repairer {
    const IS_STRICT: bool = false;
    type Report = RepairReport;

    fn restart(&mut self) -> Result<(), Error> {
        self.quarantine = None;
        self.report = RepairReport::default();
        Ok(())
    }

    fn begin_segment(&mut self, base_offset: i64, writer: &mut LogWriter) -> Result<(), Error> {
        if self.keeps_segments { writer.begin_segment(base_offset) } else { Ok(()) }
    }

    fn batch(&mut self, delivered: &Delivered<'_>, writer: &mut LogWriter) -> Result<Option<ContentError>, Error> {
        let Delivered { batch, segment, offset_text, epoch_text } = delivered;
        let range = (batch.position(), batch.size_in_bytes() as u64);
        let fixed = match self.checker.check(batch)?.0 {
            Verdict::Intact => None,
            Verdict::HeaderChecksumFixed { data, rule } => Some((data, rule)),
            Verdict::Corrupt(error) => return Ok(Some(error.into())),
        };
        let appended = match &fixed {
            Some((data, _)) => writer.append(data),
            None => writer.append_batch(batch),
        };
        if let Some(error) = refused(appended, batch)? {
            return Ok(Some(error));
        }
        if let Some((_, rule)) = fixed {
            self.report.fixed_batches = self.report.fixed_batches.saturating_add(1);
            let reason = match rule {
                HeaderChecksumFound::WithMagic => "the LZ4 header checksum was the broken one of KIP-57",
                _ => "the LZ4 header checksum was wrong",
            };
            self.add(*segment, range, RepairAction::Fixed, reason.to_owned());
        }
        let restored: Vec<&str> = offset_text.iter().chain(epoch_text).map(String::as_str).collect();
        if !restored.is_empty() {
            self.report.restored_batches = self.report.restored_batches.saturating_add(1);
            self.add(*segment, range, RepairAction::Restored, restored.join("; "));
        }
        Ok(None)
    }

    fn flush(&mut self, _: &mut LogWriter) -> Result<(), Error> {
        Ok(())
    }

    fn exception(&mut self, source: Source<'_>, exception: Exception<'_>, writer: &mut LogWriter) -> Result<(), Error> {
        let Exception { batch, batch_use, text } = exception;
        let range = (batch.bytes().start(), batch.bytes().len());
        match batch_use {
            // It is listed when it is written.
            Use::InPlace | Use::Restored { .. } => {}
            Use::Displaced => self.add(source.segment, range, RepairAction::Reordered, text),
            Use::Repeat { .. } => {
                self.report.repeated_batches = self.report.repeated_batches.saturating_add(1);
                self.add(source.segment, range, RepairAction::RepeatDropped, text);
            }
            Use::OutOfPlace { .. } => self.leave_out(source, range, false, text, writer)?,
        }
        Ok(())
    }

    fn corrupt(&mut self, source: Source<'_>, range: &CorruptRange, writer: &mut LogWriter) -> Result<(), Error> {
        let CorruptRange { position, length, ref error, is_truncated, .. } = *range;
        self.leave_out(source, (position, length), is_truncated, error.to_string(), writer)
    }

    fn zeros(&mut self, segment: usize, bytes: ByteRange, missing: Option<OffsetRange>) -> Result<(), Error> {
        self.report.zero_tail_bytes = self.report.zero_tail_bytes.saturating_add(bytes.len());
        if missing.is_some() {
            let reason = "zero bytes at the end of the segment".to_owned();
            self.count_corrupt(bytes.len());
            self.add(segment, (bytes.start(), bytes.len()), RepairAction::Dropped, reason);
        }
        Ok(())
    }

    fn missing(&mut self, missing: &[Missing]) {
        use RepairAction::{Dropped, Quarantined, Truncated};
        let place = |repair: &Repair| (repair.segment, repair.position);
        self.report.repairs.sort_by_key(place);
        for Missing { segment, bytes, offsets } in missing {
            let start = self.report.repairs.partition_point(|repair| place(repair) < (*segment, bytes.start()));
            let end = self.report.repairs.partition_point(|repair| place(repair) < (*segment, bytes.end()));
            for repair in self.report.repairs.get_mut(start..end).unwrap_or_default() {
                if matches!(repair.action, Quarantined | Dropped | Truncated) {
                    repair.missing.get_or_insert((offsets.start(), offsets.end() - 1));
                }
            }
        }
    }

    fn take_warnings(&mut self, _: usize) -> Vec<String> {
        Vec::new()
    }

    fn finish(self, _: &mut LogWriter) -> Result<RepairReport, Error> {
        if let Some((file, _)) = self.quarantine {
            file.finish()?;
        }
        Ok(self.report)
    }
}

/// Why a batch cannot be in a log, if that is its own fault.
fn refused(appended: Result<(), Error>, batch: &RecordBatch<'_>) -> Result<Option<ContentError>, Error> {
    match appended {
        Ok(()) => Ok(None),
        Err(Error::Content(error)) if matches!(error.category(), Category::Corrupt | Category::Rejected) => {
            Ok(Some(error))
        }
        Err(Error::OffsetOrder { previous, .. }) => Ok(Some(wrong_offset(batch, previous.saturating_add(1)))),
        // Its last offset is too far from its first one.
        Err(Error::BatchTooLarge { first, .. }) => Ok(Some(wrong_offset(batch, first))),
        Err(error) => Err(error),
    }
}

fn wrong_offset(batch: &RecordBatch<'_>, expected: i64) -> ContentError {
    ContentError::OffsetField { position: batch.position(), stored: batch.offset_field(), expected }
}

/// The first offset of a segment without a base offset in its name; `None` without a batch.
///
/// # Errors
/// [`ReadError`] if the bytes cannot be read.
pub fn first_offset(source: &dyn ReadAt, max_output_size: usize) -> Result<Option<i64>, ReadError> {
    let mut reader = kafkacomp_records::record::RecordReader::new(max_output_size);
    let mut found = None;
    let _ = walk_segment(source, &mut |part, _| {
        if let SegmentPart::Batches { data, position } = part {
            let first = Batches::new(data, position).next().and_then(Result::ok);
            found = first.map(|batch| reader.base_offset(&batch).unwrap_or_else(|_| batch.last_offset()));
        }
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}
