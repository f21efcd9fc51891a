//! Message formats 0, 1 and 2: from bytes to batches ([`Batches`]) and from a batch to its records
//! ([`RecordReader`]), accepting what Kafka's own classes accept; and back to bytes ([`RecordBatchBuilder`], [`PairedBuilder`]).
//! The formats of Kafka 0.7, which has other messages with magic 0 and 1, are in [`message_set`](crate::message_set).

mod ahead;
#[doc(hidden)]
pub mod attributes;
#[doc(hidden)]
pub mod batch;
#[doc(hidden)]
pub mod batches;
#[doc(hidden)]
pub mod block;
mod build_fault;
#[doc(hidden)]
pub mod builder;
#[doc(hidden)]
pub mod codec_conformance;
mod common_record;
#[doc(hidden)]
pub mod control;
mod control_fault;
#[doc(hidden)]
pub mod convert;
mod decode_fault;
#[doc(hidden)]
pub mod error;
mod fault;

#[doc(hidden)]
pub mod header_checksum_fix;
#[doc(hidden)]
pub mod java_string;
#[doc(hidden)]
pub mod layout;
#[doc(hidden)]
pub mod lz4_checksum;
#[doc(hidden)]
pub mod merge;
#[doc(hidden)]
pub mod message;
#[doc(hidden)]
pub mod mutable_batch;
mod owned_record;
#[doc(hidden)]
pub mod partial;
#[doc(hidden)]
pub mod partitioner;
#[doc(hidden)]
pub mod reader;
#[doc(hidden)]
pub mod recompress;
#[doc(hidden)]
#[expect(clippy::module_inception, reason = "the record in the records")]
pub mod record;
mod record_batches;
#[doc(hidden)]
pub mod singles;
#[doc(hidden)]
pub mod v0_v1;
#[doc(hidden)]
pub mod v2;
mod v2_progress;

pub use ahead::Ahead;
pub use attributes::TimestampType;
pub use batch::{BatchHead, RecordBatch};
pub use batches::{Batches, Tail, WholeBatches};
pub use block::{RecordBlock, Span, Spans};
pub use build_fault::{BuildFault, Feature};
pub use builder::{BatchSettings, HeadersBuffer, PairedBuilder, RecordBatchBuilder};
pub use codec_conformance::{NonConformity, non_conformity};
pub use control::{ControlRecord, ControlRecordType};
pub use control_fault::ControlFault;
pub use convert::{ConvertOptions, Converter, convert};
pub use error::{Error, Result};
pub use fault::RecordFault;

pub use merge::Merger;
pub use message::Message;
pub use mutable_batch::MutableRecordBatch;
pub use owned_record::OwnedRecord;
pub use partial::{PartialRecord, PartialRecords};
pub use reader::{PausedRecords, RecordReader, Records};
pub use recompress::Recompressor;
pub use record::{Headers, Record};
pub use record_batches::RecordBatches;
pub use singles::{SingleRecords, SinglesBounds};
pub use v0_v1::V0V1Entry;
