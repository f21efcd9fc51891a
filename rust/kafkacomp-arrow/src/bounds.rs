//! Where in a segment a scan may begin, by the indexes beside it.
//!
//! An index only ever saves reading: what it says is checked against the segment, and one that is damaged,
//! missing or of another segment costs nothing but a warning.

use kafkacomp_core::log::ReadAt;
use kafkacomp_core::log::offset_index::OffsetIndex;
use kafkacomp_core::log::source::read_full;
use kafkacomp_core::log::time_index::TimeIndex;
use kafkacomp_core::record::BatchHead;
use kafkacomp_core::record::batch::HEADER_SIZE_UP_TO_MAGIC;

use crate::options::{ScanOptions, Segment, SideFile};

/// The position of a batch at or before the first record that the bounds let through; 0 without an index.
pub fn start_position(
    segment: &Segment,
    source: &dyn ReadAt,
    length: u64,
    start_offset: i64,
    options: &ScanOptions,
    warn: &dyn Fn(String),
) -> u64 {
    let Some(base_offset) = segment.base_offset else { return 0 };
    let read = |kind: SideFile| match segment.files.side_file(kind) {
        Ok(data) => data,
        Err(error) => {
            warn(format!("{}: .{} ignored: {error}", segment.name, kind.suffix()));
            None
        }
    };
    let mut from = start_offset;
    if let Some(start) = options.start_timestamp
        && let Some(data) = read(SideFile::TimeIndex)
    {
        match TimeIndex::parse(&data, base_offset) {
            // An entry says: no record up to this offset is later than this time.
            Ok(index) => {
                let before = index.iter().take_while(|entry| entry.timestamp < start).last();
                from = from.max(before.map_or(i64::MIN, |entry| entry.offset.saturating_add(1)));
            }
            Err(error) => warn(format!("{}: .timeindex ignored: {error}", segment.name)),
        }
    }
    if from <= base_offset {
        return 0;
    }
    let Some(data) = read(SideFile::OffsetIndex) else { return 0 };
    match OffsetIndex::parse(&data, base_offset) {
        Ok(index) => {
            let entry = index.lookup(from);
            let position = u64::from(entry.position);
            if entry.offset <= from && holds(source, position, length, entry.offset) {
                return position;
            }
            warn(format!("{}: .index ignored: its entry for offset {} is no batch", segment.name, entry.offset));
            0
        }
        Err(error) => {
            warn(format!("{}: .index ignored: {error}", segment.name));
            0
        }
    }
}

/// Whether a batch that may end with `offset` begins at `position`.
fn holds(source: &dyn ReadAt, position: u64, length: u64, offset: i64) -> bool {
    if position == 0 {
        return true;
    }
    let mut head = [0_u8; HEADER_SIZE_UP_TO_MAGIC];
    let read = read_full(source, &mut head, position).unwrap_or_default();
    let head = BatchHead::read(head.get(..read).unwrap_or_default(), position);
    head.ok().flatten().is_some_and(|head| {
        head.check_minimum(position).is_ok()
            && head.offset <= offset
            && position.saturating_add(head.size_in_bytes() as u64) <= length
    })
}
