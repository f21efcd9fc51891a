//! Compares the records of overlapping segment files of a partition.
//!
//! Files of a partition overlap in tiered storage after a change of leader, in copied folders, and after an interrupted
//! compaction. Records are compared by offset: timestamp, key, value and headers. Batches and compression may differ. An offset
//! that only one file has is not a disagreement: compaction removed it from the other, or its batch is corrupt there. Nor are the
//! records of a batch whose base offset was altered, as the batches around it show.
//!
//! A file may overlap many others. Its batches are kept as hashes, so that its bytes are read once.

mod compared_file;
mod cursor;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::RandomState;

use compared_file::{ComparedFile, FileReader};
use cursor::Cursor;

use crate::log::error::Error;
use crate::log::index::offset::OffsetIndex;
use crate::log::read::batch_headers::{HeaderWalk, Hop};
use crate::log::read::segment_files::OpenSegment;
use crate::log::read::source::ReadAt;

/// The most bytes that are kept of the files of a partition. Of further files nothing is kept.
const MOST_KEPT: usize = 48 << 20;

/// The most files of which the last chunk is kept.
const MOST_CHUNKS: usize = 16;

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

/// A file of a partition.
#[derive(Clone, Copy)]
pub struct PartitionFile<'a> {
    /// The number that identifies it among the files of the partition.
    pub number: usize,
    /// Its bytes.
    pub source: &'a dyn ReadAt,
    /// Returns the position of a batch before which the file has no offset from this one on; see [`position_before`].
    pub start: &'a dyn Fn(i64) -> u64,
}

/// The files of a partition that are compared with one another, and what was read of them.
#[derive(Debug, Default)]
pub struct ComparedFiles {
    files: HashMap<usize, ComparedFile>,
    /// For files of Kafka 0.7, a position of the log at which a message begins.
    messages: HashMap<usize, i64>,
    hashing: RandomState,
}

impl ComparedFiles {
    /// Compares the records of `earlier` and `later` from `first_offset` to `last_offset`, inclusive, and returns the least offset
    /// at which they differ. Corrupt batches, batches whose offsets decrease, and batches whose offsets their
    /// neighbours contradict are left out.
    ///
    /// # Errors
    /// [`OverlapError`] if a file cannot be read, or a batch cannot be decoded for a reason other than corruption.
    pub fn disagreement(
        &mut self,
        earlier: PartitionFile<'_>,
        later: PartitionFile<'_>,
        (first_offset, last_offset): (i64, i64),
        max_output_size: usize,
    ) -> Result<Option<i64>, OverlapError> {
        let one = self.take(earlier, first_offset).map_err(OverlapError::Earlier)?;
        let other = self.take(later, first_offset).map_err(OverlapError::Later)?;
        let hashing = self.hashing.clone();
        let reader = |source| FileReader::new(source, &hashing, max_output_size);
        let mut one = Cursor::new(one, reader(earlier.source), (first_offset, last_offset));
        let mut other = Cursor::new(other, reader(later.source), (first_offset, last_offset));
        let found = first_difference(&mut one, &mut other)?;
        self.keep(earlier.number, one.file);
        self.keep(later.number, other.file);
        Ok(found)
    }

    /// Orders two files by their first batches that differ. Corrupt ranges are compared by their length alone.
    ///
    /// # Errors
    /// [`OverlapError`] if a file cannot be read.
    pub fn order(&mut self, one: PartitionFile<'_>, other: PartitionFile<'_>) -> Result<Ordering, OverlapError> {
        let mut left = self.take(one, i64::MIN).map_err(OverlapError::Earlier)?;
        let mut right = self.take(other, i64::MIN).map_err(OverlapError::Later)?;
        let hashing = self.hashing.clone();
        let mut readers = (FileReader::new(one.source, &hashing, 0), FileReader::new(other.source, &hashing, 0));
        let mut index = 0_usize;
        let found = loop {
            let a = left.batch(index, &mut readers.0).map_err(|error| OverlapError::Earlier(error.into()))?;
            let b = right.batch(index, &mut readers.1).map_err(|error| OverlapError::Later(error.into()))?;
            match (a, b) {
                (Some(a), Some(b)) if a == b => index = index.saturating_add(1),
                (Some(a), Some(b)) if a.position == b.position => {
                    let a = left.bytes(&a, one.source, &mut readers.0.scratch);
                    let b = right.bytes(&b, other.source, &mut readers.1.scratch);
                    let a = a.map_err(|error| OverlapError::Earlier(error.into()))?;
                    break a.cmp(b.map_err(|error| OverlapError::Later(error.into()))?);
                }
                (a, b) => break a.map(|batch| batch.position).cmp(&b.map(|batch| batch.position)),
            }
        };
        self.keep(one.number, left);
        self.keep(other.number, right);
        Ok(found)
    }

    /// The offset after the last intact batch of a file; `base_offset` if there is none, and `None` if a corrupt range comes
    /// before an intact batch.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn end_offset(&mut self, file: PartitionFile<'_>, base_offset: i64) -> Result<Option<i64>, Error> {
        let mut compared = self.take(file, i64::MIN)?;
        let hashing = self.hashing.clone();
        let mut reader = FileReader::new(file.source, &hashing, 0);
        let mut end = base_offset;
        let mut index = 0_usize;
        while let Some(batch) = compared.batch(index, &mut reader)? {
            end = batch.last.saturating_add(1);
            index = index.saturating_add(1);
        }
        let is_intact = !compared.is_corrupt_inside();
        self.keep(file.number, compared);
        Ok(is_intact.then_some(end))
    }

    /// A position of the log at which a message of a file of Kafka 0.7 begins, to be moved along: at first the file's base.
    pub fn message(&mut self, number: usize, base: i64) -> &mut i64 {
        self.messages.entry(number).or_insert(base)
    }

    /// Gives each file the number that is the index of its present one in `numbers`.
    pub fn renumber(&mut self, numbers: &[usize]) {
        let mut files = std::mem::take(&mut self.files);
        let moved = |(to, from)| Some((to, files.remove(from)?));
        self.files = numbers.iter().enumerate().filter_map(moved).collect();
        self.messages.clear();
    }

    /// Drops what is kept of the files that are not compared any more.
    pub fn retain(&mut self, is_needed: impl Fn(usize) -> bool) {
        self.files.retain(|&number, _| is_needed(number));
        self.messages.retain(|&number, _| is_needed(number));
    }

    fn take(&mut self, file: PartitionFile<'_>, offset: i64) -> Result<ComparedFile, Error> {
        if let Some(known) = self.files.remove(&file.number).filter(|known| known.has(offset)) {
            return Ok(known);
        }
        let start = if offset == i64::MIN { 0 } else { (file.start)(offset) };
        Ok(ComparedFile::new(start, file.source.length()?, offset))
    }

    fn keep(&mut self, number: usize, mut file: ComparedFile) {
        if self.files.len() >= MOST_CHUNKS {
            file.drop_chunk();
        }
        let kept: usize = self.files.values().map(ComparedFile::kept_bytes).sum();
        if file.is_complete() && kept.saturating_add(file.kept_bytes()) <= MOST_KEPT {
            self.files.insert(number, file);
        }
    }
}

fn first_difference(one: &mut Cursor<'_>, other: &mut Cursor<'_>) -> Result<Option<i64>, OverlapError> {
    loop {
        one.load().map_err(OverlapError::Earlier)?;
        other.load().map_err(OverlapError::Later)?;
        let (Some(left), Some(right)) = (one.next_offset(), other.next_offset()) else { return Ok(None) };
        if one.has_same_batch(other) {
            one.skip();
            other.skip();
            continue;
        }
        // A batch that ends before the next offset of the other file has nothing to compare.
        if one.skip_before(right) || other.skip_before(left) {
            continue;
        }
        one.decode().map_err(OverlapError::Earlier)?;
        other.decode().map_err(OverlapError::Later)?;
        while let (Some((left, left_hash)), Some((right, right_hash))) = (one.record(), other.record()) {
            match left.cmp(&right) {
                Ordering::Less => one.advance(),
                Ordering::Greater => other.advance(),
                Ordering::Equal if left_hash != right_hash => {
                    let is_explained = one.leave_out_altered().map_err(OverlapError::Earlier)?
                        || other.leave_out_altered().map_err(OverlapError::Later)?;
                    if !is_explained {
                        return Ok(Some(left));
                    }
                }
                Ordering::Equal => {
                    one.advance();
                    other.advance();
                }
            }
        }
    }
}

/// The position of a batch that ends before `offset`, by the offset index of the segment `files`, whose bytes are `source`; 0 if
/// there is no such entry, if an entry does not agree with the segment, or if the segment is remote, where the index and each
/// entry that is compared would take a request.
pub fn position_before(files: &dyn OpenSegment, source: &dyn ReadAt, offset: i64) -> u64 {
    if source.is_remote() {
        return 0;
    }
    let data = files.offset_index();
    // Positions do not depend on the base offset, which the name may not show.
    let Ok(index) = OffsetIndex::parse(&data, 0) else { return 0 };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CompressionType;
    use crate::compress::Compression;
    use crate::log::InMemory;
    use crate::record::builder::{BatchSettings, RecordBatchBuilder};
    use crate::record::{Batches, Headers};

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

    fn file(number: usize, source: &dyn ReadAt) -> PartitionFile<'_> {
        PartitionFile { number, source, start: &|_| 0 }
    }

    fn compare(one: &[u8], other: &[u8], first: i64, last: i64) -> Option<i64> {
        let (one, other) = (InMemory(one), InMemory(other));
        let (one, other) = (file(0, &one), file(1, &other));
        let mut files = ComparedFiles::default();
        let forth = files.disagreement(one, other, (first, last), CAP).unwrap();
        // The second time, what was read is known.
        assert_eq!(forth, files.disagreement(one, other, (first, last), CAP).unwrap());
        assert_eq!(forth, files.disagreement(other, one, (first, last), CAP).unwrap());
        assert_eq!(forth, ComparedFiles::default().disagreement(other, one, (first, last), CAP).unwrap());
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

    #[test]
    fn a_batch_with_an_altered_base_offset_is_left_out() {
        let value = |offset: i64| format!("value {offset}");
        let sizes = [10, 10, 10, 10];
        let one = log(CompressionType::Lz4, &sizes, value, &[]);
        let wrong = log(CompressionType::None, &sizes, |offset| format!("value {}", offset.min(29)), &[]);
        let second = Batches::new(&one, 0).nth(1).unwrap().unwrap().position() as usize;
        for bit in 0..64 {
            let mut altered = one.clone();
            altered[second + 7 - bit / 8] ^= 1 << (bit % 8);
            assert_eq!(compare(&one, &altered, 0, 39), None, "bit {bit}");
            assert_eq!(compare(&wrong, &altered, 0, 39), Some(30), "bit {bit}");
        }
    }

    /// Counts the bytes that are read.
    struct Counted(Vec<u8>, std::sync::atomic::AtomicU64);

    impl ReadAt for Counted {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
            let read = InMemory(&self.0).read_at(buffer, position)?;
            self.1.fetch_add(read as u64, std::sync::atomic::Ordering::Relaxed);
            Ok(read)
        }

        fn length(&self) -> std::io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }

    #[test]
    fn a_file_is_read_once_for_all_comparisons() {
        let value = |offset: i64| format!("value {offset} {}", "x".repeat(90));
        let sizes = vec![10; 1_000];
        let forms = [CompressionType::None, CompressionType::None, CompressionType::Lz4, CompressionType::Gzip];
        let sources: Vec<Counted> =
            forms.iter().map(|&form| Counted(log(form, &sizes, value, &[]), 0.into())).collect();
        let mut files = ComparedFiles::default();
        assert_eq!(files.order(file(0, &sources[0]), file(1, &sources[1])).unwrap(), Ordering::Equal);
        assert_eq!(files.end_offset(file(3, &sources[3]), 0).unwrap(), Some(10_000));
        for later in 1..sources.len() {
            for earlier in 0..later {
                let (one, other) = (file(earlier, &sources[earlier]), file(later, &sources[later]));
                for range in [(0, 4_999), (5_000, 9_999)] {
                    assert_eq!(files.disagreement(one, other, range, CAP).unwrap(), None);
                }
            }
        }
        for (number, source) in sources.iter().enumerate() {
            let (read, length) = (source.1.load(std::sync::atomic::Ordering::Relaxed), source.0.len() as u64);
            // Records of batches that differ are decoded once, too.
            assert!(read <= 2 * length, "file {number}: {read} bytes of {length}");
        }
    }

    #[test]
    fn files_are_ordered_by_their_bytes() {
        let one = log(CompressionType::None, &[10, 10, 10], |offset| format!("value {offset}"), &[]);
        for wrong in [0, 15, 29] {
            for text in ["aaaaa", "zzzzz"] {
                let value = |offset: i64| format!("{} {offset}", if offset == wrong { text } else { "value" });
                let other = log(CompressionType::None, &[10, 10, 10], value, &[]);
                let expected = one.cmp(&other);
                let (one, other) = (InMemory(&one), InMemory(&other));
                let mut files = ComparedFiles::default();
                assert_eq!(files.order(file(0, &one), file(1, &other)).unwrap(), expected);
                assert_eq!(files.order(file(1, &other), file(0, &one)).unwrap(), expected.reverse());
            }
        }
        let shorter = InMemory(&one[..one.len() / 2]);
        let mut files = ComparedFiles::default();
        assert_eq!(files.order(file(0, &InMemory(&one)), file(1, &shorter)).unwrap(), Ordering::Greater);
    }
}
