//! What is read next, and which batches belong to it: the planner, which one thread at a time runs.

pub(crate) mod chunk;
pub(crate) mod context;
pub(crate) mod continuity;
pub(crate) mod copies;
pub(crate) mod first_offset;
pub(crate) mod index_pruning;
pub(crate) mod known_headers;
pub(crate) mod leader_epochs;
pub(crate) mod open;
pub(crate) mod out_of_place;
pub(crate) mod overlap;
pub(crate) mod planner;
pub(crate) mod relocate;
pub(crate) mod segment_reader;
pub(crate) mod whole_batch;
