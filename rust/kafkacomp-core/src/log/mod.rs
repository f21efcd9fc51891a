//! Segments: reading them in chunks, finding the way past damage, and what a committed reader sees.

pub mod chunk;
pub mod recover;
pub mod source;
pub mod transactions;

pub use chunk::{ChunkEnd, ChunkError, ChunkReader};
pub use source::{InMemory, ReadAt};
pub use transactions::{AbortedRange, TransactionCollector, TransactionFilter};
