//! In place of `interleaved` where there are no vectors of x86-64: all blocks are left to the library.

use super::raw_elements::RawBlock;
use crate::memory::OutOfMemory;

#[derive(Default)]
pub(super) struct Pairs {}

impl Pairs {
    pub(super) const MEMORY: usize = 0;

    pub(super) fn are_faster(_: usize) -> bool {
        false
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the interface of `interleaved`")]
    pub(super) fn encode(&mut self, _: [&[u8]; 2]) -> Result<[Option<RawBlock<'_>>; 2], OutOfMemory> {
        Ok([None, None])
    }
}
