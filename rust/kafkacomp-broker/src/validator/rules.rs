//! The rules for the header of a batch and for each record, in Kafka's order.
//!
//! They do not include the checksum of a batch, which is verified before, by
//! [`analyze_and_validate_records`](super::analyze_and_validate_records). Only the checksums
//! of messages inside a wrapper are verified here.
//! Source: `LogValidator.validateBatch`, `validateRecord`.

use super::config::{AppendOrigin, Era, ValidatorConfig};
use super::fault::{RecordError, RecordErrors, RecordRefusal, ValidationFault};
use super::items::{Content, Item, at};
use kafkacomp_records::CompressionType;
use kafkacomp_records::record::batch::NO_TIMESTAMP;
use kafkacomp_records::record::{Error, RecordFault, Result};
use kafkacomp_records::record::{RecordBatch, TimestampType};

/// Checks the header of `batch`; `first_magic` is the first batch's.
pub(super) fn validate_batch(config: &ValidatorConfig, first_magic: i8, batch: &RecordBatch<'_>) -> crate::Result<()> {
    batch_fault(config, first_magic, batch)
        .map_or(Ok(()), |fault| Err(crate::Error::Refused { position: batch.position(), fault }))
}

fn batch_fault(config: &ValidatorConfig, first_magic: i8, batch: &RecordBatch<'_>) -> Option<ValidationFault> {
    let to_magic = config.to_magic;
    if config.era.requires_one_batch() && batch.magic() != first_magic {
        return Some(ValidationFault::BatchMagic { first: first_magic, found: batch.magic() });
    }
    if config.origin == AppendOrigin::Client
        && let Some(fault) = if config.era == Era::V0_11 { client_fault_0_11(batch) } else { client_fault(batch) }
    {
        return Some(fault);
    }
    if batch.is_transactional() && to_magic < 2 {
        return Some(ValidationFault::Transactional { to_magic });
    }
    (has_producer_id(batch) && to_magic < 2).then_some(ValidationFault::Idempotent { to_magic })
}

fn has_producer_id(batch: &RecordBatch<'_>) -> bool {
    batch.producer_id() >= 0
}

/// The faults of a client's batch.
fn client_fault(batch: &RecordBatch<'_>) -> Option<ValidationFault> {
    if let Some(count) = batch.records_count() {
        let (base, last) = (batch.offset_field(), batch.last_offset());
        let range = i64::from(batch.last_offset_delta()) + 1;
        if range <= 0 {
            return Some(ValidationFault::OffsetRange { base, last });
        }
        if count <= 0 {
            return Some(ValidationFault::RecordsCount { count });
        }
        if range != i64::from(count) {
            return Some(ValidationFault::OffsetsAndCount { base, last, count });
        }
    }
    if batch.is_control_batch() {
        return Some(ValidationFault::ControlFromClient);
    }
    sequence_fault(batch)
}

/// The same in 0.11, in another order and without the offsets.
fn client_fault_0_11(batch: &RecordBatch<'_>) -> Option<ValidationFault> {
    if let Some(fault) = sequence_fault(batch) {
        return Some(fault);
    }
    if batch.is_control_batch() {
        return Some(ValidationFault::ControlFromClient);
    }
    (batch.records_count() == Some(0)).then_some(ValidationFault::RecordsCount { count: 0 })
}

fn sequence_fault(batch: &RecordBatch<'_>) -> Option<ValidationFault> {
    let (producer_id, sequence) = (batch.producer_id(), batch.base_sequence());
    (has_producer_id(batch) && sequence < 0).then_some(ValidationFault::Sequence { sequence, producer_id })
}

/// The rules for the records of one batch.
#[derive(Debug)]
pub(super) struct RecordRules<'c, 'b> {
    config: &'c ValidatorConfig,
    batch: &'c RecordBatch<'b>,
    now: i64,
    /// Whether the checksums of the messages are verified, which only messages inside a wrapper have.
    checks_crc: bool,
    append_time: bool,
    next_index: i32,
    errors: RecordErrors,
}

impl<'c, 'b> RecordRules<'c, 'b> {
    pub(super) fn new(config: &'c ValidatorConfig, batch: &'c RecordBatch<'b>, now: i64) -> Self {
        let compressed =
            batch.compression_type().is_ok_and(|compression_type| compression_type != CompressionType::None);
        Self {
            config,
            batch,
            now,
            checks_crc: batch.magic() < 2 && compressed,
            append_time: batch.timestamp_type() == TimestampType::LogAppendTime,
            next_index: 0,
            errors: RecordErrors::default(),
        }
    }

    /// Whether the record passes; a refusal is kept for [`finish`](Self::finish).
    ///
    /// # Errors
    /// A fault that refuses the batch at once: a wrong checksum, or a message that ends before the field that is read.
    #[inline]
    pub(super) fn passes(&mut self, item: &Item<'_, '_>) -> crate::Result<bool> {
        let batch_index = self.next_index;
        self.next_index = batch_index.wrapping_add(1);
        match self.refusal(item)? {
            None => Ok(true),
            Some(refusal) => {
                let error = RecordError { batch_index, offset: item.offset, refusal };
                if !self.config.era.collects_errors() {
                    return Self::refused(self.batch, RecordErrors::of(error)).map(|()| false);
                }
                self.errors.push(error);
                Ok(false)
            }
        }
    }

    /// Whether no record was refused yet.
    pub(super) fn all_passed(&self) -> bool {
        self.errors.is_empty()
    }

    #[inline]
    fn refusal(&self, item: &Item<'_, '_>) -> Result<Option<RecordRefusal>> {
        if let Content::V0V1(entry) = item.content {
            let (batch, record) = (self.batch.magic(), entry.message.magic());
            if batch != record {
                return self.named(item, RecordRefusal::Magic { batch, record });
            }
            if self.checks_crc && !entry.message.is_valid() {
                let (stored, computed) = (entry.message.crc(), entry.message.compute_crc());
                return Err(Error::CrcMismatch { position: self.batch.position(), stored, computed });
            }
        }
        if self.config.compacted && !item.has_key().map_err(at(self.batch))? {
            return Ok(Some(RecordRefusal::MissingKey));
        }
        self.timestamp_refusal(item)
    }

    #[inline]
    fn timestamp_refusal(&self, item: &Item<'_, '_>) -> Result<Option<RecordRefusal>> {
        let create_time = self.config.timestamp_type == TimestampType::CreateTime;
        let timestamp = if create_time { item.timestamp().map_err(at(self.batch))? } else { NO_TIMESTAMP };
        if timestamp != NO_TIMESTAMP {
            // Kafka's subtraction wraps.
            let age = self.now.wrapping_sub(timestamp);
            let (before, after) = (self.config.timestamp_before_max_ms, self.config.timestamp_after_max_ms);
            if age > before || age.wrapping_neg() > after {
                return Ok(Some(RecordRefusal::TimestampRange {
                    timestamp,
                    least: self.now.wrapping_sub(before),
                    most: self.now.wrapping_add(after),
                }));
            }
            if self.config.era.accepts_append_time() {
                return Ok(None);
            }
        }
        if self.append_time { self.named(item, RecordRefusal::LogAppendTime) } else { Ok(None) }
    }

    /// A refusal whose message contains the sizes of key and value. If these cannot be read, Kafka fails while it makes the
    /// message.
    #[cold]
    fn named(&self, item: &Item<'_, '_>, refusal: RecordRefusal) -> Result<Option<RecordRefusal>> {
        let fields: std::result::Result<_, RecordFault> = item.fields();
        fields.map(|_| Some(refusal)).map_err(at(self.batch))
    }

    /// Ends the batch.
    ///
    /// # Errors
    /// Refused records.
    pub(super) fn finish(self) -> crate::Result<()> {
        Self::refused(self.batch, self.errors)
    }

    fn refused(batch: &RecordBatch<'_>, errors: RecordErrors) -> crate::Result<()> {
        let position = batch.position();
        errors.into_fault().map_or(Ok(()), |fault| Err(crate::Error::Refused { position, fault }))
    }
}
