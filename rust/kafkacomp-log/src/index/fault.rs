//! What can be wrong with an index file.

/// A rule that an index file breaks, with the values found.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexFault {
    /// The file's length is not a multiple of the size of an entry.
    #[error("the file's {length} bytes are not a multiple of its {entry_size}-byte entries")]
    Length {
        /// The file's length.
        length: u64,
        /// The size of an entry.
        entry_size: u64,
    },
    /// The file ends before the entries that it declares.
    #[error("the file ends early: {needed} bytes are needed, {available} are there")]
    Truncated {
        /// Bytes that are needed from the position on.
        needed: u64,
        /// Bytes that are available from the position on.
        available: u64,
    },
    /// Bytes follow the entries that the file declares.
    #[error("{length} bytes follow the last entry")]
    TrailingBytes {
        /// How many.
        length: u64,
    },
    /// An unknown version of the format.
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
    /// A relative offset that is not greater than the one before it.
    #[error("relative offset {offset} after {previous}")]
    OffsetOrder {
        /// The relative offset of the entry before.
        previous: i32,
        /// The relative offset found.
        offset: i32,
    },
    /// A byte position that is less than the one before it.
    #[error("position {position} after {previous}")]
    PositionOrder {
        /// The position in the entry before.
        previous: i32,
        /// The position found.
        position: i32,
    },
    /// A timestamp that is not greater than the one before it.
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
    /// A text file with more or fewer entries than it declares.
    #[error("{expected} entries announced, {found} found")]
    EntryCount {
        /// The number declared.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// A line of a text file that does not have the expected form.
    #[error("malformed line {line}")]
    MalformedLine {
        /// The number of the line, from 1.
        line: u64,
    },
    /// A text file that is not UTF-8.
    #[error("not UTF-8 text")]
    NotText,
    /// `partition.metadata` with the topic id zero, which is reserved for a missing id.
    #[error("the topic id is zero")]
    ZeroTopicId,
    /// There is not enough memory for the entries; nothing is known about the file.
    #[error("out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// The requested size in bytes.
        bytes: u64,
    },
}
