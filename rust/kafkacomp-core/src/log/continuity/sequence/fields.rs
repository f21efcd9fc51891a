//! The fields of a batch that no checksum covers.

use super::visitor::{Judgement, Place};
use crate::log::error::ReadError;
use crate::log::read::placement::Span;
use crate::memory;
use crate::record::{self, MutableRecordBatch, RecordBatch};

/// A copy of the batch with restored fields, if the judgement has any.
pub(super) fn restore(batch: &RecordBatch<'_>, judgement: &Judgement) -> Result<Option<Vec<u8>>, ReadError> {
    let epoch = judgement.epoch.and_then(|fault| fault.restored);
    let field = match judgement.place {
        Place::Restored { offset_field, .. } => Some(offset_field),
        _ => None,
    };
    if epoch.is_none() && field.is_none() {
        return Ok(None);
    }
    let mut data = copy_of(batch)?;
    let mut copy = MutableRecordBatch::new(&mut data, batch.position()).map_err(unread)?;
    if let Some(field) = field {
        let last = field.wrapping_add(i64::from(batch.last_offset_delta()));
        copy.set_last_offset(last);
    }
    if let Some(epoch) = epoch {
        copy.set_partition_leader_epoch(epoch);
    }
    Ok(Some(data))
}

/// The offset field that makes `first` the first offset of `batch`; a wrapper's field is its last offset.
pub(super) fn field_for(batch: &RecordBatch<'_>, span: Span, first: i64) -> i64 {
    match (batch.base_offset(), span.first) {
        (None, Some(stored)) => first.wrapping_add(span.last.wrapping_sub(stored)),
        _ => first,
    }
}

pub(super) fn copy_of(batch: &RecordBatch<'_>) -> Result<Vec<u8>, ReadError> {
    memory::copy_of(batch.data()).map_err(|error| ReadError::Io(error.into()))
}

/// The error for a batch that was read before and cannot be read again. That does not happen, as nobody else has the buffer.
pub(super) fn unread(error: record::Error) -> ReadError {
    ReadError::Io(std::io::Error::other(error))
}

/// Whether the offset field of a wrapper is the last offset of its messages.
#[inline]
pub(super) fn has_field_of(batch: &RecordBatch<'_>, span: Span) -> bool {
    batch.magic() >= 2 || span.last == batch.offset_field()
}

/// Whether compaction has removed records from a batch.
pub(super) fn is_compacted(batch: &RecordBatch<'_>, span: Span, records: Option<u64>) -> bool {
    let offsets = span.first.and_then(|first| span.last.checked_sub(first)?.checked_add(1));
    match batch.records_count() {
        Some(count) => i64::from(count) < i64::from(batch.last_offset_delta()).saturating_add(1),
        None => records.zip(offsets).is_some_and(|(records, offsets)| records < offsets.unsigned_abs()),
    }
}
