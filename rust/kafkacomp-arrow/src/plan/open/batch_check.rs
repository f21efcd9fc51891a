//! Decides batch by batch which batches belong to a chunk.

use std::sync::atomic::{AtomicUsize, Ordering};

use kafkacomp_records::record::{self, RecordBatch};

use super::step::Finish;
use crate::plan::continuity::{Anomaly, Continuity};
use crate::source::unreadable::SkipUnreadable;

/// The size of batches whose headers are so close that the planner is as fast if it verifies the checksums.
const SMALL_BATCH: usize = 4 << 10;
/// The size of batches whose headers are so far apart that loading them takes hardly any time.
const LARGE_BATCH: usize = 64 << 10;

/// How checksums are verified while batches are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    Ignored,
    /// The worker verifies them.
    Later,
    /// Verified as long as that is faster; the worker verifies those of the batches after that.
    Shared,
    Verified,
}

impl Checksums {
    #[inline]
    pub fn are_verified(self) -> bool {
        matches!(self, Self::Verified | Self::Shared)
    }

    /// Whether more cannot be learnt about a batch by reading it again.
    pub fn are_known(self) -> bool {
        self != Self::Later
    }
}

/// The state of a chunk of which the batches are read one by one.
pub struct BatchCheck<'a> {
    pub unreadable: Option<&'a SkipUnreadable>,
    /// `None` if offsets need not increase.
    pub continuity: Option<&'a mut Continuity>,
    /// Batches from this position on belong to another split.
    pub stop: u64,
    pub last_offset: i64,
    pub checksums: Checksums,
    /// The number of threads that wait for the planner.
    pub waiting: &'a AtomicUsize,
    /// The position of the first batch whose checksum the worker verifies.
    pub verified_to: u64,
    /// The position from which on the chunk is large enough to end for a thread that waits.
    pub enough_at: u64,
    /// Whether the chunk ends for a thread that waits.
    pub is_enough: bool,
    /// Why no batch after the last one is read.
    pub finish: Option<Finish>,
    /// Why the batch after the last one is not in the chunk.
    pub anomaly: Option<Anomaly>,
}

impl BatchCheck<'_> {
    /// Takes `batch` into the chunk; an error ends the chunk before it.
    #[inline]
    pub fn take(&mut self, batch: &RecordBatch<'_>) -> record::Result<()> {
        let position = batch.position();
        // This error only ends the chunk; its content is ignored.
        let end = || Err(record::Error::IncompleteBatch { position, available: 0, needed: 0 });
        if position >= self.stop {
            self.finish = self.finish.or(Some(Finish::Split));
        }
        if self.finish.is_some() {
            return end();
        }
        if self.has_reached_end() {
            return end();
        }
        if self.checksums == Checksums::Shared && self.gives_way(batch.size_in_bytes()) {
            // The headers of batches that are not verified are not in the cache: the thread that waits would wait for them, too.
            if position >= self.enough_at && self.waiting.load(Ordering::Relaxed) > 0 {
                self.is_enough = true;
                return end();
            }
            (self.checksums, self.verified_to) = (Checksums::Later, position);
        }
        // Corruption is an error, even if the batch would be the last requested one.
        if self.checksums.are_verified() {
            batch.ensure_valid()?;
        }
        if let Some(unreadable) = self.unreadable
            && unreadable.fault(position, position.saturating_add(batch.size_in_bytes() as u64)).is_some()
        {
            return end();
        }
        if let Some(continuity) = &mut self.continuity
            && let Err(anomaly) = continuity.observe(batch)
        {
            self.anomaly = Some(anomaly);
            return end();
        }
        self.has_reached_end();
        Ok(())
    }

    /// Whether the checksums from a batch of this size on are left to the worker: because they would keep another thread waiting, or
    /// because the planner gains nothing from them.
    #[inline]
    fn gives_way(&self, size: usize) -> bool {
        size >= LARGE_BATCH || (size >= SMALL_BATCH && self.waiting.load(Ordering::Relaxed) > 0)
    }

    /// Whether the batches so far contain the last requested offset; then the chunk is the last one.
    #[inline]
    fn has_reached_end(&mut self) -> bool {
        let is_reached = self.continuity.as_ref().is_some_and(|continuity| continuity.has_reached(self.last_offset));
        if is_reached {
            self.finish = Some(Finish::Bound);
        }
        is_reached
    }
}
