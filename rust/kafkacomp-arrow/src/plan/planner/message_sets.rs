//! Files of Kafka 0.7 that have offsets in common, or leave offsets out.

use std::sync::Arc;

use kafkacomp_log::MissingReason;
use kafkacomp_log::continuity::positions::{PositionedFile, skipped};

use super::{Current, Planner};
use crate::options::{OnError, Segment};
use crate::plan::context::Context;
use crate::plan::open::Open;
use crate::plan::overlap;
use crate::report::ScanError;

impl Planner {
    /// Handles a segment that begins with offsets that others have returned: their records must be the same.
    pub(super) fn overlaps(
        &self,
        current: &mut Current,
        (number, segment): (usize, &Segment),
        base: i64,
        position: i64,
        context: &Context,
    ) -> Result<(), ScanError> {
        let Current { partition, delivered, messages, .. } = current;
        delivered.retain(|&(_, _, end)| end > base);
        for &(index, begin, end) in &*delivered {
            let Some(earlier) = partition.segments.get(index) else { continue };
            let first = begin.max(base).max(context.start_offset);
            let last = end.min(position).saturating_sub(1).min(context.last_offset);
            if first > last {
                continue;
            }
            let mut warning = format!(
                "{} and {} overlap: offsets {first} to {last} are read from the first",
                earlier.name, segment.name
            );
            let message = messages.entry(number).or_insert(segment.base_offset_or_zero());
            match overlap::disagreement(message, earlier, segment, (first, last)) {
                Ok(None) => {}
                Ok(Some(offset)) if self.options.on_error == OnError::Raise => {
                    let (earlier, later) = (Arc::clone(&earlier.name), Arc::clone(&segment.name));
                    let deciding = partition.deciding.clone();
                    return Err(ScanError::Conflict { earlier, later, offset, deciding });
                }
                Ok(Some(offset)) => warning = format!("{warning}; they have different records at offset {offset}"),
                Err(error) if self.skips(&error) => {
                    warning = format!("{warning}; they could not be compared: {error}");
                }
                Err(error) => return Err(error),
            }
            self.with_report(|report| report.warnings.push(warning));
        }
        Ok(())
    }
}

/// Adds the offsets that are missing before a segment of Kafka 0.7 to its findings. Those `before` it were returned or reported
/// missing.
pub(super) fn missing_before(
    open: &mut Open,
    current: &mut Current,
    segment: &Segment,
    (before, from): (Arc<str>, i64),
) -> Result<(), ScanError> {
    let Some(base) = segment.base_offset else { return Ok(()) };
    let Open { context, found, .. } = open;
    context.missing((from, base), MissingReason::Gap, &before, &mut |segment, range| {
        found.missing.push((Arc::clone(segment), range));
    });
    // A message that begins in the file before and ends in this one is complete in neither.
    let file = PositionedFile { source: open.source.0.as_ref(), base };
    let message = *current.messages.entry(open.index).or_insert(base);
    let skipped = skipped(file, from, message).map_err(|error| ScanError::log(&segment.name, error))?;
    let resumes = base.saturating_add_unsigned(skipped).max(from);
    context.missing((from.max(base), resumes), MissingReason::Corrupt, &segment.name, &mut |segment, range| {
        found.missing.push((Arc::clone(segment), range));
    });
    Ok(())
}
