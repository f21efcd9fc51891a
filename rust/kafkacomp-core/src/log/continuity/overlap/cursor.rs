//! A walk through the batches and records of a file within a range of offsets.

use super::compared_file::{ComparedBatch, ComparedFile, FileReader, RecordHashes};
use crate::log::error::Error;
use crate::log::read::placement::{Neighbours, Placement, place_between};

/// The batches and records of a file from one offset to another, in order.
pub(super) struct Cursor<'c> {
    pub(super) file: ComparedFile,
    reader: FileReader<'c>,
    /// The first and the last offset.
    range: (i64, i64),
    /// The index of the current batch, and the batch, once it is loaded.
    index: usize,
    batch: Option<ComparedBatch>,
    /// The last batch before it that is in order.
    before: Option<ComparedBatch>,
    /// The records of the current batch, once they are decoded, and the index of the next one to compare.
    records: Option<RecordHashes>,
    at: usize,
    /// The least offset that is in order.
    expected: i64,
    ended: bool,
}

impl<'c> Cursor<'c> {
    pub(super) fn new(file: ComparedFile, reader: FileReader<'c>, range: (i64, i64)) -> Self {
        let (index, expected) = (file.index_before(range.0), range.0);
        Self { file, reader, range, index, batch: None, before: None, records: None, at: 0, expected, ended: false }
    }

    /// Loads the next batch if there is nothing left to compare, unless the range ends.
    pub(super) fn load(&mut self) -> Result<(), Error> {
        loop {
            if self.records.is_some() {
                if self.record().is_some() {
                    return Ok(());
                }
                self.skip();
            }
            if self.batch.is_some() {
                return Ok(());
            }
            if self.expected > self.range.1 {
                // No batch after it has an offset of the range that is in order.
                self.ended = true;
            }
            if self.ended {
                return Ok(());
            }
            let Some(batch) = self.file.batch(self.index, &mut self.reader)? else {
                self.ended = true;
                return Ok(());
            };
            self.batch = Some(batch);
            let follows = self.before.is_some_and(|before| before.last.checked_add(1) == batch.first);
            if !follows && self.is_altered(&batch)? {
                self.leave_out();
                continue;
            }
            if batch.last >= self.expected && batch.first.is_none_or(|first| first <= self.range.1) {
                return Ok(());
            }
            self.skip();
        }
    }

    /// The least offset that is compared next, if the header shows it.
    pub(super) fn next_offset(&self) -> Option<i64> {
        match &self.records {
            Some(_) => self.record().map(|(offset, _)| offset),
            None => self.batch.map(|batch| batch.first.unwrap_or(self.expected)),
        }
    }

    /// Whether the current batches are equal, and none of their records was compared yet.
    pub(super) fn has_same_batch(&self, other: &Self) -> bool {
        match (self.batch, other.batch) {
            (Some(one), Some(two)) => self.records.is_none() && other.records.is_none() && one.has_same_records(&two),
            _ => false,
        }
    }

    /// Whether the batches around `batch` contradict its offsets.
    fn is_altered(&mut self, batch: &ComparedBatch) -> Result<bool, Error> {
        let mut span = batch.span();
        let next = self.file.batch(self.index.saturating_add(1), &mut self.reader)?;
        let mut next_span = next.map(|next| next.span());
        if let (Some(records), None) = (&self.records, span.first) {
            // The header of a wrapper does not have its first offset.
            span.first = first_of(records);
            if let (Some(next), Some(next_span)) = (&next, &mut next_span) {
                let records = self.file.records(self.index.saturating_add(1), next, &mut self.reader)?;
                next_span.first = next_span.first.or(first_of(&records));
            }
        }
        let around = Neighbours {
            expected: self.before.map_or(0, |before| before.last.saturating_add(1)),
            before: self.before.map(|before| before.span()),
            follows: self.before.is_some_and(|before| before.is_before(batch)),
            next: next_span,
            adjacent: next.is_some_and(|next| batch.is_before(&next)),
            end_offset: None,
        };
        Ok(matches!(place_between(&around, span), Placement::Misplaced { .. }))
    }

    /// Leaves out the current batch, whose records differ from those of another file, if the batches around it contradict its
    /// offsets.
    pub(super) fn leave_out_altered(&mut self) -> Result<bool, Error> {
        let Some(batch) = self.batch else { return Ok(false) };
        let is_altered = self.is_altered(&batch)?;
        if is_altered {
            self.leave_out();
        }
        Ok(is_altered)
    }

    /// Continues after the current batch, whose offsets are wrong.
    fn leave_out(&mut self) {
        self.batch = None;
        self.index = self.index.saturating_add(1);
        self.records = None;
    }

    /// Continues after the current batch.
    pub(super) fn skip(&mut self) {
        let Some(batch) = self.batch.take() else { return };
        if self.before.is_none_or(|before| batch.last > before.last) {
            self.before = Some(batch);
        }
        self.expected = self.expected.max(batch.last.saturating_add(1));
        self.index = self.index.saturating_add(1);
        self.records = None;
    }

    /// Continues after the current batch if it ends before `offset`.
    pub(super) fn skip_before(&mut self, offset: i64) -> bool {
        let before = self.records.is_none() && self.batch.is_some_and(|batch| batch.last < offset);
        if before {
            self.skip();
        }
        before
    }

    /// Decodes the current batch, unless it was done before.
    pub(super) fn decode(&mut self) -> Result<(), Error> {
        if let (None, Some(batch)) = (&self.records, self.batch) {
            self.records = Some(self.file.records(self.index, &batch, &mut self.reader)?);
            self.at = 0;
            self.find_record();
        }
        Ok(())
    }

    /// The offset and the hash of the next record.
    pub(super) fn record(&self) -> Option<(i64, u64)> {
        self.records.as_ref()?.get(self.at).copied()
    }

    /// Continues after the current record.
    pub(super) fn advance(&mut self) {
        self.at = self.at.saturating_add(1);
        self.find_record();
    }

    fn find_record(&mut self) {
        while self.record().is_some_and(|(offset, _)| offset < self.expected || offset > self.range.1) {
            self.at = self.at.saturating_add(1);
        }
    }
}

fn first_of(records: &[(i64, u64)]) -> Option<i64> {
    records.first().map(|&(offset, _)| offset)
}
