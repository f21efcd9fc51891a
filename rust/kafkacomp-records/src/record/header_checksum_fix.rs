//! Corrects the LZ4 header checksum of a batch: the one-time patch that
//! [KIP-57](https://cwiki.apache.org/confluence/display/KAFKA/KIP-57+-+Interoperable+LZ4+Framing) mentions.

use super::reader::stored_records;
use super::{Error, MutableRecordBatch, RecordBatch, Result};
use crate::CompressionType;
use crate::compress::lz4::{HeaderChecksumFound, frame_info};
use crate::memory;

/// A copy of a batch of magic 1 or 2 with the right LZ4 header checksum, and the rule of the one that it has; `None` if that is right or
/// the batch is another one.
///
/// # Errors
/// Lack of memory.
pub fn with_right_header_checksum(batch: &RecordBatch<'_>) -> Result<Option<(Vec<u8>, HeaderChecksumFound)>> {
    if batch.magic() == 0 || batch.compression_type() != Ok(CompressionType::Lz4) {
        return Ok(None);
    }
    let Some((at, checksum, rule)) = wrong_header_checksum(batch) else { return Ok(None) };
    let mut data = memory::copy_of(batch.data()).map_err(|error| Error::out_of_memory(error, batch.position()))?;
    if let Some(place) = data.get_mut(at) {
        *place = checksum;
    }
    MutableRecordBatch::new(&mut data, batch.position())?.update_checksum();
    Ok(Some((data, rule)))
}

/// The position of the header checksum of the batch's first LZ4 frame, its right value, and the rule that it follows; `None`
/// if it is right.
fn wrong_header_checksum(batch: &RecordBatch<'_>) -> Option<(usize, u8, HeaderChecksumFound)> {
    let (front, stored) = stored_records(batch).ok()?;
    let info = frame_info(stored).ok()?;
    let rule = info.header_checksum_found();
    if matches!(rule, HeaderChecksumFound::FrameDescriptor | HeaderChecksumFound::Both) {
        return None;
    }
    let at = (front.len().checked_add(info.position)?.checked_add(info.header_length)?).checked_sub(1)?;
    Some((at, info.checksum_of_descriptor, rule))
}
