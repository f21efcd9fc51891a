//! Missing offsets: offsets that a log should have and that were not returned, with the reason.

/// Why offsets are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MissingReason {
    /// Corrupt bytes are in their place.
    Corrupt,
    /// There are no bytes between the batches before and after, or no segment.
    Gap,
    /// There are no bytes, and compaction does not explain it: an index or a checkpoint shows that there were some, or the file has
    /// nothing but batches of other places. Reports call it a gap.
    Truncated,
    /// Compaction removed the records.
    Compacted,
    /// They exceed a limit that the caller set, such as the decompressed size of a batch.
    Limit,
    /// The storage does not return the bytes (EIO).
    Unreadable,
    /// The segment was removed after the log was listed.
    Vanished,
}

impl MissingReason {
    /// All reasons that reports have.
    const ALL: [Self; 6] = [Self::Corrupt, Self::Gap, Self::Compacted, Self::Limit, Self::Unreadable, Self::Vanished];

    /// The reason with this name in reports.
    pub fn for_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Gap | Self::Truncated => "gap",
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
    /// The reason.
    pub reason: MissingReason,
}

impl MissingRange {
    /// The offsets `expected..found`; `None` if there are none.
    pub fn between(expected: i64, found: i64, reason: MissingReason) -> Option<Self> {
        (found > expected).then(|| Self { first_offset: expected, last_offset: found.saturating_sub(1), reason })
    }

    /// Whether `next` continues this range for the same reason.
    pub fn continues_with(&self, next: &Self) -> bool {
        self.reason == next.reason && self.last_offset.checked_add(1) == Some(next.first_offset)
    }
}

/// The most ranges that a report lists; further ones are only counted.
pub const MAX_MISSING_RANGES: usize = 10_000;
