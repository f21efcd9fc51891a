//! Zeros at the end of the indexes of a closed segment.
//!
//! A broker allocates an index in full, and trims it when the segment is closed. If it is killed, or the disk is copied, before
//! that is on the disk, zeros remain. A broker that starts cleanly takes them for entries (`AbstractIndex`), because it
//! checks neither index of such a segment (KAFKA-7283): the last entry of the time index then has the timestamp 0.

use super::rebuild::rebuilding;
use super::report::{FindingFile, SegmentReport, SideFiles};
use crate::index::offset::{self, entries_before_zeros};
use crate::index::time;

/// Reports zeros at the end of the indexes of the closed segment with this base offset and this greatest timestamp.
pub(super) fn check(
    side_files: &SideFiles,
    base_offset: i64,
    greatest_timestamp: Option<i64>,
    report: &mut SegmentReport,
) {
    let mut check = |file: FindingFile, data: Option<&Vec<u8>>, entry_size: usize, effect: &str| {
        let Some(data) = data else { return };
        let from = entries_before_zeros(data, entry_size) * entry_size;
        // The only entry of a segment whose records have the timestamp 0 is zero.
        let is_entry = file == FindingFile::TimeIndex && data.len() == entry_size && greatest_timestamp == Some(0);
        if from >= data.len() || is_entry {
            return;
        }
        let message = format!(
            "{} zero bytes at the end of the index of a closed segment, from byte {from} on: a broker that starts cleanly takes \
             them for entries. {effect} {}",
            data.len() - from,
            rebuilding(base_offset, "timeindex")
        );
        report.add(file, from as u64, false, message);
    };
    let effect = "Look-ups then begin at the segment's first byte, as in an index that was not trimmed (KAFKA-10207).";
    check(FindingFile::OffsetIndex, side_files.offset_index.as_ref(), offset::ENTRY_SIZE, effect);
    let effect = "The segment then counts as one of 1970, which retention deletes early (KAFKA-10207), and if the log is truncated \
                  to it, the next roll fails (KAFKA-19200).";
    check(FindingFile::TimeIndex, side_files.time_index.as_ref(), time::ENTRY_SIZE, effect);
}
