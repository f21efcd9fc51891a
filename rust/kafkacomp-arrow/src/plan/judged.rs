//! A partition of which something is not where it should be: what is read of it, in the order of offsets, and what is wrong.
//!
//! As long as each batch continues the one before it, no other file is read to judge it. Otherwise all files of the partition are
//! surveyed ([`kafkacomp_log::map`]), and the map says where reading continues.

mod files;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kafkacomp_log::map::{
    BatchId, ByteRange, Fact, Finding, Hints, LastFile, LogFile, LogMap, MissingOffsets, OffsetRange, Placement,
    StoredRecords, Stretch, SurveyedLog, Use, map_of, wording,
};
use kafkacomp_log::{BatchChecker, Compaction, ContentError, MissingRange, MissingReason, OpenSegment};
use kafkacomp_records::Category;

use crate::options::{Partition, ScanOptions};
use crate::report::{ScanError, SkippedRange};
use files::{Files, OpenedFile};

/// A part of a segment that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The index of the segment: see [`Partition::segment`].
    pub index: usize,
    /// The bytes; `None` for the range of the segment that is read.
    pub bytes: Option<(u64, u64)>,
    /// The offset at which it begins, and the one after its last; `None` if it is not judged.
    pub offsets: Option<(i64, i64)>,
    /// The offset with which the bytes begin, if it is known.
    pub expected: Option<i64>,
    /// The base offset that its only batch should have.
    pub restored: Option<i64>,
}

impl Piece {
    /// A segment that is not judged yet.
    pub fn of_segment(index: usize) -> Self {
        Self { index, bytes: None, offsets: None, expected: None, restored: None }
    }
}

/// What is wrong at some place of the log.
#[derive(Debug)]
pub struct Wrong {
    /// The offset at which a reader in the order of offsets comes to it.
    pub at: i64,
    /// The error of a scan with `on_error="raise"`; `None` if that continues, too.
    pub error: Option<ScanError>,
    /// The bytes that a scan with `on_error="skip"` skips.
    pub skipped: Option<SkippedRange>,
    /// A warning instead.
    pub warning: Option<String>,
}

impl Wrong {
    /// What ends reading after everything that could be read.
    fn at_the_end(error: ScanError) -> Self {
        let skipped = match &error {
            ScanError::Shrunk { segment, length, expected } => {
                Some(SkippedRange::of(segment, *length, expected.saturating_sub(*length), &error))
            }
            _ => None,
        };
        Self { at: i64::MAX - 1, error: Some(error), skipped, warning: None }
    }
}

/// The judgement of a partition.
#[derive(Debug, Default)]
pub struct Judged {
    /// What is read, in the order of offsets.
    pub pieces: Vec<Piece>,
    /// The first offset that is read and the one after the last, if the bytes are as headers show them.
    pub span: Option<(i64, i64)>,
    /// The offset that the log had reached, if other files show one.
    pub reached: Option<i64>,
    /// Of the batches that are not where their headers say, the offset after the ones that a header states, and the one at which the log
    /// continues after the batch.
    pub continuations: Vec<(i64, i64)>,
    /// What is wrong, in the order of offsets.
    pub wrong: Vec<Wrong>,
    /// The missing offsets with their reasons, in order, and the segments that should have them.
    missing: Vec<(Arc<str>, MissingRange)>,
}

impl Judged {
    /// The parts of a range of missing offsets, each with the segment that should have it. Offsets that only reading has shown to be
    /// missing are of `segment` and missing for `reason`.
    pub fn parts(
        &self,
        range: MissingRange,
        segment: &Arc<str>,
        compaction: Compaction,
        found: &mut dyn FnMut(&Arc<str>, MissingRange),
    ) {
        let MissingRange { first_offset: mut from, last_offset, reason } = range;
        let rest = |from: i64, until: i64, found: &mut dyn FnMut(&Arc<str>, MissingRange)| {
            if let Some(range) = MissingRange::between(from, until, reason) {
                compaction.parts(range).for_each(|part| found(segment, part));
            }
        };
        let first = self.missing.partition_point(|(_, known)| known.last_offset < from);
        for (place, known) in self.missing.get(first..).unwrap_or_default() {
            if known.first_offset > last_offset {
                break;
            }
            rest(from, known.first_offset, found);
            let first_offset = known.first_offset.max(from);
            let last_offset = known.last_offset.min(last_offset);
            // Reading shows best why bytes cannot be used, and that compaction does not explain what is missing next to them.
            let is_next = known.reason == MissingReason::Compacted && place == segment;
            let is_read = reason != MissingReason::Gap && (known.reason == MissingReason::Corrupt || is_next);
            let reason = if is_read { reason } else { known.reason };
            found(place, MissingRange { first_offset, last_offset, reason });
            from = last_offset.saturating_add(1);
        }
        rest(from, last_offset.saturating_add(1), found);
    }

    /// The known missing offsets from one offset to before another.
    pub fn between(&self, (from, until): (i64, i64), found: &mut dyn FnMut(&Arc<str>, MissingRange)) {
        let first = self.missing.partition_point(|(_, known)| known.last_offset < from);
        let known = self.missing.get(first..).unwrap_or_default().iter();
        for (segment, known) in known.take_while(|(_, known)| known.first_offset < until) {
            let end = known.last_offset.saturating_add(1).min(until);
            let range = MissingRange::between(known.first_offset.max(from), end, known.reason);
            if let Some(range) = range {
                found(segment, range);
            }
        }
    }

    /// The offset after the last missing one.
    pub fn missing_end(&self) -> Option<i64> {
        self.missing.last().map(|(_, range)| range.last_offset.saturating_add(1))
    }
}

/// Judges a partition. Its segments are those that are read and those of its context.
///
/// # Errors
/// A segment cannot be read, or a batch cannot be decoded for a reason that the scan does not skip.
pub fn judge(partition: &Partition, compaction: Compaction, options: &ScanOptions) -> Result<Judged, ScanError> {
    let mut files = Files::of(partition, options)?;
    // A file may become shorter while it is read: what is before its new end is judged. Each file is shortened once.
    let mut shrunk = None;
    for _ in 0..=files.opened.len() {
        match judge_files(&files, partition, compaction, options) {
            Err(ScanError::Shrunk { segment, length, expected }) => {
                let Some(length) = files.shorten(&segment) else {
                    return Err(ScanError::Shrunk { segment, length, expected });
                };
                shrunk = Some(ScanError::Shrunk { segment, length, expected });
            }
            Ok(mut judged) => {
                judged.wrong.extend(shrunk.map(Wrong::at_the_end));
                return Ok(judged);
            }
            Err(error) => return Err(error),
        }
    }
    shrunk.map_or_else(|| Ok(Judged::default()), Err)
}

fn judge_files(
    files: &Files<'_>,
    partition: &Partition,
    compaction: Compaction,
    options: &ScanOptions,
) -> Result<Judged, ScanError> {
    let log_files: Vec<LogFile<'_>> = files.opened.iter().map(OpenedFile::log_file).collect();
    let mut checker = BatchChecker::new(options.max_output_size);
    let failed = |file: usize, error| ScanError::log(files.name(file), error);
    let surveyed = SurveyedLog::read(&log_files, options.max_output_size, &mut |_, batch| match checker
        .count(batch)
        .map_err(ContentError::from)
    {
        Ok(_) => Ok(None),
        Err(error) if is_skipped(error.category()) => Ok(Some(error)),
        Err(error) => Err(error.into()),
    });
    let surveyed = surveyed.map_err(|error| failed(error.file, error.error))?;
    let facts = surveyed.facts();
    let mut records = surveyed.records(options.max_output_size);
    let reached = surveyed.reached(&partition.checkpoints.reached).map_err(|error| failed(error.file, error.error))?;
    let map = map_of(&facts, Hints { compaction, reached }, &mut records).map_err(|error| failed(0, error))?;
    let (deciding, records) = (partition.deciding.clone(), RefCell::new(records));
    let conflicting = map.conflicting_files();
    let reached = reached.map(|witness| witness.end());
    Ok(Judgement { files, surveyed: &surveyed, map: &map, records, deciding, conflicting, reached }.judged())
}

/// Whether a scan with `on_error="skip"` skips batches that cannot be decoded for this reason.
fn is_skipped(category: Category) -> bool {
    matches!(category, Category::Corrupt | Category::Limit)
}

/// Turns a map into what a scan does.
struct Judgement<'m> {
    files: &'m Files<'m>,
    surveyed: &'m SurveyedLog<'m>,
    map: &'m LogMap<'m>,
    records: RefCell<StoredRecords<'m>>,
    deciding: Option<Arc<str>>,
    /// The files of which another one has other records.
    conflicting: BTreeSet<usize>,
    /// The offset that the log had reached, if other files show one.
    reached: Option<i64>,
}

impl Judgement<'_> {
    fn judged(&self) -> Judged {
        let pieces = self.pieces();
        let missing =
            self.map.missing().iter().map(|missing| (Arc::clone(self.files.name(missing.file)), self.range(missing)));
        let mut wrong = self.wrong();
        wrong.sort_by_key(|each| each.at);
        let mut offsets = pieces.iter().filter_map(|piece| piece.offsets);
        let span = offsets.next().map(|(first, end)| (first, offsets.next_back().map_or(end, |(_, end)| end)));
        let continuations = self.map.continuations().collect();
        Judged { pieces, span, reached: self.reached, continuations, wrong, missing: missing.collect() }
    }

    fn range(&self, missing: &MissingOffsets) -> MissingRange {
        let unopened = self.files.opened.get(missing.file).and_then(|file| file.error.as_ref()?.skip_reason());
        let (first_offset, last_offset) = (missing.offsets.start(), missing.offsets.end().saturating_sub(1));
        // All files have shown that compaction does not explain it.
        let known = if missing.reason == MissingReason::Gap { MissingReason::Truncated } else { missing.reason };
        MissingRange { first_offset, last_offset, reason: unopened.unwrap_or(known) }
    }

    fn pieces(&self) -> Vec<Piece> {
        let stretches = self.map.stretches();
        let piece = |stretch: &Stretch| {
            let index = self.files.opened.get(stretch.file)?.index;
            let bytes = Some((stretch.bytes.start(), stretch.bytes.end()));
            let (start, end) = (stretch.offsets.start(), stretch.offsets.end());
            let (offsets, expected) = (Some((start, end)), Some(start));
            Some(Piece { index, bytes, offsets, expected, restored: stretch.restored() })
        };
        stretches.iter().filter_map(piece).collect()
    }

    fn wrong(&self) -> Vec<Wrong> {
        let mut found = Vec::new();
        let lost = self.lost();
        let within = self.within_pieces();
        let mut repeats: Option<Repeats> = None;
        for finding in self.map.findings() {
            if let Finding::Batch { id, bytes, offsets, batch_use: Use::Repeat { of } } = finding {
                if !repeats.as_mut().is_some_and(|repeats| repeats.add(id, of.file, offsets)) {
                    let (position, of) = (bytes.start(), of.file);
                    let new = Repeats { first: id, last: id, of, position, offsets, batches: 1 };
                    found.extend(repeats.replace(new).map(|repeats| self.repeats(&repeats)));
                }
                continue;
            }
            found.extend(match finding {
                Finding::Batch { id, batch_use, .. } => self.batch(id, batch_use, &lost),
                Finding::Corrupt { file, bytes } if !within.contains(&(file, bytes)) => {
                    self.corrupt(file, bytes, &lost)
                }
                Finding::Zeros { file, bytes } => self.zeros(file, bytes, &lost),
                Finding::Name { file, name, first } => {
                    let warning = Some(format!("{}: {}", self.files.name(file), wording::name_text(first, name)));
                    Some(Wrong { at: first.max(name), error: None, skipped: None, warning })
                }
                Finding::InParts { file } => {
                    let warning = Some(format!("{}: {}", self.files.name(file), wording::in_parts_text()));
                    let at = self.files.opened.get(file).map_or(i64::MIN, |file| file.name);
                    Some(Wrong { at, error: None, skipped: None, warning })
                }
                _ => None,
            });
        }
        found.extend(repeats.map(|repeats| self.repeats(&repeats)));
        found.extend(self.files.opened.iter().filter_map(|file| {
            let error = file.error.as_ref()?;
            let skipped = SkippedRange::of(&file.segment.name, 0, 0, error);
            Some(Wrong { at: file.name, error: None, skipped: Some(skipped), warning: None })
        }));
        found
    }

    fn repeats(&self, repeats: &Repeats) -> Wrong {
        let Repeats { first: id, of, position, offsets, batches, .. } = *repeats;
        let (segment, first, last) = (self.files.name(id.file), offsets.start(), offsets.end().saturating_sub(1));
        let warning = if of == id.file {
            let noun = if batches == 1 { "batch" } else { "batches" };
            format!("{segment}: {batches} {noun} from byte {position} on repeat offsets {first} to {last}: left out")
        } else {
            let other = self.files.name(of);
            format!("{segment} and {other} overlap: offsets {first} to {last} are read from the latter")
        };
        Wrong { at: self.map.expected_at(id), error: None, skipped: None, warning: Some(warning) }
    }

    /// The missing offsets around each fact that may be the reason.
    fn lost(&self) -> HashMap<BatchId, OffsetRange> {
        let mut lost = HashMap::new();
        let is_loss = |missing: &&MissingOffsets| missing.reason != MissingReason::Compacted;
        for missing in self.map.missing().iter().filter(is_loss) {
            for index in self.map.facts_around(missing) {
                lost.entry(BatchId { file: missing.file, index }).or_insert(missing.offsets);
            }
        }
        lost
    }

    fn batch(&self, id: BatchId, batch_use: Use, lost: &HashMap<BatchId, OffsetRange>) -> Option<Wrong> {
        let segment = self.files.name(id.file);
        let batch = self.map.batch(id)?;
        let text = || Some(format!("{segment}: {}", self.map.text_of(id)?));
        let error = self.map.error_of(id).map(|error| ScanError::record(segment, error));
        let at = self.map.expected_at(id);
        Some(match batch_use {
            Use::InPlace | Use::Repeat { .. } => return None,
            Use::Displaced if self.map.is_in_file_order(id) => return None,
            Use::Displaced => Wrong { at: batch.offsets().start(), error, skipped: None, warning: text() },
            Use::Restored { first } => Wrong { at: first, error, skipped: None, warning: text() },
            Use::OutOfPlace { .. } => {
                let conflict = self.map.conflict(id).and_then(|other| self.conflict(id, other));
                let (at, warning) = match &conflict {
                    // A reader comes to it after what is before it in its file.
                    Some(conflict) => (at.max(batch.offsets().start()), Some(conflict.to_string())),
                    // The rest of what another history has.
                    None if self.conflicting.contains(&id.file) && self.map.is_beyond_window(id) => {
                        (batch.offsets().start(), None)
                    }
                    None => (at, None),
                };
                let error = conflict.or(error);
                let skipped = self.skipped(id, batch.bytes(), error.as_ref()?, lost);
                Wrong { at, error, skipped: Some(skipped), warning }
            }
        })
    }

    /// The error of two files that have different records at an offset.
    fn conflict(&self, id: BatchId, other: BatchId) -> Option<ScanError> {
        let placement = |id: BatchId| Some(Placement { id, offsets: self.map.batch(id)?.offsets() });
        let (one, two) = (placement(id)?, placement(other)?);
        let difference = self.records.borrow_mut().difference(one, two).ok().flatten();
        let offset = difference.unwrap_or(one.offsets.start().max(two.offsets.start()));
        let (earlier, later) = (id.file.min(other.file), id.file.max(other.file));
        let (earlier, later) = (Arc::clone(self.files.name(earlier)), Arc::clone(self.files.name(later)));
        Some(ScanError::Conflict { earlier, later, offset, deciding: self.deciding.clone() })
    }

    /// The corrupt ranges between the batches of a piece. Reading it shows them.
    fn within_pieces(&self) -> HashSet<(usize, ByteRange)> {
        let mut within = HashSet::new();
        for stretch in self.map.stretches() {
            let facts = self.map.files().get(stretch.file).and_then(|file| file.facts.get(stretch.facts.clone()));
            let corrupt = facts.unwrap_or_default().iter().filter(|fact| matches!(fact, Fact::Corrupt(_)));
            within.extend(corrupt.map(|fact| (stretch.file, fact.bytes())));
        }
        within
    }

    fn corrupt(&self, file: usize, bytes: ByteRange, lost: &HashMap<BatchId, OffsetRange>) -> Option<Wrong> {
        let ranges = self.surveyed.survey(file)?.corrupt_ranges();
        let range = ranges.get(ranges.binary_search_by_key(&bytes.start(), |range| range.position).ok()?)?;
        let error = ScanError::record(self.files.name(file), range.error.clone());
        self.left_out(file, bytes, error, lost)
    }

    /// Zeros at the end of a segment.
    fn zeros(&self, file: usize, bytes: ByteRange, lost: &HashMap<BatchId, OffsetRange>) -> Option<Wrong> {
        let segment = self.files.name(file);
        let (position, length) = (bytes.start(), bytes.len());
        let id = self.fact_at(file, bytes)?;
        let is_last = file + 1 == self.files.opened.len();
        let Some(lost_there) = lost.get(&id) else {
            let warning = if is_last {
                let opened = self.files.opened.get(file).filter(|file| file.segment.offsets.is_none())?;
                let text = end_zeros(opened.segment.files.as_ref(), position, bytes.end())?;
                format!("{segment}: {text}")
            } else {
                zeros_text(segment, position, length)
            };
            return Some(Wrong { at: self.map.expected_at(id), error: None, skipped: None, warning: Some(warning) });
        };
        let (expected, resumes) = (lost_there.start(), lost_there.end());
        let error = ScanError::ZeroTail { segment: Arc::clone(segment), position, length, expected, resumes };
        self.left_out(file, bytes, error, lost)
    }

    /// Bytes that are skipped because of an error.
    fn left_out(
        &self,
        file: usize,
        bytes: ByteRange,
        error: ScanError,
        lost: &HashMap<BatchId, OffsetRange>,
    ) -> Option<Wrong> {
        let id = self.fact_at(file, bytes)?;
        let skipped = self.skipped(id, bytes, &error, lost);
        Some(Wrong { at: self.map.expected_at(id), error: Some(error), skipped: Some(skipped), warning: None })
    }

    /// The bytes of a fact, with the offsets that are missing around it.
    fn skipped(
        &self,
        id: BatchId,
        bytes: ByteRange,
        error: &ScanError,
        lost: &HashMap<BatchId, OffsetRange>,
    ) -> SkippedRange {
        let skipped = SkippedRange::of(self.files.name(id.file), bytes.start(), bytes.len(), error);
        let lost = lost.get(&id);
        skipped.between(lost.map(|lost| lost.start()), lost.map(|lost| lost.end()))
    }

    fn fact_at(&self, file: usize, bytes: ByteRange) -> Option<BatchId> {
        let facts = self.map.files().get(file)?.facts;
        let index = facts.partition_point(|fact| fact.bytes().start() < bytes.start());
        Some(BatchId { file, index })
    }
}

/// Batches side by side that repeat offsets.
struct Repeats {
    first: BatchId,
    last: BatchId,
    /// The file from which they are read.
    of: usize,
    position: u64,
    offsets: OffsetRange,
    batches: u64,
}

impl Repeats {
    /// Adds the next batch; false if it is elsewhere, or repeats another file.
    fn add(&mut self, id: BatchId, of: usize, offsets: OffsetRange) -> bool {
        let is_next = id.file == self.last.file && id.index == self.last.index + 1 && of == self.of;
        let joined = OffsetRange::new(self.offsets.start().min(offsets.start()), self.offsets.end().max(offsets.end()));
        if let Some(joined) = joined.filter(|_| is_next) {
            (self.last, self.offsets) = (id, joined);
            self.batches += 1;
        }
        is_next
    }
}

/// The warning of zeros from a position to the end of the last segment, at `end`, if there are any and no broker preallocated them.
pub fn end_zeros(files: &dyn OpenSegment, position: u64, end: u64) -> Option<String> {
    let bytes = ByteRange::new(position, end).filter(|bytes| !bytes.is_empty())?;
    (!LastFile::is_preallocated(files, end)).then(|| wording::end_zeros_text(bytes))
}

/// The warning of zeros at the end of a segment that is not the last one, if no offsets are missing for them.
pub fn zeros_text(segment: &str, position: u64, length: u64) -> String {
    format!(
        "{segment}: {length} zero bytes from byte {position} to the end, though another segment follows; no offsets are \
         missing for them"
    )
}
