//! Rewrites a whole partition into a new folder, segment by segment.
//!
//! [`PartitionJob`] describes both. [`PartitionJob::rewrite`], [`PartitionJob::repair`] and [`PartitionJob::migrate`] do the
//! work. Each calls back with the number of bytes read so far, and ends early if the callback returns `Break`.

mod deliver;
mod error;
mod findings;
mod job;
mod migrate;
#[cfg(test)]
mod panics;
mod rewrite;
pub(super) mod target;
mod written;

pub use error::PartitionError;
pub use findings::PartitionFindings;
pub use job::{PartitionHistory, PartitionJob, SourceSegment};
pub use migrate::MigrateOptions;
pub use rewrite::RepairedPartition;
