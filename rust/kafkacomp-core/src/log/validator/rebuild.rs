//! Writing the records of a set anew, as one batch of the topic's format and codec.
//!
//! Kafka checks all records before it writes the first, except where uncompressed records change their format.
//! Here they are checked and written in one pass; what the writing runs into is kept until the checks are done,
//! so that the same fault is reported.
//! Source: `LogValidator.buildRecordsAndAssignOffsets`, `convertAndAssignOffsetsNonCompressed`.

use super::fault::ValidationFault;
use super::framing::{batches, first_batch};
use super::items::{Item, Reading, at, each_record};
use super::result::{RecordValidationStats, Run, ValidationResult};
use super::rules::{RecordRules, validate_batch};
use crate::CompressionType;
use crate::compress::{Compression, Compressor};
use crate::error::{Error, Result};
use crate::record::builder::{BatchSettings, RecordBatchBuilder};
use crate::record::{RecordBatch, RecordReader, TimestampType};

/// What is kept between calls.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) reader: RecordReader,
    pub(super) compressor: Compressor,
}

/// A batch in the making.
#[derive(Debug)]
pub(super) struct Rebuild<'c> {
    run: &'c Run<'c>,
    /// The builder, or why there is none; after a failed append, why that failed.
    builder: Result<RecordBatchBuilder>,
    next_offset: i64,
}
