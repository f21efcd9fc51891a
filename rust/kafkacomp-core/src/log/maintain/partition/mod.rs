//! Work on a whole partition: its segment files in order, into the folder of a new one.
//!
//! [`PartitionJob`] names both. [`PartitionJob::rewrite`], [`PartitionJob::repair`] and [`PartitionJob::migrate`] do the
//! work; each calls back with the bytes read so far, and ends early if the callback breaks.

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
