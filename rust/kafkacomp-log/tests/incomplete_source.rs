//! A source that ends before the length that it had, or whose rest cannot be read: first the complete batches or entries are
//! returned, then the error.

#![expect(clippy::unwrap_used, reason = "a test")]

#[path = "../../kafkacomp-records/tests/common/message_set.rs"]
mod message_set;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use kafkacomp_log::{ChunkBuffer, ChunkEnd, ChunkReader, EntryChunkReader, ReadAt, ReadError};
use kafkacomp_records::record::{self, BatchSettings, Headers, RecordBatch, RecordBatchBuilder};
use message_set::entry;
use proptest::prelude::*;
use proptest::sample::Index;

/// The error code for bytes that the storage cannot read.
const EIO: i32 = 5;

struct File {
    data: Vec<u8>,
    /// The position from which on nothing can be read, and how often reading there fails before it can.
    unreadable: usize,
    failures: AtomicUsize,
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let begin = position as usize;
        let mut rest = self.data.get(begin..).unwrap_or_default();
        let failures = self.failures.load(Relaxed);
        if failures > 0 {
            rest = &rest[..rest.len().min(self.unreadable.saturating_sub(begin))];
            if rest.is_empty() {
                self.failures.store(failures - 1, Relaxed);
                return Err(io::Error::from_raw_os_error(EIO));
            }
        }
        let size = rest.len().min(buffer.len());
        buffer[..size].copy_from_slice(&rest[..size]);
        Ok(size)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.data.len() as u64)
    }
}

fn batch(length: usize) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new(BatchSettings::default()).unwrap();
    builder.append(0, 0, None, Some(&vec![7; length]), Headers::EMPTY).unwrap();
    let mut out = Vec::new();
    builder.build(&mut out).unwrap();
    out
}

/// The bytes that were read, and the error, if they are not all.
fn read(source: &File, end: u64, target: usize, is_batch: bool) -> (Vec<u8>, Option<ReadError>) {
    let (mut batches, mut entries) = (ChunkReader::new(0, end, true), EntryChunkReader::new(0, end, true));
    let (mut buffer, mut all) = (ChunkBuffer::default(), Vec::new());
    loop {
        let next = if is_batch {
            batches.read(source, &mut buffer, target, check)
        } else {
            entries.read(source, &mut buffer, target, |_| true)
        };
        match next {
            Ok((used, chunk_end)) => {
                all.extend(&buffer[..used]);
                if !matches!(chunk_end, ChunkEnd::More) {
                    return (all, None);
                }
            }
            Err(error) => return (all, Some(error)),
        }
    }
}

/// The length of the parts that end at this position or before it.
fn complete(parts: &[Vec<u8>], position: usize) -> usize {
    let ends = parts.iter().scan(0, |end, part| {
        *end += part.len();
        Some(*end)
    });
    ends.take_while(|&end| end <= position).last().unwrap_or(0)
}

/// Verifies the checksum.
fn check(batch: &RecordBatch<'_>) -> record::Result<()> {
    batch.ensure_valid()
}

proptest! {
    #[test]
    fn complete_batches_are_read_before_the_error(
        lengths in prop::collection::vec(prop_oneof![9 => 0..20_000_usize, 2 => 0..300_000_usize], 1..20),
        at in any::<Index>(),
        more in 0..100_000_u64,
        target in 1..500_000_usize,
        is_unreadable in any::<bool>(),
    ) {
        for is_batch in [true, false] {
            let part = |&length: &usize| if is_batch { batch(length) } else { entry(&vec![7; length], 0) };
            let parts: Vec<_> = lengths.iter().map(part).collect();
            let mut data = parts.concat();
            let cut = at.index(data.len());
            let end = data.len() as u64 + more;
            data.truncate(cut);
            let complete = complete(&parts, cut);
            let failures = AtomicUsize::new(if is_unreadable { usize::MAX } else { 0 });
            let source = File { data, unreadable: cut, failures };
            let (found, error) = read(&source, end, target, is_batch);
            prop_assert_eq!(found.len(), complete);
            prop_assert!(source.data.starts_with(&found));
            match error {
                Some(ReadError::Shrunk { length, expected }) if !is_unreadable => {
                    prop_assert_eq!((length, expected), (cut as u64, end));
                }
                Some(ReadError::Io(error)) if is_unreadable => prop_assert_eq!(error.raw_os_error(), Some(EIO)),
                error => unreachable!("{error:?}"),
            }
        }
    }

    #[test]
    fn nothing_is_lost_if_the_storage_recovers(
        lengths in prop::collection::vec(prop_oneof![9 => 0..20_000_usize, 2 => 0..300_000_usize], 1..20),
        at in any::<Index>(),
        target in 1..500_000_usize,
    ) {
        for is_batch in [true, false] {
            let part = |&length: &usize| if is_batch { batch(length) } else { entry(&vec![7; length], 0) };
            let parts: Vec<_> = lengths.iter().map(part).collect();
            let data = parts.concat();
            let end = data.len() as u64;
            let unreadable = at.index(data.len());
            let source = File { data, unreadable, failures: AtomicUsize::new(1) };
            let (found, error) = read(&source, end, target, is_batch);
            // The error ends the log only where no complete batch was read before it in the same chunk.
            match error {
                None => prop_assert!(found == source.data),
                Some(ReadError::Io(error)) => {
                    prop_assert_eq!(error.raw_os_error(), Some(EIO));
                    prop_assert_eq!(found.len(), complete(&parts, unreadable));
                    prop_assert!(source.data.starts_with(&found));
                }
                Some(error) => unreachable!("{error:?}"),
            }
        }
    }
}
