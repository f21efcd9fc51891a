//! The rules that the key or value of a control record can break.

/// What is wrong with a control record.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlFault {
    /// The key is null.
    #[error("null key")]
    NullKey,
    /// The value is null although the type has one.
    #[error("null value")]
    NullValue,
    /// A negative version.
    #[error("invalid version {version}")]
    Version {
        /// The version found.
        version: i16,
    },
    /// A field exceeds the data, or a varint is too long.
    #[error("incomplete field")]
    Incomplete,
    /// A null array or string that the schema does not allow.
    #[error("null array or string")]
    NullField,
    /// An array with more elements than bytes remain, or a string above Kafka's limit.
    #[error("invalid length {length}")]
    Length {
        /// The length found.
        length: u32,
    },
}
