//! Why a broker refuses a record set.

use super::validator::ValidationFault;
use kafkacomp_records::compress::CodecError;
use kafkacomp_records::error_kind::{Category, ErrorKind};
use kafkacomp_records::record::{self, BuildFault};

/// The result of an append.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a broker does not append a record set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The record set cannot be read or rebuilt.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// The messages of a wrapper cannot be compressed.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A batch or record set that a broker refuses.
    #[error("{fault}, in the batch at byte {position}")]
    Refused {
        /// Where the batch begins.
        position: u64,
        /// The rule.
        fault: ValidationFault,
    },
}

impl Error {
    /// The kind, which decides the category, Kafka's error code and Python's exception.
    pub fn kind(&self) -> ErrorKind {
        match self {
            // The builder of brokers throws an `IllegalArgumentException`, for zstd before magic 2 too.
            Self::Record(record::Error::Rebuild { fault: BuildFault::Unsupported { .. }, .. }) => ErrorKind::Rebuild,
            Self::Record(error) => error.kind(),
            Self::Codec(error) => error.kind(),
            Self::Refused { fault, .. } => fault.kind(),
        }
    }

    /// What the error means for the sender or reader of the records.
    pub fn category(&self) -> Category {
        match self {
            Self::Record(_) | Self::Codec(_) => self.kind().category(),
            Self::Refused { .. } => Category::Rejected,
        }
    }

    /// Where the refused batch begins.
    pub fn position(&self) -> u64 {
        match self {
            Self::Record(error) => error.position(),
            Self::Codec(error) => error.position,
            Self::Refused { position, .. } => *position,
        }
    }
}
