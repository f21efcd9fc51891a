//! The offsets of a wrapper, whose header has only the last one.

use crate::record::{RecordBatch, RecordReader, Records};

/// The first offset of a wrapper, computed from its records and its offset field; `None` if it cannot be decoded.
pub fn implied_first(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Option<i64> {
    let (first, last) = inner_offsets(batch, reader)?;
    Some(batch.last_offset().saturating_sub(last.saturating_sub(first)))
}

/// The offsets of a wrapper: of magic 0 those of its messages, which its checksum covers, and otherwise those that its offset field
/// implies.
pub fn wrapper_span(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Option<(i64, i64)> {
    if batch.magic() == 0 {
        return inner_offsets(batch, reader).filter(|(first, last)| first <= last);
    }
    implied_first(batch, reader).map(|first| (first, batch.last_offset()))
}

/// The first and last offset of the messages of a wrapper.
fn inner_offsets(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Option<(i64, i64)> {
    let Ok(Records::V0V1(records)) = reader.records(batch) else { return None };
    let first = records.first_offset()?.ok()?;
    Some((first, records.last_offset()))
}
