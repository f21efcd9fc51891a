//! Half-open ranges of offsets and of bytes.
//!
//! A range cannot be inverted, so that its length and the offset after it need no correction by one and cannot overflow.

/// Offsets from `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OffsetRange {
    start: i64,
    end: i64,
}

impl OffsetRange {
    /// No offsets.
    pub(super) const EMPTY: Self = Self { start: 0, end: 0 };

    /// The offsets from `start` to before `end`; `None` if `end` is below `start`.
    pub const fn new(start: i64, end: i64) -> Option<Self> {
        if end < start { None } else { Some(Self { start, end }) }
    }

    /// The offsets from `first` to `last`; `None` if there are none, or if no offset is above `last`.
    pub const fn inclusive(first: i64, last: i64) -> Option<Self> {
        match last.checked_add(1) {
            Some(end) if first < end => Some(Self { start: first, end }),
            _ => None,
        }
    }

    /// The first offset, if the range is not empty.
    #[inline]
    pub const fn start(self) -> i64 {
        self.start
    }

    /// As many offsets from `start` on; fewer if no more exist.
    pub(super) fn at(self, start: i64) -> Self {
        Self { start, end: start.saturating_add_unsigned(self.len()) }
    }

    /// The offset after the last one.
    #[inline]
    pub const fn end(self) -> i64 {
        self.end
    }

    /// The number of offsets.
    pub const fn len(self) -> u64 {
        self.end.abs_diff(self.start)
    }

    /// Whether there are no offsets.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether all offsets of `other` are in this range.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether an offset is in both.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The offsets that are in both; an empty range if there are none.
    pub fn intersection(self, other: Self) -> Self {
        self.from(other.start).below(other.end)
    }

    /// The offsets that are not below `start`.
    pub(super) fn from(self, start: i64) -> Self {
        let start = self.start.max(start);
        Self { start, end: self.end.max(start) }
    }

    /// The offsets that are below `end`.
    pub(super) fn below(self, end: i64) -> Self {
        Self { end: self.end.min(end).max(self.start), ..self }
    }

    /// The offsets from the start of this range to the end of `later`, which does not end below that.
    pub(super) fn through(self, later: Self) -> Self {
        Self { start: self.start, end: later.end.max(self.start) }
    }

    /// From the first offset of both to the last one.
    #[must_use]
    pub fn around(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// Bytes of a file, from position `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRange {
    start: u64,
    end: u64,
}

impl ByteRange {
    /// The bytes from `start` to before `end`; `None` if `end` is below `start`.
    pub const fn new(start: u64, end: u64) -> Option<Self> {
        if end < start { None } else { Some(Self { start, end }) }
    }

    /// `length` bytes from `start` on; `None` if there is no such position.
    pub const fn sized(start: u64, length: u64) -> Option<Self> {
        match start.checked_add(length) {
            Some(end) => Some(Self { start, end }),
            None => None,
        }
    }

    /// The position of the first byte, if the range is not empty.
    #[inline]
    pub const fn start(self) -> u64 {
        self.start
    }

    /// The position after the last byte.
    #[inline]
    pub const fn end(self) -> u64 {
        self.end
    }

    /// The bytes from the start of this range to the end of `later`, which does not end below that.
    #[must_use]
    pub fn through(self, later: Self) -> Self {
        Self { start: self.start, end: later.end.max(self.start) }
    }

    /// The number of bytes.
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether there are no bytes.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
}
