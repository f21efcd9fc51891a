//! Orders and compares segment files of a partition whose offsets overlap.

use std::cmp::{Ordering, Reverse};

use kafkacomp_core::log::continuity::overlap::{OverlapError, compare_overlap, position_before};
use kafkacomp_core::log::continuity::positions::{PositionedFile, compare_positions};
use kafkacomp_core::log::read::source::read_full;
use kafkacomp_core::log::{LogFormat, ReadAt, SideFile};

use crate::log_format::log_format_of;
use crate::lookup::end_offset;
use crate::options::{ScanOptions, Segment};
use crate::report::ScanError;

/// The number of bytes that are compared at once.
const WINDOW: usize = 1 << 20;

/// Sorts files with the same base offset by their content, not by the ids in their names: first the one with the greatest end
/// offset, then the larger one, then by their bytes.
pub fn order(segments: &mut [Segment], options: &ScanOptions) {
    let mut from = 0;
    while let Some(first) = segments.get(from) {
        let base = first.base_offset;
        let rest = &segments[from..];
        let count = rest
            .iter()
            .take_while(|each| each.base_offset == base && each.range.is_none() && each.offsets.is_none())
            .count()
            .max(1);
        if count > 1
            && base.is_some()
            && let Some(same) = segments.get_mut(from..from.saturating_add(count))
        {
            let mut keyed: Vec<_> = same.iter().map(|each| (reach(each, options), each.clone())).collect();
            keyed.sort_by(|(one, a), (other, b)| {
                one.cmp(other).then_with(|| compare_bytes(a, b)).then_with(|| a.name.cmp(&b.name))
            });
            for (place, (_, segment)) in same.iter_mut().zip(keyed) {
                *place = segment;
            }
        }
        from = from.saturating_add(count);
    }
}

/// The sort key: less for a file that comes first.
fn reach(segment: &Segment, options: &ScanOptions) -> (Reverse<Option<i64>>, Reverse<u64>) {
    let end = end_offset(segment, options).ok().flatten();
    // A file that cannot be read comes last; reading it reports why.
    let length = segment.files.open().and_then(|source| source.length()).unwrap_or_default();
    (Reverse(end), Reverse(length))
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

/// The least of the offsets `first` to `last`, inclusive, at which two files have different records.
///
/// # Errors
/// One of them cannot be read, or has a batch that cannot be decoded for a reason other than corruption.
pub fn disagreement(
    earlier: &Segment,
    later: &Segment,
    first: i64,
    last: i64,
    options: &ScanOptions,
) -> Result<Option<i64>, ScanError> {
    let open = |segment: &Segment| segment.files.open().map_err(|error| ScanError::io(&segment.name, error));
    let (one, other) = (open(earlier)?, open(later)?);
    let length = one.length().map_err(|error| ScanError::io(&earlier.name, error))?;
    let compared = match log_format_of(earlier, one.as_ref(), length, options)? {
        LogFormat::MessageSet => {
            let one = PositionedFile { source: one.as_ref(), base: earlier.base_offset_or_zero() };
            let other = PositionedFile { source: other.as_ref(), base: later.base_offset_or_zero() };
            compare_positions(one, other, first, last)
        }
        LogFormat::Records => {
            let start = |segment: &Segment, source: &dyn ReadAt| {
                let index = segment.files.side_file(SideFile::OffsetIndex).ok().flatten();
                position_before(source, index.as_deref().unwrap_or_default(), first)
            };
            let starts = (start(earlier, one.as_ref()), start(later, other.as_ref()));
            let (one, other) = ((one.as_ref(), starts.0), (other.as_ref(), starts.1));
            compare_overlap(one, other, first, last, options.max_output_size)
        }
    };
    compared.map_err(|error| {
        let (segment, error) = match error {
            OverlapError::Earlier(error) => (earlier, error),
            OverlapError::Later(error) => (later, error),
        };
        ScanError::log(&segment.name, error)
    })
}
