//! Reading segments: chunks of complete batches or entries, the search for the next intact batch after a corrupt one, walks by
//! batch headers alone, and the filter of aborted transactions for committed readers.

pub mod batch_headers;
mod candidate;
pub mod chunk;
pub mod chunk_buffer;
pub mod continuation;
pub mod entry_chunk;
pub mod follow;
pub mod large_corrupt;
pub mod local_segment;
pub mod log_format;
pub mod open_transactions;
pub mod resume;
mod resume_entries;
pub mod resync;
pub mod segment_files;
pub mod source;
pub mod span;
pub mod summary;
#[cfg(test)]
mod test_batches;
pub mod time_range;
mod track;
pub mod transactions;
pub mod walk;
mod window;
pub mod wrapper_content;

pub use candidate::{BatchLayout, EntryLayout};
