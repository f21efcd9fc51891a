//! The right order of a segment whose batches are all there, some in the place of others.
//!
//! Every checksum of such a segment is right, and sorted by offset its batches continue one another without a gap from
//! the offset that is expected to the end of the segment. A batch with an altered offset field leaves a gap or an
//! overlap in any order.

use std::ops::ControlFlow;

use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::log::error::ReadError;
use crate::log::read::source::ReadAt;
use crate::log::read::walk::{SegmentPart, walk_segment};
use crate::memory;
use crate::record::{Batches, RecordReader};

/// A batch in the order of offsets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ordered {
    first: i64,
    last: i64,
    /// Where it begins in the file.
    pub position: u64,
    pub size: usize,
    /// The first offset of the batch in whose place it stands; `None` if that is its own.
    pub expected: Option<i64>,
}

/// The batches from `position` on in the order of their offsets, if these continue one another from `expected` up to
/// `end_offset`; `None` if they do not, or if something is corrupt.
pub(super) fn reordered(
    source: &dyn ReadAt,
    position: u64,
    expected: i64,
    end_offset: Option<i64>,
) -> Result<Option<Vec<Ordered>>, ReadError> {
    let mut reader = RecordReader::new(DEFAULT_MAX_OUTPUT_SIZE);
    let mut found = Vec::new();
    let walked = walk_segment(source, &mut |part, _| match part {
        SegmentPart::Batches { data, position: begin } => {
            for batch in Batches::new(data, begin).map_while(Result::ok) {
                if batch.position() < position {
                    continue;
                }
                let Ok(first) = reader.base_offset(&batch) else { return ControlFlow::Break(None) };
                let (last, position, size) = (batch.last_offset(), batch.position(), batch.size_in_bytes());
                if let Err(error) = memory::push(&mut found, Ordered { first, last, position, size, expected: None }) {
                    return ControlFlow::Break(Some(std::io::Error::from(error)));
                }
            }
            ControlFlow::Continue(())
        }
        SegmentPart::Corrupt(range) if range.position >= position => ControlFlow::Break(None),
        SegmentPart::Corrupt(_) | SegmentPart::ZeroTail { .. } => ControlFlow::Continue(()),
    })?;
    match walked {
        ControlFlow::Break(Some(error)) => return Err(error.into()),
        ControlFlow::Break(None) => return Ok(None),
        ControlFlow::Continue(()) => {}
    }
    found.sort_unstable_by_key(|batch| (batch.first, batch.position));
    let mut next = expected;
    for batch in &found {
        if batch.first != next || batch.last < batch.first {
            return Ok(None);
        }
        next = batch.last.saturating_add(1);
    }
    if end_offset.is_some_and(|end| next != end) {
        return Ok(None);
    }
    let mut places = memory::with_capacity(found.len()).map_err(std::io::Error::from)?;
    places.extend(found.iter().map(|batch| batch.position));
    places.sort_unstable();
    let firsts: Vec<_> = found.iter().map(|batch| batch.first).collect();
    for batch in &mut found {
        let stands = places.partition_point(|&place| place < batch.position);
        batch.expected = firsts.get(stands).copied().filter(|&first| first != batch.first);
    }
    Ok(found.iter().any(|batch| batch.expected.is_some()).then_some(found))
}
