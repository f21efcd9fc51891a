//! The batches of the segments that were searched for copies, so that each segment is read once for all searches in its
//! partition.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::log::error::ReadError;
use crate::log::read::source::ReadAt;
use crate::log::read::walk::{SegmentPart, walk_segment};
use crate::memory::{self, OutOfMemory};
use crate::record::{Batches, RecordBatch, RecordReader};

/// The most batches that are kept for a partition: 64 MiB.
const MOST_KEPT: usize = 1 << 20;

/// What identifies a batch: the lower half of its offset field, its checksum, and how many offsets after that field it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fingerprint {
    pub field: u32,
    pub crc: u32,
    pub delta: u32,
}

impl Fingerprint {
    pub(super) fn of(batch: &RecordBatch<'_>) -> Self {
        let delta = if batch.magic() >= 2 { batch.last_offset_delta().max(0) } else { 0 };
        Self { field: low(batch.offset_field()), crc: batch.crc(), delta: delta.unsigned_abs() }
    }

    pub(super) fn last(self) -> u64 {
        u64::from(self.field).saturating_add(u64::from(self.delta))
    }
}

pub(super) fn low(field: i64) -> u32 {
    (field as u64 & u64::from(u32::MAX)) as u32
}

/// The offsets and the place of a batch whose checksum is right.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownBatch {
    pub first: i64,
    pub last: i64,
    pub field: i64,
    pub position: u64,
    pub size: usize,
}

/// The batches of a segment.
#[derive(Debug, Default)]
pub(super) struct SegmentBatches {
    /// In the order of the file.
    pub batches: Vec<KnownBatch>,
    /// Sorted.
    pub fingerprints: Vec<Fingerprint>,
    /// The position of the last corrupt range, or of the last batch whose records cannot be read.
    pub last_corrupt: Option<u64>,
    /// The position of the last batch from which compaction has removed records.
    pub last_thinned: Option<u64>,
}

impl SegmentBatches {
    fn read(source: &dyn ReadAt) -> Result<Self, ReadError> {
        let mut found = Self::default();
        let mut reader = RecordReader::new(DEFAULT_MAX_OUTPUT_SIZE);
        let walked = walk_segment(source, &mut |part, _| match part {
            SegmentPart::Batches { data, position } => {
                let mut batches = Batches::whole(data, position);
                match batches.try_for_each(|batch| found.add(&batch, &mut reader)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => ControlFlow::Break(error),
                }
            }
            SegmentPart::Corrupt(range) => {
                found.last_corrupt = Some(range.position);
                ControlFlow::Continue(())
            }
            SegmentPart::ZeroTail { .. } => ControlFlow::Continue(()),
        })?;
        if let ControlFlow::Break(error) = walked {
            return Err(io::Error::from(error).into());
        }
        found.fingerprints.sort_unstable();
        Ok(found)
    }

    fn add(&mut self, batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<(), OutOfMemory> {
        let position = batch.position();
        memory::push(&mut self.fingerprints, Fingerprint::of(batch))?;
        if batch.records_count().is_some_and(|count| count <= batch.last_offset_delta()) {
            self.last_thinned = Some(position);
        }
        let Ok(first) = reader.base_offset(batch) else {
            self.last_corrupt = Some(position);
            return Ok(());
        };
        let (last, field, size) = (batch.last_offset(), batch.offset_field(), batch.size_in_bytes());
        memory::push(&mut self.batches, KnownBatch { first, last, field, position, size })
    }
}

/// The batches of the segments of a partition that were searched; shared by the checks of its segments.
#[derive(Debug, Default)]
pub struct KnownBatches(Mutex<HashMap<u64, Arc<SegmentBatches>>>);

impl KnownBatches {
    /// The batches of the segment with this number.
    pub(super) fn of(&self, number: u64, source: &dyn ReadAt) -> Result<Arc<SegmentBatches>, ReadError> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(batches) = known().get(&number) {
            return Ok(Arc::clone(batches));
        }
        let batches = Arc::new(SegmentBatches::read(source)?);
        let mut known = known();
        let kept: usize = known.values().map(|each| each.fingerprints.len()).sum();
        if kept.saturating_add(batches.fingerprints.len()) > MOST_KEPT {
            known.clear();
        }
        if batches.fingerprints.len() <= MOST_KEPT {
            known.insert(number, Arc::clone(&batches));
        }
        Ok(batches)
    }
}

/// The batches of a segment, without keeping them for other segments.
pub(super) fn batches_of(source: &dyn ReadAt) -> Result<Arc<SegmentBatches>, ReadError> {
    Ok(Arc::new(SegmentBatches::read(source)?))
}
