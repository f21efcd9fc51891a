//! The surveys of the files of a partition: as little as settles which batches belong to the log.
//!
//! A light survey settles a file whose offsets increase from its name to the next one. Only if a batch of some file is elsewhere,
//! that file is verified, and so are those that may have its offsets, or a hole there.

use std::sync::Arc;

use super::contested::Contested;
use super::facts::{Fact, SegmentFacts};
use super::judge::judge;
use super::names::windows;
use super::ranges::OffsetRange;
use super::segment::SegmentMap;
use super::stored_records::StoredRecords;
use super::survey::{Accept, Survey};
use super::truncation::truncation;
use crate::log::error::{ContentError, Error, ReadError};
use crate::log::index::offset::{OffsetIndex, OffsetPosition};
use crate::log::read::segment_files::OpenSegment;
use crate::log::read::source::ReadAt;
use crate::record::RecordBatch;

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
    is_verified: bool,
    /// Whether the file is shorter than its offset index shows.
    is_truncated: bool,
}

impl<'s> SurveyedLog<'s> {
    /// Surveys the files of a partition, which are in the order of their names. A batch that `accept` returns an error for is
    /// corrupt. Batches are decompressed to at most `max_output_size` bytes.
    ///
    /// # Errors
    /// A file cannot be read, or the errors of `accept`.
    pub fn read(files: &[LogFile<'s>], max_output_size: usize, accept: &mut AcceptIn<'_>) -> Result<Self, FileError> {
        let mut log = Self { files: Vec::new() };
        for (file, each) in files.iter().enumerate() {
            let source = open(file, each)?;
            let survey = Survey::light(source.as_ref()).map_err(|error| FileError { file, error })?;
            let end = files.get(file + 1).map_or(i64::MAX, |next| next.name);
            let mut surveyed = SurveyedFile { file: *each, survey, is_verified: false, is_truncated: false };
            if judge(&surveyed.facts(), OffsetRange::new(each.name, end)).is_in_order() {
                surveyed.survey.join();
            }
            log.files.push(surveyed);
        }
        loop {
            let unsettled = log.unsettled();
            if unsettled.is_empty() {
                break;
            }
            for file in unsettled {
                let each = &mut log.files[file];
                let accept: &mut Accept<'_> = &mut |batch| accept(file, batch);
                let source = open(file, &each.file)?;
                each.survey = Survey::verified(source.as_ref(), max_output_size, accept)
                    .map_err(|error| FileError { file, error })?;
                each.is_verified = true;
            }
        }
        log.find_truncated()?;
        Ok(log)
    }

    /// The facts of the files.
    pub fn facts(&self) -> Vec<SegmentFacts<'_>> {
        self.files.iter().map(SurveyedFile::facts).collect()
    }

    /// The records of the files, for [`map_of`](super::map_of).
    pub fn records(&self, max_output_size: usize) -> StoredRecords<'_> {
        StoredRecords::new(self.files.iter().map(|each| (each.facts(), each.file.files)), max_output_size)
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
            if expected < end {
                let entries = offset_index(&each.file);
                if !entries.is_empty() {
                    let found = truncation(open(file, &each.file)?.as_ref(), &entries, (expected, end));
                    each.is_truncated = found.map_err(|error| FileError { file, error: error.into() })?.is_some();
                }
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
            is_truncated: self.is_truncated,
            valid: self.file.valid,
        }
    }
}

fn open(file: usize, of: &LogFile<'_>) -> Result<Arc<dyn ReadAt>, FileError> {
    of.files.open().map_err(|error| FileError { file, error: ReadError::Io(error).into() })
}

/// The entries of the offset index. There are none if it cannot be read, because it is derived from the segment.
fn offset_index(file: &LogFile<'_>) -> Vec<OffsetPosition> {
    let data = file.files.offset_index();
    OffsetIndex::parse(&data, file.name).map(|index| index.iter().collect()).unwrap_or_default()
}
