//! Whether a batch is a copy of another one of its partition.
//!
//! A batch whose offsets cannot be right may have an altered offset field, or it may be a copy of another batch, written over
//! the one that belongs there. Restoring the offset field of a copy would invent records.

use std::collections::HashMap;
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

/// If a segment is checked by itself, as many bytes of the other segments are read as it has, and this many more.
const MORE_OF_OTHERS: u64 = 1 << 20;

/// The batches of a segment and of the other ones.
#[derive(Debug)]
pub(super) struct Copies<'a> {
    own: Option<Arc<SegmentBatches>>,
    others: Option<&'a dyn OtherSegments>,
    /// What the checks of the partition's segments share; `None` if the segment is checked by itself.
    known: Option<&'a KnownBatches>,
    /// What only this check knows, and how many bytes of other segments it may still read.
    alone: HashMap<u64, Arc<SegmentBatches>>,
    left: Option<u64>,
    /// The other segment that was searched last.
    other: Option<(u64, Arc<SegmentBatches>)>,
    searches: usize,
}

impl<'a> Copies<'a> {
    pub(super) fn new(others: Option<&'a dyn OtherSegments>, known: Option<&'a KnownBatches>) -> Self {
        Self { own: None, others, known, alone: HashMap::new(), left: None, other: None, searches: 0 }
    }

    /// The batches of the segment itself.
    pub(super) fn own(&mut self, source: &dyn ReadAt) -> Result<Arc<SegmentBatches>, ReadError> {
        let source = source.for_reading_ahead().unwrap_or(source);
        let own = match self.own.take() {
            Some(own) => own,
            None => match (self.known, self.others.and_then(OtherSegments::own)) {
                (Some(known), Some(number)) => known.of(number, source)?,
                _ => batches_of(source)?,
            },
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
        self.is_elsewhere(source, batch.offset_field(), wanted)
    }

    /// Whether another segment has the batch. After too many searches, every batch may be a copy.
    fn is_elsewhere(&mut self, own: &dyn ReadAt, field: i64, wanted: Fingerprint) -> Result<bool, ReadError> {
        let Some((number, source)) = self.others.map(|others| others.open(field)).transpose()?.flatten() else {
            return Ok(false);
        };
        if self.other.as_ref().is_none_or(|(known, _)| *known != number) {
            if self.searches >= MAX_SEARCHES {
                return Ok(true);
            }
            self.searches = self.searches.saturating_add(1);
            let Some(found) = self.other_batches(own, number, source.as_ref())? else { return Ok(true) };
            self.other = Some((number, found));
        }
        Ok(self.other.as_ref().is_some_and(|(_, all)| all.fingerprints.binary_search(&wanted).is_ok()))
    }

    /// The batches of another segment; `None` if the segment is checked by itself and the other one has too many bytes.
    fn other_batches(
        &mut self,
        own: &dyn ReadAt,
        number: u64,
        source: &dyn ReadAt,
    ) -> Result<Option<Arc<SegmentBatches>>, ReadError> {
        if let Some(known) = self.known {
            return known.of(number, source).map(Some);
        }
        if let Some(known) = self.alone.get(&number) {
            return Ok(Some(Arc::clone(known)));
        }
        let left = match self.left {
            Some(left) => left,
            None => own.length()?.saturating_add(MORE_OF_OTHERS),
        };
        self.left = Some(left);
        let Some(after) = left.checked_sub(source.length()?) else { return Ok(None) };
        self.left = Some(after);
        let found = batches_of(source)?;
        self.alone.insert(number, Arc::clone(&found));
        Ok(Some(found))
    }

    /// The last offset of the segment that should have `offset`, if it exists and ends before that offset.
    pub(super) fn end_before(&self, offset: i64) -> Result<Option<i64>, ReadError> {
        let Some((_, source)) = self.others.map(|others| others.open(offset)).transpose()?.flatten() else {
            return Ok(None);
        };
        let mut last = None;
        let _ = walk_segment::<()>(source.as_ref(), &mut |part, _| {
            if let SegmentPart::Batches { data, position } = part {
                for batch in Batches::whole(data, position) {
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
        let mut before = own[..after].iter().rev().take(2);
        Ok(before.any(|each| *each != itself && each.last() >= u64::from(wanted.field)))
    }
}
