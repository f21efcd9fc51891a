//! Compares the records of two overlapping segment files of a partition.
//!
//! Files of a partition overlap in tiered storage after a change of leader, in copied folders, and after an interrupted
//! compaction. Records are compared by offset: timestamp, key, value and headers. Batches and compression may differ. An offset
//! that only one file has is not a disagreement: compaction removed it from the other, or its batch is corrupt there.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::error_kind::Category;
use crate::log::error::{Error, ReadError};
use crate::log::index::offset::OffsetIndex;
use crate::log::read::batch_headers::{HeaderWalk, Hop};
use crate::log::read::chunk::{ChunkEnd, ChunkReader, chunk_bytes};
use crate::log::read::source::ReadAt;
use crate::record::{RecordBatch, RecordReader};

/// The least number of bytes of a read.
const CHUNK: usize = 128 << 10;

/// Why two files could not be compared: one of them cannot be read, or one of its batches cannot be decoded for a reason other
/// than corruption.
#[derive(Debug, thiserror::Error)]
pub enum OverlapError {
    /// The first file could not be read.
    #[error("{0}")]
    Earlier(Error),
    /// The second file could not be read.
    #[error("{0}")]
    Later(Error),
}

/// Compares the records of `earlier` and `later` from `first_offset` to `last_offset`, inclusive, and returns the least offset
/// at which they differ. Corrupt batches, and batches whose offsets decrease, are skipped. Each file has a position at which a
/// batch begins and before which none has these offsets; see [`position_before`].
///
/// # Errors
/// [`OverlapError`] if a file cannot be read, or a batch cannot be decoded for a reason other than corruption.
pub fn compare_overlap(
    earlier: (&dyn ReadAt, u64),
    later: (&dyn ReadAt, u64),
    first_offset: i64,
    last_offset: i64,
    max_output_size: usize,
) -> Result<Option<i64>, OverlapError> {
    let hashing = RandomState::new();
    let range = (first_offset, last_offset);
    let mut one = Side::new(earlier, range, max_output_size).map_err(OverlapError::Earlier)?;
    let mut other = Side::new(later, range, max_output_size).map_err(OverlapError::Later)?;
    loop {
        one.load().map_err(OverlapError::Earlier)?;
        other.load().map_err(OverlapError::Later)?;
        let (Some(left), Some(right)) = (one.next_offset(), other.next_offset()) else { return Ok(None) };
        if one.is_whole() && other.is_whole() && same_bytes(one.batch(), other.batch()) {
            one.skip();
            other.skip();
            continue;
        }
        // A batch that ends before the next offset of the other file has nothing to compare.
        if one.skip_before(right) || other.skip_before(left) {
            continue;
        }
        one.decode(&hashing).map_err(OverlapError::Earlier)?;
        other.decode(&hashing).map_err(OverlapError::Later)?;
        while let (Some(&(left, left_hash)), Some(&(right, right_hash))) = (one.record(), other.record()) {
            match left.cmp(&right) {
                Ordering::Less => one.at += 1,
                Ordering::Greater => other.at += 1,
                Ordering::Equal if left_hash != right_hash => return Ok(Some(left)),
                Ordering::Equal => {
                    one.at += 1;
                    other.at += 1;
                }
            }
        }
    }
}

/// The position of a batch that ends before `offset`, by the offset index of a segment; 0 if there is no such entry, if an entry
/// does not agree with the segment, or if the segment is remote, where each entry that is compared would take a request.
pub fn position_before(source: &dyn ReadAt, index: &[u8], offset: i64) -> u64 {
    // Positions do not depend on the base offset, which the name may not show.
    let Some(index) = OffsetIndex::parse(index, 0).ok().filter(|_| !source.is_remote()) else { return 0 };
    let Ok(length) = source.length() else { return 0 };
    let mut base_offset = None;
    let mut last_offset = |at: usize| {
        let entry = index.get(at)?;
        let position = u64::from(entry.position);
        let Ok(Hop::Batch(header)) = HeaderWalk::sparse(source, position, length).next_batch() else { return None };
        // All entries are relative to the same base offset.
        let base = header.last_offset.wrapping_sub(entry.offset);
        (*base_offset.get_or_insert(base) == base).then_some((position, header.last_offset))
    };
    let (mut found, mut low, mut high) = (0, 0, index.len());
    while low < high {
        let middle = low.midpoint(high);
        let Some((position, last)) = last_offset(middle) else { return 0 };
        if last < offset {
            found = position;
            low = middle.saturating_add(1);
        } else {
            high = middle;
        }
    }
    found
}

/// Whether two batches are equal except for the leader epoch, which brokers set.
fn same_bytes(one: Option<RecordBatch<'_>>, other: Option<RecordBatch<'_>>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    one.data() == other.data()
        || (one.magic() >= 2
            && one.offset_field() == other.offset_field()
            && one.data().get(LEADER_EPOCH_END..) == other.data().get(LEADER_EPOCH_END..))
}

/// The end of the leader epoch: the magic follows it.
const LEADER_EPOCH_END: usize = crate::record::batch::MAGIC_OFFSET;

/// One of the files, batch by batch.
struct Side<'s> {
    source: &'s dyn ReadAt,
    range: (i64, i64),
    chunks: ChunkReader,
    buffer: Vec<u8>,
    /// The position of the chunk in the file, its length, and the position of the current batch in it.
    chunk: (u64, usize),
    batch: usize,
    ended: bool,
    reader: RecordReader,
    /// Offset and hash of each record of the current batch, once it is decoded, and the index of the next one to compare.
    records: Option<Vec<(i64, u64)>>,
    at: usize,
    /// The least offset that is in order.
    expected: i64,
}

impl<'s> Side<'s> {
    fn new((source, start): (&'s dyn ReadAt, u64), range: (i64, i64), max_output_size: usize) -> Result<Self, Error> {
        let end = source.length()?;
        Ok(Self {
            source,
            range,
            chunks: ChunkReader::new(start, end, true),
            buffer: Vec::new(),
            chunk: (0, 0),
            batch: 0,
            ended: false,
            reader: RecordReader::new(max_output_size),
            records: None,
            at: 0,
            expected: range.0,
        })
    }

    fn chunk_data(&self) -> &[u8] {
        chunk_bytes(self.source, &self.buffer, self.chunk.0, self.chunk.1)
    }

    /// The current batch.
    fn batch(&self) -> Option<RecordBatch<'_>> {
        let rest = self.chunk_data().get(self.batch..).filter(|rest| !rest.is_empty())?;
        RecordBatch::new(rest, self.chunk.0.saturating_add(self.batch as u64)).ok()
    }

    /// Whether no record of the current batch was compared yet.
    fn is_whole(&self) -> bool {
        self.records.is_none()
    }

    fn record(&self) -> Option<&(i64, u64)> {
        self.records.as_ref()?.get(self.at)
    }

    /// The least offset that is compared next, if the header shows it.
    fn next_offset(&self) -> Option<i64> {
        match &self.records {
            Some(_) => self.record().map(|&(offset, _)| offset),
            None => self.batch().map(|batch| batch.base_offset().unwrap_or(self.expected)),
        }
    }

    fn skip(&mut self) {
        let Some((size, last)) = self.batch().map(|batch| (batch.size_in_bytes(), batch.last_offset())) else { return };
        self.expected = self.expected.max(last.saturating_add(1));
        self.batch = self.batch.saturating_add(size);
        self.records = None;
    }

    fn skip_before(&mut self, offset: i64) -> bool {
        let before = self.is_whole() && self.batch().is_some_and(|batch| batch.last_offset() < offset);
        if before {
            self.skip();
        }
        before
    }

    /// Loads the next batch if there is nothing left to compare, unless the range ends.
    fn load(&mut self) -> Result<(), Error> {
        loop {
            if self.records.is_some() {
                if self.record().is_some() {
                    return Ok(());
                }
                self.skip();
            }
            if self.expected > self.range.1 {
                // No batch after it has an offset of the range that is in order.
                self.ended = true;
                self.batch = self.chunk.1;
                return Ok(());
            }
            match self.batch().map(|batch| (batch.last_offset(), batch.base_offset())) {
                Some((last, _)) if last < self.expected => self.skip(),
                Some((_, Some(first))) if first > self.range.1 => self.skip(),
                Some(_) => return Ok(()),
                None if self.ended => return Ok(()),
                None => self.read_chunk()?,
            }
        }
    }

    fn read_chunk(&mut self) -> Result<(), ReadError> {
        let position = self.chunks.position();
        let target = CHUNK.max(self.source.worth_reading());
        let below = self.range.0;
        let check = |batch: &RecordBatch<'_>| if batch.last_offset() < below { Ok(()) } else { batch.ensure_valid() };
        let (used, end) = self.chunks.read(self.source, &mut self.buffer, target, check)?;
        self.chunk = (position, used);
        self.batch = 0;
        match end {
            ChunkEnd::More => {}
            ChunkEnd::End | ChunkEnd::Truncated(_) => self.ended = true,
            ChunkEnd::Corrupt(_) => {
                self.ended = self.chunks.resync(self.source)? >= self.chunks.end();
            }
        }
        Ok(())
    }

    /// Hashes the records of the current batch, unless it was done before.
    fn decode(&mut self, hashing: &RandomState) -> Result<(), Error> {
        if self.records.is_some() {
            return Ok(());
        }
        let (first, last) = (self.expected, self.range.1);
        let mut found = Vec::new();
        let at = self.chunk.0.saturating_add(self.batch as u64);
        let data = chunk_bytes(self.source, &self.buffer, self.chunk.0, self.chunk.1);
        let batch = RecordBatch::new(&data[self.batch..], at)?;
        let decoded = self.reader.records(&batch).and_then(|records| {
            for record in records {
                let record = record?;
                if (first..=last).contains(&record.offset) {
                    let mut hasher = hashing.build_hasher();
                    hasher.write_i64(record.timestamp);
                    for field in [record.key, record.value] {
                        // The length distinguishes null from empty.
                        hasher.write_usize(field.map_or(usize::MAX, <[u8]>::len));
                        hasher.write(field.unwrap_or_default());
                    }
                    hasher.write_usize(record.headers.len());
                    hasher.write(record.headers.raw());
                    found.push((record.offset, hasher.finish()));
                }
            }
            Ok(())
        });
        match decoded {
            Err(error) if error.category() != Category::Corrupt => return Err(error.into()),
            Err(_) => found.clear(),
            Ok(()) => {}
        }
        self.records = Some(found);
        self.at = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CompressionType;
    use crate::compress::Compression;
    use crate::log::InMemory;
    use crate::record::Headers;
    use crate::record::builder::{BatchSettings, RecordBatchBuilder};

    const CAP: usize = 1 << 20;

    /// Batches with these numbers of records, from offset 0 on, without the offsets in `without`.
    fn log(
        compression_type: CompressionType,
        sizes: &[i64],
        value: impl Fn(i64) -> String,
        without: &[i64],
    ) -> Vec<u8> {
        let (mut out, mut base) = (Vec::new(), 0_i64);
        for &size in sizes {
            let mut builder = RecordBatchBuilder::default();
            let compression = Compression::of(compression_type);
            builder.reset(BatchSettings { base_offset: base, compression, ..BatchSettings::default() }).unwrap();
            for offset in (base..base + size).filter(|offset| !without.contains(offset)) {
                builder.append(offset, 7, None, Some(value(offset).as_bytes()), Headers::EMPTY).unwrap();
            }
            builder.override_last_offset(base + size - 1).unwrap();
            builder.build(&mut out).unwrap();
            base += size;
        }
        out
    }

    fn compare(one: &[u8], other: &[u8], first: i64, last: i64) -> Option<i64> {
        let (one, other) = (InMemory(one), InMemory(other));
        let forth = compare_overlap((&one, 0), (&other, 0), first, last, CAP).unwrap();
        assert_eq!(forth, compare_overlap((&other, 0), (&one, 0), first, last, CAP).unwrap());
        forth
    }

    #[test]
    fn equal_records_agree_however_they_are_framed() {
        let value = |offset: i64| format!("value {offset}");
        let one = log(CompressionType::None, &[10, 10, 10], value, &[]);
        for other in [
            one.clone(),
            log(CompressionType::Zstd, &[10, 10, 10], value, &[]),
            log(CompressionType::Gzip, &[3, 25, 30], value, &[]),
            log(CompressionType::Lz4, &[7, 7, 7, 7], value, &[1, 2, 3, 11, 24]),
        ] {
            assert_eq!(compare(&one, &other, 0, 29), None);
        }
    }

    #[test]
    fn the_first_disagreement_is_named() {
        let one = log(CompressionType::None, &[10, 10, 10], |offset| format!("value {offset}"), &[]);
        for wrong in [0, 9, 10, 17, 29] {
            let value = |offset: i64| if offset >= wrong { "other".to_owned() } else { format!("value {offset}") };
            for sizes in [&[10, 10, 10][..], &[4, 20, 6], &[30]] {
                let other = log(CompressionType::Snappy, sizes, value, &[]);
                assert_eq!(compare(&one, &other, 0, 29), Some(wrong));
                assert_eq!(compare(&one, &other, 5, 40), Some(wrong.max(5)));
                assert_eq!(compare(&one, &other, 0, wrong - 1), None);
            }
        }
    }

    #[test]
    fn corrupt_batches_are_passed_over() {
        let value = |offset: i64| format!("value {offset}");
        let one = log(CompressionType::None, &[10, 10, 10], value, &[]);
        let mut other = log(CompressionType::None, &[10, 10, 10], value, &[]);
        let place = other.len() / 2;
        other[place] ^= 1;
        assert_eq!(compare(&one, &other, 0, 29), None);
        let wrong = log(CompressionType::None, &[10, 20], |offset| format!("{}", offset / 25), &[]);
        assert_eq!(compare(&wrong, &other, 20, 29), Some(20));
    }
}
