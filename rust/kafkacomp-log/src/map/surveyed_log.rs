//! The surveys of the files of a partition: as little as settles which batches belong to the log.
//!
//! A light survey settles a file whose offsets increase from its name to the next one. Only if a batch of some file is elsewhere,
//! that file is verified, and so are those that may have its offsets, or a hole there.

use std::sync::Arc;

use super::contested::Contested;
use super::facts::{BatchId, Fact, SegmentFacts};
use super::judge::judge;
use super::last_file::LastFile;
use super::log_end::EndWitness;
use super::names::windows;
use super::ranges::OffsetRange;
use super::reached::ReachedOffsets;
use super::segment::SegmentMap;
use super::stored_records::StoredRecords;
use super::survey::{Accept, Survey};
use super::truncation::truncation;
use crate::error::{ContentError, Error, ReadError};
use crate::read::segment_files::OpenSegment;
use crate::read::source::ReadAt;
use kafkacomp_records::record::RecordBatch;

/// A segment file that is to be judged.
#[derive(Clone, Copy)]
pub struct LogFile<'s> {
    /// The base offset in its name.
    pub name: i64,
    /// Opens it. It is closed after each survey, because a partition may have more files than a process may open.
    pub files: &'s dyn OpenSegment,
    /// The offsets that the leader's epochs allow in a remote segment; `None` if nothing restricts them.
    pub valid: Option<OffsetRange>,
}

/// As [`Accept`], with the number of the file.
pub type AcceptIn<'a> = dyn FnMut(usize, &RecordBatch<'_>) -> Result<Option<ContentError>, Error> + 'a;

/// Makes the first survey of a file; `None` if the file is not to be read yet.
type MakeSurvey<'a> = dyn FnMut(&dyn ReadAt, &mut Accept<'_>) -> Result<Option<Survey>, Error> + 'a;

/// An error about one of the files.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct FileError {
    /// The number of the file in the order of names.
    pub file: usize,
    /// What is wrong.
    pub error: Error,
}

/// The surveys of the files of a partition.
pub struct SurveyedLog<'s> {
    files: Vec<SurveyedFile<'s>>,
}

struct SurveyedFile<'s> {
    file: LogFile<'s>,
    survey: Survey,
    /// Whether it has the survey.
    is_read: bool,
    is_verified: bool,
    /// The error of a file that is shorter than its offset index shows.
    truncated: Option<ContentError>,
}

impl<'s> SurveyedLog<'s> {
    /// Surveys the files of a partition, which are in the order of their names. A batch that `accept` returns an error for is
    /// corrupt. Batches are decompressed to at most `max_output_size` bytes.
    ///
    /// # Errors
    /// A file cannot be read, or the errors of `accept`.
    pub fn read(files: &[LogFile<'s>], max_output_size: usize, accept: &mut AcceptIn<'_>) -> Result<Self, FileError> {
        Self::surveyed(files, max_output_size, accept, &mut |source, _| Survey::light(source).map(Some))
    }

    /// As [`read`](Self::read), but nothing of remote files is read: until they are, their batches count as in place.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_local(
        files: &[LogFile<'s>],
        max_output_size: usize,
        accept: &mut AcceptIn<'_>,
    ) -> Result<Self, FileError> {
        Self::surveyed(files, max_output_size, accept, &mut |source, _| {
            if source.traits().is_remote() { Ok(None) } else { Survey::light(source).map(Some) }
        })
    }

    /// As [`read`](Self::read), after all files were verified.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn verified(
        files: &[LogFile<'s>],
        max_output_size: usize,
        accept: &mut AcceptIn<'_>,
    ) -> Result<Self, FileError> {
        Self::surveyed(files, max_output_size, accept, &mut |source, accept| {
            Survey::verified(source, max_output_size, accept).map(Some)
        })
    }

    fn surveyed(
        files: &[LogFile<'s>],
        max_output_size: usize,
        accept: &mut AcceptIn<'_>,
        survey: &mut MakeSurvey<'_>,
    ) -> Result<Self, FileError> {
        let mut log = Self { files: Vec::new() };
        for (file, each) in files.iter().enumerate() {
            let source = open(file, each)?;
            let accept: &mut Accept<'_> = &mut |batch| accept(file, batch);
            let survey = survey(source.as_ref(), accept).map_err(|error| FileError { file, error })?;
            let is_read = survey.is_some();
            let mut survey = survey.unwrap_or_default();
            let later = files.iter().skip(file).map(|next| next.name).find(|&next| next > each.name);
            let window = OffsetRange::new(each.name, later.unwrap_or(i64::MAX));
            let segment =
                SegmentFacts { name: each.name, facts: survey.facts(), is_truncated: false, valid: each.valid };
            if judge(&segment, window).is_in_order() {
                survey.join();
            }
            log.files.push(SurveyedFile { file: *each, survey, is_read, is_verified: false, truncated: None });
        }
        log.settle(max_output_size, accept)?;
        Ok(log)
    }

    /// The files of a partition, in the order of their names, with surveys of all their bytes, which a reader has made.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn of(
        files: impl IntoIterator<Item = (LogFile<'s>, Survey)>,
        max_output_size: usize,
        accept: &mut AcceptIn<'_>,
    ) -> Result<Self, FileError> {
        let files = files.into_iter().map(|(file, survey)| {
            let is_verified = !survey.is_joined();
            SurveyedFile { file, survey, is_read: true, is_verified, truncated: None }
        });
        let mut log = Self { files: files.collect() };
        log.settle(max_output_size, accept)?;
        Ok(log)
    }

    /// Replaces the survey of a file by one of all its bytes, which a reader has made meanwhile. Afterwards, the files are to be
    /// [settled](Self::settle).
    pub fn set_survey(&mut self, file: usize, survey: Survey) {
        if let Some(each) = self.files.get_mut(file) {
            each.is_read = true;
            each.is_verified = !survey.is_joined();
            each.survey = survey;
        }
    }

    /// Makes the bytes of a batch corrupt that cannot be used.
    ///
    /// # Errors
    /// Memory ran out.
    pub fn reject(&mut self, id: BatchId, error: ContentError) -> Result<(), Error> {
        self.files.get_mut(id.file).map_or(Ok(()), |each| each.survey.reject(id.index, error))
    }

    /// Whether each batch of a file has a fact of its own, and its checksum is right. Of other files, all batches are in place.
    pub fn is_verified(&self, file: usize) -> bool {
        self.files.get(file).is_some_and(|each| each.is_verified)
    }

    /// Verifies files until all are settled.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn settle(&mut self, max_output_size: usize, accept: &mut AcceptIn<'_>) -> Result<(), FileError> {
        loop {
            let unsettled = self.unsettled();
            if unsettled.is_empty() {
                return self.find_truncated();
            }
            for file in unsettled {
                let Some(each) = self.files.get_mut(file) else { continue };
                let accept: &mut Accept<'_> = &mut |batch| accept(file, batch);
                let source = open(file, &each.file)?;
                each.survey = Survey::verified(source.as_ref(), max_output_size, accept)
                    .map_err(|error| FileError { file, error })?;
                each.is_verified = true;
            }
        }
    }

    /// The facts of the files.
    pub fn facts(&self) -> Vec<SegmentFacts<'_>> {
        self.files.iter().map(SurveyedFile::facts).collect()
    }

    /// The survey of a file.
    pub fn survey(&self, file: usize) -> Option<&Survey> {
        self.files.get(file).map(|each| &each.survey)
    }

    /// The error of a file that is shorter than its offset index shows.
    pub fn truncated(&self, file: usize) -> Option<&ContentError> {
        self.files.get(file)?.truncated.as_ref()
    }

    /// The records of the files, for [`map_of`](super::map_of).
    pub fn records(&self, max_output_size: usize) -> StoredRecords<'_> {
        StoredRecords::new(self.files.iter().map(|each| (each.facts(), each.file.files)), max_output_size)
    }

    /// What shows how far the log reached; `None` if nothing does, if its last file was not read, or if only a part of that is valid.
    ///
    /// # Errors
    /// The last file cannot be read.
    pub fn reached(&self, known: &ReachedOffsets) -> Result<Option<EndWitness>, FileError> {
        let Some((last, earlier)) = self.files.split_last() else { return Ok(None) };
        if !last.is_read || last.file.valid.is_some() {
            return Ok(None);
        }
        let source = open(earlier.len(), &last.file)?;
        let facts = last.survey.facts();
        let batch = facts.iter().rposition(|fact| fact.batch().is_some());
        let (before, after) = facts.split_at(batch.map_or(0, |batch| batch + 1));
        let file = LastFile {
            name: last.file.name,
            files: last.file.files,
            source: source.as_ref(),
            position: before.last().map_or(0, |fact| fact.bytes().end()),
            end: before.last().and_then(Fact::batch).map_or(last.file.name, |batch| batch.offsets().end()),
            length: facts.last().map_or(0, |fact| fact.bytes().end()),
            has_zero_tail: matches!(after, [Fact::Zeros(_)]),
            reads_indexes: true,
        };
        known.beyond(i64::MIN, &file).map_err(|error| FileError { file: earlier.len(), error: error.into() })
    }

    /// The files that a light survey does not settle: those with a batch elsewhere than in its place, those next to them, those
    /// that may have offsets of such batches, and those whose first offsets are unknown.
    fn unsettled(&self) -> Vec<usize> {
        let facts = self.facts();
        let maps: Vec<SegmentMap> =
            facts.iter().zip(windows(&facts)).map(|(file, window)| judge(file, window)).collect();
        let others = facts.iter().zip(&maps).flat_map(|(segment, map)| {
            let batches = map.others.iter().flat_map(|stretch| stretch.batches(segment.facts));
            batches.map(|(_, batch)| batch.offsets())
        });
        let contested = Contested::new(others.collect());
        let is_elsewhere = |file: usize| maps.get(file).is_some_and(|map| !map.is_in_order());
        let is_settled = |file: usize, map: &SegmentMap| {
            let is_beside = is_elsewhere(file + 1) || file.checked_sub(1).is_some_and(is_elsewhere);
            map.is_in_order() && !is_beside && map.window.is_some_and(|window| !contested.overlaps(window))
        };
        let files = self.files.iter().zip(&maps).enumerate();
        let unsettled = files
            .filter(|&(file, (each, map))| !each.is_verified && (each.survey.has_wrappers() || !is_settled(file, map)));
        unsettled.map(|(file, _)| file).collect()
    }

    /// Finds the files that were longer. Compares index entries only where the end of a file lacks offsets.
    fn find_truncated(&mut self) -> Result<(), FileError> {
        let names: Vec<i64> = self.files.iter().map(|each| each.file.name).collect();
        for (file, each) in self.files.iter_mut().enumerate() {
            let name = each.file.name;
            let end = names.get(file + 1).copied().unwrap_or(i64::MAX);
            let expected =
                each.facts().facts.iter().rev().find_map(Fact::batch).map_or(name, |last| last.offsets().end());
            if each.is_read && expected < end {
                let files = each.file.files;
                let found = truncation(files, name, || files.open(), (expected, end));
                each.truncated = found.map_err(|error| FileError { file, error: error.into() })?;
            }
        }
        Ok(())
    }
}

impl SurveyedFile<'_> {
    fn facts(&self) -> SegmentFacts<'_> {
        SegmentFacts {
            name: self.file.name,
            facts: self.survey.facts(),
            is_truncated: self.truncated.is_some(),
            valid: self.file.valid,
        }
    }
}

fn open(file: usize, of: &LogFile<'_>) -> Result<Arc<dyn ReadAt>, FileError> {
    of.files.open().map_err(|error| FileError { file, error: ReadError::Io(error).into() })
}
