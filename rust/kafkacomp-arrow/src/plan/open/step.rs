//! What follows a chunk, and how a segment ended.

use kafkacomp_log::ChunkEnd;

use crate::plan::continuity::Anomaly;
use crate::report::ScanError;

/// How reading a segment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// With a batch at or after the end offset.
    Bound,
    /// With the last batch of the split.
    Split,
    /// With the file.
    File,
    /// With a batch that a broker is writing.
    Growing,
}

/// What follows a chunk.
#[derive(Debug)]
pub enum Step {
    /// Another chunk.
    More,
    /// The end.
    Done(Finish),
    /// The partition is judged, and says what is read next.
    Judge,
    /// An error.
    Failed(ScanError),
}

/// The result of reading the batches of a chunk.
pub(super) enum ChunkResult {
    Step(Step),
    End(ChunkEnd),
    /// A batch does not continue the one before it.
    Anomaly(Anomaly),
    /// The chunk must be read again with verification.
    Unverified,
}
