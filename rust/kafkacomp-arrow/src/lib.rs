#![doc = include_str!("../README.md")]

pub mod build;
#[doc(hidden)]
pub mod cells;
#[doc(hidden)]
pub mod columns;
#[doc(hidden)]
pub mod decode;
#[doc(hidden)]
pub mod json_lines;
#[doc(hidden)]
pub mod lookup;
mod missing;
pub mod options;
#[doc(hidden)]
pub mod plan;
pub mod report;
pub mod scan;
pub mod source;
mod sync;
#[doc(hidden)]
pub mod transactions;

pub use columns::binary_type::BinaryType;
pub use columns::schema::Column;
pub use missing::{Missing, MissingOffsets};
pub use options::{Checkpoints, IsolationLevel, OnError, Partition, ScanOptions, Segment, TransactionsIn};
pub use report::{ScanError, ScanReport, SkippedRange};
pub use scan::{Closer, Scan, Step};
