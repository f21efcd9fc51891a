//! Walks through the batches of a segment by their headers alone.
//!
//! ```text
//! offset:int64 size:int32 x:int32 magic:int8 ...     the next batch begins `size` bytes after the size field
//! ```
//! What a plan needs (offsets, greatest timestamps, producers, positions of batches) is in the headers; records are not read.
//! In logs of Kafka 0.7 an entry begins with its size and has no such header.

use super::source::{ReadAt, part, read_full};
use super::span::Span;
use crate::error::{ContentError, ReadError};
use kafkacomp_records::bytes::be_i32;
use kafkacomp_records::memory;
use kafkacomp_records::message_set::message::{HEADER_LENGTH_V0, SIZE_LENGTH};
use kafkacomp_records::record::batch::{BatchHead, LOG_OVERHEAD, RecordBatch};
use kafkacomp_records::record::layout::v2::RECORD_BATCH_OVERHEAD;
use kafkacomp_records::record::{Result, TimestampType};

/// The fields of a batch's header; see [`RecordBatch`] for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// The position at which the batch begins.
    pub position: u64,
    /// Its whole size in bytes.
    pub size: u64,
    /// The message format: 0, 1 or 2.
    pub magic: i8,
    /// The offset field.
    pub offset_field: i64,
    /// The last offset.
    pub last_offset: i64,
    /// The first and last offset and the checksum, by which its placement is judged.
    pub span: Span,
    /// The greatest timestamp, ms; -1 in magic 0.
    pub max_timestamp: i64,
    /// The producer id; -1 if there is none.
    pub producer_id: i64,
    /// Whether it belongs to a transaction.
    pub is_transactional: bool,
    /// Whether it contains control records.
    pub is_control_batch: bool,
    /// The id of the compression type, which may be unknown.
    pub compression_id: u8,
    /// The declared number of records; `None` in magic 0 and 1.
    pub records_count: Option<i32>,
    /// The timestamp of the first record, ms; the greatest timestamp if the header does not contain it; -1 in magic 0.
    pub first_timestamp: i64,
    /// The producer epoch; -1 if there is none.
    pub producer_epoch: i16,
    /// The leader epoch; -1 if there is none.
    pub leader_epoch: i32,
}

impl BatchHeader {
    /// The header of a complete batch.
    pub fn of(batch: &RecordBatch<'_>) -> Self {
        Self {
            position: batch.position(),
            size: batch.size_in_bytes() as u64,
            magic: batch.magic(),
            offset_field: batch.offset_field(),
            last_offset: batch.last_offset(),
            span: Span::of(batch),
            max_timestamp: batch.max_timestamp(),
            producer_id: batch.producer_id(),
            is_transactional: batch.is_transactional(),
            is_control_batch: batch.is_control_batch(),
            compression_id: batch.attributes().compression_id(),
            records_count: batch.records_count(),
            first_timestamp: first_timestamp(batch),
            producer_epoch: batch.producer_epoch(),
            leader_epoch: batch.partition_leader_epoch(),
        }
    }

    /// The position at which the next batch begins.
    pub fn end(&self) -> u64 {
        self.position.saturating_add(self.size)
    }
}

/// What is at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hop {
    /// A batch that is complete by its size; its checksum was not verified.
    Batch(BatchHeader),
    /// The end.
    End,
    /// A batch that the end truncates.
    Truncated,
    /// Not a batch, or zeros up to the end.
    Corrupt(ContentError),
}

/// Serves small reads at positions close to one another with few reads of the source.
struct Window<'s> {
    source: &'s dyn ReadAt,
    buffer: Vec<u8>,
    begin: u64,
    /// The least number of bytes of a read.
    at_once: usize,
}

impl<'s> Window<'s> {
    fn new(source: &'s dyn ReadAt) -> Self {
        Self { source, buffer: Vec::new(), begin: 0, at_once: source.traits().worth_reading }
    }

    /// Up to `size` bytes at `position`, fewer at the source's end.
    fn bytes(&mut self, position: u64, size: usize) -> std::result::Result<&[u8], ReadError> {
        if let Some(all) = self.source.traits().bytes {
            return Ok(part(all, position, size));
        }
        let inside = |begin: u64, length: usize| {
            let at = usize::try_from(position.checked_sub(begin)?).ok()?;
            (at.checked_add(size)? <= length).then_some(at)
        };
        let at = if let Some(at) = inside(self.begin, self.buffer.len()) {
            at
        } else {
            self.source.traits().check_interrupt()?;
            let size_read = size.max(self.at_once);
            memory::resize(&mut self.buffer, size_read).map_err(std::io::Error::from)?;
            self.begin = position;
            let read = read_full(self.source, &mut self.buffer, position)?;
            self.buffer.truncate(read);
            0
        };
        let rest = &self.buffer[at..];
        Ok(rest.get(..size).unwrap_or(rest))
    }
}

/// Batches below this size are read together with the headers after them: the header is 3% of a batch of this size, and a
/// system call for each header takes longer than copying the bytes between them.
const SMALL_BATCH: u64 = 2 << 10;
/// The number of bytes of a read where batches are small.
const SMALL_BATCHES: usize = 64 << 10;

/// Walks through the batches of `[position, end)`.
pub struct HeaderWalk<'s> {
    window: Window<'s>,
    position: u64,
    end: u64,
    /// Whether only the headers are read.
    is_sparse: bool,
}

impl<'s> HeaderWalk<'s> {
    /// A walk from the batch that begins at `position` to the segment's length `end`.
    pub fn new(source: &'s dyn ReadAt, position: u64, end: u64) -> Self {
        Self { window: Window::new(source), position: position.min(end), end, is_sparse: false }
    }

    /// As [`new`](Self::new), for a walk through a whole segment. It reads only the headers, unless batches are small or the
    /// source is remote.
    pub fn sparse(source: &'s dyn ReadAt, position: u64, end: u64) -> Self {
        let mut walk = Self::new(source, position, end);
        walk.is_sparse = !source.traits().is_remote();
        if walk.is_sparse {
            walk.window.at_once = RECORD_BATCH_OVERHEAD;
        }
        walk
    }

    /// The position at which the next batch begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Continues at another position.
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.end);
    }

    /// The next batch. The walk does not advance past anything else.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub fn next_batch(&mut self) -> std::result::Result<Hop, ReadError> {
        let (position, left) = (self.position, self.end.saturating_sub(self.position));
        if left == 0 {
            return Ok(Hop::End);
        }
        let data = self.window.bytes(position, left.min(RECORD_BATCH_OVERHEAD as u64) as usize)?;
        Ok(match header(data, position) {
            Ok(Some(header)) if header.size <= left => {
                self.position = header.end();
                if self.is_sparse {
                    let is_small = header.size < SMALL_BATCH;
                    self.window.at_once = if is_small { SMALL_BATCHES } else { RECORD_BATCH_OVERHEAD };
                }
                Hop::Batch(header)
            }
            Ok(_) => Hop::Truncated,
            Err(error) => Hop::Corrupt(error.into()),
        })
    }
}

/// The header at the start of `data`; `None` if `data` end inside it.
fn header(data: &[u8], position: u64) -> Result<Option<BatchHeader>> {
    let Some(head) = BatchHead::read(data, position)? else { return Ok(None) };
    head.check_minimum(position)?;
    let size = (head.size as u64).saturating_add(LOG_OVERHEAD as u64);
    let batch = RecordBatch::of_header(data, position, head.magic);
    Ok(batch.map(|batch| BatchHeader { size, ..BatchHeader::of(&batch) }))
}

/// The first timestamp. If its field contains a delete horizon, or with LogAppendTime, it is the greatest one.
fn first_timestamp(batch: &RecordBatch<'_>) -> i64 {
    let is_overridden = batch.delete_horizon_ms().is_some() || batch.timestamp_type() == TimestampType::LogAppendTime;
    if is_overridden { batch.max_timestamp() } else { batch.base_timestamp() }
}

/// The position of the first top-level entry of a log of 0.7 at `target` or after it, found by walking from the entry at
/// `position`; `None` if there is none before `end`.
///
/// # Errors
/// [`ReadError`] if the bytes cannot be read.
pub fn next_entry_from(
    source: &dyn ReadAt,
    mut position: u64,
    target: u64,
    end: u64,
) -> std::result::Result<Option<u64>, ReadError> {
    let mut window = Window::new(source);
    while position < target {
        let Some(size) = be_i32(window.bytes(position, SIZE_LENGTH)?, 0) else { return Ok(None) };
        if size < HEADER_LENGTH_V0 as i32 {
            return Ok(None);
        }
        position = position.saturating_add(SIZE_LENGTH as u64).saturating_add(u64::from(size.unsigned_abs()));
    }
    Ok(Some(position).filter(|&position| position < end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InMemory, SourceTraits};

    /// Batches without records: base offset, last offset delta.
    fn batch(base_offset: i64, delta: i32) -> Vec<u8> {
        let mut data = vec![0; RECORD_BATCH_OVERHEAD];
        data[..8].copy_from_slice(&base_offset.to_be_bytes());
        data[8..12].copy_from_slice(&((RECORD_BATCH_OVERHEAD - LOG_OVERHEAD) as i32).to_be_bytes());
        data[16] = 2;
        data[23..27].copy_from_slice(&delta.to_be_bytes());
        data
    }

    /// A source that is not in memory.
    struct NotInMemory(Vec<u8>);

    impl ReadAt for NotInMemory {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
            InMemory(&self.0).read_at(buffer, position)
        }

        fn traits(&self) -> SourceTraits<'_> {
            SourceTraits { worth_reading: 100, ..SourceTraits::default() }
        }

        fn length(&self) -> std::io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }

    fn hops(source: &dyn ReadAt) -> (Vec<(u64, i64)>, Hop) {
        let mut walk = HeaderWalk::new(source, 0, source.length().unwrap());
        let mut found = Vec::new();
        loop {
            match walk.next_batch().unwrap() {
                Hop::Batch(header) => found.push((header.position, header.last_offset)),
                other => return (found, other),
            }
        }
    }

    #[test]
    fn every_cut_ends_the_walk_at_its_batch() {
        let data = [batch(5, 2), batch(8, 0), batch(9, 90)].concat();
        let all = vec![(0, 7), (61, 8), (122, 99)];
        assert_eq!(hops(&InMemory(&data)), (all.clone(), Hop::End));
        for length in 0..=data.len() {
            let whole = all[..length / RECORD_BATCH_OVERHEAD].to_vec();
            let end = if length % RECORD_BATCH_OVERHEAD == 0 { Hop::End } else { Hop::Truncated };
            let cut = data[..length].to_vec();
            assert_eq!(hops(&InMemory(&cut)), (whole.clone(), end.clone()), "{length} bytes");
            assert_eq!(hops(&NotInMemory(cut)), (whole, end), "{length} bytes of a file");
        }
    }

    #[test]
    fn what_is_no_batch_is_bad() {
        for (at, byte) in [(8, 0xff), (11, 5), (16, 3)] {
            let mut data = [batch(0, 0), batch(1, 0)].concat();
            data[61 + at] = byte;
            let (found, end) = hops(&NotInMemory(data));
            assert_eq!(found, [(0, 0)]);
            assert!(matches!(end, Hop::Corrupt(_)), "{at}: {end:?}");
        }
        let (found, end) = hops(&InMemory([batch(0, 0), vec![0; 100]].concat()));
        assert!(found.len() == 1 && matches!(end, Hop::Corrupt(_)), "{end:?}");
    }

    #[test]
    fn entries_of_0_7() {
        let entry = |size: usize| [(size as i32).to_be_bytes().to_vec(), vec![0; size]].concat();
        let data = [entry(10), entry(20), entry(5)].concat();
        let source = NotInMemory(data.clone());
        let end = data.len() as u64;
        for (target, found) in [(0, Some(0)), (1, Some(14)), (14, Some(14)), (15, Some(38)), (39, None), (900, None)] {
            assert_eq!(next_entry_from(&source, 0, target, end).unwrap(), found, "{target}");
        }
        let bad = InMemory([entry(10), entry(1)].concat());
        assert_eq!(next_entry_from(&bad, 0, 16, 19).unwrap(), None);
    }
}
