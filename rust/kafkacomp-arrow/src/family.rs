//! Which family of formats a segment is of.

use std::sync::Arc;

use kafkacomp_core::log::{Family, ReadAt};

use crate::options::{ScanOptions, Segment};
use crate::report::ScanError;

/// The family that was given, or else that the content tells, or else the name.
///
/// # Errors
/// None of them tells, or the bytes cannot be read.
pub fn family_of(
    segment: &Segment,
    source: &dyn ReadAt,
    length: u64,
    options: &ScanOptions,
) -> Result<Family, ScanError> {
    if let Some(family) = options.family {
        return Ok(family);
    }
    if length == 0 {
        return Ok(Family::Records);
    }
    let content = Family::of_content(source, length).map_err(|error| ScanError::chunk(&segment.name, error))?;
    let family = content.or_else(|| Family::of_name(&segment.name));
    family.ok_or_else(|| ScanError::Undecided { segment: Arc::clone(&segment.name) })
}

/// As [`family_of`], of a segment that is not open.
///
/// # Errors
/// As there.
pub fn of_segment(segment: &Segment, options: &ScanOptions) -> Result<Family, ScanError> {
    let io = |error| ScanError::io(&segment.name, error);
    let source = segment.files.open().map_err(io)?;
    let length = source.length().map_err(io)?;
    family_of(segment, source.as_ref(), length, options)
}
