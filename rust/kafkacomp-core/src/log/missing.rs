//! Offsets that a log should have and that were not delivered, and why.

/// Why offsets are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MissingReason {
    /// Bytes are there, and no intact batch with these offsets can be read from them.
    Corrupt,
    /// Nothing is there: no bytes between the batches before and after, or no segment.
    Gap,
    /// Compaction removed the records.
    Compacted,
    /// They exceed a limit that the caller set, such as the decompressed size of a batch.
    Limit,
    /// The storage does not return the bytes (EIO).
    Unreadable,
    /// The segment was there when the log was listed, and is gone.
    Vanished,
}

impl MissingReason {
    /// As reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Gap => "gap",
            Self::Compacted => "compacted",
            Self::Limit => "limit",
            Self::Unreadable => "unreadable",
            Self::Vanished => "vanished",
        }
    }
}

/// A range of missing offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingRange {
    /// The first missing offset.
    pub first_offset: i64,
    /// The last missing offset, inclusive.
    pub last_offset: i64,
    /// Why.
    pub reason: MissingReason,
}

impl MissingRange {
    /// The offsets from `expected` up to the one before `found`; `None` if there are none between.
    pub fn between(expected: i64, found: i64, reason: MissingReason) -> Option<Self> {
        (found > expected).then(|| Self { first_offset: expected, last_offset: found.saturating_sub(1), reason })
    }

    /// Whether `next` continues this range for the same reason.
    pub fn continues_with(&self, next: &Self) -> bool {
        self.reason == next.reason && self.last_offset.checked_add(1) == Some(next.first_offset)
    }
}
