//! Rewrites a whole partition into a new folder, segment by segment.
//!
//! [`PartitionJob`] describes both. [`PartitionJob::rewrite`], [`PartitionJob::repair`] and [`PartitionJob::migrate`] do the
//! work. Each calls back with the number of bytes read so far, and ends early if the callback returns `Break`.

mod error;
mod job;
mod migrate;
mod order;
#[cfg(test)]
mod panics;
mod rewrite;

pub use error::PartitionError;
pub use job::{PartitionHistory, PartitionJob, SourceSegment};
pub use migrate::MigrateOptions;
pub use order::PartitionFindings;
pub use rewrite::RepairedPartition;
