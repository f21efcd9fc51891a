//! Verifies all files of a partition.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::FileToVerify;
use super::file_read::FileRead;
use super::findings::Findings;
use super::gaps::VerifiedPartition;
use super::options::{Bounds, Numbered, VerifyError, VerifyOptions};
use super::positions::Stored;
use super::read::read_file;
use super::threads::{Step, Worked, on_threads};
use crate::maintain::check_batch::BatchChecker;
use crate::map::surveyed_log::FileError;
use crate::map::{Hints, LogFile, LogMap, SurveyedLog, map_of};
use crate::read::log_format::LogFormat;
use crate::read::segment_files::{MemorySegment, OpenSegment};
use kafkacomp_records::error_kind::Category;

/// Verifies a partition. `progress` is called repeatedly with the number of bytes done since its last call; [`ControlFlow::Break`]
/// ends the check.
///
/// # Errors
/// A file cannot be read, with its index, or memory ran out. Corruption is not an error but a finding.
pub fn verify_partition<B>(
    files: &[FileToVerify],
    options: &VerifyOptions<'_>,
    progress: &mut dyn FnMut(u64) -> ControlFlow<B>,
) -> Result<ControlFlow<B, VerifiedPartition>, (usize, VerifyError)> {
    let named = files.iter().enumerate().filter_map(|(index, file)| Some((file.start()?, Some(index))));
    let mut in_order: Vec<Numbered> = named.chain(options.bounds.iter().map(|&name| (name, None))).collect();
    in_order.sort_by_key(|&(name, _)| name);
    let bounds = bounds(files, &in_order);
    let read = |index: usize, step: &Step| match (files.get(index), bounds.get(index)) {
        (Some(file), Some(&bounds)) => read_file(file, bounds, options, None, step),
        _ => Ok(None),
    };
    let mut read = match on_threads(files.len(), options.threads, &read, progress)? {
        ControlFlow::Continue(read) => read,
        ControlFlow::Break(ended) => return Ok(ControlFlow::Break(ended)),
    };
    let is_message_set = read.iter().any(|read| read.log_format == LogFormat::MessageSet);
    if is_message_set {
        // Offsets are positions: the log ends with its last file.
        let ends = files
            .iter()
            .zip(&read)
            .filter_map(|(file, read)| Some(file.start()?.saturating_add_unsigned(read.report.length)));
        in_order.extend(ends.max().map(|end| (end, None)));
        in_order.sort_by_key(|&(name, _)| name);
    }
    let nothing = MemorySegment(Arc::new([]));
    let log_files = in_order.iter().map(|&(name, index)| {
        let file = index.and_then(|index| files.get(index));
        let valid = file.and_then(|file| file.valid);
        LogFile { name, files: file.map_or(&nothing as &dyn OpenSegment, |file| file.files.as_ref()), valid }
    });
    let log_files: Vec<LogFile<'_>> = log_files.collect();
    let surveys = in_order.iter().map(|&(_, index)| {
        let read = index.and_then(|index| read.get_mut(index));
        read.map(|read| std::mem::take(&mut read.survey)).unwrap_or_default()
    });
    let surveyed = log_files.iter().copied().zip(surveys);
    let mut checker = BatchChecker::new(options.max_output_size);
    let log = SurveyedLog::of(surveyed, options.max_output_size, &mut |_, batch| match checker.count(batch) {
        Err(error) if error.category() == Category::Corrupt => Ok(Some(error.into())),
        Err(error) if error.category() == Category::Resource => Err(error.into()),
        _ => Ok(None),
    });
    let in_file = |FileError { file, error }| {
        (in_order.get(file).and_then(|&(_, index)| index).unwrap_or_default(), VerifyError::from(error))
    };
    let log = log.map_err(in_file)?;
    let mut stored = if is_message_set {
        Stored::Positions(&log_files)
    } else {
        Stored::Records(Box::new(log.records(options.max_output_size)))
    };
    let facts = log.facts();
    let is_whole = !is_message_set && in_order.last().is_some_and(|(_, index)| index.is_some());
    let reached = if is_whole { log.reached(&options.reached) } else { Ok(None) };
    let reached = reached.map_err(in_file)?;
    let hints = Hints { compaction: options.compaction, reached };
    let map = map_of(&facts, hints, &mut stored).map_err(|error| (0, error.into()))?;
    let moved = if is_message_set {
        ControlFlow::Continue(Vec::new())
    } else {
        read_moved(files, &in_order, &map, &bounds, options, progress)?
    };
    let moved = match moved {
        ControlFlow::Continue(moved) => moved,
        ControlFlow::Break(ended) => return Ok(ControlFlow::Break(ended)),
    };
    for (index, again) in moved {
        if let Some(place) = read.get_mut(index) {
            *place = again;
        }
    }
    let findings = Findings { files, in_order: &in_order, log: &log, map: &map, options, is_message_set };
    let found = findings.report(read, &mut stored).map_err(|error| (0, error.into()))?;
    Ok(ControlFlow::Continue(found))
}

/// The bounds of each file that is verified.
fn bounds(files: &[FileToVerify], in_order: &[Numbered]) -> Vec<Bounds> {
    let mut found = vec![Bounds::default(); files.len()];
    for (number, &(name, index)) in in_order.iter().enumerate() {
        let Some((index, file)) = index.and_then(|index| Some((index, files.get(index)?))) else { continue };
        let later = in_order.get(number..).unwrap_or_default();
        let next = later.iter().map(|&(next, _)| next).find(|&next| next > name);
        // If only a part of a segment is valid, it need not end where the next one begins.
        if let Some(place) = found.get_mut(index) {
            *place = Bounds { number, next: next.filter(|_| file.valid.is_none()) };
        }
    }
    found
}

/// Reads again the files whose batches are not all in place, each with its index.
fn read_moved<B>(
    files: &[FileToVerify],
    in_order: &[Numbered],
    map: &LogMap<'_>,
    bounds: &[Bounds],
    options: &VerifyOptions<'_>,
    progress: &mut dyn FnMut(u64) -> ControlFlow<B>,
) -> Worked<(usize, FileRead), VerifyError, B> {
    let numbered = in_order.iter().enumerate().filter_map(|(number, &(_, index))| Some((number, index?)));
    let moved: Vec<(usize, usize)> = numbered.filter(|&(number, _)| !map.is_in_order(number)).collect();
    let read = |at: usize, step: &Step| match moved
        .get(at)
        .and_then(|&(number, index)| Some((number, index, files.get(index)?, *bounds.get(index)?)))
    {
        Some((number, index, file, bounds)) => {
            let read = read_file(file, bounds, options, Some((map, number)), step)?;
            Ok(read.map(|read| (index, read)))
        }
        None => Ok(None),
    };
    // These bytes have been counted.
    let mut interrupted = |_| progress(0);
    let index_of = |(at, error)| (moved.get(at).map_or(0, |&(_, index)| index), error);
    on_threads(moved.len(), options.threads, &read, &mut interrupted).map_err(index_of)
}
