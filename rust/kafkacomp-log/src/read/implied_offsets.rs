//! The offsets of a wrapper, whose header has only the last one.

use kafkacomp_records::record::{RecordBatch, RecordReader, Records, Result};

/// The offsets of the messages of a wrapper, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrapperContent {
    /// The first offset.
    pub first: i64,
    /// The last offset.
    pub last: i64,
    /// The number of messages.
    pub messages: usize,
}

impl WrapperContent {
    /// With the offsets that the offset field of `batch` implies.
    fn implied(self, batch: &RecordBatch<'_>) -> Self {
        let last = batch.last_offset();
        Self { first: last.saturating_sub(self.last.saturating_sub(self.first)), last, ..self }
    }
}

/// The first offset of a wrapper, computed from its records and its offset field; `None` if it cannot be decoded.
pub fn implied_first(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Option<i64> {
    Some(content(batch, reader).ok()??.implied(batch).first)
}

/// The messages of a wrapper, with the offsets that its offset field implies in every magic. If they are not those of the messages of
/// magic 0, the field was altered.
///
/// # Errors
/// As for [`RecordReader::records`].
pub fn implied_content(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<Option<WrapperContent>> {
    Ok(content(batch, reader)?.map(|found| found.implied(batch)))
}

/// The messages of a wrapper, with the offsets that they have by themselves.
fn content(batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Result<Option<WrapperContent>> {
    let Records::V0V1(records) = reader.records(batch)? else { return Ok(None) };
    let first = records.first_offset().transpose()?;
    Ok(first.map(|first| WrapperContent { first, last: records.last_offset(), messages: records.messages() }))
}
