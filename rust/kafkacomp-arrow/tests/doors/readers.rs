//! Doors that deliver rows: scans of all kinds, and tasks that read splits.

use kafkacomp_arrow::lookup::split_boundaries::SplitBoundaries;
use kafkacomp_arrow::lookup::splits::split;
use kafkacomp_arrow::lookup::time::offset_for_time;
use kafkacomp_arrow::{IsolationLevel, OnError, Partition, ScanOptions, Segment};
use kafkacomp_log::Compaction;

use super::answer::{Answer, Missing, Row, cut, joined, lenient, offsets, scan};
use super::expected::Expected;
use super::folder::{Folder, Reading};
use crate::truth::logs::Random;
use crate::truth::promises::Broken;

/// The answers of the readers, and which promises they break.
pub fn check(folder: &Folder, expected: &Expected, random: &mut Random) -> (Answer, Vec<Broken>) {
    let mut broken = Vec::new();
    let whole = scan(folder.partition(Reading::File), lenient());
    let mut differs = |promise, door: &str, how: Option<String>| {
        broken.extend(how.map(|how| (promise, format!("{door}: {how}"))));
    };
    if !whole.rows.is_sorted_by(|one, other| one.0 < other.0) {
        differs("P2", "scan, skip", Some("rows are not in order".to_owned()));
    }
    differs("P5", "scan, skip", whole.error.clone().or_else(|| whole.differs(&expected.rows, &expected.missing)));

    let (threads, reading) = (1 + random.below(2), Reading::any(random));
    let options = ScanOptions { threads, batch_rows: 7, arrow_batch_bytes: 1 << 12, ..lenient() };
    let other = scan(folder.partition(reading), options);
    differs("P7", "scan, skip, small batches", other.differs(&whole.rows, &whole.missing));
    let other = scan(folder.partition(Reading::any(random)), ScanOptions { threads: 2, ..lenient() });
    differs("P7", "scan, skip, two threads", other.differs(&whole.rows, &whole.missing));

    let strict = scan(folder.partition(Reading::File), ScanOptions { on_error: OnError::Raise, ..lenient() });
    differs("P5", "scan", precedes(&strict, &whole));
    let options = ScanOptions { on_error: OnError::Raise, threads: 2, ..lenient() };
    let other = scan(folder.partition(Reading::any(random)), options);
    differs(
        "P7",
        "scan, two threads",
        (other.error != strict.error).then(|| format!("{:?} {:?}", other.error, strict.error)),
    );
    differs("P7", "scan, two threads", other.rows_differ(&strict.rows));

    for _ in 0..if expected.reaches_over { 0 } else { 3 } {
        let bounds = bounds(folder, &whole.rows, random);
        let how = bounded(folder, &whole, bounds, random);
        differs("P6", &format!("scan from {} to {}", bounds.0, bounds.1), how);
    }
    if let Some(&(_, one, _)) = whole.rows.get(random.below(whole.rows.len().max(1))) {
        let other = random.choice(&whole.rows).1;
        let times = (one.min(other), one.max(other).saturating_add(random.below(2) as i64));
        differs("P6", &format!("scan of the times {times:?}"), timed(folder, &whole, times, random));
        let found = offset_for_time(&folder.partition(Reading::any(random)), times.1, &lenient());
        let wanted = expected.times.iter().find(|(_, time)| *time >= times.1.max(0)).map(|(offset, _)| *offset);
        differs("P5", "offset_for_time", is_not(&found.map_err(|error| error.to_string()), &Ok(wanted)));
    }
    let split_bytes = *random.choice(&[300, 4096, 20_000, 1 << 20]);
    let (tasks, divided) = in_tasks(folder, split_bytes, random);
    // Headers between two index entries, which are not read to divide a file, may show that its batches are not all in place.
    let is_unseen = divided.iter().any(|&index| expected.in_order.get(index) == Some(&false));
    let how = tasks.differs(&whole.rows, &whole.missing).filter(|_| !expected.reaches_over && !is_unseen);
    differs("P5", &format!("splits of {split_bytes} bytes"), how);

    let committed = ScanOptions { isolation_level: IsolationLevel::ReadCommitted, ..lenient() };
    let threads = 1 + random.below(2);
    let found = scan(folder.partition(Reading::any(random)), ScanOptions { threads, ..committed });
    let missing = cut(&whole.missing, (i64::MIN, expected.stable.unwrap_or(i64::MAX)));
    differs("P5", "scan, committed", found.differs(&expected.committed, &missing));
    (strict, broken)
}

/// How a strict reader differs from one that leaves out what is corrupt: before its error, it delivers the same.
fn precedes(strict: &Answer, whole: &Answer) -> Option<String> {
    match &strict.error {
        None => strict.differs(&whole.rows, &whole.missing),
        Some(_) => strict.rows_differ(whole.rows.get(..strict.rows.len()).unwrap_or_default()),
    }
}

fn is_not<T: std::fmt::Debug + PartialEq>(found: &T, wanted: &T) -> Option<String> {
    (found != wanted).then(|| format!("{found:?} instead of {wanted:?}"))
}

/// Two offsets of a log, or next to it; some are names of files.
fn bounds(folder: &Folder, rows: &[Row], random: &mut Random) -> (i64, i64) {
    let names = folder.files.iter().map(|file| file.base_offset);
    let known: Vec<i64> = names.chain(rows.first().map(|row| row.0)).chain(rows.last().map(|row| row.0 + 1)).collect();
    let mut bound = || match random.below(3) {
        0 => *random.choice(&known),
        1 if !rows.is_empty() => random.choice(rows).0,
        _ => random.choice(&known) + random.below(41) as i64 - 20,
    };
    let (one, other) = (bound().max(0), bound().max(0));
    (one.min(other), one.max(other))
}

/// How a reading with bounds differs from what the whole one has between them.
fn bounded(folder: &Folder, whole: &Answer, (start, end): (i64, i64), random: &mut Random) -> Option<String> {
    let partition = folder.partition(Reading::any(random)).between(Some(start), Some(end));
    let found = scan(partition, ScanOptions { threads: 1 + random.below(2), ..lenient() });
    let rows: Vec<Row> = whole.rows.iter().filter(|row| (start..end).contains(&row.0)).copied().collect();
    let wanted = cut(&whole.missing, (start, end));
    // Only all batches show that a log without a checkpoint was compacted.
    let is_known = folder.compaction != Compaction::Unknown;
    let is_same = found.missing == wanted || (!is_known && offsets(&found.missing) == offsets(&wanted));
    found.rows_differ(&rows).or_else(|| (!is_same).then(|| format!("names {:?} instead of {wanted:?}", found.missing)))
}

/// How a reading with bounds of time differs. Nothing says when the records were that are missing.
fn timed(folder: &Folder, whole: &Answer, (start, end): (i64, i64), random: &mut Random) -> Option<String> {
    let options = ScanOptions { start_time: Some(start), end_time: Some(end), ..lenient() };
    let threads = 1 + random.below(2);
    let found = scan(folder.partition(Reading::any(random)), ScanOptions { threads, ..options });
    let rows: Vec<Row> = whole.rows.iter().filter(|row| (start.max(0)..end).contains(&row.1)).copied().collect();
    let is_known = |&(first, end, reason): &Missing| cut(&whole.missing, (first, end)) == [(first, end, reason)];
    let unknown = found.missing.iter().find(|range| !is_known(range));
    found
        .rows_differ(&rows)
        .or_else(|| unknown.map(|range| format!("names {range:?}, and the scan {:?}", whole.missing)))
}

/// The rows of tasks that each read a split, one after another, and what they call missing; and the files that were divided.
fn in_tasks(folder: &Folder, split_bytes: u64, random: &mut Random) -> (Answer, Vec<usize>) {
    let mut all = Answer::default();
    let (tasks, divided) = tasks(folder, split_bytes, random);
    for task in tasks {
        let found = scan(task, lenient());
        all.rows.extend(found.rows);
        all.missing.extend(found.missing);
        all.error = all.error.or(found.error);
    }
    all.missing.sort_unstable();
    all.missing = joined(all.missing);
    (all, divided)
}

/// The parts of a partition for tasks, as a planner makes them: each has a split, and the files next to its own. Also the files that have
/// several splits.
fn tasks(folder: &Folder, split_bytes: u64, random: &mut Random) -> (Vec<Partition>, Vec<usize>) {
    let whole = folder.partition(Reading::any(random));
    if whole.is_misnamed {
        return (vec![whole], Vec::new());
    }
    let (mut tasks, mut divided) = (Vec::new(), Vec::new());
    for (index, segment) in whole.segments.iter().enumerate() {
        let length = folder.length(index);
        let next_base = whole.segments.get(index + 1).and_then(|next| next.base_offset);
        let near = index.saturating_sub(1)..(index + 2).min(whole.segments.len());
        let context = near.filter(|&near| near != index).map(|near| whole.segments[near].clone());
        let context: Vec<Segment> = context.collect();
        let splits = splits_of(segment, length, next_base, split_bytes);
        divided.extend((splits.len() > 1).then_some(index));
        for (range, boundaries) in splits {
            let end = boundaries.end.and_then(|boundary| boundary.first_offset);
            let own = Segment { range: Some(range), boundaries, ..segment.clone() };
            let part = Partition { segments: vec![own], context: context.clone(), ..whole.clone() };
            tasks.push(part.between(None, end));
        }
    }
    (tasks, divided)
}

fn splits_of(
    segment: &Segment,
    length: u64,
    next_base: Option<i64>,
    split_bytes: u64,
) -> Vec<((u64, u64), SplitBoundaries)> {
    let known = SplitBoundaries { length, next_base, ..SplitBoundaries::default() };
    if length == 0 && next_base.is_none() {
        return vec![((0, u64::MAX), SplitBoundaries::default())];
    }
    let splits = split(&Segment { boundaries: known, ..segment.clone() }, split_bytes, &lenient()).unwrap();
    let ends = splits.iter().skip(1).map(|&(_, _, boundary)| boundary).chain([None]);
    let splits = splits.iter().zip(ends);
    splits.map(|(&(start, stop, begin), end)| ((start, stop), SplitBoundaries { begin, end, ..known })).collect()
}
