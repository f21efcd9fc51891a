//! Message formats 0, 1 and 2: from bytes to batches ([`Batches`]) and from a batch to its records
//! ([`RecordReader`]), with the verdicts of Kafka's own classes; and back to bytes ([`RecordBatchBuilder`]).
//! Kafka 0.7, whose magics 0 and 1 mean other things, stands apart: [`message_set`].

pub mod attributes;
pub mod batch;
pub mod block;
pub mod builder;
pub(crate) mod bytes;
pub mod control;
pub mod convert;
pub mod default;
pub mod deviation;
pub mod frames;
pub mod legacy;
pub mod merge;
pub mod message_set;
mod message_set_fault;
pub mod message_set_write;
pub mod mutable;
pub mod partial;
pub mod partitioner;
pub mod reader;
pub mod recompress;
#[expect(clippy::module_inception, reason = "the record in the records")]
pub mod record;
pub mod text;
pub mod varint;

pub use attributes::TimestampType;
pub use batch::{BatchHead, RecordBatch};
pub use block::{RecordBlock, Span, Spans};
pub use builder::{BatchSettings, BuildFault, HeadersBuffer, RecordBatchBuilder};
pub use control::{ControlFault, ControlRecord, ControlRecordType};
pub use convert::{ConvertOptions, Converter, convert};
pub use deviation::{Deviation, deviation};
pub use frames::{Batches, Tail};
pub use legacy::LegacyEntry;
pub use merge::Merger;
pub use message_set::{Entries, Entry, MessageSetReader, Unwrapped};
pub use message_set_fault::{MessageSetFault, MessageSetKind};
pub use mutable::MutableRecordBatch;
pub use partial::{PartialRecord, PartialRecords};
pub use reader::{PausedRecords, RecordReader, Records};
pub use recompress::Recompressor;
pub use record::{Headers, Record};
