//! Maintenance of logs that no broker is writing: [`verify`], [`repair`], [`rewrite`] (recompress, merge, convert) and
//! [`migrate`] (from Kafka 0.7), each for one segment. [`partition`] applies them to the segments of a partition.

pub mod check_batch;
pub mod migrate;
pub mod partition;
pub mod repair;
pub mod rewrite;
pub mod verify;
pub mod verify_file;
pub mod verify_message_set;
