//! A partition's log: its segments and the files next to them.
//!
//! | module | what |
//! |---|---|
//! | [`read`] | segments in chunks, resynchronization after a corrupt batch, following an active log |
//! | [`index`] | indexes, snapshots, checkpoints |
//! | [`continuity`] | batches in order, missing offsets, files that overlap |
//! | [`map`] | which batches belong to the log, at which offsets, and what is missing |
//! | [`mod@write`] | writing a partition's folder as a broker does |
//! | [`maintain`] | verify, repair, rewrite, migrate |
//! | `tiered` | chunks of tiered storage: data keys, AES-GCM, Zstandard; the feature `tiered` |

#![forbid(unsafe_code)]

pub mod continuity;
mod error;
pub mod index;
pub mod maintain;
pub mod map;
pub mod read;
#[cfg(feature = "tiered")]
pub mod tiered;
pub mod write;

pub use continuity::compaction::Compaction;
pub use continuity::missing::{MAX_MISSING_RANGES, MissingRange, MissingReason};
pub use continuity::missing_ranges::MissingRanges;
pub use continuity::positions::OverlapError;
pub use error::{ContentError, Error, ReadError};
pub use index::IndexFault;
pub use index::checkpoint::{
    LeaderEpochEntry, OffsetCheckpointEntry, read_leader_epoch_checkpoint, read_offset_checkpoint,
};
pub use index::offset::{OffsetIndex, OffsetPosition};
pub use index::partition_metadata::PartitionMetadata;
pub use index::producer_snapshot::{ProducerEntry, ProducerSnapshot};
pub use index::time::{TimeIndex, TimestampOffset};
pub use index::transaction::{AbortedTxn, AbortedTxns, TransactionIndex};
pub use maintain::check_batch::{BatchChecker, Verdict};
pub use maintain::verify::{
    FileToVerify, Finding, FindingFile, SegmentReport, VerifiedPartition, VerifyError, VerifyOptions, verify_partition,
};
pub use read::batch_headers::{BatchHeader, HeaderWalk, Hop, next_entry_from};
pub use read::chunk::{ChunkEnd, ChunkReader, Chunks, chunk_bytes};
pub use read::chunk_buffer::ChunkBuffer;
pub use read::entry_chunk::EntryChunkReader;
pub use read::follow::{Disorder, FollowEnd, Follower};
pub use read::implied_offsets::{implied_content, implied_first};
pub use read::large_corrupt::LargeCorrupt;
pub use read::log_format::LogFormat;
pub use read::open_transactions::{OpenTransaction, OpenTransactions};
pub use read::resume::{ensure_truncated, ensure_truncated_set};
pub use read::resync::Resync;
pub use read::segment_files::{MemorySegment, OpenSegment, SideFile};
pub use read::source::{InMemory, ReadAt, is_unreadable, open_file};
pub use read::span::Span;
pub use read::summary::{BatchCounts, BatchFormat, Certainty, SegmentSummary, Summarizer};
pub use read::time_range::TimeRange;
pub use read::transactions::{AbortedRange, TransactionCollector, TransactionEvent, TransactionFilter};
pub use read::walk::{CorruptRange, SegmentPart, walk_chunks, walk_segment};
pub use read::{BatchLayout, EntryLayout};
