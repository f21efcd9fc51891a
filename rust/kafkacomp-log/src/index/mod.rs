//! The formats of the index files: parsed from bytes that the caller has read, and encoded for a writer.
//!
//! | file | module | content |
//! |---|---|---|
//! | `.index` | [`offset`] | offset -> byte position of a batch |
//! | `.timeindex` | [`time`] | timestamp -> offset |
//! | `.txnindex` | [`transaction`] | aborted transactions |
//! | `.snapshot` | [`producer_snapshot`] | producers' last sequence numbers and open transactions |
//! | `leader-epoch-checkpoint`, `*-checkpoint` | [`checkpoint`] | text: epochs and offsets |
//! | `partition.metadata` | [`partition_metadata`] | text: the topic's id |

pub mod checkpoint;
pub mod entries;
mod fault;
mod lines;
pub mod offset;
pub mod partition_metadata;
pub mod producer_snapshot;
pub mod time;
pub mod transaction;

/// The greatest difference between an offset of a segment and its base offset: offset and time indexes have relative offsets of
/// 32 bits with a sign.
pub const MAX_RELATIVE_OFFSET: i64 = i32::MAX as i64;

pub use fault::IndexFault;
