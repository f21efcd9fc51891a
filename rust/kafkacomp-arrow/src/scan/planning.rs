//! How the threads of a scan wait for the planner. Those that wait are counted: while there are any, the planner leaves the checksums
//! of all but small batches to the workers.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, TryLockError};

use kafkacomp_log::ChunkBuffer;

use super::queue::Shared;
use crate::plan::planner::{Planned, Planner};
use crate::sync::lock;

/// How often a thread looks whether the planner is free before it waits: for about the time of planning a chunk.
const SPINS: usize = 2000;

/// The planner; `None` after the scan.
type Lock<'s> = MutexGuard<'s, Option<Planner>>;

impl Shared {
    /// The planner, unless another thread needs it for longer than a wait costs.
    pub(super) fn planner_soon(&self) -> Option<Lock<'_>> {
        self.waiting(|| {
            (0..SPINS).find_map(|_| match self.planner.try_lock() {
                Ok(planner) => Some(planner),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    std::hint::spin_loop();
                    None
                }
            })
        })
    }

    /// The planner, however long another thread needs it.
    pub(super) fn planner(&self) -> Lock<'_> {
        self.planner_soon().unwrap_or_else(|| self.waiting(|| lock(&self.planner)))
    }

    /// Plans the next chunk, which is read into `buffer`.
    pub(super) fn next_chunk(&self, planner: &mut Lock<'_>, buffer: &mut ChunkBuffer) -> Planned {
        planner.as_mut().map_or(Planned::End, |planner| planner.next_or_panicked(buffer, &self.waiting))
    }

    fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let result = wait();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        result
    }
}
