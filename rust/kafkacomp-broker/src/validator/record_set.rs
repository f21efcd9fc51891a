//! The batches of a record set as a broker reads them: a truncated batch at the end is ignored, and an impossible size or
//! magic is an error, zeros included.
//! Source: `ByteBufferLogInputStream`.

use super::config::Era;
use super::fault::ValidationFault;
use kafkacomp_records::CompressionType;
use kafkacomp_records::record::Result;
use kafkacomp_records::record::{BatchHead, RecordBatch};

/// The batch at byte `at`; `None` if it is not all there.
pub(crate) fn batch_at(records: &[u8], at: usize) -> Result<Option<RecordBatch<'_>>> {
    let Some(rest) = records.get(at..) else { return Ok(None) };
    let head = BatchHead::read(rest, at as u64)?;
    let data = head.and_then(|head| rest.get(..head.size_in_bytes()));
    data.map(|data| RecordBatch::new(data, at as u64)).transpose()
}

/// The batches in order, up to the end or the first error.
pub(super) fn batches(records: &[u8]) -> impl Iterator<Item = Result<RecordBatch<'_>>> {
    let mut at = Some(0usize);
    std::iter::from_fn(move || {
        let batch = batch_at(records, at?);
        at = match &batch {
            Ok(Some(batch)) => at.map(|at| at.saturating_add(batch.size_in_bytes())),
            _ => None,
        };
        batch.transpose()
    })
}

/// The first batch. Since 2.4 it must be the only one if its magic is 2 or the producer's set is compressed.
pub(super) fn first_batch(records: &[u8], source: CompressionType, era: Era) -> crate::Result<RecordBatch<'_>> {
    let fail = |position, fault| Err(crate::Error::Refused { position, fault });
    let Some(first) = batch_at(records, 0)? else { return fail(0, ValidationFault::NoBatches) };
    let end = first.size_in_bytes();
    let alone = era.requires_one_batch() && (first.magic() >= 2 || source != CompressionType::None);
    if alone && batch_at(records, end)?.is_some() {
        return fail(end as u64, ValidationFault::MoreThanOneBatch);
    }
    Ok(first)
}

/// Whether all batches, up to the first that differs, have this magic.
pub(super) fn has_matching_magic(records: &[u8], magic: i8) -> Result<bool> {
    for batch in batches(records) {
        if batch?.magic() != magic {
            return Ok(false);
        }
    }
    Ok(true)
}
