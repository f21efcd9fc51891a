//! What can be wrong with a file beside a segment.

/// A rule of a side file that was broken. The numbers are what was found.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexFault {
    /// The file's length is no multiple of its entries'.
    #[error("the file's {length} bytes are not a multiple of its {entry_size}-byte entries")]
    Length {
        /// The file's length.
        length: u64,
        /// The size of an entry.
        entry_size: u64,
    },
    /// The file ends before what it announces.
    #[error("the file ends early: {needed} bytes are needed, {available} are there")]
    Truncated {
        /// Bytes that are needed from the position on.
        needed: u64,
        /// Bytes that are there from the position on.
        available: u64,
    },
    /// Bytes follow what the file announces.
    #[error("{length} bytes follow the last entry")]
    TrailingBytes {
        /// How many.
        length: u64,
    },
    /// A version that this format never had.
    #[error("unknown version {version}")]
    Version {
        /// The version found.
        version: i64,
    },
    /// The stored checksum is not that of the entries.
    #[error("stored crc = {stored}, computed crc = {computed}")]
    Crc {
        /// The checksum found.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// An offset relative to the segment's base that is negative.
    #[error("negative relative offset {offset}")]
    NegativeOffset {
        /// The offset found.
        offset: i32,
    },
    /// A byte position in the segment that is negative.
    #[error("negative position {position}")]
    NegativePosition {
        /// The position found.
        position: i32,
    },
    /// A relative offset that does not follow on the one before it.
    #[error("relative offset {offset} after {previous}")]
    OffsetOrder {
        /// The relative offset of the entry before.
        previous: i32,
        /// The relative offset found.
        offset: i32,
    },
    /// A byte position that does not follow on the one before it.
    #[error("position {position} after {previous}")]
    PositionOrder {
        /// The position in the entry before.
        previous: i32,
        /// The position found.
        position: i32,
    },
    /// A timestamp that does not follow on the one before it.
    #[error("timestamp {timestamp} after {previous}")]
    TimestampOrder {
        /// The timestamp of the entry before.
        previous: i64,
        /// The timestamp found.
        timestamp: i64,
    },
    /// An aborted transaction that ends before the segment begins.
    #[error("the aborted transaction's last offset {last_offset} is below the segment's base offset {base_offset}")]
    BelowBaseOffset {
        /// The transaction's last offset.
        last_offset: i64,
        /// The segment's base offset.
        base_offset: i64,
    },
    /// A negative number of entries.
    #[error("invalid number of entries {count}")]
    NegativeCount {
        /// The number found.
        count: i64,
    },
    /// A text file with more or fewer entries than it announces.
    #[error("{expected} entries announced, {found} found")]
    EntryCount {
        /// The number announced.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// A line of a text file that is not of its form.
    #[error("malformed line {line}")]
    MalformedLine {
        /// Which line, from 1.
        line: u64,
    },
    /// A text file that is not UTF-8.
    #[error("not UTF-8 text")]
    NotText,
    /// `partition.metadata` with the id that means none.
    #[error("the topic id is zero")]
    ZeroTopicId,
    /// Nothing is known of the file: there is no memory for its entries.
    #[error("out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// The bytes asked for.
        bytes: u64,
    },
}
