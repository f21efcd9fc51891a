//! The offsets of a wrapper, whose header has only the last one.

use crate::record::{RecordBatch, RecordReader, Records, Result};

/// The first offset of a wrapper, computed from its records and its offset field; `None` if it cannot be decoded.
pub fn implied_first(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Option<i64> {
    implied(batch, inner_offsets(batch, reader).ok()?).map(|(first, _)| first)
}

/// The offsets of a wrapper: of magic 0 those of its messages, which its checksum covers, and otherwise those that its offset field
/// implies. `None` if it cannot be decoded.
pub fn wrapper_span(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Option<(i64, i64)> {
    wrapper_offsets(batch, reader).ok().flatten()
}

/// As [`wrapper_span`], with the error of decoding; `None` if it has no messages or their offsets decrease.
///
/// # Errors
/// As for [`RecordReader::records`].
pub fn wrapper_offsets(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<Option<(i64, i64)>> {
    let inner = inner_offsets(batch, reader)?;
    Ok(if batch.magic() == 0 { inner.filter(|(first, last)| first <= last) } else { implied(batch, inner) })
}

/// The offsets that the offset field implies if the messages have the offsets `inner`.
fn implied(batch: &RecordBatch<'_>, inner: Option<(i64, i64)>) -> Option<(i64, i64)> {
    inner.map(|(first, last)| (batch.last_offset().saturating_sub(last.saturating_sub(first)), batch.last_offset()))
}

/// The first and last offset of the messages of a wrapper.
fn inner_offsets(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<Option<(i64, i64)>> {
    let Records::V0V1(records) = reader.records(batch)? else { return Ok(None) };
    let first = records.first_offset().transpose()?;
    Ok(first.map(|first| (first, records.last_offset())))
}
