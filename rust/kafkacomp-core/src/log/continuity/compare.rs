//! Compares two segment files of a partition that overlap, in either log format.

use super::overlap::{ComparedFiles, OverlapError, PartitionFile, position_before};
use super::positions::{PositionedFile, compare_positions};
use crate::log::read::segment_files::OpenSegment;
use crate::log::read::source::ReadAt;

/// A segment file that has offsets in common with another one.
#[derive(Clone, Copy)]
pub struct OverlappingFile<'a> {
    /// The number that identifies it among the files of the partition.
    pub number: usize,
    /// Its bytes.
    pub source: &'a dyn ReadAt,
    /// The file with its index files.
    pub files: &'a dyn OpenSegment,
    /// In a log of Kafka 0.7, the position of its first byte.
    pub position: Option<i64>,
}

/// The least of the offsets `first_offset` to `last_offset`, inclusive, at which two files have different records. If both files
/// have positions, they are of Kafka 0.7, and their bytes are compared; otherwise `files` keeps what was read.
///
/// # Errors
/// [`OverlapError`] if a file cannot be read, or a batch cannot be decoded for a reason other than corruption.
pub fn compare_files(
    files: &mut ComparedFiles,
    earlier: OverlappingFile<'_>,
    later: OverlappingFile<'_>,
    (first_offset, last_offset): (i64, i64),
    max_output_size: usize,
) -> Result<Option<i64>, OverlapError> {
    if let (Some(one), Some(other)) = (earlier.position, later.position) {
        let one = PositionedFile { source: earlier.source, base: one };
        let other = PositionedFile { source: later.source, base: other };
        let message = files.message(later.number, other.base);
        return compare_positions(one, other, first_offset, last_offset, message);
    }
    let start = |file: OverlappingFile<'_>, offset| position_before(file.files, file.source, offset);
    let starts = (|offset| start(earlier, offset), |offset| start(later, offset));
    let one = PartitionFile { number: earlier.number, source: earlier.source, start: &starts.0 };
    let other = PartitionFile { number: later.number, source: later.source, start: &starts.1 };
    files.disagreement(one, other, (first_offset, last_offset), max_output_size)
}
