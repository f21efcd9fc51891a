//! Why a partition cannot be rewritten.

use std::any::Any;
use std::sync::Arc;

use crate::error::Error;

/// Why a partition cannot be rewritten. The new folder is removed.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    /// A segment cannot be read, or its batches cannot be written.
    #[error("{segment}: {error}")]
    Segment {
        /// The segment that was being read.
        segment: Arc<str>,
        /// The reason.
        error: Error,
    },
    /// Two segment files have different records at an offset.
    #[error("{earlier} and {later} have different records at offset {offset}: remove the file that is not valid")]
    Disagreement {
        /// The file with the lesser base offset.
        earlier: Arc<str>,
        /// The other one.
        later: Arc<str>,
        /// The least offset at which they disagree.
        offset: i64,
    },
    /// A panic on any thread: a bug in this library.
    #[error("{segment}: internal error: {message}")]
    Panicked {
        /// The segment that was being read.
        segment: Arc<str>,
        /// The panic's message.
        message: String,
    },
}

impl PartitionError {
    pub(super) fn panicked(segment: Arc<str>, panic: &(dyn Any + Send)) -> Self {
        let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
        Self::Panicked { segment, message: message.unwrap_or_else(|| "panic".to_owned()) }
    }
}
