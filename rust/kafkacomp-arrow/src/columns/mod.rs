//! The columns that rows are written to, and their memory.

pub(crate) mod batch_fields;
pub(crate) mod batch_runs;
pub(crate) mod binary_column;
pub(crate) mod binary_type;
pub mod builder;
pub(crate) mod bytes_column;
pub(crate) mod headers_column;
pub(crate) mod pool;
pub(crate) mod pooled_vec;
pub(crate) mod runs;
pub mod schema;
pub(crate) mod validity;
pub(crate) mod view_array;
pub(crate) mod view_buffers;
pub(crate) mod view_column;
