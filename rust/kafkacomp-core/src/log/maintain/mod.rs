//! Work on logs at rest: [`verify`], [`repair`], [`rewrite`] (recompress, merge, convert) and [`migrate`] (from Kafka
//! 0.7).

pub mod check_batch;
pub mod migrate;
pub mod repair;
pub mod rewrite;
pub mod verify;
pub mod verify_message_set;
