//! Why rows cannot be written.

use arrow_schema::ArrowError;

use super::error::BuildError;

/// Rows that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The rows are invalid.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The batches cannot be written.
    #[error(transparent)]
    Log(#[from] kafkacomp_log::Error),
    /// The stream that the rows come from failed.
    #[error(transparent)]
    Rows(#[from] ArrowError),
}
