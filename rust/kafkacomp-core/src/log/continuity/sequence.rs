//! The batches of a segment in order: what each one's neighbours say about its offsets and leader epoch, and which
//! offsets are missing.
//!
//! [`walk_segment`](crate::log::read::walk::walk_segment) finds the batches whose checksums are right. No checksum covers
//! base offset and leader epoch; a batch therefore waits for the next one before it is judged
//! ([`placement`](crate::log::read::placement)). Where the neighbours, the offset index or the leader epoch checkpoint
//! determine an altered field, the visitor gets the batch with the
//! field restored, unless the batch is a copy of another one of the partition.
//!
//! Where all batches are there but not in order, the visitor gets them in order.
//!
//! Missing offsets are those between two batches in order, from the base offset on and up to the next segment's.

mod copies;
mod epochs;
mod fields;
mod hand_out;
mod offsets;
mod reorder;
mod start;
mod visitor;
mod walk;

pub use epochs::EpochFault;
pub use start::start_offset;
pub use visitor::{Content, Judgement, Place, SegmentBounds, SequenceReport, Visitor};
pub use walk::walk_in_order;
