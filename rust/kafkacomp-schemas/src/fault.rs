//! Why bytes are not a message of a schema, and why a record is shown as bytes.

/// Why bytes are not a message of a schema, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {kind}")]
pub struct Fault {
    /// The byte at which the faulty field begins, counted from the first field: type, version and frame do not count.
    pub at: usize,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What is wrong with the bytes of a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The bytes end inside a field.
    #[error("{field}: {needed} bytes needed, {left} left")]
    Truncated {
        /// The field.
        field: String,
        /// What the field needs at least.
        needed: usize,
        /// The bytes that are left.
        left: usize,
    },
    /// A variable-length integer of more than 5 bytes.
    #[error("{field}: a varint of more than 5 bytes")]
    Varint {
        /// The field.
        field: String,
    },
    /// A length that its type does not allow.
    #[error("{field}: invalid length {length}")]
    Length {
        /// The field.
        field: String,
        /// The length.
        length: i32,
    },
    /// Null in a version in which the field is not nullable.
    #[error("{field}: null, which version {version} does not allow")]
    Null {
        /// The field.
        field: String,
        /// The version.
        version: i16,
    },
    /// More elements or tagged fields than bytes are left, or more than Kafka reads.
    #[error("{field}: {count} elements: at most {limit} are possible")]
    Count {
        /// The field.
        field: String,
        /// The count.
        count: i32,
        /// The limit.
        limit: usize,
    },
    /// A tagged field that exists, but not in this version.
    #[error("{field}: tag {tag} is not valid in version {version}")]
    Tag {
        /// The field.
        field: String,
        /// The tag.
        tag: u32,
        /// The version.
        version: i16,
    },
}

/// Why a record of an internal topic is shown as bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The record has no key, or a key too short for a type.
    #[error("the key has no record type")]
    NoType,
    /// The value is null or too short for a version.
    #[error("the value has no version")]
    NoVersion,
    /// A type that no known version of Kafka has.
    #[error("Found an unknown record type {0}")]
    Type(i16),
    /// A version of a known type that no known version of Kafka has.
    #[error("Found an unknown record version {version} for {kind} type")]
    Version {
        /// The record's type: its number in a coordinator's topic, its name elsewhere.
        kind: String,
        /// The version.
        version: i32,
    },
    /// A frame of the metadata log in a version other than 1.
    #[error("unknown frame version {0}")]
    Frame(u32),
    /// Bytes after the end of a value in the metadata log.
    #[error("{0} bytes after the end of the value")]
    Rest(usize),
    /// The key is not one of its type.
    #[error("key: {0}")]
    Key(Fault),
    /// The value is not one of its type and version.
    #[error("value: {0}")]
    Value(Fault),
}
