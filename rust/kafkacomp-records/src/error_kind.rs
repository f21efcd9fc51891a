//! The kind of an error, which all layers share. It decides the category, Kafka's error code and the exception class of the
//! Python package. This module imports nothing.

/// The kind of an error. [`category`](Self::category), [`error_code`](Self::error_code) and the mapping to Python's exceptions
/// are one match each, without a wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Data that cannot be compressed.
    Compression,
    /// Compressed data that cannot be decoded.
    Decompression,
    /// Compressed data that end too early.
    Truncated,
    /// The limit of decompressed bytes was reached.
    OutputLimit,
    /// Kafka's `CorruptRecordException`, code 2.
    CorruptRecord,
    /// A message set that Kafka 0.7 refuses. Among today's codes it is a corrupt record, 2.
    MessageSet(MessageSetKind),
    /// Kafka's `RecordTooLargeException`, code 10.
    RecordTooLarge,
    /// Kafka's `InvalidRecordException`, code 87.
    InvalidRecord,
    /// Kafka's `InvalidTimestampException`, code 32.
    InvalidTimestamp,
    /// Kafka's `UnsupportedForMessageFormatException`, code 43.
    UnsupportedForMessageFormat,
    /// Kafka's `UnsupportedCompressionTypeException`, code 76: zstd before magic 2.
    UnsupportedCompressionType,
    /// A compression type id that Kafka does not know, to which it answers -1. The batch's checksum is right: a later
    /// version of Kafka may know the id.
    UnknownCompressionType,
    /// Kafka's `OffsetsOutOfOrderException`, which has no code of its own.
    OffsetsOutOfOrder,
    /// Corrupt data to which Kafka answers -1.
    UnknownServer,
    /// Records that do not fit in the batch that they are rebuilt into; Kafka answers -1.
    Rebuild,
    /// The storage.
    Io,
    /// A file or folder that exists already.
    Exists,
    /// Memory ran out, which says nothing about the data.
    OutOfMemory,
}

/// The kinds of broken message sets, one per exception class of Kafka 0.7's `kafka.message` package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageSetKind {
    /// `InvalidMessageSizeException`.
    InvalidMessageSize,
    /// `IndexOutOfBoundsException`: no room for the header.
    EntryTooSmall,
    /// `UnknownMagicByteException`.
    UnknownMagic,
    /// `InvalidMessageException`.
    Crc,
    /// `UnknownCodecException`.
    UnknownCodec,
    /// `IOException` and others: the payload does not decompress.
    Decompression,
}

impl MessageSetKind {
    /// The kind's name in the Python package.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidMessageSize => "invalid_message_size",
            Self::EntryTooSmall => "entry_too_small",
            Self::UnknownMagic => "unknown_magic",
            Self::Crc => "crc",
            Self::UnknownCodec => "unknown_codec",
            Self::Decompression => "decompression",
        }
    }
}

/// What an error means for a reader of a log: whether it may continue after it, and how it reports it.
///
/// With `on_error="raise"` a scan ends at every error. Repair continues only after [`Category::Corrupt`]: no other category
/// means that data are lost. With `on_error="skip"` a scan continues after data that are corrupt, exceed a limit or cannot be
/// read, and reports each with its own reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// The bytes are not what Kafka wrote.
    Corrupt,
    /// The bytes may be right, and this library or the target format cannot take them.
    Unsupported,
    /// A limit that the caller set, or that a column has.
    Limit,
    /// Memory or threads ran out.
    Resource,
    /// What a broker or builder refuses.
    Rejected,
    /// The storage.
    Io,
    /// The caller's own argument.
    Argument,
}

impl ErrorKind {
    /// The category.
    pub fn category(self) -> Category {
        match self {
            Self::OutputLimit | Self::RecordTooLarge => Category::Limit,
            Self::OutOfMemory => Category::Resource,
            Self::Compression | Self::Rebuild => Category::Rejected,
            Self::UnsupportedCompressionType | Self::UnsupportedForMessageFormat | Self::UnknownCompressionType => {
                Category::Unsupported
            }
            Self::Io => Category::Io,
            Self::Exists => Category::Argument,
            Self::Decompression
            | Self::Truncated
            | Self::CorruptRecord
            | Self::MessageSet(_)
            | Self::InvalidRecord
            | Self::InvalidTimestamp
            | Self::OffsetsOutOfOrder
            | Self::UnknownServer => Category::Corrupt,
        }
    }

    /// Kafka's error code, or `None` where the failure is not one of a record set.
    pub fn error_code(self) -> Option<i16> {
        match self {
            Self::Compression
            | Self::Decompression
            | Self::Truncated
            | Self::OutputLimit
            | Self::Io
            | Self::Exists
            | Self::OutOfMemory => None,
            Self::CorruptRecord | Self::MessageSet(_) => Some(2),
            Self::RecordTooLarge => Some(10),
            Self::InvalidRecord => Some(87),
            Self::InvalidTimestamp => Some(32),
            Self::UnsupportedForMessageFormat => Some(43),
            Self::UnsupportedCompressionType => Some(76),
            Self::OffsetsOutOfOrder | Self::UnknownServer | Self::UnknownCompressionType | Self::Rebuild => Some(-1),
        }
    }
}
