//! Bytes of a record set that were skipped, until the batch after them shows which offsets are missing.

use std::sync::Arc;

use kafkacomp_records::record::{Batches, RecordReader};

use crate::plan::context::Context;
use crate::plan::continuity::Findings;
use crate::report::SkippedRange;

/// The ranges since the last batch, and the offset after that batch.
#[derive(Debug, Default)]
pub struct SetLosses {
    ranges: Vec<SkippedRange>,
    expected: Option<i64>,
}

impl SetLosses {
    pub fn are_pending(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Adds bytes that were skipped. The offset after the last batch before them is `expected`.
    pub fn add(&mut self, range: SkippedRange, expected: Option<i64>) {
        self.ranges.push(range);
        self.expected = expected;
    }

    /// Reports the ranges and the missing offsets before the first batch of `chunk`.
    pub fn resume(&mut self, chunk: &[u8], max_output_size: usize, context: &Context, found: &mut Findings) {
        let Some(Ok(batch)) = Batches::new(chunk, 0).next() else { return };
        let first = RecordReader::new(max_output_size).base_offset(&batch).ok();
        if let (Some(expected), Some(first), Some(range)) = (self.expected, first, self.ranges.first()) {
            let segment = &context.place.segment;
            context.missing((expected, first), range.reason, segment, &mut |segment, missing| {
                found.missing.push((Arc::clone(segment), missing));
            });
        }
        let expected = self.expected;
        found.skipped.extend(self.ranges.drain(..).map(|range| range.between(expected, first)));
    }

    /// Reports the ranges at the end of the set, where it is unknown which offsets are missing.
    pub fn end(&mut self, found: &mut Findings) {
        found.skipped.append(&mut self.ranges);
    }
}
