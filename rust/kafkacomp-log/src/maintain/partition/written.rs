//! Writes a partition: surveys, the map, the batches in the order of their offsets, and what is missing.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::deliver::{Delivery, Progress, RestoredEpoch, Seen, Stopped};
use super::error::PartitionError;
use super::findings::PartitionFindings;
use super::job::{Current, PartitionJob};
use super::target::{Delivered, Missing, Source, Target};
use crate::continuity::missing::MissingReason;
use crate::error::{Error, ReadError};
use crate::maintain::repair::first_offset;
use crate::map::surveyed_log::AcceptIn;
use crate::map::{ByteRange, Fact, FileError, Hints, LogFile, LogMap, OffsetRange, SegmentFacts, SurveyedLog, map_of};
use crate::read::chunk::ChunkReader;
use crate::read::segment_files::OpenSegment;
use crate::read::walk::{CorruptRange, SegmentPart, walk_chunks};
use crate::write::{ClosedLog, LogWriter};
use kafkacomp_records::record::Batches;

/// A partition that is written.
pub(super) struct Written<R> {
    /// Its folder.
    pub(super) log: ClosedLog,
    /// The first offset of the earliest transaction that is open at the end of the log.
    pub(super) first_open_offset: Option<i64>,
    /// What the target reports.
    pub(super) report: R,
    /// The findings in the segments.
    pub(super) findings: PartitionFindings,
}

/// The work of writing a partition.
struct Work<'w> {
    job: &'w PartitionJob,
    current: &'w AtomicUsize,
    segments: Vec<Current<'w>>,
}

impl PartitionJob {
    /// Writes the partition by way of `target`. A batch that `accept` returns an error for is corrupt.
    pub(super) fn write<T: Target, B>(
        &self,
        target: T,
        accept: &mut AcceptIn<'_>,
        progress: &mut Progress<'_, B>,
    ) -> Result<ControlFlow<B, Written<T::Report>>, PartitionError> {
        let current = AtomicUsize::new(0);
        self.catching_panics(
            || current.load(Ordering::Relaxed),
            || {
                let segments = self.segments.iter().enumerate();
                let segments =
                    segments.map(|(index, segment)| Current { files: segment.files.as_ref(), index, last: &current });
                let work = Work { job: self, current: &current, segments: segments.collect() };
                if self.segments.iter().any(|segment| segment.base_offset.is_none()) {
                    work.record_sets(target, progress)
                } else {
                    work.log(target, accept, progress)
                }
            },
        )
    }
}

impl Work<'_> {
    /// The batches of a log in the order of their offsets.
    ///
    /// What a survey does not show may change the map. Then the work begins again, with verified surveys of all files.
    fn log<T: Target, B>(
        &self,
        mut target: T,
        accept: &mut AcceptIn<'_>,
        progress: &mut Progress<'_, B>,
    ) -> Result<ControlFlow<B, Written<T::Report>>, PartitionError> {
        let job = self.job;
        let checkpoint = job.history.leader_epochs().map_err(|error| job.at(0, error))?;
        let mut segments: Vec<&Current<'_>> = self.segments.iter().collect();
        segments.sort_by_key(|segment| job.base_offset(segment.index));
        let files: Vec<LogFile<'_>> = segments
            .iter()
            .map(|&files| LogFile { name: job.base_offset(files.index).unwrap_or_default(), files, valid: None })
            .collect();
        let at = |file: usize, error: Error| job.at(segments.get(file).map_or(0, |segment| segment.index), error);
        let in_file = |FileError { file, error }| at(file, error);
        let mut done = 0;
        let progress: &mut Progress<'_, B> = &mut |now| {
            done = done.max(now);
            progress(done)
        };
        let mut is_surprised = true;
        loop {
            let survey = if is_surprised { SurveyedLog::read_local } else { SurveyedLog::verified };
            let mut log = survey(&files, job.max_output_size, accept).map_err(in_file)?;
            let mut writer;
            let (seen, uses) = {
                let facts = log.facts();
                let map = self.map(&log, &facts, &segments)?;
                writer = job.writer(map.start_offset().unwrap_or_default())?;
                let to = (&mut target, &mut writer);
                let delivery = Delivery::new(job, &segments, &log, &map, &checkpoint, is_surprised, to);
                match delivery.run(progress)? {
                    Ok(seen) => (seen, map.exceptions().collect::<Vec<_>>()),
                    Err(Stopped::Broken(broken)) => return Ok(ControlFlow::Break(broken)),
                    Err(Stopped::Surprise) => {
                        is_surprised = false;
                        target.restart().map_err(|error| job.at(0, error))?;
                        continue;
                    }
                }
            };
            let Seen { surveys, rejected, epochs } = seen;
            for (file, survey) in surveys {
                log.set_survey(file, survey);
            }
            let is_rejected = !rejected.is_empty();
            for (id, error) in rejected {
                log.reject(id, error).map_err(|error| at(id.file, error))?;
            }
            log.settle(job.max_output_size, accept).map_err(in_file)?;
            let facts = log.facts();
            let map = self.map(&log, &facts, &segments)?;
            let is_same =
                map.exceptions().eq(uses) && RestoredEpoch::all(&map, &map.epoch_faults(&checkpoint)) == epochs;
            if is_surprised && !is_rejected && !is_same {
                is_surprised = false;
                target.restart().map_err(|error| job.at(0, error))?;
                continue;
            }
            explain(job, &mut target, &segments, &map)?;
            let findings = PartitionFindings::of(job, &segments, &map, |segment| target.take_warnings(segment));
            return self.close(target, writer, findings).map(ControlFlow::Continue);
        }
    }

    fn map<'f>(
        &self,
        log: &SurveyedLog<'_>,
        facts: &[SegmentFacts<'f>],
        segments: &[&Current<'_>],
    ) -> Result<LogMap<'f>, PartitionError> {
        let history = &self.job.history;
        let reached = log.reached(&history.reached).map_err(|FileError { file, error }| {
            self.job.at(segments.get(file).map_or(0, |segment| segment.index), error)
        })?;
        let records = &mut log.records(self.job.max_output_size);
        map_of(facts, Hints { compaction: history.compaction, reached }, records)
            .map_err(|error| self.job.at(self.current.load(Ordering::Relaxed), error))
    }

    /// Captured record sets, whose offsets are not judged: all batches in the order of the files.
    fn record_sets<T: Target, B>(
        &self,
        mut target: T,
        progress: &mut Progress<'_, B>,
    ) -> Result<ControlFlow<B, Written<T::Report>>, PartitionError> {
        let job = self.job;
        let start = || match (job.base_offset(0), self.segments.first()) {
            (None, Some(segment)) => first_offset(segment.open()?.as_ref(), job.max_output_size),
            (named, _) => Ok(named),
        };
        // Without a batch nothing is written: an empty log begins at offset 0.
        let start = start().map_err(|error| job.at(0, error))?.unwrap_or(0);
        let mut writer = job.writer(start)?;
        let mut done = 0_u64;
        for (segment, files) in self.segments.iter().enumerate() {
            let source = files.open().map_err(|error| job.at(segment, ReadError::Io(error)))?;
            let source = Source { segment, bytes: source.as_ref() };
            let target = (&mut target, &mut writer);
            let read =
                record_set(source, job.base_offset(segment), target, &mut |now| progress(done.saturating_add(now)));
            match read.map_err(|error| job.at(segment, error))? {
                ControlFlow::Continue(length) => done = done.saturating_add(length),
                ControlFlow::Break(broken) => return Ok(ControlFlow::Break(broken)),
            }
        }
        let warnings = (0..self.segments.len()).flat_map(|segment| {
            let of_segment = target.take_warnings(segment).into_iter();
            of_segment.map(move |text| format!("{}: {text}", job.name(segment)))
        });
        let findings = PartitionFindings { warnings: warnings.collect(), ..PartitionFindings::default() };
        self.close(target, writer, findings).map(ControlFlow::Continue)
    }

    fn close<T: Target>(
        &self,
        target: T,
        mut writer: LogWriter,
        findings: PartitionFindings,
    ) -> Result<Written<T::Report>, PartitionError> {
        let closed = || {
            let report = target.finish(&mut writer)?;
            let first_open_offset = writer.producers().first_open_offset();
            Ok(Written { log: writer.close()?, first_open_offset, report, findings })
        };
        closed().map_err(|error: Error| self.job.at(self.current.load(Ordering::Relaxed), error))
    }
}

/// Hands over the batches of a record set, and returns its length.
fn record_set<T: Target, B>(
    source: Source<'_>,
    base_offset: Option<i64>,
    (target, writer): (&mut T, &mut LogWriter),
    progress: &mut Progress<'_, B>,
) -> Result<ControlFlow<B, u64>, Error> {
    let length = source.bytes.length().map_err(ReadError::from)?;
    if let Some(base_offset) = base_offset {
        target.begin_segment(base_offset, writer)?;
    }
    let mut chunks = ChunkReader::new(0, length, true).with_record_set(true);
    let walked = walk_chunks(source.bytes, &mut chunks, &mut |part, end| match take_part(
        part,
        end,
        source,
        (&mut *target, &mut *writer),
    ) {
        Ok(()) => progress(end).map_break(Ok),
        Err(error) => ControlFlow::Break(Err(error)),
    })?;
    target.flush(writer)?;
    match walked {
        ControlFlow::Continue(()) => Ok(ControlFlow::Continue(length)),
        ControlFlow::Break(ended) => ended.map(ControlFlow::Break),
    }
}

fn take_part<T: Target>(
    part: SegmentPart<'_>,
    end: u64,
    source: Source<'_>,
    (target, writer): (&mut T, &mut LogWriter),
) -> Result<(), Error> {
    match part {
        SegmentPart::Batches { data, position } => Batches::whole(data, position).try_for_each(|batch| {
            let delivered = Delivered { batch: &batch, segment: source.segment, offset_text: None, epoch_text: None };
            match target.batch(&delivered, writer)? {
                Some(error) => {
                    let end = batch.position().saturating_add(batch.size_in_bytes() as u64);
                    target.corrupt(source, &CorruptRange::of_batch(batch.position(), end, error), writer)
                }
                None => Ok(()),
            }
        }),
        SegmentPart::Corrupt(range) => target.corrupt(source, &range, writer),
        SegmentPart::ZeroTail { length } => ByteRange::new(end.saturating_sub(length), end)
            .map_or(Ok(()), |bytes| target.zeros(source.segment, bytes, None)),
    }
}

/// Names the offsets that are missing because of what is corrupt, and the zeros at the ends of files.
fn explain<T: Target>(
    job: &PartitionJob,
    target: &mut T,
    segments: &[&Current<'_>],
    map: &LogMap<'_>,
) -> Result<(), PartitionError> {
    let segment_of = |file: usize| segments.get(file).map_or(0, |segment| segment.index);
    let mut zeros: Vec<Option<(ByteRange, Option<OffsetRange>)>> = map
        .files()
        .iter()
        .map(|file| match file.facts.last() {
            Some(Fact::Zeros(bytes)) => Some((*bytes, None)),
            _ => None,
        })
        .collect();
    let mut missing = Vec::new();
    for each in map.missing().iter().filter(|each| each.reason != MissingReason::Compacted) {
        let around = map.facts_around(each);
        let facts = map.files().get(each.file).and_then(|file| file.facts.get(around)).unwrap_or_default();
        let (Some(first), Some(last)) = (facts.first(), facts.last()) else { continue };
        if let (Some(Some((_, missing))), Fact::Zeros(_)) = (zeros.get_mut(each.file), last) {
            missing.get_or_insert(each.offsets);
        }
        if each.reason == MissingReason::Corrupt {
            let bytes = first.bytes().through(last.bytes());
            missing.push(Missing { segment: segment_of(each.file), bytes, offsets: each.offsets });
        }
    }
    for (file, zeros) in zeros.into_iter().enumerate() {
        if let Some((bytes, missing)) = zeros {
            let segment = segment_of(file);
            target.zeros(segment, bytes, missing).map_err(|error| job.at(segment, error))?;
        }
    }
    target.missing(&missing);
    Ok(())
}
