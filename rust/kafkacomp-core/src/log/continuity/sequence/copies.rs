//! Whether a batch is a copy of another one of its partition.
//!
//! A batch whose offsets cannot be right may have an altered offset field, or it may be a copy of another batch, written over
//! the one that belongs there. Restoring the offset field of a copy would invent records.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::known_batches::{Fingerprint, KnownBatches, SegmentBatches, batches_of, low};
use crate::log::error::ReadError;
use crate::log::read::segment_files::OtherSegments;
use crate::log::read::source::ReadAt;
use crate::log::read::walk::{SegmentPart, walk_segment};
use crate::record::{Batches, RecordBatch};

/// The most searches in the other segments of a partition for one segment.
const MAX_SEARCHES: usize = 16;

/// The batches of a segment and of the other ones.
#[derive(Debug)]
pub(super) struct Copies<'a> {
    own: Option<Arc<SegmentBatches>>,
    others: Option<&'a dyn OtherSegments>,
    known: Option<&'a KnownBatches>,
    /// The other segment that was searched last.
    other: Option<(u64, Arc<SegmentBatches>)>,
    searches: usize,
}

impl<'a> Copies<'a> {
    pub(super) fn new(others: Option<&'a dyn OtherSegments>, known: Option<&'a KnownBatches>) -> Self {
        Self { own: None, others, known, other: None, searches: 0 }
    }

    fn batches(&self, number: Option<u64>, source: &dyn ReadAt) -> Result<Arc<SegmentBatches>, ReadError> {
        match (self.known, number) {
            (Some(known), Some(number)) => known.of(number, source),
            _ => batches_of(source),
        }
    }

    /// The batches of the segment itself.
    pub(super) fn own(&mut self, source: &dyn ReadAt) -> Result<Arc<SegmentBatches>, ReadError> {
        let own = match self.own.take() {
            Some(own) => own,
            None => self.batches(self.others.and_then(OtherSegments::own), source)?,
        };
        Ok(Arc::clone(self.own.insert(own)))
    }

    /// Whether the partition has a copy of the batch.
    pub(super) fn has(&mut self, source: &dyn ReadAt, batch: &RecordBatch<'_>) -> Result<bool, ReadError> {
        let wanted = Fingerprint::of(batch);
        let own = &self.own(source)?.fingerprints;
        let at = own.partition_point(|each| *each < wanted);
        if own.get(at.saturating_add(1)) == Some(&wanted) {
            return Ok(true);
        }
        self.is_elsewhere(batch.offset_field(), wanted)
    }

    /// Whether another segment has the batch. After too many searches, every batch may be a copy.
    fn is_elsewhere(&mut self, offset_field: i64, wanted: Fingerprint) -> Result<bool, ReadError> {
        let Some((number, source)) = self.others.map(|others| others.open(offset_field)).transpose()?.flatten() else {
            return Ok(false);
        };
        if self.other.as_ref().is_none_or(|(known, _)| *known != number) {
            if self.searches >= MAX_SEARCHES {
                return Ok(true);
            }
            self.searches = self.searches.saturating_add(1);
            self.other = Some((number, self.batches(Some(number), source.as_ref())?));
        }
        Ok(self.other.as_ref().is_some_and(|(_, all)| all.fingerprints.binary_search(&wanted).is_ok()))
    }

    /// The last offset of the segment that should have `offset`, if it exists and ends before that offset.
    pub(super) fn end_before(&self, offset: i64) -> Result<Option<i64>, ReadError> {
        let Some((_, source)) = self.others.map(|others| others.open(offset)).transpose()?.flatten() else {
            return Ok(None);
        };
        let mut last = None;
        let _ = walk_segment::<()>(source.as_ref(), &mut |part, _| {
            if let SegmentPart::Batches { data, position } = part {
                for batch in Batches::new(data, position).map_while(Result::ok) {
                    last = last.max(Some(batch.last_offset()));
                }
            }
            if last.is_some_and(|last| last >= offset) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(last.filter(|&last| last < offset))
    }

    /// Whether another batch of the segment has some of the offsets that `batch` would have with this offset field, judged
    /// by the lower halves.
    pub(super) fn has_offsets(
        &mut self,
        source: &dyn ReadAt,
        batch: &RecordBatch<'_>,
        field: i64,
    ) -> Result<bool, ReadError> {
        let itself = Fingerprint::of(batch);
        let wanted = Fingerprint { field: low(field), ..itself };
        let own = &self.own(source)?.fingerprints;
        let after = own.partition_point(|each| u64::from(each.field) <= wanted.last());
        // Batches that do not overlap are in the order of their last offsets, too, so that two are enough to look at: one of
        // them may be the batch itself.
        let mut before = own.get(..after).unwrap_or_default().iter().rev().take(2);
        Ok(before.any(|each| *each != itself && each.last() >= u64::from(wanted.field)))
    }
}
