//! In place of `in_turn` where there are no vectors of x86-64: all blocks are left to the library.

use std::ops::RangeInclusive;

use super::raw_elements::RawBlock;
use crate::memory::OutOfMemory;

#[derive(Default)]
pub(super) struct Pairs {}

impl Pairs {
    #[expect(clippy::reversed_empty_ranges, reason = "no length")]
    pub(super) const LENGTHS: RangeInclusive<usize> = 1..=0;
    pub(super) const MEMORY: usize = 0;

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the interface of `in_turn`")]
    pub(super) fn encode(&mut self, _: [&[u8]; 2]) -> Result<[Option<RawBlock<'_>>; 2], OutOfMemory> {
        Ok([None, None])
    }
}
