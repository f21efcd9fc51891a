//! What is delivered, as stretches of files.

use std::ops::Range;

use super::facts::Fact;
use super::partition::LogMap;
use super::ranges::{ByteRange, OffsetRange};

/// Batches of one file that are delivered one after another. There may be corrupt bytes between them, but no other batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The number of the file.
    pub file: usize,
    /// From the fact of the first batch to that of the last.
    pub facts: Range<usize>,
    /// From the first batch to the end of the last.
    pub bytes: ByteRange,
    /// The offsets at which they are delivered, from the first to the last. Those of a batch with an altered base offset, which is a
    /// stretch by itself, are not the ones in its header.
    pub offsets: OffsetRange,
    is_restored: bool,
}

impl Stretch {
    /// The right base offset of a batch whose base offset was altered.
    pub fn restored(&self) -> Option<i64> {
        self.is_restored.then_some(self.offsets.start())
    }
}

impl LogMap<'_> {
    /// What is delivered, in the order of offsets. No two stretches share an offset.
    pub fn stretches(&self) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for placement in self.in_offset_order() {
            let (id, offsets) = (placement.id, placement.offsets);
            let Some(batch) = self.batch(id) else { continue };
            let is_restored = batch.offsets() != offsets;
            match stretches.last_mut() {
                Some(last) if !is_restored && !last.is_restored && self.follows(last, id.file, id.index) => {
                    last.facts.end = id.index + 1;
                    last.bytes = last.bytes.through(batch.bytes());
                    last.offsets = last.offsets.through(offsets);
                }
                _ => stretches.push(Stretch {
                    file: id.file,
                    facts: id.index..id.index + 1,
                    bytes: batch.bytes(),
                    offsets,
                    is_restored,
                }),
            }
        }
        stretches
    }

    /// Whether a batch is the next one after a stretch in its file.
    fn follows(&self, stretch: &Stretch, file: usize, index: usize) -> bool {
        let between = || self.files().get(file)?.facts.get(stretch.facts.end..index);
        file == stretch.file && between().is_some_and(|facts| facts.iter().all(|fact| !matches!(fact, Fact::Batch(_))))
    }
}
