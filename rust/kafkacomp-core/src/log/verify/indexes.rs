//! Whether what the indexes say of a segment is so. They are walked along with the batches.
//!
//! - `.index`: at an entry's position a batch begins, nothing before it reaches the entry's offset, and the
//!   entry's offset is not below the batch. It may lie behind the batch: an append of several batches at
//!   once gets one entry, with the last one's offset (followers before 4.0, the cleaner).
//! - `.timeindex`: no batch up to the entry's offset has a greater timestamp, and the batch that holds it
//!   has that very one as its greatest.
//! - `.txnindex`: where a batch is left at an entry's last offset, it is a control batch of that producer.

use super::{FindingFile, SegmentReport, SideFiles};
use crate::Error;
use crate::log::{AbortedTxn, offset_index, time_index, transaction_index};
use crate::log::{OffsetIndex, OffsetPosition, TimeIndex, TimestampOffset, TransactionIndex};
use crate::record::RecordBatch;
use std::collections::HashMap;

/// The entries of an index that no batch was held against yet.
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

    /// The next entry, if it is one that `wanted` takes, and the byte at which it stands.
    fn take_if(&mut self, wanted: impl FnOnce(&T) -> bool) -> Option<(T, u64)> {
        let entry = self.next.filter(wanted)?;
        let at = self.index * self.entry_size;
        self.index += 1;
        self.next = self.entries.next();
        Some((entry, at))
    }
}

/// Holds the indexes against the batches.
pub(super) struct IndexChecks<'a> {
    offsets: Walk<OffsetPosition>,
    times: Walk<TimestampOffset>,
    aborted: HashMap<i64, (AbortedTxn, u64)>,
    greatest_timestamp: Option<i64>,
    /// Something before was unreadable, so that what is missing need not be an index's fault.
    blind: bool,
    side_files: SideFiles<'a>,
}

impl<'a> IndexChecks<'a> {
    pub(super) fn new(side_files: SideFiles<'a>, base_offset: i64, report: &mut SegmentReport) -> Self {
        let mut complain = |file, error: &Error| report.add(file, error.position(), true, error.to_string());
        let offsets = side_files.offset_index.map(|data| OffsetIndex::parse(data, base_offset));
        let offsets = match offsets {
            Some(Ok(index)) => index.iter().collect(),
            Some(Err(error)) => {
                complain(FindingFile::OffsetIndex, &error);
                Vec::new()
            }
            None => Vec::new(),
        };
        let times = match side_files.time_index.map(|data| TimeIndex::parse(data, base_offset)) {
            Some(Ok(index)) => index.iter().collect(),
            Some(Err(error)) => {
                complain(FindingFile::TimeIndex, &error);
                Vec::new()
            }
            None => Vec::new(),
        };
        let mut aborted = HashMap::new();
        match side_files.transaction_index.map(|data| TransactionIndex::parse(data, base_offset)) {
            Some(Ok(index)) => {
                let size = transaction_index::ENTRY_SIZE as u64;
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
        Self {
            offsets: Walk::new(offsets, offset_index::ENTRY_SIZE),
            times: Walk::new(times, time_index::ENTRY_SIZE),
            aborted,
            greatest_timestamp: None,
            blind: false,
            side_files,
        }
    }

    /// Here is something that is no sound batch.
    pub(super) fn unreadable(&mut self) {
        self.blind = true;
    }

    /// A batch that is there but cannot be read: its index entries are let pass.
    pub(super) fn bad_batch(&mut self, batch: &RecordBatch<'_>) {
        self.blind = true;
        let at = batch.position();
        while self.offsets.take_if(|entry| u64::from(entry.position) <= at).is_some() {}
    }

    pub(super) fn batch(
        &mut self,
        batch: &RecordBatch<'_>,
        first_offset: i64,
        previous_offset: Option<i64>,
        report: &mut SegmentReport,
    ) {
        let (at, last_offset) = (batch.position(), batch.last_offset());
        while let Some((entry, byte)) = self.offsets.take_if(|entry| u64::from(entry.position) <= at) {
            let OffsetPosition { offset, position } = entry;
            let wrong = if u64::from(position) < at {
                (!self.blind).then(|| format!("no batch begins at position {position}"))
            } else if offset < first_offset {
                Some(format!("the batch at position {position} begins at offset {first_offset}"))
            } else {
                previous_offset
                    .filter(|&previous| previous >= offset)
                    .map(|previous| format!("offset {previous} stands before position {position}"))
            };
            if let Some(wrong) = wrong {
                let message = format!("entry for offset {offset} at byte {byte}: {wrong}");
                report.add(FindingFile::OffsetIndex, byte, true, message);
            }
        }
        while let Some((entry, byte)) = self.times.take_if(|entry| entry.offset <= last_offset) {
            let TimestampOffset { timestamp, offset } = entry;
            let wrong = match self.greatest_timestamp.filter(|&before| before > timestamp) {
                Some(before) => Some(format!("a batch before it has timestamp {before}")),
                // An offset between two batches was compacted away with its batch.
                None if offset < first_offset => None,
                None if batch.max_timestamp() != timestamp => {
                    let found = batch.max_timestamp();
                    Some(format!("the greatest timestamp of the batch at position {at} is {found}"))
                }
                None => None,
            };
            if let Some(wrong) = wrong.filter(|_| !self.blind) {
                let message = format!("entry for timestamp {timestamp}, offset {offset}, at byte {byte}: {wrong}");
                report.add(FindingFile::TimeIndex, byte, true, message);
            }
        }
        let greatest = self.greatest_timestamp.map_or(batch.max_timestamp(), |t| t.max(batch.max_timestamp()));
        self.greatest_timestamp = Some(greatest);
        if let Some((txn, byte)) = self.aborted.remove(&last_offset)
            && !(batch.is_control_batch() && batch.producer_id() == txn.producer_id)
        {
            let producer_id = txn.producer_id;
            let message = format!("entry at byte {byte}: offset {last_offset} is no marker of producer {producer_id}");
            report.add(FindingFile::TransactionIndex, byte, true, message);
        }
    }

    /// Entries that lead behind the last batch.
    pub(super) fn finish(&mut self, report: &mut SegmentReport) {
        if self.blind {
            return;
        }
        while let Some((entry, byte)) = self.offsets.take_if(|_| true) {
            let OffsetPosition { offset, position } = entry;
            let message = format!("entry for offset {offset} at byte {byte}: no batch begins at position {position}");
            report.add(FindingFile::OffsetIndex, byte, true, message);
        }
        while let Some((entry, byte)) = self.times.take_if(|_| true) {
            // A single zero entry may be all that a preallocated file of one entry's size has.
            if self.side_files.time_index.is_some_and(|data| data.iter().all(|&b| b == 0)) {
                break;
            }
            let TimestampOffset { timestamp, offset } = entry;
            let last = report.last_offset.map_or_else(|| "none".to_owned(), |last| last.to_string());
            let message = format!(
                "entry for timestamp {timestamp}, offset {offset}, at byte {byte}: the segment's last offset is {last}"
            );
            report.add(FindingFile::TimeIndex, byte, true, message);
        }
    }
}
