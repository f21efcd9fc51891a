//! The continuity of a partition's offsets: batches in order, missing offsets and their reasons, and segment files that overlap.

pub mod adjacent;
pub mod compaction;
pub mod coverage;
pub mod missing;
pub mod missing_ranges;
pub mod positions;
