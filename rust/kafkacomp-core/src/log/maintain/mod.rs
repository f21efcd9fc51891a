//! Work on logs at rest: [`verify`], [`repair`], [`rewrite`] (recompress, merge, convert) and [`migrate`] (from Kafka
//! 0.7), each of one segment; [`partition`] applies them to the segments of a whole partition.

pub mod check_batch;
pub mod migrate;
pub mod partition;
pub mod repair;
pub mod rewrite;
pub mod verify;
pub mod verify_message_set;
