//! Where a log continues after corrupt bytes, for each layout.

use super::candidate::{BatchLayout, EntryLayout, Layout};
use super::resume::Before;
use super::resync::Resync;
use super::source::ReadAt;
use crate::error::ReadError;

/// A layout whose logs are read on after corrupt bytes.
pub trait Continuation: Layout + Sized {
    /// Finds where the log continues after the corrupt batch at `position`: the position of a batch, or the source's end; see
    /// [`Resync::resume`].
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    fn resume(
        search: &mut Resync<Self>,
        source: &dyn ReadAt,
        position: u64,
        before: Option<Before>,
        is_record_set: bool,
    ) -> Result<u64, ReadError>;
}

impl Continuation for BatchLayout {
    fn resume(
        search: &mut Resync<Self>,
        source: &dyn ReadAt,
        position: u64,
        before: Option<Before>,
        is_record_set: bool,
    ) -> Result<u64, ReadError> {
        search.resume(source, position, before, is_record_set)
    }
}

impl Continuation for EntryLayout {
    fn resume(
        search: &mut Resync<Self>,
        source: &dyn ReadAt,
        position: u64,
        _: Option<Before>,
        _: bool,
    ) -> Result<u64, ReadError> {
        search.resume_entries(source, position)
    }
}
