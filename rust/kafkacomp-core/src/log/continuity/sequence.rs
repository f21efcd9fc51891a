//! The batches of a segment in order, judged by their neighbours, and the offsets that are missing.
//!
//! [`walk_segment`](crate::log::read::walk::walk_segment) finds the batches whose checksums are right. No checksum covers base
//! offset and leader epoch, so a batch is judged once the next one is known ([`placement`](crate::log::read::placement)). If
//! the neighbours, the offset index or the leader epoch checkpoint determine an altered field, the visitor gets the batch with
//! the restored field, unless the batch is a copy of another one of the partition.
//!
//! If all batches exist but are not in order, the visitor gets them in order.
//!
//! Missing offsets are those between two batches in order, after the base offset, and before the base offset of the next segment.

mod copies;
mod epochs;
mod fields;
mod hand_out;
mod known_batches;
mod offsets;
mod reorder;
mod start;
mod visitor;
mod walk;

pub use epochs::EpochFault;
pub use known_batches::KnownBatches;
pub use start::start_offset;
pub use visitor::{Content, Judgement, Place, SegmentBounds, SequenceReport, Visitor};
pub use walk::walk_in_order;
