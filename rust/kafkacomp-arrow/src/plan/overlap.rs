//! Orders and compares segment files of a partition whose offsets overlap.

use std::cmp::{Ordering, Reverse};

use kafkacomp_core::log::continuity::overlap::{ComparedFiles, OverlapError, PartitionFile, position_before};
use kafkacomp_core::log::continuity::positions::{PositionedFile, compare_positions};
use kafkacomp_core::log::read::source::read_full;
use kafkacomp_core::log::{LogFormat, ReadAt};

use crate::lookup::log_format::log_format_of;
use crate::lookup::segment_ends::end_offset;
use crate::options::{ScanOptions, Segment};
use crate::report::ScanError;

/// The number of bytes that are compared at once.
const WINDOW: usize = 1 << 20;

/// Sorts files with the same base offset by their content, not by the ids in their names: first the one with the greatest end
/// offset, then the larger one, then by their bytes. Returns what was read of them, for later comparisons.
pub fn order(segments: &mut [Segment], options: &ScanOptions) -> ComparedFiles {
    let mut compared = ComparedFiles::default();
    let mut numbers: Vec<usize> = (0..segments.len()).collect();
    let mut from = 0;
    while let Some(first) = segments.get(from) {
        let base = first.base_offset;
        let rest = &segments[from..];
        let count = rest
            .iter()
            .take_while(|each| each.base_offset == base && each.range.is_none() && each.offsets.is_none())
            .count()
            .max(1);
        let until = from.saturating_add(count);
        if count > 1
            && base.is_some()
            && let (Some(same), Some(numbers)) = (segments.get_mut(from..until), numbers.get_mut(from..until))
        {
            let files = numbers.iter().zip(&*same);
            let keyed: Vec<_> = files
                .map(|(&number, each)| (reach(&mut compared, number, each, options), number, each.clone()))
                .collect();
            let mut sorted: Vec<(Reach, usize, Segment)> = Vec::new();
            for (key, number, segment) in keyed {
                // Errors of reading make the order inconsistent, for which `sort_by` may panic.
                let at = sorted.partition_point(|(other_key, other, before)| {
                    let found = other_key
                        .cmp(&key)
                        .then_with(|| compare_content(&mut compared, (*other, before), (number, &segment), options))
                        .then_with(|| before.name.cmp(&segment.name));
                    found != Ordering::Greater
                });
                sorted.insert(at, (key, number, segment));
            }
            for ((place, number), (_, old, segment)) in same.iter_mut().zip(numbers).zip(sorted) {
                (*place, *number) = (segment, old);
            }
        }
        from = until;
    }
    compared.renumber(&numbers);
    compared
}

/// The key of the order: end offset and length, both descending.
type Reach = (Reverse<Option<i64>>, Reverse<u64>);

/// The reach of a file that cannot be read.
const LAST: Reach = (Reverse(None), Reverse(0));

fn reach(compared: &mut ComparedFiles, number: usize, segment: &Segment, options: &ScanOptions) -> Reach {
    // A file that cannot be read comes last; reading it reports why.
    let Ok(source) = segment.files.open() else { return LAST };
    let Ok(length) = source.length() else { return LAST };
    let is_indexed = !segment.files.offset_index().is_empty();
    let end = if is_indexed || !has_batches(segment, source.as_ref(), options) {
        end_offset(segment, options).ok().flatten()
    } else {
        // All of it is read, so it is read only once for this and for the comparisons.
        let file = PartitionFile { number, source: source.as_ref(), start: &|_| 0 };
        compared.end_offset(file, segment.base_offset_or_zero()).ok().flatten()
    };
    (Reverse(end), Reverse(length))
}

/// Whether the file is not one of Kafka 0.7.
fn has_batches(segment: &Segment, source: &dyn ReadAt, options: &ScanOptions) -> bool {
    let Ok(length) = source.length() else { return false };
    matches!(log_format_of(segment, source, length, options), Ok(LogFormat::Records))
}

fn compare_content(
    compared: &mut ComparedFiles,
    (number, one): (usize, &Segment),
    (other_number, other): (usize, &Segment),
    options: &ScanOptions,
) -> Ordering {
    let (Ok(left), Ok(right)) = (one.files.open(), other.files.open()) else { return Ordering::Equal };
    if !has_batches(one, left.as_ref(), options) || !has_batches(other, right.as_ref(), options) {
        return compare_bytes(one, other);
    }
    let left = PartitionFile { number, source: left.as_ref(), start: &|_| 0 };
    let right = PartitionFile { number: other_number, source: right.as_ref(), start: &|_| 0 };
    compared.order(left, right).unwrap_or(Ordering::Equal)
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

/// The least of the offsets `first` to `last`, inclusive, at which two files have different records. Each file has a number that
/// identifies it in `compared`.
///
/// # Errors
/// One of them cannot be read, or has a batch that cannot be decoded for a reason other than corruption.
pub fn disagreement(
    compared: &mut ComparedFiles,
    (earlier_number, earlier): (usize, &Segment),
    (later_number, later): (usize, &Segment),
    (first, last): (i64, i64),
    options: &ScanOptions,
) -> Result<Option<i64>, ScanError> {
    let open = |segment: &Segment| segment.files.open().map_err(|error| ScanError::io(&segment.name, error));
    let (one, other) = (open(earlier)?, open(later)?);
    let length = one.length().map_err(|error| ScanError::io(&earlier.name, error))?;
    let found = match log_format_of(earlier, one.as_ref(), length, options)? {
        LogFormat::MessageSet => {
            let one = PositionedFile { source: one.as_ref(), base: earlier.base_offset_or_zero() };
            let other = PositionedFile { source: other.as_ref(), base: later.base_offset_or_zero() };
            let message = compared.message(later_number, other.base);
            compare_positions(one, other, first, last, message)
        }
        LogFormat::Records => {
            let starts = (
                |offset| position_before(earlier.files.as_ref(), one.as_ref(), offset),
                |offset| position_before(later.files.as_ref(), other.as_ref(), offset),
            );
            let one = PartitionFile { number: earlier_number, source: one.as_ref(), start: &starts.0 };
            let other = PartitionFile { number: later_number, source: other.as_ref(), start: &starts.1 };
            compared.disagreement(one, other, (first, last), options.max_output_size)
        }
    };
    found.map_err(|error| {
        let (segment, error) = match error {
            OverlapError::Earlier(error) => (earlier, error),
            OverlapError::Later(error) => (later, error),
        };
        ScanError::log(&segment.name, error)
    })
}
