//! Segments as sources of bytes: local files and memory, read ahead, watched for interrupts, with parts that cannot be read.

pub(crate) mod cancel;
pub mod files;
pub(crate) mod read_ahead;
pub(crate) mod unreadable;
pub mod watched;
