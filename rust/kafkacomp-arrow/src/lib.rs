//! Kafka records as Arrow columns: scans over segments that return Arrow record batches, and the way back ([`build`]).

pub mod build;
pub mod cells;
pub mod columns;
pub mod decode;
pub mod json_lines;
pub mod lookup;
mod missing;
pub mod options;
pub mod plan;
pub mod report;
pub mod scan;
pub mod source;
mod sync;
pub mod transactions;

pub use columns::binary_type::BinaryType;
pub use columns::schema::Column;
pub use missing::{Missing, MissingOffsets};
pub use options::{Checkpoints, IsolationLevel, OnError, Partition, ScanOptions, Segment, TransactionsIn};
pub use report::{ScanError, ScanReport, SkippedRange};
pub use scan::{Closer, Scan, Step};
