//! The continuity of a partition's offsets: batches in order, missing offsets and their reasons, and segment files that overlap.

pub mod adjacent;
pub mod compaction;
pub mod compare;
pub mod coverage;
pub mod missing;
pub mod missing_ranges;
pub mod naming;
pub mod order_ahead;
pub mod overlap;
pub mod positions;
pub mod sequence;
