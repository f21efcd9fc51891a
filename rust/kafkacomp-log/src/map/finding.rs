//! What a map finds, as data. Wording is elsewhere.

use std::collections::BTreeSet;

use super::facts::{BatchId, Fact};
use super::missing::MissingOffsets;
use super::partition::LogMap;
use super::placed::Placement;
use super::ranges::{ByteRange, OffsetRange};
use super::segment::Use;

/// What is to be reported about a partition. Files are numbered in the order of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The name of a file is wrong: see [`LogMap::misnamed`].
    Name {
        /// The file.
        file: usize,
        /// The offset in its name.
        name: i64,
        /// The offset with which it begins.
        first: i64,
    },
    /// A file has so many runs of batches that they were judged in parts: see [`LogMap::is_in_parts`].
    InParts {
        /// The file.
        file: usize,
    },
    /// Bytes in which no intact batch was found.
    Corrupt {
        /// The file.
        file: usize,
        /// The bytes.
        bytes: ByteRange,
    },
    /// Zeros up to the end of a file. In the last one they may be preallocated.
    Zeros {
        /// The file.
        file: usize,
        /// The bytes.
        bytes: ByteRange,
    },
    /// An intact batch that is not in place in its own file.
    Batch {
        /// The batch.
        id: BatchId,
        /// Its bytes.
        bytes: ByteRange,
        /// The offsets that its header states.
        offsets: OffsetRange,
        /// What is done with it.
        batch_use: Use,
    },
    /// Offsets that are not delivered.
    Missing(MissingOffsets),
}

impl LogMap<'_> {
    /// All findings: those of each file in the order of positions, then what is missing. None for an intact log that nothing was
    /// removed from.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        let files = (0..self.files().len()).flat_map(|file| self.about_file(file).chain(self.file_findings(file)));
        files.chain(self.missing().iter().copied().map(Finding::Missing))
    }

    fn about_file(&self, file: usize) -> impl Iterator<Item = Finding> {
        let name = self.files().get(file).map(|segment| segment.name);
        let wrong = name.and_then(|name| Some(Finding::Name { file, name, first: self.misnamed(file)? }));
        wrong.into_iter().chain(self.is_in_parts(file).then_some(Finding::InParts { file }))
    }

    /// The offset with which a file begins, if its name is another one and wrong: it is not believed, the file begins below it, or it is
    /// among the offsets of a file with a lower name, although this file begins after them. Compaction leaves names below the first offset.
    pub fn misnamed(&self, file: usize) -> Option<i64> {
        let segment = self.files().get(file)?;
        let mut batches = segment.batches();
        if self.window(file).is_none() {
            return batches.next().map(|(_, batch)| batch.offsets().start()).filter(|&first| first != segment.name);
        }
        let is_first = |index: usize| {
            let id = BatchId { file, index };
            matches!(self.use_of(id), Some(Use::InPlace | Use::Displaced)) && self.is_in_file_order(id)
        };
        let (index, first) = batches.find(|&(index, _)| is_first(index))?;
        let first = first.offsets().start();
        let is_within_other = || {
            let other = self.last_below(first).filter(|other| other.offsets.end() > segment.name);
            let name = other.and_then(|other| self.files().get(other.id.file)).map(|other| other.name);
            index == 0 && name.is_some_and(|name| name < segment.name)
        };
        let is_wrong = first < segment.name || (first > segment.name && segment.valid.is_none() && is_within_other());
        is_wrong.then_some(first)
    }

    /// Whether a batch is what a file has beyond its offsets, as after an interrupted compaction: no batch after it is in place, and
    /// it ends after the next name. So are all batches of a file whose name is not believed.
    pub fn is_beyond_window(&self, id: BatchId) -> bool {
        let is_above = |window: OffsetRange| {
            let is_last = self.last_in_place(id.file).is_none_or(|last| last < id.index);
            is_last && self.batch(id).is_some_and(|batch| batch.offsets().end() > window.end())
        };
        self.window(id.file).is_none_or(is_above)
    }

    /// A delivered batch of another file that has other records at the offsets of a batch beyond the window of its file: the two
    /// files are of different histories.
    pub fn conflict(&self, id: BatchId) -> Option<BatchId> {
        match self.use_of(id)? {
            Use::OutOfPlace { contradicts: Some(other) } if other.file != id.file => {
                self.is_beyond_window(id).then_some(other)
            }
            _ => None,
        }
    }

    /// The files that have a [conflict](Self::conflict) with another one.
    pub fn conflicting_files(&self) -> BTreeSet<usize> {
        let conflicts = self.exceptions().filter_map(|(id, _)| Some([id.file, self.conflict(id)?.file]));
        conflicts.flatten().collect()
    }

    /// The batches that are delivered, but not where they are in the order of offsets: displaced ones before which a delivered batch of
    /// their file has higher offsets, or after which one has lower ones.
    pub(super) fn find_out_of_order(&self) -> BTreeSet<BatchId> {
        let displaced = self.exceptions().filter(|&(_, batch_use)| batch_use == Use::Displaced);
        let files: BTreeSet<usize> = displaced.map(|(id, _)| id.file).collect();
        let mut wrong = BTreeSet::new();
        for file in files {
            let facts = self.files().get(file).map_or(0, |file| file.facts.len());
            let ids = (0..facts).map(|index| BatchId { file, index });
            let delivered: Vec<Placement> = ids.filter_map(|id| self.placement(id)).collect();
            let is_displaced = |id: BatchId| self.use_of(id) == Some(Use::Displaced);
            let mut highest = i64::MIN;
            for &Placement { id, offsets } in &delivered {
                if offsets.start() < highest && is_displaced(id) {
                    wrong.insert(id);
                }
                highest = highest.max(offsets.end());
            }
            let mut lowest = i64::MAX;
            for &Placement { id, offsets } in delivered.iter().rev() {
                if offsets.end() > lowest && is_displaced(id) {
                    wrong.insert(id);
                }
                lowest = lowest.min(offsets.start());
            }
        }
        wrong
    }

    fn file_findings(&self, file: usize) -> impl Iterator<Item = Finding> {
        let facts = self.files().get(file).map_or(&[][..], |file| file.facts);
        facts.iter().enumerate().filter_map(move |(index, fact)| match *fact {
            Fact::Corrupt(bytes) => Some(Finding::Corrupt { file, bytes }),
            Fact::Zeros(bytes) => Some(Finding::Zeros { file, bytes }),
            Fact::Batch(batch) => {
                let id = BatchId { file, index };
                let batch_use = self.use_of(id).filter(|&batch_use| batch_use != Use::InPlace)?;
                Some(Finding::Batch { id, bytes: batch.bytes(), offsets: batch.offsets(), batch_use })
            }
        })
    }
}
