//! Repairs a corrupt partition, so that readers and brokers accept it.
//!
//! | fault | repair |
//! |---|---|
//! | a batch whose LZ4 header checksum alone is wrong | fixed, see [`check_batch`](super::check_batch) |
//! | an altered offset field or leader epoch that the batches around it determine | restored |
//! | a batch in the place of another one of the segment, with none missing | put in order |
//! | a wrong checksum, records that cannot be read, bytes that are not a batch | quarantined or dropped |
//! | a batch whose offsets or leader epoch cannot be right and cannot be determined | quarantined or dropped |
//! | a repeated batch | dropped |
//! | a batch that is truncated by the end of the segment | quarantined or dropped |
//! | zero bytes after the last batch | dropped |
//!
//! Only corruption is repaired: an exceeded limit, lack of memory and unsupported data end the repair with an error.
//! Quarantined ranges are appended to a separate file. Indexes and producer snapshots are built from the batches that remain.

use std::ops::ControlFlow;

use super::check_batch::{BatchChecker, Verdict};
use crate::compress::Compression;
use crate::compress::lz4::HeaderChecksumFound;
use crate::error_kind::Category;
use crate::log::continuity::missing::{MissingRange, MissingReason};
use crate::log::continuity::missing_ranges::MissingRanges;
use crate::log::continuity::sequence::{
    Content, EpochFault, Judgement, Place, SegmentBounds, SequenceReport, Visitor, walk_in_order,
};
use crate::log::error::{ContentError, Error, ReadError};
use crate::log::read::source::{ReadAt, read_full};
use crate::log::read::walk::{CorruptRange, SegmentPart, walk_segment};
use crate::log::write::LogWriter;
use crate::log::write::staging::StagedFile;
use crate::record::{Batches, Recompressor, RecordBatch};

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
    /// It was in the place of another batch and was moved to where its offsets belong.
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

/// Repairs one segment after another into one writer.
#[derive(Debug)]
pub struct Repairer {
    checker: BatchChecker,
    trimmer: Recompressor,
    /// The name of the quarantine file, which is created with its first range.
    quarantine_name: Option<String>,
    quarantine: Option<(StagedFile, u64)>,
    report: RepairReport,
    segment: usize,
}

impl Repairer {
    /// A repairer that copies corrupt bytes to the file `quarantine` of the new folder, if a name is given.
    pub fn new(max_output_size: usize, quarantine: Option<&str>) -> Self {
        Self {
            checker: BatchChecker::new(max_output_size),
            trimmer: Recompressor::new(Compression::of(crate::CompressionType::None), max_output_size),
            quarantine_name: quarantine.map(ToOwned::to_owned),
            quarantine: None,
            report: RepairReport::default(),
            segment: 0,
        }
    }

    /// Repairs the segment with this index in the source. Records with offsets below `from`, which other segments have, are
    /// dropped. `progress` is called repeatedly with the number of bytes read so far; [`ControlFlow::Break`] ends the work.
    ///
    /// # Errors
    /// An I/O error, or one that is not corruption: an exceeded limit, lack of memory, an unknown compression type.
    pub fn segment<B>(
        &mut self,
        source: &dyn ReadAt,
        index: usize,
        bounds: SegmentBounds<'_>,
        from: i64,
        writer: &mut LogWriter,
        progress: &mut dyn FnMut(u64) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B, SequenceReport>, Error> {
        self.segment = index;
        let base_offset = bounds.base_offset;
        let mut visitor =
            SegmentRepair { repairer: self, writer, base_offset, from, lost: MissingRanges::default(), progress };
        let walked = walk_in_order(source, bounds, &mut visitor)?;
        let lost = std::mem::take(&mut visitor.lost);
        Ok(walked.map_continue(|found| SequenceReport { missing: found.missing.merged(&lost), ..found }))
    }

    /// Syncs the quarantine file and returns the report.
    ///
    /// # Errors
    /// An I/O error.
    pub fn finish(mut self) -> Result<RepairReport, Error> {
        if let Some((file, _)) = self.quarantine {
            file.finish()?;
        }
        self.report.repairs.sort_by_key(|repair| (repair.segment, repair.position));
        Ok(self.report)
    }

    fn add(&mut self, range: (u64, u64), action: RepairAction, missing: Option<(i64, i64)>, reason: String) {
        let (position, length) = range;
        self.push(Repair { segment: self.segment, position, length, action, missing, reason, quarantined_at: None });
    }

    /// Records a range that is not in the new log.
    fn add_corrupt(
        &mut self,
        (position, length): (u64, u64),
        is_truncated: bool,
        missing: Option<(i64, i64)>,
        reason: String,
        quarantined_at: Option<u64>,
    ) {
        let action = match quarantined_at {
            _ if is_truncated => RepairAction::Truncated,
            Some(_) => RepairAction::Quarantined,
            None => RepairAction::Dropped,
        };
        self.report.corrupt_ranges = self.report.corrupt_ranges.saturating_add(1);
        self.report.corrupt_bytes = self.report.corrupt_bytes.saturating_add(length);
        self.push(Repair { segment: self.segment, position, length, action, missing, reason, quarantined_at });
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
        if let Some(name) = self.quarantine_name.take() {
            self.quarantine = Some((writer.staging().create(&name)?, 0));
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
        if self.quarantine.is_none() && self.quarantine_name.is_none() {
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

/// The repair of one segment.
struct SegmentRepair<'a, B> {
    repairer: &'a mut Repairer,
    writer: &'a mut LogWriter,
    /// The offset in the segment's name; `None` for a captured record set, whose offsets are not judged.
    base_offset: Option<i64>,
    from: i64,
    /// The offsets of batches that are in order but were dropped.
    lost: MissingRanges,
    progress: &'a mut dyn FnMut(u64) -> ControlFlow<B>,
}

impl<B> Visitor for SegmentRepair<'_, B> {
    type Break = B;
    type Detail = Verdict;

    fn read(&mut self, batch: &RecordBatch<'_>) -> Result<Content<Verdict>, Error> {
        let (verdict, counted) = self.repairer.checker.check(batch)?;
        let is_corrupt = matches!(verdict, Verdict::Corrupt(_));
        Ok(Content { span: counted.span, is_corrupt, records: Some(counted.records), detail: verdict })
    }

    fn batch(
        &mut self,
        batch: &RecordBatch<'_>,
        content: Content<Verdict>,
        judgement: &Judgement,
    ) -> Result<(), Error> {
        let range = (batch.position(), batch.size_in_bytes() as u64);
        let (first, last) = (judgement.span.first.unwrap_or(judgement.span.last), judgement.span.last);
        match judgement.place {
            Place::Repeated => {
                self.repairer.report.repeated_batches = self.repairer.report.repeated_batches.saturating_add(1);
                let reason = format!("offsets {first} to {last} are there already");
                self.repairer.add(range, RepairAction::RepeatDropped, None, reason);
                return Ok(());
            }
            Place::Misplaced { expected } => {
                let error = ContentError::OffsetField { position: range.0, stored: batch.offset_field(), expected };
                return self.leave_out(batch, judgement.missing, error.to_string());
            }
            _ => {}
        }
        if let Some(expected) = self.base_offset.filter(|_| last < self.from) {
            if first >= expected {
                return Ok(());
            }
            // The name is wrong: the segments before do not necessarily have these records.
            let error = ContentError::OffsetField { position: range.0, stored: batch.offset_field(), expected };
            return self.lose(batch, judgement, error.to_string());
        }
        let fixed = match content.detail {
            Verdict::Intact => None,
            Verdict::HeaderChecksumFixed { data, rule } => Some((data, rule)),
            Verdict::Corrupt(error) => return self.leave_out(batch, judgement.missing, error.to_string()),
        };
        if let Some(EpochFault { stored, restored: None }) = judgement.epoch {
            let error = ContentError::LeaderEpoch { position: range.0, stored };
            return self.lose(batch, judgement, error.to_string());
        }
        let data = fixed.as_ref().map_or(batch.data(), |(data, _)| data);
        let expected = match judgement.place {
            Place::PartlyRepeated { expected } => expected.max(self.from),
            _ => self.from,
        };
        if let Err(error) = self.append(data, batch.position(), (first, expected))? {
            return self.lose(batch, judgement, error.to_string());
        }
        if let Some((_, rule)) = fixed {
            self.repairer.report.fixed_batches = self.repairer.report.fixed_batches.saturating_add(1);
            let reason = match rule {
                HeaderChecksumFound::WithMagic => "the LZ4 header checksum was the broken one of KIP-57",
                _ => "the LZ4 header checksum was wrong",
            };
            self.repairer.add(range, RepairAction::Fixed, None, reason.to_owned());
        }
        self.note_restored(range, judgement);
        Ok(())
    }

    fn corrupt(&mut self, source: &dyn ReadAt, range: &CorruptRange, missing: Option<(i64, i64)>) -> Result<(), Error> {
        let CorruptRange { position, length, ref error, is_truncated, .. } = *range;
        let kept_at = self.repairer.keep_range(source, (position, length), self.writer)?;
        self.repairer.add_corrupt((position, length), is_truncated, missing, error.to_string(), kept_at);
        Ok(())
    }

    fn gap(&mut self, _: u64, _: (i64, i64)) -> Result<(), Error> {
        Ok(())
    }

    fn truncated(&mut self, _: &ContentError, _: (i64, i64)) -> Result<(), Error> {
        Ok(())
    }

    fn zero_tail(&mut self, position: u64, length: u64, missing: Option<(i64, i64)>) -> Result<(), Error> {
        let report = &mut self.repairer.report;
        report.zero_tail_bytes = report.zero_tail_bytes.saturating_add(length);
        if missing.is_some() {
            let reason = "zero bytes at the end of a closed segment".to_owned();
            self.repairer.add_corrupt((position, length), false, missing, reason, None);
        }
        Ok(())
    }

    fn progress(&mut self, position: u64) -> ControlFlow<B> {
        (self.progress)(position)
    }
}

impl<B> SegmentRepair<'_, B> {
    /// Appends the records of the batch in `data` from offset `expected` on. The inner error is that of a corrupt batch.
    fn append(
        &mut self,
        data: &[u8],
        position: u64,
        (first, expected): (i64, i64),
    ) -> Result<Result<(), Error>, Error> {
        let batch = RecordBatch::new(data, position).map_err(Error::from);
        let appended = if self.base_offset.is_some() && first < expected {
            let mut out = Vec::new();
            batch
                .and_then(|batch| Ok(self.repairer.trimmer.push_from(&batch, expected, &mut out)?))
                .and_then(|()| self.writer.append(&out))
        } else {
            batch.and_then(|batch| self.writer.append_batch(&batch))
        };
        match appended {
            Err(Error::Content(error)) if !matches!(error.category(), Category::Corrupt | Category::Rejected) => {
                Err(error.into())
            }
            Err(error @ (Error::Read(_) | Error::Io { .. } | Error::Exists { .. } | Error::Corrupt { .. })) => {
                Err(error)
            }
            Err(error @ (Error::Content(_) | Error::OffsetOrder { .. } | Error::BatchTooLarge { .. })) => {
                Ok(Err(error))
            }
            Ok(()) => Ok(Ok(())),
        }
    }

    fn note_restored(&mut self, range: (u64, u64), judgement: &Judgement) {
        let mut reasons = Vec::new();
        if let Place::Reordered { expected } = judgement.place {
            let reason = format!("it stood in the place of the batch of offset {expected}");
            self.repairer.add(range, RepairAction::Reordered, None, reason);
        }
        if let Place::Restored { stored, offset_field } = judgement.place {
            reasons.push(format!(
                "offset field restored from {stored} to {offset_field}, determined by the batches before and after"
            ));
        }
        if let Some(EpochFault { stored, restored: Some(restored) }) = judgement.epoch {
            reasons.push(format!(
                "leader epoch restored from {stored} to {restored}, determined by the batches before and after"
            ));
        }
        if !reasons.is_empty() {
            self.repairer.report.restored_batches = self.repairer.report.restored_batches.saturating_add(1);
            self.repairer.add(range, RepairAction::Restored, None, reasons.join("; "));
        }
    }

    /// Drops a batch that is in order.
    fn lose(&mut self, batch: &RecordBatch<'_>, judgement: &Judgement, reason: String) -> Result<(), Error> {
        if let Some((first_offset, last_offset)) = judgement.missing.filter(|_| self.base_offset.is_some()) {
            self.lost.push(MissingRange { first_offset, last_offset, reason: MissingReason::Corrupt });
        }
        self.leave_out(batch, judgement.missing, reason)
    }

    fn leave_out(&mut self, batch: &RecordBatch<'_>, missing: Option<(i64, i64)>, reason: String) -> Result<(), Error> {
        let kept_at = self.repairer.keep(batch.data(), self.writer)?;
        let range = (batch.position(), batch.size_in_bytes() as u64);
        let missing = missing.filter(|_| self.base_offset.is_some());
        self.repairer.add_corrupt(range, false, missing, reason, kept_at);
        Ok(())
    }
}

/// The first offset of a segment without a base offset in its name; `None` without a batch.
///
/// # Errors
/// [`ReadError`] if the bytes cannot be read.
pub fn first_offset(source: &dyn ReadAt, max_output_size: usize) -> Result<Option<i64>, ReadError> {
    let mut reader = crate::record::RecordReader::new(max_output_size);
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
