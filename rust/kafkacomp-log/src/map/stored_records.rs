//! Compares batches by the records that the segment files have.

use std::sync::Arc;

use super::compare::{Agreement, CompareRecords};
use super::facts::SegmentFacts;
use super::placed::Placement;
use crate::error::{ContentError, Error, ReadError};
use crate::read::segment_files::OpenSegment;
use crate::read::source::{ReadAt, read_full};
use kafkacomp_records::error_kind::Category;
use kafkacomp_records::memory;
use kafkacomp_records::record::{self, Record, RecordBatch, RecordReader, Records};

/// The records of the segment files of a partition.
pub struct StoredRecords<'s> {
    files: Vec<(SegmentFacts<'s>, &'s dyn OpenSegment)>,
    one: Side,
    other: Side,
}

/// The bytes of a batch, and the reader of its records.
struct Side {
    /// The file that was opened last.
    opened: Option<(usize, Arc<dyn ReadAt>)>,
    data: Vec<u8>,
    reader: RecordReader,
}

impl<'s> StoredRecords<'s> {
    /// The files of a partition in any order, each with what opens it. Batches are decompressed to at most `max_output_size` bytes.
    pub fn new(
        files: impl IntoIterator<Item = (SegmentFacts<'s>, &'s dyn OpenSegment)>,
        max_output_size: usize,
    ) -> Self {
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_by_key(|(facts, _)| facts.name);
        let side = || Side { opened: None, data: Vec::new(), reader: RecordReader::new(max_output_size) };
        Self { files, one: side(), other: side() }
    }
}

impl CompareRecords for StoredRecords<'_> {
    type Error = Error;

    fn compare(&mut self, one: Placement, other: Placement) -> Result<Agreement, Error> {
        Ok(match self.compared(one, other)? {
            Compared::Same => Agreement::Same,
            Compared::NothingShared => Agreement::NothingShared,
            Compared::DifferentAt(_) => Agreement::Different,
        })
    }
}

/// As [`Agreement`], with an offset at which the records differ.
enum Compared {
    Same,
    NothingShared,
    DifferentAt(i64),
}

impl StoredRecords<'_> {
    /// The least offset at which two batches that share offsets have different records.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn difference(&mut self, one: Placement, other: Placement) -> Result<Option<i64>, Error> {
        Ok(match self.compared(one, other)? {
            Compared::DifferentAt(offset) => Some(offset),
            Compared::Same | Compared::NothingShared => None,
        })
    }

    fn compared(&mut self, one: Placement, other: Placement) -> Result<Compared, Error> {
        let first = one.offsets.start().max(other.offsets.start());
        let (Some(mine), Some(others)) = (self.one.load(&self.files, one)?, self.other.load(&self.files, other)?)
        else {
            return Ok(Compared::DifferentAt(first));
        };
        match compare(mine, others) {
            Ok(found) => Ok(found),
            // What no reader accepts is not the same as anything.
            Err(error) if error.category() == Category::Corrupt => Ok(Compared::DifferentAt(first)),
            Err(error) => Err(ContentError::from(error).into()),
        }
    }
}

/// The records of a batch, and the difference between the offsets that it is given and its own.
type Shifted<'r> = (record::Result<Records<'r>>, i64);

impl Side {
    /// Reads a batch; `None` if there is none.
    fn load(
        &mut self,
        files: &[(SegmentFacts<'_>, &dyn OpenSegment)],
        of: Placement,
    ) -> Result<Option<Shifted<'_>>, Error> {
        let Some((segment, opens)) = files.get(of.id.file) else { return Ok(None) };
        let Some(fact) = segment.facts.get(of.id.index).and_then(|fact| fact.batch()) else { return Ok(None) };
        let known = self.opened.take().filter(|&(file, _)| file == of.id.file);
        let opened =
            known.map_or_else(|| opens.open().map_err(ReadError::Io).map(|source| (of.id.file, source)), Ok)?;
        let source = self.opened.insert(opened).1.as_ref();
        let size = usize::try_from(fact.bytes().len()).unwrap_or(usize::MAX);
        memory::resize(&mut self.data, size).map_err(|error| ReadError::Io(error.into()))?;
        let position = fact.bytes().start();
        if read_full(source, &mut self.data, position).map_err(ReadError::Io)? < size {
            let length = source.length().map_err(ReadError::Io)?;
            return Err(ReadError::Shrunk { length, expected: fact.bytes().end() }.into());
        }
        let batch = RecordBatch::new(&self.data, position).map_err(ContentError::from)?;
        let shift = of.offsets.start().wrapping_sub(fact.offsets().start());
        Ok(Some((self.reader.records(&batch), shift)))
    }
}

/// Compares records, which have increasing offsets.
fn compare((mine, my_shift): Shifted<'_>, (others, other_shift): Shifted<'_>) -> record::Result<Compared> {
    let (mut mine, mut others) = (mine?, others?);
    let (mut one, mut other) = (mine.next().transpose()?, others.next().transpose()?);
    let mut found = Compared::NothingShared;
    while let (Some(a), Some(b)) = (&one, &other) {
        match a.offset.wrapping_add(my_shift).cmp(&b.offset.wrapping_add(other_shift)) {
            std::cmp::Ordering::Less => one = mine.next().transpose()?,
            std::cmp::Ordering::Greater => other = others.next().transpose()?,
            std::cmp::Ordering::Equal if is_same(a, b) => {
                found = Compared::Same;
                (one, other) = (mine.next().transpose()?, others.next().transpose()?);
            }
            std::cmp::Ordering::Equal => return Ok(Compared::DifferentAt(a.offset.wrapping_add(my_shift))),
        }
    }
    Ok(found)
}

/// Whether two records are equal, apart from their offsets and sequences. The timestamp of magic 0 is unknown.
fn is_same(one: &Record<'_>, other: &Record<'_>) -> bool {
    let is_same_time = one.timestamp == other.timestamp || !one.has_timestamp() || !other.has_timestamp();
    is_same_time && one.key == other.key && one.value == other.value && one.headers.raw() == other.headers.raw()
}
