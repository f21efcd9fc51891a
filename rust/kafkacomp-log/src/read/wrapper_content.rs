//! The offsets of a wrapper, whose header has only the last one.

use kafkacomp_records::record::{RecordBatch, RecordReader, Records, Result};

/// The offsets of the messages of a wrapper, and their number.
///
/// In magic 1 they follow from the offset field of the wrapper. In magic 0 the messages have their own, which a checksum covers:
/// the offset field, which no checksum covers, does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrapperContent {
    /// The first offset.
    pub first: i64,
    /// The last offset.
    pub last: i64,
    /// The number of messages.
    pub messages: usize,
}

/// The messages of a wrapper; `None` if `batch` is none, or has none.
///
/// # Errors
/// As for [`RecordReader::records`].
pub fn wrapper_content(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<Option<WrapperContent>> {
    let Records::V0V1(records) = reader.records(batch)? else { return Ok(None) };
    let first = records.first_offset().transpose()?;
    Ok(first.map(|first| WrapperContent { first, last: records.last_offset(), messages: records.messages() }))
}

/// Whether a batch is a wrapper whose messages have their own offsets.
pub fn has_own_offsets(batch: &RecordBatch<'_>) -> bool {
    batch.magic() == 0 && batch.base_offset().is_none()
}
