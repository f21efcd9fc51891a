//! What the map of a partition shows, as findings about its files.

use std::collections::{BTreeMap, BTreeSet};

use super::FileToVerify;
use super::file_read::FileRead;
use super::gaps::{VerifiedPartition, joined};
use super::indexes::IndexChecks;
use super::message_set;
use super::options::{Numbered, VerifyOptions};
use super::positions::Stored;
use super::report::{FindingFile, SegmentReport};
use super::transactions::report_unlisted;
use crate::continuity::coverage::listed;
use crate::continuity::missing::{MissingRange, MissingReason};
use crate::error::Error;
use crate::index::MAX_RELATIVE_OFFSET;
use crate::map::wording::{
    corrupt_text, different_text, end_text, end_zeros_text, epoch_text, gap_text, in_parts_text, lost_text, name_text,
    shared_positions_text, shared_text, too_far_text, zeros_text,
};
use crate::map::{
    BatchFact, BatchId, ByteRange, Fact, LastFile, LogMap, MissingOffsets, OffsetRange, Placement, Survey, SurveyedLog,
    Use,
};
use crate::read::walk::CorruptRange;

/// A partition that was judged.
pub(super) struct Findings<'a> {
    pub(super) files: &'a [FileToVerify],
    /// The names of the files of the map, and their indexes among those that are verified.
    pub(super) in_order: &'a [Numbered],
    pub(super) log: &'a SurveyedLog<'a>,
    pub(super) map: &'a LogMap<'a>,
    pub(super) options: &'a VerifyOptions<'a>,
    /// Whether it is a log of Kafka 0.7.
    pub(super) is_message_set: bool,
}

/// Two files that share offsets, by their numbers: what both have, and where they have different records.
type Shared = BTreeMap<(usize, usize), (OffsetRange, Option<i64>)>;

impl Findings<'_> {
    /// Adds the findings to the reports of the files.
    ///
    /// # Errors
    /// Records that must be compared cannot be read.
    pub(super) fn report(&self, read: Vec<FileRead>, stored: &mut Stored<'_>) -> Result<VerifiedPartition, Error> {
        let mut covered = self.map.in_offset_order().map(|each| each.offsets.len()).fold(0, u64::saturating_add);
        let mut reports: Vec<SegmentReport> = Vec::with_capacity(read.len());
        let mut indexes: Vec<Option<IndexChecks>> = Vec::with_capacity(read.len());
        for (file, FileRead { mut report, survey, indexes: checks, .. }) in self.files.iter().zip(read) {
            if file.base_offset.is_none() {
                covered = covered.saturating_add(self.record_set(file, &survey, &mut report));
            }
            reports.push(report);
            indexes.push(checks);
        }
        let missing: Vec<(usize, MissingOffsets)> = self.missing().collect();
        let named = self.named_by_facts(&missing);
        let conflicting = self.map.conflicting_files();
        for number in 0..self.in_order.len() {
            if let Some(report) = self.index_of(number).and_then(|index| reports.get_mut(index)) {
                self.file(number, &named, conflicting.contains(&number), report);
            }
        }
        self.shared(stored, &named, &mut reports)?;
        let positions = self.gaps(&missing, &named, &mut reports);
        // The leader epochs of different histories say nothing about one another.
        let faults = self.map.epoch_faults(self.options.leader_epochs);
        for fault in faults.into_iter().filter(|fault| !conflicting.contains(&fault.id.file)) {
            let batch = self.map.batch(fault.id);
            let report = self.index_of(fault.id.file).and_then(|index| reports.get_mut(index));
            if let (Some(batch), Some(report)) = (batch, report) {
                let at = batch.bytes().start();
                report.is_exact = false;
                report.add_error(at, epoch_text(at, &fault), None);
            }
        }
        let ranges = missing.iter().map(|(index, each)| (*index, range_of(each))).collect();
        let (ranges, more_missing) = listed(joined(ranges));
        for (index, (report, checks)) in reports.iter_mut().zip(indexes).enumerate() {
            report.missing.extend(ranges.iter().filter(|(file, _)| *file == index).map(|&(_, range)| range));
            let is_after_end = |range: &MissingRange| report.last_offset.is_none_or(|last| range.first_offset > last);
            let tail = report.missing.last().filter(|range| range.reason != MissingReason::Compacted);
            let is_tail_missing = tail.is_some_and(is_after_end);
            if let Some(checks) = checks {
                checks.finish(is_tail_missing, report);
            }
        }
        let mut in_order: Vec<(i64, usize, &mut SegmentReport)> = Vec::new();
        for (index, (report, file)) in reports.iter_mut().zip(self.files).enumerate() {
            in_order.extend(file.base_offset.map(|base| (base, index, report)));
        }
        in_order.sort_by_key(|&(base, index, _)| (base, index));
        report_unlisted(in_order.into_iter().map(|(base, _, report)| (base, report)));
        reports.iter_mut().for_each(SegmentReport::sort);
        Ok(VerifiedPartition { reports, missing: ranges, more_missing, covered_offsets: covered, positions })
    }

    /// The index of a file of the map among those that are verified.
    fn index_of(&self, number: usize) -> Option<usize> {
        self.in_order.get(number)?.1
    }

    fn name_of(&self, number: usize) -> &str {
        self.index_of(number).and_then(|index| self.files.get(index)).map_or("", |file| &file.name)
    }

    fn facts(&self, number: usize) -> &[Fact] {
        self.map.files().get(number).map_or(&[], |file| file.facts)
    }

    /// What is missing in the files that are verified, each range with the index of the file.
    fn missing(&self) -> impl Iterator<Item = (usize, MissingOffsets)> {
        let log = OffsetRange::new(self.options.log_start_offset, i64::MAX);
        self.map.missing().iter().filter_map(move |each| {
            let offsets = log.map_or(each.offsets, |log| each.offsets.intersection(log));
            let each = MissingOffsets { offsets, ..*each };
            Some((self.index_of(each.file)?, each)).filter(|_| !offsets.is_empty())
        })
    }

    /// The offsets that are missing because of a fact: the first one in their place that is wrong.
    fn named_by_facts(&self, missing: &[(usize, MissingOffsets)]) -> BTreeMap<BatchId, OffsetRange> {
        let mut named = BTreeMap::new();
        for (_, each) in missing.iter().filter(|(_, each)| each.reason == MissingReason::Corrupt) {
            let facts = self.facts(each.file);
            let ids = self.map.facts_around(each).map(|index| BatchId { file: each.file, index });
            let is_wrong = |id: &BatchId| match facts.get(id.index) {
                Some(Fact::Batch(_)) => {
                    matches!(self.map.use_of(*id), Some(Use::OutOfPlace { .. } | Use::Repeat { .. }))
                }
                Some(Fact::Corrupt(_) | Fact::Zeros(_)) => true,
                None => false,
            };
            if let Some(id) = ids.clone().find(|id| is_wrong(id) && !named.contains_key(id)) {
                named.insert(id, each.offsets);
            }
        }
        named
    }

    /// Reports what is wrong in a file by itself.
    fn file(
        &self,
        number: usize,
        named: &BTreeMap<BatchId, OffsetRange>,
        is_conflicting: bool,
        report: &mut SegmentReport,
    ) {
        let (facts, file) = (self.facts(number), self.index_of(number).and_then(|index| self.files.get(index)));
        let (Some(file), Some(name)) = (file, self.map.files().get(number).map(|file| file.name)) else { return };
        if let Some(first) = self.map.misnamed(number) {
            report.is_exact = false;
            report.add_error(0, name_text(first, name), None);
        }
        if self.map.is_in_parts(number) {
            report.add(FindingFile::Log, 0, false, in_parts_text());
        }
        let mut ranges = self.log.survey(number).map_or(&[][..], Survey::corrupt_ranges).iter();
        let is_closed = number + 1 < self.in_order.len() && file.valid.is_none();
        for (index, fact) in facts.iter().enumerate() {
            let id = BatchId { file: number, index };
            let missing = named.get(&id).copied();
            match fact {
                Fact::Batch(batch) => {
                    self.batch(id, batch.bytes(), missing, is_conflicting, report);
                }
                Fact::Corrupt(_) => {
                    if let Some(range) = ranges.next() {
                        self.corrupt(file, range, missing, report);
                    }
                }
                Fact::Zeros(bytes) if missing.is_some() => {
                    report.corrupt_batches += 1;
                    report.unreadable_bytes += bytes.len();
                    let text = if is_closed { zeros_text(*bytes) } else { end_zeros_text(*bytes) };
                    report.add_error(bytes.start(), text, missing);
                }
                Fact::Zeros(bytes) if is_closed => {
                    report.add(FindingFile::Log, bytes.start(), false, zeros_text(*bytes));
                }
                Fact::Zeros(bytes) => self.end_zeros(file, *bytes, report),
            }
        }
        if let (Some(base), Some(last)) = (file.base_offset, report.last_offset)
            && last.saturating_sub(base) > MAX_RELATIVE_OFFSET
            && !self.is_message_set
        {
            report.add(FindingFile::Log, 0, false, too_far_text(last));
        }
    }

    /// Reports zeros at the end of the log that were not preallocated.
    fn end_zeros(&self, file: &FileToVerify, bytes: ByteRange, report: &mut SegmentReport) {
        let is_preallocated = LastFile::is_preallocated(file.files.as_ref(), bytes.end());
        if !is_preallocated && file.valid.is_none() && !self.is_message_set {
            report.add(FindingFile::Log, bytes.start(), false, end_zeros_text(bytes));
        }
    }

    /// Reports a batch that is not in place.
    fn batch(
        &self,
        id: BatchId,
        bytes: ByteRange,
        missing: Option<OffsetRange>,
        is_conflicting: bool,
        report: &mut SegmentReport,
    ) {
        let Some(found) = self.map.use_of(id).filter(|&found| found != Use::InPlace) else { return };
        let of_other = match found {
            Use::Displaced if self.map.is_in_file_order(id) => return,
            Use::Repeat { of } => of.file != id.file,
            Use::OutOfPlace { contradicts: None } => is_conflicting,
            Use::OutOfPlace { contradicts: Some(other) } => other.file != id.file,
            Use::InPlace | Use::Displaced | Use::Restored { .. } => false,
        };
        let is_shared = of_other && self.map.is_beyond_window(id);
        report.is_exact &= is_shared && !matches!(found, Use::OutOfPlace { .. });
        // What two files share is reported once.
        if is_shared && (missing.is_none() || self.map.conflict(id).is_some()) {
            return;
        }
        match found {
            Use::Repeat { .. } => report.repeated_batches += 1,
            Use::OutOfPlace { .. } => report.corrupt_batches += 1,
            Use::InPlace | Use::Displaced | Use::Restored { .. } => {}
        }
        report.add_error(bytes.start(), self.map.text_of(id).unwrap_or_default(), missing);
    }

    fn corrupt(
        &self,
        file: &FileToVerify,
        range: &CorruptRange,
        missing: Option<OffsetRange>,
        report: &mut SegmentReport,
    ) {
        let text = if self.is_message_set { message_set::lost_text(range) } else { corrupt_text(range) };
        if file.may_be_truncated && range.is_truncated {
            report.add(FindingFile::Log, range.position, false, text);
        } else {
            report.add_error(range.position, text, missing);
        }
    }

    /// Reports the files that share offsets, each pair in the one with the later name. If offsets are missing because they have
    /// different records, that is reported where they should be.
    fn shared(
        &self,
        stored: &mut Stored<'_>,
        named: &BTreeMap<BatchId, OffsetRange>,
        reports: &mut [SegmentReport],
    ) -> Result<(), Error> {
        let mut shared = Shared::new();
        let mut reported = BTreeSet::new();
        for (id, found) in self.map.exceptions().filter(|(id, _)| self.map.is_beyond_window(*id)) {
            let (other, differs) = match found {
                Use::Repeat { of } => (of, false),
                Use::OutOfPlace { contradicts: Some(other) } => (other, true),
                _ => continue,
            };
            let (Some(batch), Some(others)) = (self.map.batch(id), self.map.batch(other)) else { continue };
            let pair = (id.file.min(other.file), id.file.max(other.file));
            if pair.0 == pair.1 {
                continue;
            }
            let own = Placement { id, offsets: batch.offsets() };
            let found = shared.entry(pair).or_insert((own.offsets, None));
            found.0 = OffsetRange::new(found.0.start().min(own.offsets.start()), found.0.end().max(own.offsets.end()))
                .unwrap_or(found.0);
            let missing = named.get(&id).copied();
            if !differs || (found.1.is_some() && missing.is_none()) {
                continue;
            }
            let different = stored.difference(own, Placement { id: other, offsets: others.offsets() })?;
            found.1 = found.1.or(different);
            if let (Some(missing), Some(offset)) = (missing, different)
                && let Some(report) = self.index_of(id.file).and_then(|index| reports.get_mut(index))
            {
                report.corrupt_batches += 1;
                report.add_error(
                    batch.bytes().start(),
                    different_text(self.name_of(other.file), offset),
                    Some(missing),
                );
                reported.insert(pair);
            }
        }
        for ((earlier, later), (offsets, different)) in shared {
            let name = self.name_of(earlier);
            let Some(report) = self.index_of(later).and_then(|index| reports.get_mut(index)) else { continue };
            if reported.contains(&(earlier, later)) {
                continue;
            }
            match different {
                Some(offset) => report.add_error(0, different_text(name, offset), None),
                None if self.is_message_set => report.add_error(0, shared_positions_text(offsets, name), None),
                None => report.add(FindingFile::Log, 0, false, shared_text(offsets, name)),
            }
        }
        Ok(())
    }

    /// Reports what is missing where nothing is corrupt. Returns the positions at which the log continues, by the index of the file
    /// and the first missing offset.
    fn gaps(
        &self,
        missing: &[(usize, MissingOffsets)],
        named: &BTreeMap<BatchId, OffsetRange>,
        reports: &mut [SegmentReport],
    ) -> BTreeMap<(usize, i64), u64> {
        let mut positions = BTreeMap::new();
        let named: BTreeSet<OffsetRange> = named.values().copied().collect();
        for &(index, ref each) in missing {
            let offsets = each.offsets;
            let Some(report) = reports.get_mut(index) else { continue };
            let next = self.facts(each.file).get(self.map.facts_around(each).end);
            let position = next.map_or(report.length, |fact| fact.bytes().start());
            let is_cut = each.reason == MissingReason::Truncated;
            let cut = self.log.truncated(each.file).filter(|_| is_cut);
            let cut = cut.map(|error| (error.position(), error.to_string()));
            let cut = cut.or_else(|| Some((position, end_text(self.map.end_witness(each).filter(|_| is_cut)?))));
            match each.reason {
                MissingReason::Gap | MissingReason::Truncated => {
                    if let Some((position, text)) = cut {
                        report.add_error(position, text, Some(offsets));
                    } else {
                        positions.insert((index, offsets.start()), position);
                        report.add_missing(position, gap_text(offsets, position), Some(offsets), true);
                    }
                }
                MissingReason::Compacted => {
                    positions.insert((index, offsets.start()), position);
                }
                _ if named.contains(&offsets) => {}
                _ => report.add_missing(position, lost_text(offsets, position), Some(offsets), false),
            }
        }
        positions
    }

    /// Reports a record set, whose offsets need not increase: offsets are missing only between the batches around corrupt bytes.
    /// Returns the number of offsets that it has.
    fn record_set(&self, file: &FileToVerify, survey: &Survey, report: &mut SegmentReport) -> u64 {
        let facts = survey.facts();
        let mut ranges = survey.corrupt_ranges().iter();
        for (index, fact) in facts.iter().enumerate() {
            let Some(range) = matches!(fact, Fact::Corrupt(_)).then(|| ranges.next()).flatten() else { continue };
            let before = facts.get(..index).and_then(|facts| facts.last()).and_then(Fact::batch);
            let after = facts.get(index..).and_then(|facts| facts.iter().find_map(Fact::batch));
            let missing = before.zip(after).and_then(|(one, other)| {
                OffsetRange::new(one.offsets().end(), other.offsets().start()).filter(|between| !between.is_empty())
            });
            self.corrupt(file, range, missing, report);
            report.missing.extend(missing.map(|offsets| MissingRange {
                first_offset: offsets.start(),
                last_offset: offsets.end() - 1,
                reason: MissingReason::Corrupt,
            }));
        }
        let mut offsets: Vec<OffsetRange> = facts.iter().filter_map(Fact::batch).map(BatchFact::offsets).collect();
        offsets.sort_unstable();
        let mut end = i64::MIN;
        let own = offsets.iter().map(|each| {
            let from = each.start().max(end);
            end = end.max(each.end());
            each.end().saturating_sub(from).max(0).unsigned_abs()
        });
        own.fold(0, u64::saturating_add)
    }
}

fn range_of(missing: &MissingOffsets) -> MissingRange {
    let reason = if missing.reason == MissingReason::Truncated { MissingReason::Gap } else { missing.reason };
    MissingRange { first_offset: missing.offsets.start(), last_offset: missing.offsets.end() - 1, reason }
}
