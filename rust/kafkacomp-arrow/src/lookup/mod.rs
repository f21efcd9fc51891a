//! Questions about segments that headers and indexes answer: their ends, times, splits, formats and summaries.

pub mod byte_range;
pub mod log_end;
pub mod log_format;
pub mod segment_ends;
pub mod split_boundaries;
pub mod splits;
pub mod summary;
pub mod time;
