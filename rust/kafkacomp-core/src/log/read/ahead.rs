//! Bytes that were read ahead are kept until they are read again.
//!
//! Whether a batch after a gap is in its place depends on the batches after it. If batches are small, looking at their headers
//! means reading all bytes; in a log with many gaps, all of it would be read twice.

use std::collections::VecDeque;
use std::io;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use super::chunk_buffer::ChunkBuffer;
use super::source::ReadAt;
use crate::memory;

/// The most bytes that are kept. Reading ahead goes no further than 20 MiB, from within a chunk of 4 MiB.
const MOST_KEPT: usize = 24 << 20;
/// Smaller reads are those of single headers, between which most bytes are not read.
const LEAST_KEPT: usize = 4 << 10;

/// A source that keeps the last bytes that were read ahead.
pub struct KeptAhead<S>(Ahead<S>);

impl<S> KeptAhead<S> {
    /// Over `source`.
    pub fn new(source: S) -> Self {
        Self(Ahead { source, kept: Mutex::default() })
    }
}

/// The source for reading ahead: what it reads is kept.
struct Ahead<S> {
    source: S,
    kept: Mutex<Kept>,
}

/// Blocks with their positions, in the order of the file.
#[derive(Default)]
struct Kept {
    blocks: VecDeque<(u64, Vec<u8>)>,
    size: usize,
}

impl Kept {
    /// The kept bytes from `position` on, as far as they are in one block; or the position of the next block, if there is one.
    fn from(&self, position: u64) -> Result<&[u8], Option<u64>> {
        let after = self.blocks.partition_point(|&(begin, _)| begin <= position);
        let block = after.checked_sub(1).and_then(|index| self.blocks.get(index));
        let rest = block.and_then(|(begin, bytes)| bytes.get(usize::try_from(position.checked_sub(*begin)?).ok()?..));
        rest.filter(|rest| !rest.is_empty()).ok_or_else(|| self.blocks.get(after).map(|&(begin, _)| begin))
    }

    fn add(&mut self, position: u64, bytes: &[u8]) {
        let follows = self.blocks.back().is_none_or(|&(begin, _)| begin < position);
        let mut copy = Vec::new();
        // Without memory for it, the bytes are read again.
        if !follows || memory::append(&mut copy, bytes).is_err() || self.blocks.try_reserve(1).is_err() {
            return;
        }
        self.size = self.size.saturating_add(bytes.len());
        self.blocks.push_back((position, copy));
        while self.size > MOST_KEPT
            && let Some((_, oldest)) = self.blocks.pop_front()
        {
            self.size = self.size.saturating_sub(oldest.len());
        }
    }
}

impl<S: Deref<Target: ReadAt> + Send + Sync> Ahead<S> {
    /// Reads from the kept bytes, or from the source up to the next ones. The second result is whether they were kept.
    fn read(&self, buffer: &mut [u8], position: u64) -> io::Result<(usize, bool)> {
        let mut wanted = buffer.len();
        match self.kept.lock().unwrap_or_else(PoisonError::into_inner).from(position) {
            Ok(kept) => {
                let size = kept.len().min(wanted);
                buffer[..size].copy_from_slice(&kept[..size]);
                return Ok((size, true));
            }
            Err(next) => {
                let left = next.and_then(|next| usize::try_from(next.saturating_sub(position)).ok());
                wanted = left.map_or(wanted, |left| wanted.min(left));
            }
        }
        Ok((self.source.read_at(&mut buffer[..wanted], position)?, false))
    }
}

/// What both sources have of the one below them.
macro_rules! of_the_source {
    ($($source:tt)+) => {
        fn as_slice(&self) -> Option<&[u8]> {
            self.$($source)+.as_slice()
        }

        fn worth_reading(&self) -> usize {
            self.$($source)+.worth_reading()
        }

        fn is_remote(&self) -> bool {
            self.$($source)+.is_remote()
        }

        fn chunk_size(&self) -> u64 {
            self.$($source)+.chunk_size()
        }

        fn check_interrupt(&self) -> io::Result<()> {
            self.$($source)+.check_interrupt()
        }

        fn length(&self) -> io::Result<u64> {
            self.$($source)+.length()
        }
    };
}

impl<S: Deref<Target: ReadAt> + Send + Sync> ReadAt for Ahead<S> {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let (size, was_kept) = self.read(buffer, position)?;
        if !was_kept && size >= LEAST_KEPT {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).add(position, &buffer[..size]);
        }
        Ok(size)
    }

    of_the_source!(source);
}

impl<S: Deref<Target: ReadAt> + Send + Sync> ReadAt for KeptAhead<S> {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        Ok(self.0.read(buffer, position)?.0)
    }

    fn for_reading_ahead(&self) -> Option<&dyn ReadAt> {
        Some(&self.0)
    }

    fn take_ahead(&self, position: u64, before: &[u8], buffer: &mut ChunkBuffer) -> io::Result<bool> {
        self.0.source.take_ahead(position, before, buffer)
    }

    of_the_source!(0.source);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Counts the bytes that are read.
    struct Counted(Vec<u8>, AtomicU64);

    impl ReadAt for Counted {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
            let rest = self.0.get(position as usize..).unwrap_or_default();
            let size = rest.len().min(buffer.len());
            buffer[..size].copy_from_slice(&rest[..size]);
            self.1.fetch_add(size as u64, Ordering::Relaxed);
            Ok(size)
        }

        fn length(&self) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }

    fn counted(length: usize) -> Counted {
        Counted((0..length).map(|at| (at / 7) as u8).collect(), AtomicU64::new(0))
    }

    fn read(source: &dyn ReadAt, position: usize, size: usize) -> Vec<u8> {
        let mut buffer = vec![0; size];
        let done = super::super::source::read_full(source, &mut buffer, position as u64).unwrap();
        buffer.truncate(done);
        buffer
    }

    #[test]
    fn what_was_read_ahead_is_not_read_again() {
        let below = counted(1_000_000);
        let source = KeptAhead::new(&below as &dyn ReadAt);
        let ahead = source.for_reading_ahead().unwrap();
        // Two blocks that overlap, one after a hole, and one beyond the end.
        for (position, size) in [(100_000, 60_000), (150_000, 60_000), (400_000, 60_000), (990_000, 60_000)] {
            assert_eq!(read(ahead, position, size), below.0[position..(position + size).min(1_000_000)]);
        }
        assert_eq!(below.1.load(Ordering::Relaxed), 110_000 + 60_000 + 10_000);
        for (position, size) in [(0, 1_000_000), (155_000, 10), (159_990, 20), (999_999, 5)] {
            assert_eq!(read(&source, position, size), below.0[position..(position + size).min(1_000_000)]);
        }
        assert_eq!(below.1.load(Ordering::Relaxed), 1_000_000);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let below = counted(30 << 20);
        let source = KeptAhead::new(&below as &dyn ReadAt);
        let ahead = source.for_reading_ahead().unwrap();
        for position in (0..30 << 20).step_by(1 << 16) {
            assert_eq!(read(ahead, position, 1 << 16), below.0[position..position + (1 << 16)]);
        }
        assert_eq!(source.0.kept.lock().unwrap().size, MOST_KEPT);
        assert_eq!(read(&source, 0, 30 << 20), below.0);
        assert_eq!(below.1.load(Ordering::Relaxed), (30 << 20) + (6 << 20));
    }
}
