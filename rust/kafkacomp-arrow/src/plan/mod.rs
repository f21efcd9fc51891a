//! What is read next, and which batches belong to it: the planner, which one thread at a time runs.

pub(crate) mod chunk;
pub(crate) mod context;
pub(crate) mod continuity;
pub(crate) mod index_pruning;
pub(crate) mod judged;
pub(crate) mod open;
pub(crate) mod overlap;
pub(crate) mod planner;
pub(crate) mod relocate;
pub(crate) mod restored;
pub(crate) mod segment_reader;
pub(crate) mod whole_batch;
