//! Reading segments: chunks of whole batches or entries, the search after a corrupt batch, batch headers alone, and what
//! a committed reader sees.

pub mod batch_headers;
mod candidate;
pub mod chunk;
pub mod entry_chunk;
pub mod follow;
pub mod large_corrupt;
pub mod log_format;
pub mod placement;
pub mod resync;
pub mod segment_files;
pub mod source;
pub mod summary;
mod track;
pub mod transactions;
pub mod walk;
mod window;
