//! What a door answers, in one form for all doors.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use kafkacomp_arrow::{Column, OnError, Partition, Scan, ScanOptions};
use kafkacomp_log::{MissingRange, MissingReason};

/// A record: its offset, its timestamp, and a hash of its key and value.
pub type Row = (i64, i64, u64);

/// Missing offsets: the first one, the one after the last, and the reason.
pub type Missing = (i64, i64, &'static str);

/// The answer of a door.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub rows: Vec<Row>,
    pub missing: Vec<Missing>,
    pub error: Option<String>,
    pub warnings: Vec<String>,
}

/// A hash of a record's content.
pub fn content(key: Option<&[u8]>, value: Option<&[u8]>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, value).hash(&mut hasher);
    hasher.finish()
}

/// Ranges in one form: those that continue one another and have the same reason are one.
pub fn joined(ranges: impl IntoIterator<Item = Missing>) -> Vec<Missing> {
    let mut found: Vec<Missing> = Vec::new();
    for (first, end, reason) in ranges {
        match found.last_mut() {
            Some(last) if last.1 == first && last.2 == reason => last.1 = end,
            _ => found.push((first, end, reason)),
        }
    }
    found
}

/// A range of a report.
pub fn missing(range: &MissingRange) -> Missing {
    of_reason(range.first_offset, range.last_offset + 1, range.reason)
}

pub fn of_reason(first: i64, end: i64, reason: MissingReason) -> Missing {
    (first, end, reason.name())
}

/// The parts of ranges between two offsets.
pub fn cut(ranges: &[Missing], (start, end): (i64, i64)) -> Vec<Missing> {
    let parts = ranges.iter().map(|&(first, last, reason)| (first.max(start), last.min(end), reason));
    parts.filter(|&(first, end, _)| first < end).collect()
}

/// Ranges without their reasons.
pub fn offsets(ranges: &[Missing]) -> Vec<Missing> {
    joined(ranges.iter().map(|&(first, end, _)| (first, end, "")))
}

/// The options of a reader that leaves out what is corrupt.
pub fn lenient() -> ScanOptions {
    let columns = vec![Column::Offset, Column::Timestamp, Column::Key, Column::Value];
    ScanOptions { columns, timestamp_unit: None, on_error: OnError::Skip, ..ScanOptions::default() }
}

/// Reads a partition.
pub fn scan(partition: Partition, options: ScanOptions) -> Answer {
    scan_all(vec![partition], options)
}

fn scan_all(partitions: Vec<Partition>, options: ScanOptions) -> Answer {
    let scan = Scan::new(partitions, options, 1 << 20);
    let report = scan.report();
    let mut answer = Answer::default();
    for batch in scan {
        match batch {
            Ok(batch) => answer.rows.extend(rows(&batch)),
            Err(error) => answer.error = Some(error.to_string()),
        }
    }
    let report = report.lock().unwrap();
    answer.missing = joined(report.missing.ranges().iter().map(|each| missing(&each.range)));
    answer.warnings.clone_from(&report.warnings);
    answer
}

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let [offsets, timestamps, keys, values] = batch.columns() else { panic!("{:?}", batch.schema()) };
    let (offsets, timestamps) = (offsets.as_primitive::<Int64Type>(), timestamps.as_primitive::<Int64Type>());
    let (keys, values) = (keys.as_binary::<i32>(), values.as_binary::<i32>());
    let row = |at: usize| {
        let timestamp = if timestamps.is_null(at) { -1 } else { timestamps.value(at) };
        let (key, value) = (keys.is_valid(at).then(|| keys.value(at)), values.is_valid(at).then(|| values.value(at)));
        (offsets.value(at), timestamp, content(key, value))
    };
    (0..batch.num_rows()).map(row).collect()
}

impl Answer {
    /// How the rows or the missing ranges differ from what is wanted.
    pub fn differs(&self, rows: &[Row], missing: &[Missing]) -> Option<String> {
        self.rows_differ(rows)
            .or_else(|| (self.missing != missing).then(|| format!("names {:?} instead of {missing:?}", self.missing)))
    }

    pub fn rows_differ(&self, rows: &[Row]) -> Option<String> {
        let at = self.rows.iter().zip(rows).take_while(|(one, other)| one == other).count();
        let offset = |rows: &[Row]| rows.get(at).map(|row| row.0);
        (self.rows.len() > at || rows.len() > at).then(|| {
            let (found, wanted) = (offset(&self.rows), offset(rows));
            let counts = (self.rows.len(), rows.len());
            format!("row {at} is offset {found:?} instead of {wanted:?}, {counts:?} rows; {:?}", self.error)
        })
    }
}
