//! Segment files of Kafka 0.7 whose positions overlap, and the order of files with the same base offset.

use std::cmp::Ordering;

use kafkacomp_log::OverlapError;
use kafkacomp_log::continuity::positions::{PositionedFile, compare_positions};
use kafkacomp_log::read::source::read_full;

use crate::options::Segment;
use crate::report::ScanError;

/// The number of bytes that are compared at once.
const WINDOW: usize = 1 << 20;

/// Sorts files with the same base offset by their content, not by the ids in their names: first the largest one, then by their
/// bytes. Returns whether there are any.
pub fn order(segments: &mut [Segment]) -> bool {
    let is_same = |one: &Segment, other: &Segment| {
        let is_whole = |each: &Segment| each.range.is_none() && each.offsets.is_none() && each.base_offset.is_some();
        one.base_offset == other.base_offset && is_whole(one) && is_whole(other)
    };
    let mut are_any = false;
    for same in segments.chunk_by_mut(is_same).filter(|same| same.len() > 1) {
        are_any = true;
        // A file that cannot be read comes last; reading it reports why.
        let length = |each: &Segment| each.files.open().and_then(|source| source.length()).unwrap_or(0);
        let mut sorted: Vec<(u64, Segment)> = Vec::new();
        for (length, segment) in same.iter().map(|each| (length(each), each.clone())) {
            // Errors of reading make the order inconsistent, for which `sort_by` may panic.
            let at = sorted.partition_point(|(other, before)| {
                let found = length.cmp(other).then_with(|| compare_bytes(before, &segment));
                found.then_with(|| before.name.cmp(&segment.name)) != Ordering::Greater
            });
            sorted.insert(at, (length, segment));
        }
        for (place, (_, segment)) in same.iter_mut().zip(sorted) {
            *place = segment;
        }
    }
    are_any
}

fn compare_bytes(one: &Segment, other: &Segment) -> Ordering {
    let (Ok(one), Ok(other)) = (one.files.open(), other.files.open()) else { return Ordering::Equal };
    let (mut left, mut right) = (vec![0; WINDOW], vec![0; WINDOW]);
    let mut position = 0_u64;
    loop {
        let read = read_full(one.as_ref(), &mut left, position);
        let (Ok(a), Ok(b)) = (read, read_full(other.as_ref(), &mut right, position)) else { return Ordering::Equal };
        let found = left.get(..a).cmp(&right.get(..b));
        if found != Ordering::Equal || a < WINDOW {
            return found;
        }
        position = position.saturating_add(WINDOW as u64);
    }
}

/// The least of the positions `first` to `last`, inclusive, at which two files of Kafka 0.7 have different messages. `message` is a
/// position at which a message of the later file begins.
///
/// # Errors
/// One of them cannot be read.
pub fn disagreement(
    message: &mut i64,
    earlier: &Segment,
    later: &Segment,
    (first, last): (i64, i64),
) -> Result<Option<i64>, ScanError> {
    let open = |segment: &Segment| segment.files.open().map_err(|error| ScanError::io(&segment.name, error));
    let (one, other) = (open(earlier)?, open(later)?);
    let one = PositionedFile { source: one.as_ref(), base: earlier.base_offset_or_zero() };
    let other = PositionedFile { source: other.as_ref(), base: later.base_offset_or_zero() };
    compare_positions(one, other, first, last, message).map_err(|error| {
        let (segment, error) = match error {
            OverlapError::Earlier(error) => (earlier, error),
            OverlapError::Later(error) => (later, error),
        };
        ScanError::log(&segment.name, error)
    })
}
