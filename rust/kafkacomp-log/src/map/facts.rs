//! What a survey finds in a segment file, in the order of positions.

use super::ranges::{ByteRange, OffsetRange};

/// What is at a range of bytes of a segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// A batch. In a verified survey its checksum is right.
    Batch(BatchFact),
    /// Bytes in which no intact batch was found, because they are corrupt or cannot be read.
    Corrupt(ByteRange),
    /// Zeros up to the end of the file, as in a preallocated one.
    Zeros(ByteRange),
}

impl Fact {
    /// The batch, if it is one.
    #[inline]
    pub const fn batch(&self) -> Option<&BatchFact> {
        match self {
            Self::Batch(batch) => Some(batch),
            Self::Corrupt(_) | Self::Zeros(_) => None,
        }
    }

    /// The bytes.
    pub const fn bytes(&self) -> ByteRange {
        match self {
            Self::Batch(batch) => batch.bytes,
            Self::Corrupt(bytes) | Self::Zeros(bytes) => *bytes,
        }
    }
}

/// The fields of a batch by which it is judged. It has at least one byte and one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchFact {
    bytes: ByteRange,
    offsets: OffsetRange,
    checksum: u32,
    records: Option<u64>,
    magic: i8,
    leader_epoch: Option<i32>,
    covers_offsets: bool,
}

impl BatchFact {
    /// A batch at `bytes` with `offsets`. `checksum` is the stored one; it covers everything but the base offset and the leader
    /// epoch. `records` is the number of records, if the header has it. `None` if there are no bytes or no offsets.
    pub const fn new(
        bytes: ByteRange,
        offsets: OffsetRange,
        checksum: u32,
        records: Option<u32>,
        magic: i8,
    ) -> Option<Self> {
        let records = match records {
            Some(records) => Some(records as u64),
            None => None,
        };
        let batch = Self { bytes, offsets, checksum, records, magic, leader_epoch: None, covers_offsets: false };
        if bytes.is_empty() || offsets.is_empty() { None } else { Some(batch) }
    }

    /// The same batch with the leader epoch in its header; -1 if it has none.
    #[must_use]
    pub const fn with_leader_epoch(self, leader_epoch: i32) -> Self {
        Self { leader_epoch: if leader_epoch == -1 { None } else { Some(leader_epoch) }, ..self }
    }

    /// The same batch, if its checksum covers its offsets: those of the messages in a wrapper of format 0.
    #[must_use]
    pub const fn with_covered_offsets(self) -> Self {
        Self { covers_offsets: true, ..self }
    }

    /// Its bytes in the file.
    pub const fn bytes(&self) -> ByteRange {
        self.bytes
    }

    /// Its offsets. Those of a wrapper that was not decompressed are only the last one, which is all that its header has.
    #[inline]
    pub const fn offsets(&self) -> OffsetRange {
        self.offsets
    }

    /// The message format: 0, 1 or 2.
    pub const fn magic(&self) -> i8 {
        self.magic
    }

    /// The leader epoch in its header, if it has one. No checksum covers it.
    pub const fn leader_epoch(&self) -> Option<i32> {
        self.leader_epoch
    }

    /// Whether its checksum covers its offsets, so that they were not altered.
    pub(super) const fn covers_offsets(&self) -> bool {
        self.covers_offsets
    }

    /// Whether it has fewer records than offsets, as after compaction.
    pub fn is_thinned(&self) -> bool {
        self.records.is_some_and(|records| records < self.offsets.len())
    }

    /// Extends this batch by the next one of its file, if nothing but their border is between them: where all batches are in
    /// place, only their union matters. Returns whether it did.
    pub(super) fn join(&mut self, next: &Self) -> bool {
        let continues = next.continues(self)
            && self.bytes.end() == next.bytes.start()
            && (self.magic, self.leader_epoch) == (next.magic, next.leader_epoch);
        if continues {
            self.offsets = self.offsets.through(next.offsets);
            self.bytes = self.bytes.through(next.bytes);
            self.records = self.records.zip(next.records).map(|(one, other)| one.saturating_add(other));
        }
        continues
    }

    /// Whether all that the checksum covers is equal.
    pub(super) fn has_content_of(&self, other: &Self) -> bool {
        self.offsets.len() == other.offsets.len()
            && self.checksum == other.checksum
            && self.bytes.len() == other.bytes.len()
            && self.magic == other.magic
    }

    /// Whether it begins at the offset after those of `before`.
    pub(super) fn continues(&self, before: &Self) -> bool {
        before.offsets.end() == self.offsets.start()
    }

    /// Whether its offsets are above those of `before`.
    #[inline]
    pub(super) fn is_above(&self, before: &Self) -> bool {
        before.offsets.end() <= self.offsets.start()
    }
}

/// A segment file before it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFacts<'f> {
    /// The base offset in its name. The files of a partition have different ones.
    pub name: i64,
    /// What is in it, in the order of positions; the ranges do not overlap.
    pub facts: &'f [Fact],
    /// Whether its offset index has entries for bytes after the end of the file.
    pub is_truncated: bool,
    /// The offsets that the leader's epochs allow in a remote segment; `None` if nothing restricts them.
    pub valid: Option<OffsetRange>,
}

impl SegmentFacts<'_> {
    /// The indices of the batches whose offsets are valid, and the batches.
    pub(super) fn batches(&self) -> impl Iterator<Item = (usize, &BatchFact)> {
        let is_valid = |batch: &BatchFact| self.valid.is_none_or(|valid| valid.contains(batch.offsets()));
        let batches = self.facts.iter().enumerate().filter_map(|(index, fact)| Some((index, fact.batch()?)));
        batches.filter(move |(_, batch)| is_valid(batch))
    }
}

/// A batch of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId {
    /// The number of its file in the order of names.
    pub file: usize,
    /// The index of its fact.
    pub index: usize,
}
