//! The rules that the key or value of a control record can break.

/// What is wrong with a control record.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlFault {
    /// No key.
    #[error("null key")]
    NullKey,
    /// No value where the type needs one.
    #[error("null value")]
    NullValue,
    /// A version below 0.
    #[error("invalid version {version}")]
    Version {
        /// The version found.
        version: i16,
    },
    /// A field reaches past the end, or a varint is too long.
    #[error("incomplete field")]
    Incomplete,
    /// An array or string that is null where the schema has none.
    #[error("null array or string")]
    NullField,
    /// An array with more elements than bytes are left, or a string above Kafka's limit.
    #[error("invalid length {length}")]
    Length {
        /// The length found.
        length: u32,
    },
}
