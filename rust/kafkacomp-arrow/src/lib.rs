//! Kafka records as Arrow columns: scans over segments that return Arrow record batches, and the way back ([`build`]).

#![forbid(unsafe_code)]

mod batch_fields;
mod batch_runs;
mod binary_column;
mod binary_type;
mod bounds;
pub mod build;
pub mod byte_range;
mod bytes_column;
mod cancel;
pub mod cells;
mod chunk;
pub mod columns;
pub mod committed;
mod context;
mod continuity;
mod copies;
mod course;
pub mod files;
mod headers_column;
mod in_order;
mod indexed;
mod known_headers;
mod leader_epochs;
pub mod log_format;
pub mod lookup;
mod missing;
mod open;
pub mod options;
mod overlap;
mod plan;
mod pool;
mod record_filter;
mod relocate;
pub mod report;
mod rows;
mod runs;
pub mod scan;
pub mod schema;
mod segment_reader;
pub mod split_boundaries;
pub mod splits;
pub mod summary;
mod unreadable;
mod validity;
mod view_buffers;
mod view_column;
pub mod watched;
mod worker;

pub use binary_type::BinaryType;
pub use missing::{Missing, MissingOffsets};
pub use options::{Checkpoints, IsolationLevel, OnError, Partition, ScanOptions, Segment, TransactionsIn};
pub use report::{ScanError, ScanReport, SkippedRange};
pub use scan::{Closer, Scan, Step};
pub use schema::Column;
