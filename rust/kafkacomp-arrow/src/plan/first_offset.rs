//! The first offset of a wrapper, which its header does not have.

use kafkacomp_core::log::{HeaderWalk, Hop, ReadAt, ReadError, implied_first};
use kafkacomp_core::record::RecordReader;

use crate::plan::whole_batch::{MOST_CHECKED, whole_batch};

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
