#![doc = include_str!("../README.md")]
//! ## Modules
//!
//! | module | what |
//! |---|---|
//! | [`listing`] | what is in a folder, of any store |
//! | [`mod@write`] | writing a partition's folder as a broker does |
//! | [`maintain`] | verify, repair, rewrite, migrate |
//! | `tiered` | chunks of tiered storage: data keys, AES-GCM, Zstandard; the feature `tiered` |

#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod continuity;
mod error;
#[doc(hidden)]
pub mod index;
pub mod listing;
mod log_reader;
pub mod maintain;
#[doc(hidden)]
pub mod map;
#[doc(hidden)]
pub mod read;
#[cfg(feature = "tiered")]
pub mod tiered;
pub mod write;

pub use continuity::compaction::Compaction;
pub use continuity::missing::{MAX_MISSING_RANGES, MissingRange, MissingReason};
#[doc(hidden)]
pub use continuity::missing_ranges::MissingRanges;
#[doc(hidden)]
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
pub use log_reader::{LogReader, LogReaderError};
#[doc(hidden)]
pub use maintain::check_batch::{BatchChecker, Verdict};
pub use maintain::verify::{
    FileToVerify, Finding, FindingFile, SegmentReport, VerifiedPartition, VerifyError, VerifyOptions, verify_partition,
};
#[doc(hidden)]
pub use read::batch_headers::{BatchHeader, HeaderWalk, Hop, next_entry_from};
#[doc(hidden)]
pub use read::chunk::{ChunkEnd, ChunkReader, Chunks, chunk_bytes};
#[doc(hidden)]
pub use read::chunk_buffer::ChunkBuffer;
#[doc(hidden)]
pub use read::entry_chunk::EntryChunkReader;
#[doc(hidden)]
pub use read::follow::{Disorder, FollowEnd, Follower};
#[doc(hidden)]
pub use read::large_corrupt::LargeCorrupt;
pub use read::local_segment::LocalSegment;
pub use read::log_format::LogFormat;
#[doc(hidden)]
pub use read::open_transactions::{OpenTransaction, OpenTransactions};
#[doc(hidden)]
pub use read::resume::{ensure_truncated, ensure_truncated_set};
#[doc(hidden)]
pub use read::resync::Resync;
pub use read::segment_files::{MemorySegment, OpenSegment, SideFile};
pub use read::source::{CheckInterrupt, InMemory, ReadAt, SourceTraits, TakeAhead, is_unreadable, open_file};
#[doc(hidden)]
pub use read::span::Span;
#[doc(hidden)]
pub use read::summary::{BatchCounts, BatchFormat, Certainty, SegmentSummary, Summarizer};
pub use read::time_range::TimeRange;
pub use read::transactions::{AbortedRange, TransactionCollector, TransactionEvent, TransactionFilter};
#[doc(hidden)]
pub use read::walk::{CorruptRange, SegmentPart, walk_chunks, walk_segment};
#[doc(hidden)]
pub use read::wrapper_content::{has_own_offsets, wrapper_content};
#[doc(hidden)]
pub use read::{BatchLayout, EntryLayout};
