//! Doors that report on a log or rewrite it, and those that look for its end.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use kafkacomp_arrow::lookup::log_end::{judged_span, log_end};
use kafkacomp_arrow::lookup::segment_ends::end_offset;
use kafkacomp_arrow::lookup::summary::judged_offsets;
use kafkacomp_log::index::offset::OffsetIndex;
use kafkacomp_log::maintain::partition::{PartitionFindings, PartitionHistory, PartitionJob, SourceSegment};
use kafkacomp_log::maintain::rewrite::Rewrite;
use kafkacomp_log::map::{ReachedOffsets, Survey};
use kafkacomp_log::write::ClosedLog;
use kafkacomp_log::{FileToVerify, FollowEnd, Follower, OpenSegment, VerifyOptions, verify_partition};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{ConvertOptions, Converter};

use super::answer::{Answer, cut, joined, lenient, missing, offsets, scan};
use super::expected::Expected;
use super::folder::{Folder, Reading};
use crate::truth::logs::{CAP, Random};
use crate::truth::promises::Broken;

fn onwards(_: u64) -> ControlFlow<Infallible> {
    ControlFlow::Continue(())
}

/// Which promises the tools break. `strict` is the answer of a strict scan, and `scratch` a folder that does not exist.
pub fn check(
    folder: &Folder,
    expected: &Expected,
    strict: &Answer,
    scratch: &Path,
    random: &mut Random,
) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut differs = |door: &str, how: Option<String>| {
        broken.extend(how.map(|how| ("P5", format!("{door}: {how}"))));
    };
    differs("verify", verified(folder, expected, strict, random));
    differs("repair", repaired(folder, expected, scratch, random));
    // Format 2 alone has zstd, and the offsets that are missing within a compressed message are between two that are not.
    let codec = *random.choice(&[CompressionType::Gzip, CompressionType::Snappy, CompressionType::Lz4]);
    let recompress = Rewrite::recompress(Compression::of(codec), None, CAP, 1);
    differs("recompress", rewritten(folder, expected, strict, (scratch, recompress), random));
    let convert = Rewrite::Convert(Converter::new(ConvertOptions { upgrade: true, ..ConvertOptions::default() }));
    differs("convert", rewritten(folder, expected, strict, (scratch, convert), random));
    differs("info", described(folder, expected, strict, random));
    // The headers of compressed messages do not have their first offsets.
    if !expected.reaches_over
        && !expected.has_wrappers
        && (expected.in_order.last() != Some(&false) || !looks_in_order(folder))
    {
        differs("log_end", ends(folder, expected, strict, random));
        differs("the end of a stream", followed(folder, expected, random));
    }
    broken
}

/// Whether the headers of the last file from its last index entry on, or all without an index, are in order: these are read for its end.
/// Batches before the entry, or inside a corrupt one, may still contradict them.
fn looks_in_order(folder: &Folder) -> bool {
    let Some(number) = folder.files.len().checked_sub(1) else { return true };
    let (last, source) = (&folder.files[number], folder.opener(number, Reading::Slice).open().unwrap());
    let index = last.index.as_deref().unwrap_or_default();
    let entry = OffsetIndex::parse(index, last.base_offset).ok().and_then(|index| index.iter().last());
    let survey = Survey::light_from(source.as_ref(), entry.map_or(0, |entry| entry.position.into())).unwrap();
    survey.increases(last.base_offset, i64::MAX)
}

fn verified(folder: &Folder, expected: &Expected, strict: &Answer, random: &mut Random) -> Option<String> {
    let reading = Reading::any(random);
    let file = |index: usize| FileToVerify {
        name: folder.name(index),
        base_offset: Some(folder.files[index].base_offset),
        files: Arc::new(folder.opener(index, reading)),
        log_format: None,
        may_be_truncated: false,
        valid: None,
    };
    let files: Vec<FileToVerify> = (0..folder.files.len()).map(file).collect();
    let options = VerifyOptions {
        bounds: &[],
        compaction: folder.compaction,
        reached: ReachedOffsets::default(),
        leader_epochs: &[],
        log_start_offset: 0,
        max_output_size: CAP,
        threads: 1 + random.below(2),
    };
    let ControlFlow::Continue(found) = verify_partition(&files, &options, &mut onwards).unwrap();
    let (ranges, _) = found.gaps(&[], None);
    let names = joined(ranges.iter().map(|(_, range)| missing(range)));
    let records: u64 =
        found.reports.iter().flat_map(|report| report.counts.values()).map(|counts| counts.records).sum();
    let is_exact = found.reports.iter().all(|report| report.is_exact);
    let errors: u64 = found.reports.iter().map(|report| report.errors).sum();
    if names != expected.missing {
        Some(format!("names {names:?} instead of {:?}", expected.missing))
    } else if found.covered_offsets != expected.covered {
        Some(format!("{} offsets instead of {}", found.covered_offsets, expected.covered))
    } else if is_exact && records != expected.rows.len() as u64 {
        Some(format!("{records} records instead of {}", expected.rows.len()))
    } else {
        let is_silent = errors == 0 && strict.error.is_some();
        is_silent.then(|| format!("no error, but a scan has {:?}", strict.error))
    }
}

fn job(folder: &Folder, target: &Path, random: &mut Random) -> PartitionJob {
    let reading = Reading::any(random);
    let segment = |index: usize| SourceSegment {
        name: folder.name(index),
        base_offset: Some(folder.files[index].base_offset),
        files: Arc::new(folder.opener(index, reading)) as Arc<dyn OpenSegment>,
    };
    PartitionJob {
        segments: (0..folder.files.len()).map(segment).collect(),
        history: PartitionHistory { compaction: folder.compaction, ..PartitionHistory::default() },
        target: target.to_owned(),
        segment_bytes: *random.choice(&[None, None, Some(1 << 16)]),
        max_output_size: CAP,
    }
}

fn repaired(folder: &Folder, expected: &Expected, scratch: &Path, random: &mut Random) -> Option<String> {
    let quarantine = Some("quarantine").filter(|_| random.below(2) == 0);
    match job(folder, scratch, random).repair(quarantine, &mut onwards) {
        Ok(ControlFlow::Continue(repaired)) => copied(folder, expected, repaired.log, &repaired.findings),
        Err(error) => Some(error.to_string()),
    }
}

fn rewritten(
    folder: &Folder,
    expected: &Expected,
    strict: &Answer,
    (scratch, mut rewrite): (&Path, Rewrite),
    random: &mut Random,
) -> Option<String> {
    match job(folder, scratch, random).rewrite(&mut rewrite, &mut onwards) {
        Ok(ControlFlow::Continue((log, findings))) => {
            let how = copied(folder, expected, log, &findings);
            how.or_else(|| strict.error.as_ref().map(|error| format!("no error, but a scan has {error}")))
        }
        Err(_) if strict.error.is_some() => None,
        Err(error) => Some(error.to_string()),
    }
}

/// How a log that was written differs from what a reader of the source delivers, and what it is reported to lack.
fn copied(folder: &Folder, expected: &Expected, log: ClosedLog, findings: &PartitionFindings) -> Option<String> {
    let names = joined(findings.missing.iter().map(|(_, range)| missing(range)));
    if names != expected.missing {
        return Some(format!("names {names:?} instead of {:?}", expected.missing));
    }
    let written = Folder::at(log.staging().folder(), folder.compaction);
    drop(log);
    let found = scan(written.partition(Reading::Slice), lenient());
    let wanted = expected.rows.iter().map(|row| row.0);
    let (first, end) = (found.rows.first().map(|row| row.0), found.rows.last().map(|row| row.0 + 1));
    let within = (first.unwrap_or(0), end.unwrap_or(0));
    found.error.clone().or_else(|| found.rows_differ(&expected.rows)).or_else(|| {
        let (lacks, known) = (offsets(&cut(&found.missing, within)), offsets(&cut(&expected.missing, within)));
        (lacks != known).then(|| format!("its result lacks {lacks:?}, the source {known:?}, {} rows", wanted.count()))
    })
}

/// The offsets that headers show to be missing, if nothing is corrupt.
fn described(folder: &Folder, expected: &Expected, strict: &Answer, random: &mut Random) -> Option<String> {
    let found = judged_offsets(&folder.partition(Reading::any(random)), &lenient());
    let found = match found {
        Ok(found) => found?,
        Err(error) => return Some(error.to_string()),
    };
    let names = joined(found.missing.ranges().iter().map(|each| missing(&each.range)));
    let is_known = strict.error.is_none() && !expected.has_wrappers;
    (is_known && names != expected.missing).then(|| format!("names {names:?} instead of {:?}", expected.missing))
}

fn ends(folder: &Folder, expected: &Expected, strict: &Answer, random: &mut Random) -> Option<String> {
    let partition = folder.partition(Reading::any(random));
    let wanted = expected.end.max(folder.files.last().map(|file| file.base_offset));
    let judged = judged_span(&partition, &lenient()).unwrap().map(|(_, end)| end);
    if judged != expected.end {
        return Some(format!("judged: {judged:?} instead of {:?}", expected.end));
    }
    let found = log_end(&partition, &lenient()).unwrap();
    let is_right = found == wanted || found == expected.end || (strict.error.is_some() && found.is_none());
    (!is_right).then(|| format!("{found:?} instead of {wanted:?}"))
}

/// The end that a stream finds by its first look at a folder.
fn followed(folder: &Folder, expected: &Expected, random: &mut Random) -> Option<String> {
    let last = folder.files.len().checked_sub(1)?;
    let partition = folder.partition(Reading::any(random));
    let source = folder.opener(last, Reading::any(random)).open().unwrap();
    let mut follower = Follower::new(false);
    let base = folder.files[last].base_offset;
    follower.enter(base);
    let mut stop = follower.follow(source.as_ref(), true).unwrap();
    if follower.is_pending() {
        stop = follower.follow(source.as_ref(), true).unwrap();
    }
    let is_disordered = partition.is_misnamed || follower.take_disorder().is_some();
    let reaches_beyond = last.checked_sub(1).is_some_and(|before| {
        let end = end_offset(&folder.segment(before, Reading::File), &lenient()).unwrap();
        end.is_some_and(|end| end > base)
    });
    let is_judged = is_disordered || reaches_beyond;
    if is_judged && let Some((_, end)) = judged_span(&partition, &lenient()).unwrap() {
        follower.set_end_offset(end);
        stop = follower.follow(source.as_ref(), true).unwrap();
    }
    let (found, wanted) = (follower.end_offset().unwrap_or(base).max(base), expected.end.unwrap_or(base).max(base));
    // What may be the beginning of a batch that is being written is waited for.
    let waits = found < wanted && stop == FollowEnd::Truncated;
    (found != wanted && !waits).then(|| format!("{found} instead of {wanted}, {stop:?}, judged: {is_judged}"))
}
