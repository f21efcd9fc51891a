//! Writing a partition's folder as a broker does: segments, their indexes, and the other files.
//!
//! | file | when |
//! |---|---|
//! | `N.log`, `N.index`, `N.timeindex` | every segment; N is its base offset in 20 digits |
//! | `N.txnindex` | a segment with an abort marker of a transaction that had records |
//! | `N.snapshot` | at the base offset of every segment but the first, and at the end of the log |
//! | `leader-epoch-checkpoint` | always |
//! | `partition.metadata` | if the topic's id is given |
//!
//! A broker trusts these files after a clean shutdown. When it recovers the log, it rebuilds them with the same bytes.
//! The folder appears complete or not at all; see [`staging`]. [`LogEnd`] finds the state from which new segments continue an
//! existing folder; [`rebase`] assigns offsets to batches that were built without them.
//! Source: `LogSegment.append`, `LogSegment.recover`, `ProducerStateManager`, `ProducerAppendInfo`,
//! `LeaderEpochFileCache`.

mod assemble;
mod indexes;
mod producers;
pub mod rebase;
mod resume;
pub mod staging;
mod writer;

pub use assemble::assemble_log;
pub use indexes::{DEFAULT_INDEX_INTERVAL_BYTES, SegmentIndexes};
pub use producers::ProducerState;
pub use resume::LogEnd;
pub use staging::Staging;
pub use writer::{ClosedLog, LogWriter, WriteOptions, WriteReport};
