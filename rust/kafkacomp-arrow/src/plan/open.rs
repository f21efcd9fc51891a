//! The segment that is being read: divided into chunks of complete batches, whose offsets are checked.

mod batch_check;
mod batches;
mod set_losses;
mod step;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{thread, time};

use kafkacomp_log::map::truncation::truncation;
use kafkacomp_log::map::{LastFile, ReachedOffsets};
use kafkacomp_log::{ChunkBuffer, ChunkEnd, Compaction, MissingReason, OpenSegment, ReadError, chunk_bytes};
use kafkacomp_records::CompressionType;
use kafkacomp_records::record::Batches;

pub use self::set_losses::SetLosses;
pub use self::step::{Finish, Step};

use self::batch_check::Checksums;
use self::step::ChunkResult;
use crate::options::{OnError, ScanOptions};
use crate::plan::context::Context;
use crate::plan::continuity::{Anomaly, Continuity, Findings};
use crate::plan::index_pruning::Earlier;
use crate::plan::judged::{end_zeros, zeros_text};
use crate::plan::segment_reader::{Reader, SharedSource};
use crate::report::{ScanError, ScanReport, SkippedRange};
use crate::source::read_ahead::{Plan, ReadAhead};
use crate::source::unreadable::SkipUnreadable;
use crate::sync::lock;

/// How long to wait for an incomplete batch at the end of an active segment.
const PATIENCE: time::Duration = time::Duration::from_millis(50);

/// What follows a segment, or the split of it that is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ends {
    /// The base offset of the next segment.
    pub next_base: Option<i64>,
    /// The first offset of the batch after the split, if that is known.
    pub next_split: Option<i64>,
    /// Whether another split of the segment follows.
    pub is_split: bool,
    /// The offset that the log had reached, if no segment follows and this is after its last batch. Known at the end of the segment.
    pub reached: Option<i64>,
}

/// What a reader does at a gap and at corrupt bytes, and what it has passed of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct AtGaps {
    /// Whether the partition is judged there. If not, they are passed.
    pub judges: bool,
    /// Whether a gap was passed that nothing had explained.
    pub passed_gap: bool,
    /// Whether corrupt bytes were passed.
    pub passed_loss: bool,
}

/// The segment that is being read.
#[derive(Debug)]
pub struct Open {
    /// Its bytes.
    pub source: SharedSource,
    /// The context of all its batches.
    pub context: Arc<Context>,
    /// Its index among the segments of the partition.
    pub index: usize,
    /// The offsets that are read, if the partition was judged.
    pub piece: Option<(i64, i64)>,
    /// What follows it.
    pub ends: Ends,
    /// What shows how far the log reached, if no segment follows.
    pub reached: Option<ReachedOffsets>,
    /// What is done at gaps and at corrupt bytes.
    pub at_gaps: AtGaps,
    /// What its headers show if they show only earlier times than the bound: it can be skipped.
    pub(crate) earlier: Option<Earlier>,
    /// The source, if threads read it ahead.
    pub ahead: Option<Arc<ReadAhead>>,
    pub(crate) reader: Reader,
    /// Where reading begins.
    pub(crate) begin: u64,
    /// `None` if offsets need not increase, and in Kafka 0.7.
    pub(crate) continuity: Option<Continuity>,
    /// Opens the indexes of the segment.
    pub(crate) files: Arc<dyn OpenSegment>,
    pub(crate) unreadable: Option<Arc<SkipUnreadable>>,
    pub(crate) active: bool,
    /// Whether a truncated batch at its end is a warning and not an error.
    pub(crate) may_be_truncated: bool,
    /// Whether the file has a base offset, so that offsets are judged.
    pub(crate) ordered: bool,
    /// The position in the last chunk from which on the worker verifies the checksums.
    pub(crate) verified_to: u64,
    /// The position of the first chunk with a batch that is not in order. From there on, the planner verifies the checksums.
    pub(crate) anomaly: Option<u64>,
    /// The position at which the end offset is probably reached.
    pub(crate) likely_stop: u64,
    /// Batches that begin at or after this position belong to another split.
    pub(crate) stop: u64,
    /// In a log of Kafka 0.7, the start of the corrupt bytes at the end of the file.
    pub(crate) intact_end: Option<u64>,
    /// Bytes of a record set that were skipped since its last batch.
    pub(crate) losses: SetLosses,
    /// The findings in a log of Kafka 0.7, and in a record set.
    pub(crate) found: Findings,
}

impl Open {
    /// The position of the next chunk.
    pub fn position(&self) -> u64 {
        self.reader.position()
    }

    /// Passes over all batches, which are earlier than the time bound. What is missing before and after them is reported as if they
    /// had been read.
    pub fn skip(&mut self, earlier: Earlier) {
        self.reader.seek(self.stop);
        let end = if self.ends.is_split { self.ends.next_split } else { Some(earlier.end) };
        if let Some(continuity) = &mut self.continuity {
            continuity.skip_to(end);
        }
    }

    /// The expected first offset of the next chunk.
    pub fn expected(&self) -> Option<i64> {
        match &self.continuity {
            Some(continuity) => continuity.expected(),
            None if self.ordered && matches!(self.reader, Reader::MessageSet(_)) => {
                Some(self.context.base_offset.saturating_add_unsigned(self.reader.position()))
            }
            None => None,
        }
    }

    /// The offset up to which the segment was returned or reported missing, and the one up to which it was returned, if bytes
    /// at its end are corrupt and another file may have them.
    pub fn end_offsets(&self) -> Option<(i64, i64)> {
        let expected = self.expected()?;
        let intact = self.intact_end.map(|end| self.context.base_offset.saturating_add_unsigned(end));
        match (intact, self.ends.next_base) {
            (Some(intact), Some(next)) => Some((next.max(intact), intact)),
            _ => Some((expected, expected)),
        }
    }

    /// Whether a batch comes before the next chunk.
    pub fn has_started(&self) -> bool {
        self.continuity.as_ref().is_none_or(Continuity::has_started)
    }

    /// Takes the findings since the last call.
    pub fn take_findings(&mut self) -> Findings {
        self.continuity.as_mut().map_or_else(|| std::mem::take(&mut self.found), Continuity::take_findings)
    }

    /// How the checksums of the next chunk are verified when it is read; the worker that builds its columns verifies the others. In
    /// memory, verifying loads the header of the next batch into the cache, for which the planner would wait otherwise.
    fn checksums(&self, options: &ScanOptions, waiting: &AtomicUsize) -> Checksums {
        if !options.verify_crc {
            Checksums::Ignored
        } else if options.planner_verifies() || self.anomaly.is_some() {
            Checksums::Verified
        } else if self.source.0.traits().bytes.is_some() && waiting.load(Ordering::Relaxed) == 0 {
            Checksums::Shared
        } else {
            Checksums::Later
        }
    }

    /// Whether the planner reads the next chunk itself, because no bytes of a file were read ahead.
    pub fn reads_now(&self) -> bool {
        self.source.0.traits().bytes.is_none() && self.ahead.as_ref().is_none_or(|ahead| ahead.is_empty())
    }

    /// Reads a chunk of about `target` bytes, and returns its length and what follows it. `waiting` is the number of threads that wait
    /// for the planner.
    pub fn read(
        &mut self,
        buffer: &mut ChunkBuffer,
        target: usize,
        waiting: &AtomicUsize,
        options: &ScanOptions,
        report: &Mutex<ScanReport>,
    ) -> (usize, Step) {
        let failed = |open: &Self, error| Step::Failed(ScanError::chunk(&open.context.place.segment, error));
        let begin = self.reader.position();
        let left = self.likely_stop.saturating_sub(begin);
        let target = target.min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = match &self.reader {
            Reader::Records(_) => self.read_batches(buffer, target, waiting, options),
            Reader::MessageSet(_) => self.read_entries(buffer, target),
        };
        if let Some(ahead) = &self.ahead {
            let next = self.reader.position();
            ahead.expect(&Plan {
                next,
                read_to: self.reader.read_to(),
                end: self.reader.end().min(self.stop).min(self.likely_stop),
                used: next.saturating_sub(begin).saturating_sub(self.reader.completed() as u64),
                target,
                is_compressed: matches!(self.reader, Reader::Records(_)) && is_compressed(buffer),
            });
        }
        if let Ok((length, _)) = &read
            && self.losses.are_pending()
        {
            let chunk = chunk_bytes(self.source.0.as_ref(), buffer, begin, *length);
            self.losses.resume(chunk, options.max_output_size, &self.context, &mut self.found);
        }
        match read {
            Ok((length, ChunkResult::Step(Step::Done(Finish::Split)))) => (length, self.at_split()),
            Ok((length, ChunkResult::Step(step))) => (length, step),
            // Both are handled when the batches are read.
            Ok((_, ChunkResult::Unverified | ChunkResult::Anomaly(_))) => (0, Step::More),
            Ok((length, ChunkResult::End(end))) => match self.after(end, options, report) {
                Ok(step) => (length, step),
                Err(error) => (length, failed(self, error)),
            },
            Err(error) => (0, failed(self, error)),
        }
    }

    fn read_entries(&mut self, buffer: &mut ChunkBuffer, target: usize) -> Result<(usize, ChunkResult), ReadError> {
        let Reader::MessageSet(reader) = &mut self.reader else { return Ok((0, ChunkResult::Step(Step::More))) };
        let last = self.context.last_offset.saturating_sub(self.context.base_offset);
        let bound = last.saturating_add(1).max(0).unsigned_abs();
        let stop = bound.min(self.stop);
        let mut finish = None;
        let (length, end) = reader.read(self.source.0.as_ref(), buffer, target, |position| {
            if position >= stop {
                finish = Some(if bound < self.stop { Finish::Bound } else { Finish::Split });
            }
            position < stop
        })?;
        Ok((length, finish.map_or(ChunkResult::End(end), |finish| ChunkResult::Step(Step::Done(finish)))))
    }

    /// Determines what follows the chunk that was just read.
    fn after(&mut self, end: ChunkEnd, options: &ScanOptions, report: &Mutex<ScanReport>) -> Result<Step, ReadError> {
        let name = Arc::clone(&self.context.place.segment);
        let warn = |text: String| lock(report).warnings.push(text);
        if matches!(end, ChunkEnd::Truncated(_)) && self.active && self.grows() {
            return Ok(Step::Done(Finish::Growing));
        }
        let end =
            if self.may_be_truncated { self.reader.truncated_or_corrupt(self.source.0.as_ref(), end)? } else { end };
        Ok(match end {
            ChunkEnd::More => Step::More,
            ChunkEnd::End => self.at_end(options, &warn)?,
            ChunkEnd::Truncated(error) if self.may_be_truncated => {
                warn(format!("{name}: {error}: left out"));
                Step::Done(Finish::File)
            }
            ChunkEnd::Truncated(error) | ChunkEnd::Corrupt(error) if options.on_error == OnError::Skip => {
                let position = self.reader.position();
                let next = self.reader.resync(self.source.0.as_ref())?;
                let fault = self.unreadable.as_ref().and_then(|source| source.fault(position, next));
                // What an object store does not return now, it may return to the next request: no evidence for a judgement.
                let is_judged = fault.is_none() || !self.source.0.traits().is_remote();
                let error = match fault {
                    Some(error) => ScanError::io(&name, error),
                    None => ScanError::record(&name, error),
                };
                self.lose(SkippedRange::of(&name, position, next.saturating_sub(position), &error));
                match next {
                    next if next >= self.reader.end() && is_judged => self.at_corrupt_end(position)?,
                    next if next >= self.reader.end() => Step::Done(Finish::File),
                    next if next >= self.stop => self.at_split(),
                    _ => Step::More,
                }
            }
            ChunkEnd::Truncated(error) | ChunkEnd::Corrupt(error) => Step::Failed(ScanError::record(&name, error)),
        })
    }

    /// Corrupt bytes from a position up to the end: other files may have what is missing before the next segment.
    fn at_corrupt_end(&mut self, position: u64) -> Result<Step, ReadError> {
        let resumes = self.resumes(position, false)?;
        Ok(match resumes.filter(|_| self.ends.next_base.is_some()) {
            Some(resumes) if !self.explains_end(resumes) => Step::Judge,
            _ => Step::Done(Finish::File),
        })
    }

    /// The offset at which the log continues after the last batch, which ends at a position: that of the next segment, or the one
    /// that the log had reached.
    fn resumes(&mut self, position: u64, has_zero_tail: bool) -> Result<Option<i64>, ReadError> {
        let next = self.ends.next_base;
        let Some(known) = self.reached.filter(|_| next.is_none()) else { return Ok(next) };
        let expected = self.expected().unwrap_or(i64::MIN);
        if expected > self.context.asked.1 {
            return Ok(None);
        }
        let last = LastFile {
            name: self.context.base_offset,
            files: self.files.as_ref(),
            source: self.source.0.as_ref(),
            position,
            end: expected,
            length: self.reader.end(),
            has_zero_tail,
            reads_indexes: self.at_gaps.judges,
        };
        self.ends.reached = known.beyond(expected, &last)?.map(|witness| witness.end());
        Ok(self.ends.reached)
    }

    /// Whether the gap between the end and the next segment needs no judgement.
    fn explains_end(&mut self, resumes: i64) -> bool {
        let is_explained = self.continuity.as_ref().is_none_or(|continuity| continuity.explains_end(resumes));
        self.at_gaps.passed_gap |= !is_explained && !self.at_gaps.judges;
        is_explained || !self.at_gaps.judges
    }

    /// The end of a split: if offsets are missing before the next one, later batches may have them.
    fn at_split(&mut self) -> Step {
        let (Some(first), Some(continuity)) = (self.ends.next_split, &self.continuity) else {
            return Step::Done(Finish::Split);
        };
        let Some(expected) = continuity.expected().filter(|&expected| expected < first) else {
            return Step::Done(Finish::Split);
        };
        if continuity.explains(first) {
            return Step::Done(Finish::Split);
        }
        let Some((settled, is_thinned)) = self.settles(Anomaly::Gap { position: self.stop, expected, first }) else {
            return Step::Judge;
        };
        if let Some(continuity) = &mut self.continuity {
            continuity.settle(settled, is_thinned);
        }
        Step::Done(Finish::Split)
    }

    /// Zeros at the end were preallocated by a broker, unless the next segment, or what else shows how far the log reached, says that
    /// offsets are missing.
    fn at_end(&mut self, options: &ScanOptions, warn: &dyn Fn(String)) -> Result<Step, ReadError> {
        let position = self.reader.position();
        let length = self.reader.end().saturating_sub(position);
        let segment = Arc::clone(&self.context.place.segment);
        let resumes = self.resumes(position, length > 0)?;
        let (Some(resumes), Some(expected)) = (resumes, self.continuity.as_ref().map(Continuity::expected)) else {
            let is_last = self.reached.is_some() && self.ends.next_base.is_none();
            if is_last && let Some(text) = end_zeros(self.files.as_ref(), position, self.reader.end()) {
                warn(format!("{segment}: {text}"));
            }
            return Ok(Step::Done(Finish::File));
        };
        // No other file can have what is missing at the end of the log.
        let is_closed = self.ends.next_base.is_some();
        match expected {
            Some(expected) if is_closed && expected < resumes && !self.explains_end(resumes) => return Ok(Step::Judge),
            Some(expected) if is_closed && length == 0 && expected < resumes => {
                return Ok(self.ends_early(expected, resumes));
            }
            Some(expected) if length > 0 && expected < resumes => {
                let error = ScanError::ZeroTail { segment, position, length, expected, resumes };
                if options.on_error == OnError::Raise {
                    return Ok(Step::Failed(error));
                }
                self.lose(SkippedRange::of(&Arc::clone(&self.context.place.segment), position, length, &error));
            }
            Some(_) if length > 0 && is_closed => warn(zeros_text(&segment, position, length)),
            _ => {}
        }
        Ok(Step::Done(Finish::File))
    }

    /// Handles offsets that are missing at the end. The offset index may show that the segment was longer. It is not read from
    /// an object store, as that would take a request.
    fn ends_early(&mut self, expected: i64, resumes: i64) -> Step {
        let Some(continuity) = self.continuity.as_mut().filter(|continuity| !continuity.has_losses()) else {
            return Step::Done(Finish::File);
        };
        if !self.at_gaps.judges {
            return Step::Done(Finish::File);
        }
        let open = || Ok(Arc::clone(&self.source.0));
        match truncation(self.files.as_ref(), self.context.base_offset, open, (expected, resumes)) {
            Ok(found) => {
                if let Some(error) = found {
                    continuity.truncated(&error, resumes);
                }
                Step::Done(Finish::File)
            }
            Err(error) => Step::Failed(ScanError::chunk(&self.context.place.segment, error)),
        }
    }

    /// Adds bytes that were skipped.
    pub fn lose(&mut self, range: SkippedRange) {
        self.at_gaps.passed_loss |= !self.at_gaps.judges;
        if let Some(continuity) = &mut self.continuity {
            continuity.lose(range);
        } else if self.ordered {
            // Offsets of Kafka 0.7 are positions.
            let base = self.context.base_offset;
            let first = base.saturating_add_unsigned(range.position);
            let end = first.saturating_add_unsigned(range.length);
            let is_end = range.position.saturating_add(range.length) >= self.reader.end();
            if is_end {
                self.intact_end = Some(range.position);
            }
            // Bytes after the start of the next file belong to that one. At the end of the file, all up to there is missing.
            let end = self.ends.next_base.map_or(end, |next| if is_end { next } else { end.min(next) });
            let segment = &self.context.place.segment;
            self.context.missing((first, end), range.reason, segment, &mut |segment, missing| {
                self.found.missing.push((Arc::clone(segment), missing));
            });
            self.found.skipped.push(range.between(Some(first), Some(end.max(first))));
        } else {
            self.losses.add(range, self.reader.end_offset());
        }
    }

    /// Ends the segment. The offsets that are missing after its last batch are reported, and the result is true, if bytes were
    /// skipped there, or if no later segment of the partition is read that could show more.
    pub fn finish(&mut self, finish: Finish, is_last: bool) -> bool {
        // What was in corrupt bytes at the end of the log is not known, whatever their headers say.
        let judged = self.context.judged.as_ref();
        let known_end = |end: i64| match judged.filter(|judged| judged.span.is_some_and(|(_, last)| last == end)) {
            Some(judged) => judged.reached.map(|reached| reached.min(end)),
            None => Some(end),
        };
        let piece_end = self.piece.and_then(|(_, end)| known_end(end));
        let resumes = match finish {
            Finish::Split if self.piece.is_none() => self.ends.next_split,
            Finish::Split => piece_end,
            Finish::File => piece_end.or(self.ends.next_base).or(self.ends.reached),
            Finish::Bound | Finish::Growing => None,
        };
        let Some(continuity) = &mut self.continuity else {
            return self.finish_entries(finish, is_last);
        };
        if continuity.end(resumes) {
            return true;
        }
        match resumes.filter(|_| is_last || finish == Finish::Split) {
            Some(resumes) => {
                // Without a checkpoint of the cleaner, compaction does not explain what is missing at the end of a log.
                let is_end = self.ends.next_base.is_none() && self.ends.reached == Some(resumes);
                let is_gap = !is_end || matches!(continuity.compaction(), Compaction::To(_));
                continuity.gap_until(resumes, if is_gap { MissingReason::Gap } else { MissingReason::Truncated });
                true
            }
            None => false,
        }
    }

    fn finish_entries(&mut self, finish: Finish, is_last: bool) -> bool {
        self.losses.end(&mut self.found);
        let Some(resumes) = self.ends.next_base.filter(|_| self.ordered && is_last && finish == Finish::File) else {
            return false;
        };
        let end = self.context.base_offset.saturating_add_unsigned(self.reader.end());
        let segment = &self.context.place.segment;
        self.context.missing((end, resumes), MissingReason::Gap, segment, &mut |segment, missing| {
            self.found.missing.push((Arc::clone(segment), missing));
        });
        true
    }

    /// Whether a broker is writing the incomplete last batch of the active segment.
    fn grows(&self) -> bool {
        let longer = || self.source.0.length().is_ok_and(|length| length > self.reader.end());
        if longer() {
            return true;
        }
        thread::sleep(PATIENCE);
        longer()
    }

    /// The number of bytes from the position on.
    pub fn left(&self) -> u64 {
        self.reader.end().saturating_sub(self.reader.position())
    }
}

/// Whether the first batch of a chunk is compressed.
fn is_compressed(chunk: &[u8]) -> bool {
    let first = Batches::new(chunk, 0).next().and_then(Result::ok);
    first.is_some_and(|batch| batch.compression_type().is_ok_and(|codec| codec != CompressionType::None))
}
