//! Maintenance of logs that no broker is writing: [`verify`] of a partition, and [`repair`], [`rewrite`] (recompress, merge, convert)
//! and [`migrate`] (from Kafka 0.7), each for one segment. [`partition`] applies these to the segments of a partition.

#[doc(hidden)]
pub mod check_batch;
pub mod migrate;
pub mod partition;
pub mod repair;
pub mod rewrite;
pub mod verify;
