//! Chunks of batches become rows, on the threads of the workers.

pub mod batch_records;
pub(crate) mod chunk_offsets;
pub(crate) mod decoder;
pub(crate) mod record_filter;
pub(crate) mod rows;
pub(crate) mod worker;
