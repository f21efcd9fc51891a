//! A chunk that ends within a large batch: whether the rest of the batch is read, or what is there of it kept for the next chunk.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use kafkacomp_log::read::source::UNKNOWN_WORTH_READING;
use kafkacomp_log::{ChunkBuffer, ChunkEnd, ChunkReader, ReadAt, SourceTraits};
use kafkacomp_records::record::{self, BatchSettings, Headers, RecordBatch, RecordBatchBuilder};

/// The bytes of a read.
const TARGET: usize = 260_000;

struct File {
    data: Vec<u8>,
    is_remote: bool,
    bytes_read: AtomicUsize,
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let rest = &self.data[position as usize..];
        let size = rest.len().min(buffer.len());
        buffer[..size].copy_from_slice(&rest[..size]);
        self.bytes_read.fetch_add(size, Relaxed);
        Ok(size)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.data.len() as u64)
    }

    fn traits(&self) -> SourceTraits<'_> {
        let local = SourceTraits::default();
        SourceTraits {
            worth_reading: if self.is_remote { UNKNOWN_WORTH_READING } else { local.worth_reading },
            ..local
        }
    }
}

/// A batch of exactly this size: the lengths of long records take three bytes each.
fn batch(size: usize) -> Vec<u8> {
    const OVERHEAD: usize = 61 + 3 + 1 + 1 + 1 + 1 + 3 + 1;
    let mut builder = RecordBatchBuilder::new(BatchSettings::default()).unwrap();
    builder.append(0, 0, None, Some(&vec![7; size - OVERHEAD]), Headers::EMPTY).unwrap();
    let mut out = Vec::new();
    builder.build(&mut out).unwrap();
    assert_eq!(out.len(), size);
    out
}

/// Verifies the checksum.
fn check(batch: &RecordBatch<'_>) -> record::Result<()> {
    batch.ensure_valid()
}

/// The length of each chunk, and how many of its bytes were read to complete its last batch.
fn chunks(sizes: &[usize], is_remote: bool) -> Vec<(usize, usize)> {
    let data = sizes.iter().flat_map(|&size| batch(size)).collect();
    let source = File { data, is_remote, bytes_read: AtomicUsize::new(0) };
    let mut reader = ChunkReader::new(0, source.data.len() as u64, true);
    let (mut buffer, mut chunks, mut read) = (ChunkBuffer::default(), Vec::new(), Vec::new());
    loop {
        let (used, end) = reader.read(&source, &mut buffer, TARGET, check).unwrap();
        read.extend_from_slice(&buffer[..used]);
        chunks.push((used, reader.completed()));
        if end != ChunkEnd::More {
            assert_eq!(end, ChunkEnd::End);
            assert!(read == source.data);
            // No byte is read twice.
            assert_eq!(source.bytes_read.into_inner(), source.data.len());
            return chunks;
        }
    }
}

#[test]
fn most_of_a_batch_is_completed() {
    assert_eq!(chunks(&[20_000, 300_000, 300_000], false), [(320_000, 60_000), (300_000, 0)]);
    // As much is there as is missing.
    assert_eq!(chunks(&[110_000, 300_000, 10_000], false), [(410_000, 150_000), (10_000, 0)]);
}

#[test]
fn less_than_half_of_a_batch_is_kept() {
    assert_eq!(chunks(&[110_001, 300_000, 10_000], false), [(110_001, 0), (300_000, 0), (10_000, 0)]);
}

#[test]
fn little_is_kept() {
    // Most of the second batch is there, but copying it takes less time than another read.
    assert_eq!(chunks(&[200_000, 70_000, 10_000], false), [(200_000, 0), (80_000, 0)]);
}

#[test]
fn a_remote_source_is_not_asked_once_more() {
    assert_eq!(chunks(&[20_000, 300_000, 300_000], true), [(20_000, 0), (300_000, 0), (300_000, 0)]);
}

#[test]
fn a_batch_larger_than_a_chunk_is_not_completed() {
    assert_eq!(chunks(&[300_000, 300_000], false), [(300_000, 0), (300_000, 0)]);
}
