//! What is known of a partition besides its files.

use super::log_end::EndWitness;
use crate::continuity::compaction::Compaction;

/// What is known of a partition besides its files: it explains why offsets are missing, and decides nothing about batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// What is known of its compaction.
    pub compaction: Compaction,
    /// What shows how far the log reached, if this may be beyond its files.
    pub reached: Option<EndWitness>,
}

impl From<Compaction> for Hints {
    fn from(compaction: Compaction) -> Self {
        Self { compaction, reached: None }
    }
}
