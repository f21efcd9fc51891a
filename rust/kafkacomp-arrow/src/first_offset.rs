//! The first offset of a wrapper, which its header does not have.

use kafkacomp_core::log::{HeaderWalk, Hop, ReadAt, ReadError};
use kafkacomp_core::record::{RecordBatch, RecordReader, Records};

use crate::whole_batch::{MOST_CHECKED, whole_batch};

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

/// The [`implied_first`] offset of the batch at `position`.
///
/// # Errors
/// The segment cannot be read.
pub fn first_offset(
    source: &dyn ReadAt,
    position: u64,
    end: u64,
    max_output_size: usize,
) -> Result<Option<i64>, ReadError> {
    let Hop::Batch(header) = HeaderWalk::sparse(source, position, end).next_batch()? else { return Ok(None) };
    let mut buffer = Vec::new();
    let batch = whole_batch(source, &header, MOST_CHECKED, &mut buffer)?;
    Ok(batch.and_then(|batch| implied_first(&batch, &mut RecordReader::new(max_output_size))))
}
