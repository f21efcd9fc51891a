//! A source that ends before the length that it had: the complete batches or entries before its end are read before the error.

#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use std::io;

use common::message_set::entry;
use kafkacomp_core::log::{ChunkBuffer, ChunkEnd, ChunkReader, EntryChunkReader, ReadAt, ReadError};
use kafkacomp_core::record::{self, BatchSettings, Headers, RecordBatch, RecordBatchBuilder};
use proptest::prelude::*;
use proptest::sample::Index;

struct File(Vec<u8>);

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let rest = self.0.get(position as usize..).unwrap_or_default();
        let size = rest.len().min(buffer.len());
        buffer[..size].copy_from_slice(&rest[..size]);
        Ok(size)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

fn batch(length: usize) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new(BatchSettings::default()).unwrap();
    builder.append(0, 0, None, Some(&vec![7; length]), Headers::EMPTY).unwrap();
    let mut out = Vec::new();
    builder.build(&mut out).unwrap();
    out
}

/// The bytes that were read, and the error.
fn read(mut next: impl FnMut(&mut ChunkBuffer) -> Result<(usize, ChunkEnd), ReadError>) -> (Vec<u8>, ReadError) {
    let (mut buffer, mut all) = (ChunkBuffer::default(), Vec::new());
    loop {
        match next(&mut buffer) {
            Ok((used, ChunkEnd::More)) => all.extend(&buffer[..used]),
            Ok((_, end)) => unreachable!("{end:?} is not the end of the source"),
            Err(error) => return (all, error),
        }
    }
}

/// Verifies the checksum.
fn check(batch: &RecordBatch<'_>) -> record::Result<()> {
    batch.ensure_valid()
}

proptest! {
    #[test]
    fn complete_batches_are_read_before_the_error(
        lengths in prop::collection::vec(prop_oneof![9 => 0..20_000_usize, 1 => 0..300_000_usize], 1..20),
        at in any::<Index>(),
        more in 0..100_000_u64,
        target in 1..500_000_usize,
    ) {
        for is_batch in [true, false] {
            let part = |&length: &usize| if is_batch { batch(length) } else { entry(&vec![7; length], 0) };
            let parts: Vec<_> = lengths.iter().map(part).collect();
            let mut data = parts.concat();
            let cut = at.index(data.len());
            let end = data.len() as u64 + more;
            data.truncate(cut);
            let ends = parts.iter().scan(0, |end, part| {
                *end += part.len();
                Some(*end)
            });
            let complete = ends.take_while(|&end| end <= cut).last().unwrap_or(0);
            let source = File(data);
            let mut batches = ChunkReader::new(0, end, true);
            let mut entries = EntryChunkReader::new(0, end, true);
            let (found, error) = read(|buffer| {
                if is_batch {
                    batches.read(&source, buffer, target, check)
                } else {
                    entries.read(&source, buffer, target, |_| true)
                }
            });
            prop_assert_eq!(found.len(), complete);
            prop_assert!(source.0.starts_with(&found));
            let ReadError::Shrunk { length, expected } = error else { unreachable!("{error:?}") };
            prop_assert_eq!((length, expected), (cut as u64, end));
        }
    }
}
