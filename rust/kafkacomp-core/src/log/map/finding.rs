//! What a map finds, as data. Wording is elsewhere.

use super::facts::{BatchId, Fact};
use super::missing::MissingOffsets;
use super::partition::LogMap;
use super::ranges::{ByteRange, OffsetRange};
use super::segment::Use;

/// What is to be reported about a partition. Files are numbered in the order of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The name of a file is not believed: it is mostly intact, but has no batch with such offsets.
    Name {
        /// The file.
        file: usize,
        /// The offset in its name.
        name: i64,
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
        let name = self.files().get(file).filter(|_| self.window(file).is_none());
        let name = name.map(|segment| Finding::Name { file, name: segment.name });
        name.into_iter().chain(self.is_in_parts(file).then_some(Finding::InParts { file }))
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
