//! Hands over the batches of a log in the order of their offsets, and names what is not among them.
//!
//! A file that a survey did not have to verify is read as a whole, because its corrupt batches are not known yet; what is found
//! replaces its survey. Of the other files the batches that the map delivers are read.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::error::PartitionError;
use super::findings::is_overlap;
use super::job::{Current, PartitionJob};
use super::target::{Delivered, Exception, Source, Target};
use crate::error::{ContentError, Error, ReadError};
use crate::index::checkpoint::LeaderEpochEntry;
use crate::map::survey::verified_offsets;
use crate::map::wording::epoch_text;
use crate::map::{
    BatchFact, BatchId, ByteRange, EpochFault, Fact, LogMap, OffsetRange, Placement, Stretch, Survey, SurveyedLog, Use,
};
use crate::read::batch_headers::BatchHeader;
use crate::read::chunk::ChunkReader;
use crate::read::segment_files::OpenSegment;
use crate::read::source::{ReadAt, read_full};
use crate::read::walk::{CorruptRange, SegmentPart, walk_chunks};
use crate::read::wrapper_content::has_own_offsets;
use crate::write::LogWriter;
use kafkacomp_records::memory;
use kafkacomp_records::record::{Batches, MutableRecordBatch, RecordBatch, RecordReader};

/// The number of bytes of batches that are read at once.
const CHUNK: usize = 1 << 20;
/// That of a remote source, where a read is a request.
const REMOTE_CHUNK: usize = 4 << 20;

/// A callback for the number of bytes of the partition read so far; [`ControlFlow::Break`] ends the work.
pub(super) type Progress<'p, B> = dyn FnMut(u64) -> ControlFlow<B> + 'p;

/// Why the batches were not handed over to the end.
pub(super) enum Stopped<B> {
    /// By the callback.
    Broken(B),
    /// A file has a batch that is not in place and that its survey does not have: the map is to be drawn again.
    Surprise,
}

/// What only reading the batches has shown.
#[derive(Default)]
pub(super) struct Seen {
    /// The surveys of the files that were read as a whole.
    pub(super) surveys: Vec<(usize, Survey)>,
    /// Batches that cannot be in a log.
    pub(super) rejected: Vec<(BatchId, ContentError)>,
    /// The batches whose leader epochs were restored.
    pub(super) epochs: Vec<RestoredEpoch>,
}

/// Batches side by side whose leader epochs were restored, and the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RestoredEpoch {
    file: usize,
    bytes: ByteRange,
    right: i32,
}

impl RestoredEpoch {
    /// Those that the map demands, in the order of offsets.
    pub(super) fn all(map: &LogMap<'_>, faults: &[EpochFault]) -> Vec<Self> {
        let mut all = Vec::new();
        for fault in faults {
            if let Some(batch) = map.batch(fault.id) {
                Self { file: fault.id.file, bytes: batch.bytes(), right: fault.right }.add_to(&mut all);
            }
        }
        all
    }

    fn add_to(self, all: &mut Vec<Self>) {
        match all.last_mut() {
            Some(last)
                if (last.file, last.right) == (self.file, self.right) && last.bytes.end() == self.bytes.start() =>
            {
                last.bytes = last.bytes.through(self.bytes);
            }
            _ => all.push(self),
        }
    }
}

/// A part of a file that is handed over at once.
enum Part {
    Whole { file: usize },
    Stretch(Stretch),
}

/// The work for one target.
pub(super) struct Delivery<'d, 'm, T> {
    job: &'d PartitionJob,
    segments: &'d [&'d Current<'d>],
    /// The file that was opened last.
    opened: Option<(usize, Arc<dyn ReadAt>)>,
    log: &'d SurveyedLog<'d>,
    map: &'d LogMap<'m>,
    target: &'d mut T,
    writer: &'d mut LogWriter,
    /// The faults of leader epochs, by file and position, with the end of the bytes that have it.
    epochs: BTreeMap<(usize, u64), (u64, EpochFault)>,
    /// The offsets at which the believed names say that segments begin, the lowest last.
    names: Vec<i64>,
    /// The files before this one were listed.
    listed: usize,
    /// The number of bytes read so far.
    done: u64,
    /// Whether files may have batches that their surveys do not have.
    is_surprised: bool,
    seen: Seen,
}

impl<'d, 'm, T: Target> Delivery<'d, 'm, T> {
    /// With `is_surprised`, a batch that no survey has and that is not in place ends the work.
    pub(super) fn new(
        job: &'d PartitionJob,
        segments: &'d [&'d Current<'d>],
        log: &'d SurveyedLog<'d>,
        map: &'d LogMap<'m>,
        checkpoint: &[LeaderEpochEntry],
        is_surprised: bool,
        (target, writer): (&'d mut T, &'d mut LogWriter),
    ) -> Self {
        let faults = map.epoch_faults(checkpoint).into_iter().filter_map(|fault| {
            let bytes = map.batch(fault.id)?.bytes();
            Some(((fault.id.file, bytes.start()), (bytes.end(), fault)))
        });
        let windows = (0..map.files().len()).filter_map(|file| map.window(file));
        let mut names: Vec<i64> = windows.map(OffsetRange::start).collect();
        names.sort_unstable_by(|one, other| other.cmp(one));
        let epochs = faults.collect();
        let seen = Seen::default();
        Self {
            job,
            segments,
            opened: None,
            log,
            map,
            target,
            writer,
            epochs,
            names,
            listed: 0,
            done: 0,
            is_surprised,
            seen,
        }
    }

    /// Hands over everything.
    ///
    /// # Errors
    /// A file cannot be read, a fault that the target does not take, or another error of the target.
    pub(super) fn run<B>(mut self, progress: &mut Progress<'_, B>) -> Result<Result<Seen, Stopped<B>>, PartitionError> {
        for part in self.parts() {
            let file = match &part {
                Part::Whole { file } | Part::Stretch(Stretch { file, .. }) => *file,
            };
            self.list_to(file)?;
            let read = match &part {
                Part::Whole { file } => self.whole(*file, progress),
                Part::Stretch(stretch) => self.stretch(stretch, progress),
            };
            let flow = read.and_then(|flow| {
                if flow.is_continue() {
                    self.target.flush(self.writer)?;
                }
                Ok(flow)
            });
            if let ControlFlow::Break(stopped) = flow.map_err(|error| self.at(file, error))? {
                return Ok(Err(stopped));
            }
        }
        let last = self.segments.len().saturating_sub(1);
        self.list_to(last)?;
        self.begin_segments(i64::MAX).map_err(|error| self.at(last, error))?;
        Ok(Ok(self.seen))
    }

    fn at(&self, file: usize, error: Error) -> PartitionError {
        self.job.at(self.segment(file), error)
    }

    /// The parts in the order of their offsets. A file that was not verified is one, because no other file has its offsets.
    fn parts(&self) -> Vec<Part> {
        let whole = (0..self.map.files().len()).filter(|&file| !self.log.is_verified(file));
        let start = |file: usize| self.map.window(file).map_or(i64::MIN, OffsetRange::start);
        let mut parts: Vec<(i64, Part)> = whole.map(|file| (start(file), Part::Whole { file })).collect();
        let stretches = self.map.stretches().into_iter().filter(|stretch| self.log.is_verified(stretch.file));
        parts.extend(stretches.map(|stretch| (stretch.offsets.start(), Part::Stretch(stretch))));
        parts.sort_by_key(|(start, _)| *start);
        parts.into_iter().map(|(_, part)| part).collect()
    }

    fn segment(&self, file: usize) -> usize {
        self.segments.get(file).map_or(0, |segment| segment.index)
    }

    fn open(&mut self, file: usize) -> Result<Arc<dyn ReadAt>, Error> {
        if let Some((_, source)) = self.opened.as_ref().filter(|(opened, _)| *opened == file) {
            return Ok(Arc::clone(source));
        }
        let segment = self.segments.get(file).ok_or(io::ErrorKind::NotFound).map_err(io::Error::from)?;
        let source = segment.open()?;
        self.opened = Some((file, Arc::clone(&source)));
        Ok(source)
    }

    /// Reads a file that was not verified.
    fn whole<B>(&mut self, file: usize, progress: &mut Progress<'_, B>) -> Result<ControlFlow<Stopped<B>>, Error> {
        let bytes = self.open(file)?;
        let source = Source { segment: self.segment(file), bytes: bytes.as_ref() };
        let length = source.bytes.length()?;
        let window = self.map.window(file);
        let mut expected = window.map_or(i64::MIN, OffsetRange::start);
        let mut reader = RecordReader::new(self.job.max_output_size);
        let mut survey = Survey::joined();
        let mut is_surprise = false;
        let walked = walk_chunks(source.bytes, &mut ChunkReader::new(0, length, true), &mut |part, end| {
            let known = survey.corrupt_ranges().len();
            let add = || -> Result<(), Error> {
                match part {
                    SegmentPart::Corrupt(range) => survey.add_corrupt(range)?,
                    SegmentPart::ZeroTail { length } => survey.add_zeros(length, end)?,
                    SegmentPart::Batches { data, position } => {
                        for batch in Batches::whole(data, position) {
                            let mut header = BatchHeader::of(&batch);
                            let (first, last) = verified_offsets(&batch, &mut header, &mut reader)?;
                            let Some(offsets) = OffsetRange::inclusive(first, last) else {
                                survey.add_batch(&header, (first, last))?;
                                continue;
                            };
                            let is_in_place =
                                offsets.start() >= expected && window.is_none_or(|window| window.contains(offsets));
                            is_surprise |= self.is_surprised && !is_in_place;
                            if is_surprise {
                                return Ok(());
                            }
                            if let Some(error) = self.batch(file, &batch, offsets, None)? {
                                survey.add_corrupt(CorruptRange::of_batch(header.position, header.end(), error))?;
                            } else {
                                expected = offsets.end();
                                survey.add_batch(&header, (first, last))?;
                            }
                        }
                    }
                }
                let found = survey.corrupt_ranges().get(known..).unwrap_or_default();
                found.iter().try_for_each(|range| self.target.corrupt(source, range, self.writer))
            };
            match add() {
                Err(error) => ControlFlow::Break(Err(error)),
                Ok(()) if is_surprise => ControlFlow::Break(Ok(Stopped::Surprise)),
                Ok(()) => progress(self.done.saturating_add(end)).map_break(|broken| Ok(Stopped::Broken(broken))),
            }
        })?;
        self.done = self.done.saturating_add(length);
        self.seen.surveys.push((file, survey));
        match walked {
            ControlFlow::Continue(()) => Ok(ControlFlow::Continue(())),
            ControlFlow::Break(stopped) => stopped.map(ControlFlow::Break),
        }
    }

    /// Reads the batches of a stretch, of which a verified survey knows all.
    fn stretch<B>(
        &mut self,
        stretch: &Stretch,
        progress: &mut Progress<'_, B>,
    ) -> Result<ControlFlow<Stopped<B>>, Error> {
        let bytes = self.open(stretch.file)?;
        let source = Source { segment: self.segment(stretch.file), bytes: bytes.as_ref() };
        let most = if source.bytes.traits().is_remote() { REMOTE_CHUNK } else { CHUNK } as u64;
        let map = self.map;
        let ids = stretch.facts.clone().map(|index| BatchId { file: stretch.file, index });
        let mut batches = ids.filter_map(|id| Some((id, map.batch(id)?)));
        let mut next = batches.next();
        let mut data = Vec::new();
        let mut read: Vec<(BatchId, &BatchFact)> = Vec::new();
        while let Some((id, first)) = next.take() {
            let mut bytes = first.bytes();
            read.clear();
            read.push((id, first));
            for (id, batch) in batches.by_ref() {
                if batch.bytes().start() != bytes.end() || bytes.len() >= most {
                    next = Some((id, batch));
                    break;
                }
                bytes = bytes.through(batch.bytes());
                memory::push(&mut read, (id, batch))?;
            }
            load(source.bytes, bytes, &mut data)?;
            for (&(id, _), batch) in read.iter().zip(Batches::whole(&data, bytes.start())) {
                batch.ensure_valid()?;
                let Some(Placement { offsets, .. }) = self.map.placement(id) else { continue };
                if let Some(error) = self.batch(id.file, &batch, offsets, self.map.text_of(id))? {
                    let end = batch.position().saturating_add(batch.size_in_bytes() as u64);
                    self.target.corrupt(
                        source,
                        &CorruptRange::of_batch(batch.position(), end, error.clone()),
                        self.writer,
                    )?;
                    self.seen.rejected.push((id, error));
                }
            }
            self.done = self.done.saturating_add(bytes.len());
            if let ControlFlow::Break(broken) = progress(self.done) {
                return Ok(ControlFlow::Break(Stopped::Broken(broken)));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Hands over a batch with these offsets, after its fields were restored. The result is why it cannot be in a log.
    fn batch(
        &mut self,
        file: usize,
        batch: &RecordBatch<'_>,
        offsets: OffsetRange,
        text: Option<String>,
    ) -> Result<Option<ContentError>, Error> {
        self.begin_segments(offsets.start())?;
        let segment = self.segment(file);
        let last = offsets.end() - 1;
        let epoch = self.epoch_of(file, batch);
        if last == batch.last_offset() && epoch.is_none() {
            return self.target.batch(&Delivered { batch, segment, offset_text: None, epoch_text: None }, self.writer);
        }
        let position = batch.position();
        let mut data = memory::copy_of(batch.data())?;
        let mut restored = MutableRecordBatch::new(&mut data, position)?;
        let mut offset_text = None;
        if last != batch.last_offset() {
            restored.set_last_offset(last);
            let first = if batch.magic() >= 2 { offsets.start() } else { last };
            let error = ContentError::OffsetField { position, stored: batch.offset_field(), expected: first };
            // Readers take the offsets of the messages of format 0, whatever their wrapper has.
            if T::IS_STRICT && !has_own_offsets(batch) {
                return Err(error.into());
            }
            offset_text = Some(text.unwrap_or_else(|| error.to_string()));
        }
        if let Some(fault) = epoch {
            restored.set_partition_leader_epoch(fault.right);
        }
        let batch = RecordBatch::new(&data, position)?;
        let epoch_text = epoch.map(|fault| epoch_text(position, &fault));
        self.target.batch(&Delivered { batch: &batch, segment, offset_text, epoch_text }, self.writer)
    }

    /// The fault of the leader epoch of a batch.
    fn epoch_of(&mut self, file: usize, batch: &RecordBatch<'_>) -> Option<EpochFault> {
        if self.epochs.is_empty() {
            return None;
        }
        let at = batch.position();
        let (&(in_file, _), &(end, fault)) = self.epochs.range(..=(file, at)).next_back()?;
        if in_file != file || at >= end {
            return None;
        }
        let bytes = ByteRange::sized(at, batch.size_in_bytes() as u64)?;
        RestoredEpoch { file, bytes, right: fault.right }.add_to(&mut self.seen.epochs);
        Some(fault)
    }

    /// Begins the segments whose names are not above an offset.
    fn begin_segments(&mut self, offset: i64) -> Result<(), Error> {
        while let Some(name) = self.names.pop_if(|name| *name <= offset) {
            self.target.begin_segment(name, self.writer)?;
        }
        Ok(())
    }

    /// Lists what is not in place in the verified files up to this one.
    fn list_to(&mut self, last: usize) -> Result<(), PartitionError> {
        while self.listed <= last && self.listed < self.segments.len() {
            let file = self.listed;
            self.listed += 1;
            if self.log.is_verified(file) {
                self.list(file)?;
            }
        }
        Ok(())
    }

    fn list(&mut self, file: usize) -> Result<(), PartitionError> {
        let facts = self.map.files().get(file).map_or(&[][..], |file| file.facts);
        let mut ranges = self.log.survey(file).map_or(&[][..], Survey::corrupt_ranges).iter();
        for (index, fact) in facts.iter().enumerate() {
            let id = BatchId { file, index };
            match fact {
                Fact::Zeros(_) => {}
                Fact::Corrupt(_) => {
                    if let Some(range) = ranges.next() {
                        self.corrupt(file, range).map_err(|error| self.at(file, error))?;
                    }
                }
                Fact::Batch(batch) => {
                    if let Some(batch_use) = self.map.use_of(id).filter(|&batch_use| batch_use != Use::InPlace) {
                        self.exception(id, batch, batch_use)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn corrupt(&mut self, file: usize, range: &CorruptRange) -> Result<(), Error> {
        let bytes = self.open(file)?;
        let source = Source { segment: self.segment(file), bytes: bytes.as_ref() };
        self.target.corrupt(source, range, self.writer)
    }

    fn exception(&mut self, id: BatchId, batch: &BatchFact, batch_use: Use) -> Result<(), PartitionError> {
        if is_overlap(self.map, id, batch_use) {
            return Ok(());
        }
        if T::IS_STRICT
            && let Some(error) = self.map.error_of(id)
        {
            return Err(self.disagreement(id, batch_use)?.unwrap_or_else(|| self.at(id.file, error.into())));
        }
        let Some(text) = self.map.text_of(id) else { return Ok(()) };
        let exception = Exception { batch, batch_use, text };
        let taken = self.open(id.file).and_then(|bytes| {
            let source = Source { segment: self.segment(id.file), bytes: bytes.as_ref() };
            self.target.exception(source, exception, self.writer)
        });
        taken.map_err(|error| self.at(id.file, error))
    }

    /// The error of two files if another one than that of a batch has other records at its offsets.
    fn disagreement(&self, id: BatchId, batch_use: Use) -> Result<Option<PartitionError>, PartitionError> {
        let Use::OutOfPlace { contradicts: Some(of) } = batch_use else { return Ok(None) };
        let (Some(batch), Some(other)) = (self.map.batch(id), self.map.placement(of)) else { return Ok(None) };
        if of.file == id.file {
            return Ok(None);
        }
        let own = Placement { id, offsets: batch.offsets() };
        let mut records = self.log.records(self.job.max_output_size);
        let offset = records.difference(own, other).map_err(|error| self.at(id.file, error))?;
        let offset = offset.unwrap_or_else(|| own.offsets.start().max(other.offsets.start()));
        let name = |file: usize| self.job.name(self.segment(file));
        let (earlier, later) = (name(id.file.min(of.file)), name(id.file.max(of.file)));
        Ok(Some(PartitionError::Disagreement { earlier, later, offset }))
    }
}

/// Reads bytes that were there before.
fn load(source: &dyn ReadAt, bytes: ByteRange, data: &mut Vec<u8>) -> Result<(), Error> {
    source.traits().check_interrupt()?;
    let size = usize::try_from(bytes.len()).unwrap_or(usize::MAX);
    memory::resize(data, size)?;
    if read_full(source, data, bytes.start())? < size {
        return Err(ReadError::Shrunk { length: source.length()?, expected: bytes.end() }.into());
    }
    Ok(())
}
