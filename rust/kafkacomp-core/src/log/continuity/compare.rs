//! Compares two segment files of a partition that overlap, in either log format.

use super::overlap::{OverlapError, compare_overlap, position_before};
use super::positions::{PositionedFile, compare_positions};
use crate::log::read::source::ReadAt;

/// A segment file that has offsets in common with another one.
#[derive(Clone, Copy)]
pub struct OverlappingFile<'a> {
    /// Its bytes.
    pub source: &'a dyn ReadAt,
    /// The content of its offset index; empty without one.
    pub offset_index: &'a [u8],
    /// In a log of Kafka 0.7, the position of its first byte.
    pub position: Option<i64>,
}

/// The least of the offsets `first_offset` to `last_offset`, inclusive, at which two files have different records. If both files
/// have positions, they are of Kafka 0.7, and their bytes are compared.
///
/// # Errors
/// [`OverlapError`] if a file cannot be read, or a batch cannot be decoded for a reason other than corruption.
pub fn compare_files(
    earlier: OverlappingFile<'_>,
    later: OverlappingFile<'_>,
    first_offset: i64,
    last_offset: i64,
    max_output_size: usize,
) -> Result<Option<i64>, OverlapError> {
    if let (Some(one), Some(other)) = (earlier.position, later.position) {
        let (one, other) = (
            PositionedFile { source: earlier.source, base: one },
            PositionedFile { source: later.source, base: other },
        );
        return compare_positions(one, other, first_offset, last_offset);
    }
    let start = |file: OverlappingFile<'_>| position_before(file.source, file.offset_index, first_offset);
    let (one, other) = ((earlier.source, start(earlier)), (later.source, start(later)));
    compare_overlap(one, other, first_offset, last_offset, max_output_size)
}
