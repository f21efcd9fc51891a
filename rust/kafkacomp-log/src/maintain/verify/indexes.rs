//! Checks the entries of a segment's indexes, in parallel with its batches.
//!
//! - `.index`: a batch begins at the position of an entry; all batches before it end below the offset of the entry; and that
//!   offset is not below the batch. It may be after the batch: if several batches are appended at once, they get one entry
//!   with the offset of the last one (followers before 4.0, the cleaner).
//! - `.timeindex`: no batch up to the offset of an entry has a greater timestamp, and the greatest timestamp of the batch with
//!   that offset is that of the entry.
//! - `.txnindex`: the batch at the last offset of an entry, if it still exists, is a control batch of that producer.
//!
//! A broker that starts cleanly takes a segment's indexes as they are. What then makes it delete records early or return records of
//! aborted transactions is a warning: zeros at the end of the indexes of a closed segment ([`untrimmed`](super::untrimmed)),
//! and a `.txnindex` that does not agree with the markers ([`markers`](super::markers)). Without an `.index` the
//! broker rebuilds all indexes of the segment, and there is no danger.
//!
//! Entries that point into a corrupt range of the log are not reported, because the finding of the log is about the same fault.
//! The wrong entries of an index are one finding, which names the first of them.

use super::markers::TransactionChecks;
use super::report::{FindingFile, SegmentReport, SideFiles};
use super::untrimmed;
use crate::AbortedTxn;
use crate::error::ContentError;
use crate::index::{offset, time, transaction};
use crate::{OffsetIndex, OffsetPosition, TimeIndex, TimestampOffset, TransactionIndex};
use kafkacomp_records::memory::{self, OutOfMemory};
use kafkacomp_records::record::RecordBatch;
use std::collections::BTreeMap;

/// The entries of an index that have not been compared with a batch yet.
struct Walk<T> {
    entries: std::vec::IntoIter<T>,
    next: Option<T>,
    index: u64,
    entry_size: u64,
}

impl<T: Copy> Walk<T> {
    fn new(entries: Vec<T>, entry_size: usize) -> Self {
        let mut entries = entries.into_iter();
        Self { next: entries.next(), entries, index: 0, entry_size: entry_size as u64 }
    }

    /// Keeps no memory but for the entries that are left.
    fn release(&mut self) {
        let rest: Vec<T> = self.entries.by_ref().collect();
        self.entries = rest.into_boxed_slice().into_vec().into_iter();
    }

    /// The next entry, if `wanted` accepts it, and its position in the file.
    fn take_if(&mut self, wanted: impl FnOnce(&T) -> bool) -> Option<(T, u64)> {
        let entry = self.next.filter(wanted)?;
        let at = self.index * self.entry_size;
        self.index += 1;
        self.next = self.entries.next();
        Some((entry, at))
    }
}

/// Compares the indexes with the batches.
pub(super) struct IndexChecks {
    offsets: Walk<OffsetPosition>,
    times: Walk<TimestampOffset>,
    aborted: BTreeMap<i64, (AbortedTxn, u64)>,
    greatest_timestamp: Option<i64>,
    /// The corrupt ranges of the log so far, each with its start and end.
    lost: Vec<(u64, u64)>,
    wrong: [Wrong; 2],
    /// Whether there is an offset index.
    is_indexed: bool,
    /// The length of the transaction index.
    transaction_index_length: u64,
    transactions: TransactionChecks,
    base_offset: i64,
    next_base_offset: Option<i64>,
}

/// The wrong entries of one index.
#[derive(Debug, Default)]
struct Wrong {
    first: Option<(u64, String)>,
    more: u64,
}

impl Wrong {
    fn add(&mut self, byte: u64, message: impl FnOnce() -> String) {
        match self.first {
            None => self.first = Some((byte, message())),
            Some(_) => self.more = self.more.saturating_add(1),
        }
    }

    fn report(self, file: FindingFile, report: &mut SegmentReport) {
        let Some((byte, message)) = self.first else { return };
        let message = match self.more {
            0 => message,
            more => format!("{message}; {more} more wrong entries"),
        };
        report.add(file, byte, true, message);
    }
}

impl IndexChecks {
    pub(super) fn new(
        side_files: &SideFiles,
        (base_offset, next_base_offset): (i64, Option<i64>),
        max_output_size: usize,
        report: &mut SegmentReport,
    ) -> Result<Self, OutOfMemory> {
        let mut complain = |file, error: &ContentError| report.add(file, error.position(), true, error.to_string());
        let offsets = side_files.offset_index.as_ref().map(|data| OffsetIndex::parse(data, base_offset));
        let offsets = match offsets {
            Some(Ok(index)) => memory::collect(index.iter())?,
            Some(Err(error)) => {
                complain(FindingFile::OffsetIndex, &error);
                Vec::new()
            }
            None => Vec::new(),
        };
        let times = match side_files.time_index.as_ref().map(|data| TimeIndex::parse(data, base_offset)) {
            // Zeros are an entry only if the records have the timestamp 0: see `untrimmed`.
            Some(Ok(index)) if index.is_zero() => Vec::new(),
            Some(Ok(index)) => memory::collect(index.iter())?,
            Some(Err(error)) => {
                complain(FindingFile::TimeIndex, &error);
                Vec::new()
            }
            None => Vec::new(),
        };
        let mut aborted = BTreeMap::new();
        match side_files.transaction_index.as_ref().map(|data| TransactionIndex::parse(data, base_offset)) {
            Some(Ok(index)) => {
                let size = transaction::ENTRY_SIZE as u64;
                aborted.extend(index.iter().zip(0..).map(|(txn, n): (_, u64)| (txn.last_offset, (txn, n * size))));
                if index.trailing_bytes() > 0 {
                    let at = index.len() as u64 * size;
                    let cut = format!("{} bytes of an incomplete entry at byte {at}", index.trailing_bytes());
                    report.add(FindingFile::TransactionIndex, at, false, cut);
                }
            }
            Some(Err(error)) => complain(FindingFile::TransactionIndex, &error),
            None => {}
        }
        Ok(Self {
            offsets: Walk::new(offsets, offset::ENTRY_SIZE),
            times: Walk::new(times, time::ENTRY_SIZE),
            aborted,
            greatest_timestamp: None,
            lost: Vec::new(),
            wrong: Default::default(),
            is_indexed: side_files.offset_index.is_some(),
            transaction_index_length: side_files.transaction_index.as_ref().map_or(0, Vec::len) as u64,
            transactions: TransactionChecks::new(max_output_size),
            base_offset,
            next_base_offset,
        })
    }

    /// Sets that batches are missing here.
    pub(super) fn interrupted(&mut self) {
        self.transactions.interrupted();
    }

    /// Adds a corrupt range of the log.
    pub(super) fn lost(&mut self, position: u64, length: u64) {
        self.interrupted();
        let end = position.saturating_add(length);
        match self.lost.last_mut() {
            Some((_, last)) if *last == position => *last = end,
            _ => {
                // Ranges come in order, except those of batches that were judged after the next one.
                let at = self.lost.partition_point(|&(from, _)| from < position);
                self.lost.insert(at, (position, end));
            }
        }
    }

    fn is_lost(lost: &[(u64, u64)], position: u64) -> bool {
        let at = lost.partition_point(|&(from, _)| from <= position);
        at.checked_sub(1).and_then(|at| lost.get(at)).is_some_and(|&(_, end)| position < end)
    }

    /// Checks the entries of a batch with these first and last offsets.
    pub(super) fn batch(
        &mut self,
        batch: &RecordBatch<'_>,
        (first_offset, last_offset): (i64, i64),
        previous_offset: Option<i64>,
        report: &mut SegmentReport,
    ) {
        let at = batch.position();
        let [wrong_offsets, wrong_times] = &mut self.wrong;
        while let Some((entry, byte)) = self.offsets.take_if(|entry| u64::from(entry.position) <= at) {
            let OffsetPosition { offset, position } = entry;
            let wrong = if u64::from(position) < at {
                (!Self::is_lost(&self.lost, u64::from(position)))
                    .then(|| format!("no batch begins at position {position}"))
            } else if offset < first_offset {
                Some(format!("the batch at position {position} begins at offset {first_offset}"))
            } else {
                previous_offset
                    .filter(|&previous| previous >= offset)
                    .map(|previous| format!("offset {previous} stands before position {position}"))
            };
            if let Some(wrong) = wrong {
                wrong_offsets.add(byte, || format!("entry for offset {offset} at byte {byte}: {wrong}"));
            }
        }
        while let Some((entry, byte)) = self.times.take_if(|entry| entry.offset <= last_offset) {
            let TimestampOffset { timestamp, offset } = entry;
            let wrong = match self.greatest_timestamp.filter(|&before| before > timestamp) {
                Some(before) => Some(format!("a batch before it has timestamp {before}")),
                // The batch of an offset between two batches was removed by compaction, or is in a corrupt range.
                None if offset < first_offset => None,
                None if batch.max_timestamp() != timestamp => {
                    let found = batch.max_timestamp();
                    Some(format!("the greatest timestamp of the batch at position {at} is {found}"))
                }
                None => None,
            };
            if let Some(wrong) = wrong {
                let entry = format!("entry for timestamp {timestamp}, offset {offset}, at byte {byte}");
                wrong_times.add(byte, || format!("{entry}: {wrong}"));
            }
        }
        let greatest = self.greatest_timestamp.map_or(batch.max_timestamp(), |t| t.max(batch.max_timestamp()));
        self.greatest_timestamp = Some(greatest);
        let entry = self.aborted.remove(&last_offset);
        self.transactions.batch(batch, last_offset, entry.is_some());
        if let Some((txn, byte)) = entry
            && !(batch.is_control_batch() && batch.producer_id() == txn.producer_id)
        {
            let producer_id = txn.producer_id;
            let message = format!(
                "entry at byte {byte}: the record at offset {last_offset} is not a marker of producer {producer_id}"
            );
            report.add(FindingFile::TransactionIndex, byte, true, message);
        }
    }

    /// Ends the comparison with the batches: only the entries after them are left.
    pub(super) fn end(&mut self, side_files: &SideFiles, report: &mut SegmentReport) {
        if self.is_indexed && self.next_base_offset.is_some() {
            untrimmed::check(side_files, self.base_offset, self.greatest_timestamp, report);
        }
        self.offsets.release();
        self.times.release();
    }

    /// Reports the entries after the last batch. Offsets that are missing at the end of the segment (`is_tail_missing`) are a finding
    /// of the log, unless compaction removed them. Then only the index shows that the file was longer.
    pub(super) fn finish(mut self, is_tail_missing: bool, report: &mut SegmentReport) {
        let [mut wrong_offsets, mut wrong_times] = std::mem::take(&mut self.wrong);
        let end = report.length.saturating_sub(report.zero_tail_bytes);
        let last_lost = self.lost.iter().map(|&(_, end)| end).max();
        let is_tail_lost = is_tail_missing || last_lost.is_some_and(|lost| lost >= end);
        let mut is_index_longer = false;
        while let Some((entry, byte)) = self.offsets.take_if(|_| true) {
            let OffsetPosition { offset, position } = entry;
            let is_after_end = u64::from(position) >= end;
            is_index_longer |= is_after_end;
            let is_reported = is_after_end && is_tail_lost || Self::is_lost(&self.lost, u64::from(position));
            if !is_reported {
                wrong_offsets.add(byte, || {
                    format!("entry for offset {offset} at byte {byte}: no batch begins at position {position}")
                });
            }
        }
        while let Some((entry, byte)) = self.times.take_if(|_| !is_tail_lost && !is_index_longer) {
            let TimestampOffset { timestamp, offset } = entry;
            let last = report.last_offset.map_or_else(|| "unknown".to_owned(), |last| last.to_string());
            wrong_times.add(byte, || {
                format!(
                    "entry for timestamp {timestamp}, offset {offset}, at byte {byte}: the segment's last offset is {last}"
                )
            });
        }
        wrong_offsets.report(FindingFile::OffsetIndex, report);
        wrong_times.report(FindingFile::TimeIndex, report);
        if self.is_indexed {
            let end = self.next_base_offset.map(|next| next.saturating_sub(1)).or(report.last_offset);
            let end = end.unwrap_or_else(|| self.base_offset.saturating_sub(1));
            let beyond = self.aborted.range(end.saturating_add(1)..).map(|(&offset, &(_, byte))| (offset, byte));
            let beyond = beyond.filter(|_| !is_tail_lost).min_by_key(|&(_, byte)| byte);
            self.transactions.report((self.base_offset, end), beyond, self.transaction_index_length, report);
        }
        report.transactions = self.transactions.finish(self.is_indexed);
    }
}
