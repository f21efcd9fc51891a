//! Whether the offsets of a partition go on without a gap: batches in the order of their offsets, the offsets that are
//! missing and why, and segment files that have the same offsets.

pub mod coverage;
pub mod missing;
pub mod naming;
pub mod overlap;
pub mod positions;
pub mod sequence;
pub mod truncation;
