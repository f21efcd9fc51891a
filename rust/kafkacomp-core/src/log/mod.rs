//! Segments: reading them in chunks, finding the way past damage, what a committed reader sees; and the files
//! beside them.
//!
//! | file | module | what it holds |
//! |---|---|---|
//! | `.index` | [`offset_index`] | offset -> byte position of a batch |
//! | `.timeindex` | [`time_index`] | timestamp -> offset |
//! | `.txnindex` | [`transaction_index`] | aborted transactions |
//! | `.snapshot` | [`producer_snapshot`] | producers' last sequence numbers and open transactions |
//! | `leader-epoch-checkpoint`, `*-checkpoint` | [`checkpoint`] | text: epochs and offsets |
//! | `partition.metadata` | [`partition_metadata`] | text: the topic's id |
//!
//! Side files are read from bytes that the caller has; [`mod@write`] makes a whole partition's folder.

mod candidate;
pub mod check_batch;
pub mod checkpoint;
pub mod chunk;
pub mod coverage;
pub mod entry_chunk;
pub mod family;
mod fault;
pub mod follow;
pub mod headers;

pub mod migrate;
pub mod missing;
pub mod offset_index;
pub mod overlap;
pub mod partition_metadata;
pub mod placement;
pub mod producer_snapshot;
pub mod repair;
pub mod resync;
pub mod rewrite;
pub mod sequence;
pub mod source;
mod text;
pub mod time_index;
pub mod transaction_index;
pub mod transactions;
pub mod verify;
pub mod verify_entries;
pub mod walk;
mod window;
pub mod write;

pub use check_batch::{BatchChecker, Verdict};
pub use checkpoint::{LeaderEpochEntry, OffsetCheckpointEntry, read_leader_epoch_checkpoint, read_offset_checkpoint};
pub use chunk::{ChunkEnd, ChunkError, ChunkReader, chunk_bytes};
pub use entry_chunk::EntryChunkReader;
pub use family::Family;
pub use fault::LogFileFault;
pub use follow::{Follower, Stop};
pub use headers::{BatchHeader, HeaderWalk, Hop, next_entry_from};
pub use missing::{MAX_MISSING_RANGES, MissingRange, MissingRanges, MissingReason};
pub use offset_index::{OffsetIndex, OffsetPosition};
pub use overlap::{OverlapError, OverlapFault, compare_overlap};
pub use partition_metadata::PartitionMetadata;
pub use placement::{Neighbours, Placement, Span, place, place_between};
pub use producer_snapshot::{ProducerEntry, ProducerSnapshot};
pub use resync::Resync;
pub use sequence::{SegmentBounds, SequenceReport};
pub use source::{InMemory, ReadAt, open_file};
pub use time_index::{TimeIndex, TimestampOffset};
pub use transaction_index::{AbortedTxn, AbortedTxns, TransactionIndex};
pub use transactions::{AbortedRange, TransactionCollector, TransactionFilter};
pub use verify::{Finding, FindingFile, SegmentReport, SideFiles, VerifyOptions, verify_segment};
pub use verify_entries::verify_message_set;
pub use walk::{Damage, Piece, walk_segment};

/// How many leading bytes of an index are entries: a live or preallocated index is as large as it may
/// become, with zero bytes behind the entries. A zero entry stays where the file has no other: a closed
/// segment whose records all have timestamp 0 has just that one.
pub(crate) fn trim_zero_tail(data: &[u8], entry_size: usize) -> &[u8] {
    let Some(last) = data.iter().rposition(|&byte| byte != 0) else {
        return if data.len() == entry_size { data } else { &[] };
    };
    let entries = last / entry_size + 1;
    data.get(..entries * entry_size).unwrap_or(data)
}
