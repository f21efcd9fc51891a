//! Whether two batches have the same records: what [`merge`](super::merge) asks of those whose facts differ.

use super::placed::Placement;

/// How the records of two batches compare at the offsets that both have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// They are the same.
    Same,
    /// At some offset they differ.
    Different,
    /// No offset has a record in both.
    NothingShared,
}

/// Compares the records of batches. A map is a function of the facts and of these answers, so an answer must not depend on
/// what was asked before; what cannot be answered is an error, which ends the judgement.
pub trait CompareRecords {
    /// The error of reading the records.
    type Error;

    /// Compares two batches that share offsets but are not equal, at the offsets that they are given.
    ///
    /// # Errors
    /// The records cannot be read.
    fn compare(&mut self, one: Placement, other: Placement) -> Result<Agreement, Self::Error>;
}
