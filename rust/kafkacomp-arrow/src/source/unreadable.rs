//! Reads a segment on storage that cannot read some of its bytes (EIO), for a scan with `on_error="skip"`.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::sync::lock;
use kafkacomp_log::{ReadAt, SourceTraits, is_unreadable};

/// The least number of bytes of a read around unreadable bytes: the block size of disks and file systems.
const BLOCK: usize = 4 << 10;

/// The value that replaces a byte that cannot be read. A batch of such bytes has a negative size.
const FILLER: u8 = 0xff;

/// A source whose unreadable bytes are replaced.
pub struct SkipUnreadable {
    source: Arc<dyn ReadAt>,
    any: AtomicBool,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// The ranges of unreadable bytes, in order.
    ranges: Vec<(u64, u64)>,
    message: String,
}

impl SkipUnreadable {
    /// Replaces the unreadable bytes of `source`.
    pub fn new(source: Arc<dyn ReadAt>) -> Self {
        Self { source, any: AtomicBool::new(false), found: Mutex::default() }
    }

    /// The I/O error for the bytes `[begin, end)`, if some of them could not be read.
    pub fn fault(&self, begin: u64, end: u64) -> Option<io::Error> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        let found = lock(&self.found);
        let next = found.ranges.partition_point(|&(_, until)| until <= begin);
        let hit = found.ranges.get(next).is_some_and(|&(from, _)| from < end);
        hit.then(|| io::Error::new(io::ErrorKind::UnexpectedEof, found.message.clone()))
    }

    fn note(&self, begin: u64, end: u64, error: &io::Error) {
        let mut guard = lock(&self.found);
        let found = &mut *guard;
        if found.message.is_empty() {
            found.message = error.to_string();
        }
        let at = found.ranges.partition_point(|&(from, _)| from <= begin);
        match at.checked_sub(1).and_then(|before| found.ranges.get_mut(before)) {
            Some((_, until)) if *until >= begin => *until = end.max(*until),
            _ => found.ranges.insert(at, (begin, end)),
        }
        self.any.store(true, Ordering::Relaxed);
    }

    /// Reads the readable bytes of `buffer`, by halving it down to a block.
    fn read_around(&self, buffer: &mut [u8], position: u64, error: &io::Error) -> io::Result<usize> {
        if buffer.len() <= BLOCK {
            buffer.fill(FILLER);
            self.note(position, position.saturating_add(buffer.len() as u64), error);
            return Ok(buffer.len());
        }
        // The halves begin at a block if the whole does.
        let half = buffer.len().div_ceil(2).next_multiple_of(BLOCK).min(buffer.len());
        let (front, back) = buffer.split_at_mut(half);
        let read = self.read_at(front, position)?;
        if read < front.len() || back.is_empty() {
            return Ok(read);
        }
        Ok(read.saturating_add(self.read_at(back, position.saturating_add(read as u64))?))
    }
}

impl ReadAt for SkipUnreadable {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        match self.source.read_at(buffer, position) {
            Err(error) if is_unreadable(&error) => self.read_around(buffer, position, &error),
            other => other,
        }
    }

    fn length(&self) -> io::Result<u64> {
        self.source.length()
    }

    fn traits(&self) -> SourceTraits<'_> {
        SourceTraits { ahead: None, ..self.source.traits() }
    }
}

impl std::fmt::Debug for SkipUnreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SkipUnreadable")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(Vec<u8>, std::ops::Range<u64>);

    impl ReadAt for Broken {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
            let end = (position + buffer.len() as u64).min(self.0.len() as u64);
            if position < self.1.end && self.1.start < end {
                return Err(io::Error::from_raw_os_error(5));
            }
            let data = &self.0[position as usize..end.max(position) as usize];
            buffer[..data.len()].copy_from_slice(data);
            Ok(data.len())
        }

        fn length(&self) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }

    #[test]
    fn all_but_the_unreadable_blocks_is_read() {
        for (begin, end) in [(0, 1), (5000, 5001), (4096, 12_288), (90_000, 100_000), (0, 100_000)] {
            let source = SkipUnreadable::new(Arc::new(Broken(vec![7; 100_000], begin..end)));
            let mut buffer = vec![0; 100_000];
            assert_eq!(source.read_at(&mut buffer, 0).unwrap(), 100_000);
            let (low, high) = (begin / 4096 * 4096, end.next_multiple_of(4096).min(100_000));
            for (at, &byte) in buffer.iter().enumerate() {
                let inside = (low..high).contains(&(at as u64));
                assert_eq!(byte, if inside { FILLER } else { 7 }, "byte {at} for {begin}..{end}");
            }
            assert!(source.fault(begin, end).is_some());
            assert!(source.fault(0, low).is_none() && source.fault(high, 100_000).is_none());
        }
    }
}
