//! What can be wrong with compressed data: one enum for all codecs, numbers only.

use super::CompressionType;

/// Compressed data that do not decode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{compression_type}: {fault} at byte {position}", compression_type = .compression_type.name())]
pub struct CodecError {
    /// The codec that refused.
    pub compression_type: CompressionType,
    /// The byte of the compressed data at which the refused element begins.
    pub position: u64,
    /// What is wrong there.
    pub fault: CodecFault,
}

/// The rule that was broken.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecFault {
    /// The data end inside a frame.
    #[error("the data end too early")]
    Truncated,
    /// More output than the caller allows.
    #[error("more than {limit} bytes of output")]
    OutputLimit {
        /// The cap in bytes.
        limit: u64,
    },
    /// The data break the codec's format.
    #[error("malformed data")]
    Malformed,
}
