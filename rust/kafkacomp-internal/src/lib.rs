#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod as_of;
mod cluster;
mod log_view;
pub mod query;
mod row;
pub mod scan;
mod state;
mod table;

pub use as_of::AsOf;
pub use query::{Query, Table, View};
pub use scan::InternalScan;
