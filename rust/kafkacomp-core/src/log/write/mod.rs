//! Writing a partition's folder as a broker leaves it: segments, their indexes, and the files beside them.
//!
//! | file | when |
//! |---|---|
//! | `N.log`, `N.index`, `N.timeindex` | every segment; N is its base offset in 20 digits |
//! | `N.txnindex` | a segment with an abort marker of a transaction that had records |
//! | `N.snapshot` | at the base offset of every segment but the first, and at the end of the log |
//! | `leader-epoch-checkpoint` | always |
//! | `partition.metadata` | if the topic's id is given |
//!
//! A broker trusts them after a clean stop, and makes them anew, to the same bytes, when it recovers the log.
//! The folder appears whole or not at all; see [`staging`]. Segments that go on from a folder's end begin with what
//! [`LogEnd`] finds there; batches made elsewhere get their offsets by [`rebase`].
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
pub use writer::{LogWriter, WriteOptions, WriteReport};
